//! A token for a client by its own right (RFC 6749, client credentials).

use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::https::Address;
use crate::fault::chain;
use crate::tls;

/// The longest answer that is taken, in bytes.
const ANSWER_MAX: usize = 1024 * 1024;

/// A request for a token.
pub(super) struct TokenRequest<'a> {
    /// Where tokens are issued.
    pub(super) url: &'a Address,
    /// Who asks.
    pub(super) client_id: &'a str,
    /// What proves it.
    pub(super) proof: ClientProof<'a>,
    /// What the token is to allow; empty for all that it may.
    pub(super) scopes: &'a [String],
}

/// What proves who asks.
pub(super) enum ClientProof<'a> {
    /// The secret, by HTTP Basic.
    Basic(&'a SecretString),
    /// The secret, in the form.
    Form(&'a SecretString),
    /// A signed assertion (RFC 7523).
    Assertion(&'a SecretString),
}

/// Why there is no token.
pub(super) enum TokenFault {
    /// No connection, or one that broke.
    Unreachable(String),
    /// Not a success; with the answer, which may quote what was sent and is not shown.
    Refused {
        /// The status.
        status: u16,
        /// The answer's headers.
        headers: HeaderMap,
        /// The answer.
        body: Vec<u8>,
    },
    /// The answer holds none; why.
    None(&'static str),
}

#[derive(Deserialize)]
struct Issued {
    access_token: Option<String>,
}

/// Why a server can't be reached, and what its TLS wants.
pub(super) fn unreachable(error: reqwest::Error) -> String {
    let text = chain(&error.without_url());
    format!("{text}{}", tls::hint(&text, "ca_file"))
}

/// Asks for a token.
pub(super) async fn issued(http: &reqwest::Client, asked: &TokenRequest<'_>) -> Result<SecretString, TokenFault> {
    let unreachable = |error| TokenFault::Unreachable(unreachable(error));
    let mut answer = form(http, asked).send().await.map_err(unreachable)?;
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(unreachable)? {
        if body.len() + chunk.len() > ANSWER_MAX {
            return Err(TokenFault::None("its answer is too long"));
        }
        body.extend_from_slice(&chunk);
    }
    if status != 200 {
        return Err(TokenFault::Refused { status, headers, body });
    }
    let answer: Issued = serde_json::from_slice(&body).map_err(|_| TokenFault::None("its answer is not JSON"))?;
    let token = answer.access_token.filter(|token| !token.is_empty()).map(SecretString::from);
    token.ok_or(TokenFault::None("its answer holds no access_token"))
}

fn form(http: &reqwest::Client, asked: &TokenRequest<'_>) -> reqwest::RequestBuilder {
    let scope = asked.scopes.join(" ");
    let mut fields = vec![("grant_type", "client_credentials")];
    if !scope.is_empty() {
        fields.push(("scope", &scope));
    }
    let request = http.post(asked.url.url().clone());
    match asked.proof {
        ClientProof::Basic(secret) => request.basic_auth(asked.client_id, Some(secret.expose_secret())).form(&fields),
        ClientProof::Form(secret) => {
            fields.extend([("client_id", asked.client_id), ("client_secret", secret.expose_secret())]);
            request.form(&fields)
        }
        ClientProof::Assertion(assertion) => {
            fields.extend([
                ("client_id", asked.client_id),
                ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                ("client_assertion", assertion.expose_secret()),
            ]);
            request.form(&fields)
        }
    }
}
