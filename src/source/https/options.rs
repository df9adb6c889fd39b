//! The options of a download.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::address::Address;
use crate::secret::SecretSource;
use crate::source::csv;

/// Names of headers that hold one of these carry secrets, which belong into files.
const SECRETS: [&str; 7] = ["auth", "token", "secret", "password", "cookie", "apikey", "api-key"];
/// Headers that decide how the request and its answer are framed, or which part is answered.
const OWN: [&str; 12] = [
    "host",
    "connection",
    "keep-alive",
    "content-length",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "range",
    "accept-encoding",
    "proxy-connection",
];

/// What a job says about a file of a web server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it is.
    pub address: Address,
    /// Who asks.
    pub login: Option<Login>,
    /// Further headers of the request; their values are marked as secrets.
    pub headers: HeaderMap,
    /// Certificates (PEM) trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// The proxy that is asked; no proxy is asked for what this machine itself has.
    pub proxy: Option<String>,
    /// The longest that the whole download may take.
    pub timeout: Duration,
    /// How the file is read.
    pub content: csv::Options,
}

/// Who asks.
#[derive(Clone, Debug)]
pub enum Login {
    /// By name and password.
    Basic {
        /// The name.
        user: String,
        /// The password.
        password: SecretSource,
    },
    /// By a token that someone made.
    Bearer(SecretSource),
    /// By a token that is asked for.
    Client(TokenClient),
}

/// A client that asks for its tokens.
#[derive(Clone, Debug)]
pub struct TokenClient {
    /// Where tokens are issued.
    pub token_url: Address,
    /// Its name.
    pub client_id: String,
    /// Its secret.
    pub secret: SecretSource,
    /// What the token is to allow; empty for all that it may.
    pub scopes: Vec<String>,
}

impl Options {
    /// The longest duration of a download by default.
    pub const TIMEOUT: Duration = Duration::from_secs(30 * 60);

    /// The defaults for an address.
    pub fn at(address: Address) -> Self {
        let content = csv::Options::at(address.to_string());
        Self {
            address,
            login: None,
            headers: HeaderMap::new(),
            ca_file: None,
            proxy: None,
            timeout: Self::TIMEOUT,
            content,
        }
    }

    /// What selects the people that it holds: another address, another account and other headers may show others. A text
    /// to be digested, never shown.
    pub fn selection(&self) -> String {
        let user = match &self.login {
            Some(Login::Basic { user, .. }) => user,
            Some(Login::Client(client)) => &client.client_id,
            Some(Login::Bearer(_)) | None => "",
        };
        let mut text = format!("{}\n{user}", self.address.secret());
        for (name, value) in &self.headers {
            text += &format!("\n{name} {}", String::from_utf8_lossy(value.as_bytes()));
        }
        text
    }

    /// Its secret, where it has one.
    pub fn secret(&mut self) -> Option<&mut SecretSource> {
        match self.login.as_mut()? {
            Login::Basic { password: secret, .. } | Login::Bearer(secret) => Some(secret),
            Login::Client(client) => Some(&mut client.secret),
        }
    }
}

/// Checks a further header of the request.
///
/// # Errors
///
/// What is wrong with it, as the rest of a sentence about it, and what to do; neither quotes the value.
pub fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), (&'static str, &'static str)> {
    let checked =
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| ("is no name of a header", "write it like Accept"))?;
    let lower = checked.as_str();
    if SECRETS.iter().any(|part| lower.contains(part)) {
        return Err(("would carry a secret", "use user and password_file, token_file or oauth"));
    }
    if OWN.contains(&lower) || lower.starts_with("if-") {
        return Err(("decides what is answered and how, which is not configurable", "leave it out"));
    }
    let mut value =
        HeaderValue::from_str(value).map_err(|_| ("has a value that can't be sent", "use plain letters and digits"))?;
    value.set_sensitive(true);
    Ok((checked, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_11_a_header_carries_no_secret_and_breaks_no_request() {
        for (name, value, fits) in [
            ("Accept", "text/csv", true),
            ("X-Company", "12", true),
            ("Accept-Language", "de", true),
            ("Authorization", "Basic x", false),
            ("proxy-authorization", "x", false),
            ("Cookie", "x", false),
            ("X-API-Key", "x", false),
            ("X-Auth-Token", "x", false),
            ("Host", "x", false),
            ("Accept-Encoding", "gzip", false),
            ("Range", "bytes=0-9", false),
            ("If-None-Match", "x", false),
            ("Content-Length", "1", false),
            ("two words", "x", false),
            ("Accept", "a\nb", false),
        ] {
            assert_eq!(header(name, value).is_ok(), fits, "{name}");
        }
        let (_, value) = header("Accept", "s3cret").unwrap();
        assert!(!format!("{value:?}").contains("s3cret"));
    }

    #[test]
    fn law_7_another_address_account_or_header_may_show_other_people() {
        let of = |url: &str| Options::at(Address::parse(url).unwrap());
        let one = of("https://hr.example.com/a?company=1");
        let secret = || SecretSource::Text("x".into());
        let user =
            |user: &str| Options { login: Some(Login::Basic { user: user.into(), password: secret() }), ..one.clone() };
        let mut with_header = one.clone();
        with_header.headers.extend([header("X-Company", "2").unwrap()]);
        let others = [
            of("https://hr.example.com/a?company=2"),
            of("https://hr.example.com/b?company=1"),
            of("https://hr2.example.com/a?company=1"),
            user("ana"),
            with_header,
        ];
        for other in &others {
            assert_ne!(other.selection(), one.selection(), "{other:?}");
        }
        assert_ne!(user("ana").selection(), user("bob").selection());
        let rotated = Options { login: Some(Login::Bearer(secret())), ..one.clone() };
        assert_eq!(rotated.selection(), one.selection(), "a token says nothing about who it is of");
    }
}
