//! Access tokens and the two ways to get one (specification, OAuth 2.0 client credentials).

use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::json;
use crate::operation::Operation;
use crate::table::{GRANT, REFRESH};

/// How long a token lasts that does not say so; a refusal renews it anyway.
const LIFE_DEFAULT: u64 = 300;
/// The longest life believed, in seconds.
const LIFE_MAX: u64 = 24 * 60 * 60;

/// What a token is asked for with, besides the client's id and secret. No scopes: those that there are.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Grant {
    /// The client's own right.
    ClientCredentials {
        /// The scopes asked for.
        scopes: Vec<String>,
    },
    /// A refresh token of an earlier answer.
    Refresh {
        /// That token.
        refresh_token: SecretString,
        /// The scopes asked for.
        scopes: Vec<String>,
    },
}

/// An access token.
#[derive(Clone)]
#[non_exhaustive]
pub struct Token {
    /// The token; a secret.
    pub access_token: SecretString,
    /// Its kind, `Bearer`.
    pub token_type: Option<String>,
    /// How long it lasts; what is said to last longer than a day is taken for a day.
    pub life: Duration,
    /// The token that renews it; a secret.
    pub refresh_token: Option<SecretString>,
    /// What it may do; may be less than was asked for.
    pub scopes: Vec<String>,
}

impl Grant {
    /// The operation that it is.
    pub(crate) fn operation(&self) -> &'static Operation {
        match self {
            Self::ClientCredentials { .. } => GRANT,
            Self::Refresh { .. } => REFRESH,
        }
    }

    /// The fields of the form.
    pub(crate) fn form(&self) -> Vec<(&'static str, String)> {
        let (mut form, scopes) = match self {
            Self::ClientCredentials { scopes } => (vec![("grant_type", "client_credentials".to_owned())], scopes),
            Self::Refresh { refresh_token, scopes } => {
                let token = refresh_token.expose_secret().to_owned();
                (vec![("grant_type", "refresh_token".to_owned()), ("refresh_token", token)], scopes)
            }
        };
        if !scopes.is_empty() {
            form.push(("scope", scopes.join(" ")));
        }
        form
    }
}

impl Token {
    /// Reads the answer to a grant; the error says what is wrong, without a value.
    pub(crate) fn read(body: &[u8]) -> Result<Self, &'static str> {
        let answer = json::parse(body).map_err(|_| "auth_url answers with something that is not JSON")?;
        let text = |name: &str| answer.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        Ok(Self {
            access_token: text("access_token").ok_or("auth_url answers without an access_token")?.into(),
            token_type: text("token_type").map(str::to_owned),
            life: life(answer.get("expires_in")),
            refresh_token: text("refresh_token").map(SecretString::from),
            scopes: text("scope").unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
        })
    }
}

/// Shows no secret.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("life", &self.life).field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// `expires_in` as a number or as text; missing or senseless, a short life.
fn life(expires_in: Option<&Value>) -> Duration {
    let seconds = match expires_in {
        Some(Value::Number(number)) => number.as_u64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    Duration::from_secs(seconds.filter(|seconds| *seconds > 0).unwrap_or(LIFE_DEFAULT).min(LIFE_MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_lasts_as_long_as_it_says_in_whatever_form() {
        let check = |json: Option<Value>, seconds: u64| assert_eq!(life(json.as_ref()), Duration::from_secs(seconds));
        check(Some(json!(3600)), 3600);
        check(Some(json!("3600")), 3600);
        check(Some(json!("soon")), 300);
        check(Some(json!(0)), 300);
        check(Some(json!(-5)), 300);
        check(Some(json!(9_999_999)), 86_400);
        check(None, 300);
    }

    #[test]
    fn law_11_a_token_is_in_no_debug() {
        let body = json!({"access_token": "s3cret", "refresh_token": "s3cret2", "scope": "staff:read visitor:read"});
        let token = Token::read(body.to_string().as_bytes()).unwrap();
        assert_eq!(token.scopes, ["staff:read", "visitor:read"]);
        let grant = Grant::Refresh { refresh_token: "s3cret".into(), scopes: Vec::new() };
        assert!(!format!("{token:?} {grant:?}").contains("s3cret"));
        assert_eq!(grant.form(), [("grant_type", "refresh_token".into()), ("refresh_token", "s3cret".into())]);
        assert!(Token::read(b"{}").is_err() && Token::read(b"<html>").is_err());
    }
}
