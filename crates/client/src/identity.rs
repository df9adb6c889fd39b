//! A fingerprint of the credential that does not reveal it.

use ring::hmac;
use secrecy::{ExposeSecret as _, SecretString};

use crate::Client;
use crate::credential::Authority;
use crate::options::Credential;

impl Client {
    /// Identifies the credential: the same for the same key or client and the same `salt`, and no way back to it. A
    /// client whose secret was rotated is still that client.
    pub fn identity(&self, salt: &[u8]) -> String {
        digest(salt, &self.authority().named())
    }
}

impl Credential {
    /// The same of a credential without its client; `None` where its key can't be read.
    pub fn identity(&self, salt: &[u8]) -> Option<String> {
        let key = match self {
            Self::Client { .. } => None,
            Self::ApiKey(source) | Self::ApiKeyBasic(source) => Some(source.read().ok()?),
        };
        Some(digest(salt, &named(self, key.as_ref())))
    }
}

impl Authority {
    /// What the credential is known by at the service.
    pub(crate) fn named(&self) -> String {
        named(self.credential(), self.key())
    }
}

fn named(credential: &Credential, key: Option<&SecretString>) -> String {
    match credential {
        Credential::Client { auth_url, client_id, .. } => format!("client\0{auth_url}\0{client_id}"),
        Credential::ApiKey(_) | Credential::ApiKeyBasic(_) => {
            format!("key\0{}", key.map(|key| key.expose_secret()).unwrap_or_default())
        }
    }
}

fn digest(salt: &[u8], named: &str) -> String {
    let digest = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, salt), named.as_bytes());
    digest.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use crate::clock::Clock;
    use crate::{Credential, Options, SecretSource};

    use super::*;

    fn identity(credential: Credential, salt: &[u8]) -> String {
        Client::new(&Options::new("https://api.example.com/v1", credential), &Clock::system()).unwrap().identity(salt)
    }

    fn text(text: &str) -> SecretSource {
        SecretSource::Text(text.into())
    }

    fn oauth(client_id: &str, secret: &str) -> Credential {
        let auth_url = "https://login.example.com".to_owned();
        Credential::Client { auth_url, client_id: client_id.to_owned(), secret: text(secret), scopes: Vec::new() }
    }

    #[test]
    fn law_11_an_identity_tells_credentials_apart_and_says_nothing_of_them() {
        let key = identity(Credential::ApiKey(text("canary")), b"salt");
        assert!(key.len() == 32 && !key.contains("canary"));
        for (other, salt, same) in [
            (Credential::ApiKey(text("canary")), "salt", true),
            (Credential::ApiKeyBasic(text("canary")), "salt", true),
            (Credential::ApiKey(text("canary")), "pepper", false),
            (Credential::ApiKey(text("canarx")), "salt", false),
            (oauth("canary", "canary"), "salt", false),
        ] {
            assert_eq!(identity(other.clone(), salt.as_bytes()) == key, same, "{other:?} {salt}");
        }
        assert_eq!(identity(oauth("a", "one"), b"s"), identity(oauth("a", "two"), b"s"), "a rotated secret");
        assert_ne!(identity(oauth("a", "one"), b"s"), identity(oauth("b", "one"), b"s"));
    }
}
