//! A fingerprint of the credential that does not reveal it.

use ring::hmac;
use secrecy::ExposeSecret as _;

use crate::Client;
use crate::credential::Authority;
use crate::options::Credential;

impl Client {
    /// Identifies the credential: the same for the same key or client and the same `salt`, and no way back to it. A
    /// client whose secret was rotated is still that client.
    pub fn identity(&self, salt: &[u8]) -> String {
        let digest = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, salt), self.authority().named().as_bytes());
        digest.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Authority {
    /// What the credential is known by at the service.
    fn named(&self) -> String {
        match self.credential() {
            Credential::Client { auth_url, client_id, .. } => format!("client\0{auth_url}\0{client_id}"),
            Credential::ApiKey(_) | Credential::ApiKeyBasic(_) => {
                format!("key\0{}", self.key().map(|key| key.expose_secret()).unwrap_or_default())
            }
        }
    }
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
