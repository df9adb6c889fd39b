//! Credentials: API keys as they are, tokens fetched and renewed (specification, Authentication).

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{RequestBuilder, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::Instant;

use crate::error::ErrorKind;
use crate::fault::chain;
use crate::options::{Credential, SecretSource};
use crate::retry::{ATTEMPTS_MAX, Backoff};
use crate::token::{Grant, Token};
use crate::transport::{self, Head};

/// A token is renewed so long before it ends.
const EARLY: Duration = Duration::from_secs(60);
/// After a failure no token is asked for so long; doubles up to the most.
const FAILURE_WAIT: Duration = Duration::from_secs(60);
const FAILURE_WAIT_MAX: Duration = Duration::from_secs(15 * 60);

/// The credential of one account, and the token it has at present.
pub(crate) struct Authority {
    credential: Credential,
    key: Option<SecretString>,
    token_url: Option<Url>,
    http: reqwest::Client,
    timeout: Duration,
    backoff: Backoff,
    /// Held while a token is fetched, so that only one is.
    state: tokio::sync::Mutex<TokenState>,
}

#[derive(Default)]
struct TokenState {
    token: Option<Held>,
    /// How many tokens there were; names the present one.
    serial: u64,
    failure: Option<Failure>,
}

struct Held {
    token: SecretString,
    renew_at: Instant,
}

struct Failure {
    until: Instant,
    wait: Duration,
    problem: String,
    refused: bool,
    /// The secret that failed: another one is worth a try at once.
    secret: SecretString,
}

/// What one request is signed with.
pub(crate) enum Authorization {
    Key(SecretString),
    KeyBasic(SecretString),
    Bearer { token: SecretString, serial: u64 },
}

impl Authority {
    pub(crate) fn new(
        credential: &Credential,
        http: reqwest::Client,
        timeout: Duration,
        token_url: Option<Url>,
        backoff: Backoff,
    ) -> Result<Self, ErrorKind> {
        let key = match credential {
            Credential::ApiKey(SecretSource::Missing(_)) | Credential::ApiKeyBasic(SecretSource::Missing(_)) => None,
            Credential::ApiKey(source) | Credential::ApiKeyBasic(source) => Some(secret(source)?),
            Credential::Client { .. } => None,
        };
        let state = tokio::sync::Mutex::default();
        Ok(Self { credential: credential.clone(), key, token_url, http, timeout, backoff, state })
    }

    pub(crate) fn credential(&self) -> &Credential {
        &self.credential
    }

    /// The API key; none with an OAuth client.
    pub(crate) fn key(&self) -> Option<&SecretString> {
        self.key.as_ref()
    }

    /// What to sign the next request with; fetches a token where there is none that lasts.
    pub(crate) async fn authorization(&self) -> Result<Authorization, ErrorKind> {
        let key = |source| self.key.clone().map_or_else(|| secret(source), Ok);
        match &self.credential {
            Credential::ApiKey(source) => Ok(Authorization::Key(key(source)?)),
            Credential::ApiKeyBasic(source) => Ok(Authorization::KeyBasic(key(source)?)),
            Credential::Client { client_id, secret, scopes, .. } => {
                let mut state = self.state.lock().await;
                if let Some(token) = state.token.as_ref().filter(|token| Instant::now() < token.renew_at) {
                    return Ok(Authorization::Bearer { token: token.token.clone(), serial: state.serial });
                }
                self.renew(&mut state, client_id, secret, scopes).await
            }
        }
    }

    /// The token of that number was refused: the next request gets another, unless it has one already.
    pub(crate) async fn refused(&self, serial: u64) {
        let mut state = self.state.lock().await;
        if state.serial == serial {
            state.token = None;
        }
    }

    async fn renew(
        &self,
        state: &mut TokenState,
        client_id: &str,
        source: &SecretSource,
        scopes: &[String],
    ) -> Result<Authorization, ErrorKind> {
        let secret = secret(source)?;
        let now = Instant::now();
        if let Some(failure) = &state.failure
            && now < failure.until
            && failure.secret.expose_secret() == secret.expose_secret()
        {
            let again = (!failure.refused).then(|| failure.until - now);
            return Err(ErrorKind::Token { problem: failure.problem.clone(), again });
        }
        match self.fetch(client_id, &secret, scopes).await {
            Ok(Token { access_token: token, life, .. }) => {
                state.failure = None;
                state.serial += 1;
                let renew_at = Instant::now() + life.saturating_sub(EARLY).max(life / 2);
                state.token = Some(Held { token: token.clone(), renew_at });
                Ok(Authorization::Bearer { token, serial: state.serial })
            }
            Err(TokenRefusal { problem, refused }) => {
                let wait = match &state.failure {
                    Some(failure) => (failure.wait * 2).min(FAILURE_WAIT_MAX),
                    None => FAILURE_WAIT,
                };
                let until = Instant::now() + wait;
                state.token = None;
                state.failure = Some(Failure { until, wait, problem: problem.clone(), refused, secret });
                Err(ErrorKind::Token { problem, again: (!refused).then_some(wait) })
            }
        }
    }

    /// Asks for a token; what may pass by itself is tried again at once, a refusal is not.
    async fn fetch(&self, client_id: &str, secret: &SecretString, scopes: &[String]) -> Result<Token, TokenRefusal> {
        let grant = Grant::ClientCredentials { scopes: scopes.to_vec() };
        let mut attempt = 1;
        loop {
            match self.granted(client_id, secret, &grant).await {
                Err(refusal) if !refusal.refused && attempt < ATTEMPTS_MAX => {
                    attempt += 1;
                    tokio::time::sleep(self.backoff.before(attempt)).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Makes one attempt at a grant, with the client's id and secret as they are now.
    pub(crate) async fn token(&self, grant: &Grant) -> Result<Token, ErrorKind> {
        let (client_id, secret) = self.client()?;
        Ok(self.granted(client_id, &secret, grant).await?)
    }

    /// Sends a grant's form as it is.
    pub(crate) async fn ask(&self, form: &[(&str, String)]) -> Result<Response, ErrorKind> {
        let (client_id, secret) = self.client()?;
        self.post(client_id, &secret, form).await
    }

    fn client(&self) -> Result<(&str, SecretString), ErrorKind> {
        match &self.credential {
            Credential::Client { client_id, secret: source, .. } => Ok((client_id, secret(source)?)),
            Credential::ApiKey(_) | Credential::ApiKeyBasic(_) => {
                let problem = "access tokens are for OAuth clients (client_id and its secret), not for API keys";
                Err(ErrorKind::Options(problem.to_owned()))
            }
        }
    }

    async fn post(
        &self,
        client_id: &str,
        secret: &SecretString,
        form: &[(&str, String)],
    ) -> Result<Response, ErrorKind> {
        let url = self.token_url.clone().ok_or_else(|| ErrorKind::Options("auth_url is not set".to_owned()))?;
        let request = self.http.post(url).basic_auth(client_id, Some(secret.expose_secret())).form(form);
        request.send().await.map_err(|error| transport::failure(error, self.timeout))
    }

    /// How long one request may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    async fn granted(&self, client_id: &str, secret: &SecretString, grant: &Grant) -> Result<Token, TokenRefusal> {
        let response = self.post(client_id, secret, &grant.form()).await.map_err(|kind| unreached(&kind))?;
        let head = Head::of(&response);
        if !head.is_success() {
            return Err(refusal(head.status, &transport::error_body(response).await));
        }
        let body =
            transport::body(response, self.timeout).await.map_err(|kind| TokenRefusal::passing(&kind.to_string()))?;
        Token::read(&body).map_err(TokenRefusal::passing)
    }
}

fn unreached(kind: &ErrorKind) -> TokenRefusal {
    TokenRefusal::passing(&format!("auth_url can't be reached: {}", chain(kind)))
}

/// Why there is no token, and whether asking again with the same secret makes sense.
struct TokenRefusal {
    problem: String,
    refused: bool,
}

impl TokenRefusal {
    fn passing(problem: &str) -> Self {
        Self { problem: problem.to_owned(), refused: false }
    }

    fn lasting(problem: &str) -> Self {
        Self { problem: problem.to_owned(), refused: true }
    }
}

impl From<TokenRefusal> for ErrorKind {
    fn from(TokenRefusal { problem, refused }: TokenRefusal) -> Self {
        Self::Token { problem, again: (!refused).then_some(FAILURE_WAIT) }
    }
}

/// The service's own code (RFC 6749) is shown where it is one; its other words may hold what was sent.
fn refusal(status: u16, body: &[u8]) -> TokenRefusal {
    let answer = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let code = answer.get("error").and_then(Value::as_str).unwrap_or_default();
    let known = !code.is_empty() && code.len() <= 40 && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let code = if known { format!(" {code}") } else { String::new() };
    match status {
        300..=399 => TokenRefusal::lasting(&format!("auth_url answers with a redirect ({status}); check auth_url")),
        404 | 405 | 410 => {
            TokenRefusal::lasting(&format!("auth_url answers {status}: no tokens are given there; check auth_url"))
        }
        408 | 429 | 500.. => TokenRefusal::passing(&format!("auth_url answers {status}{code}")),
        _ => TokenRefusal::lasting(&format!(
            "the service refuses the client ({status}{code}); check client_id, its secret and its scopes"
        )),
    }
}

impl Authorization {
    /// Signs a request.
    pub(crate) fn sign(&self, request: RequestBuilder) -> RequestBuilder {
        match self {
            Self::Bearer { token, .. } => request.bearer_auth(token.expose_secret()),
            Self::KeyBasic(key) => request.basic_auth(key.expose_secret(), Some("")),
            Self::Key(key) => match HeaderValue::from_str(&format!("APIKEY {}", key.expose_secret())) {
                Ok(mut value) => {
                    value.set_sensitive(true);
                    request.header(AUTHORIZATION, value)
                }
                // Checked when the secret was read: it has no control characters.
                Err(_) => request,
            },
        }
    }

    /// The number of the token, where it is one.
    pub(crate) fn serial(&self) -> Option<u64> {
        match self {
            Self::Bearer { serial, .. } => Some(*serial),
            Self::Key(_) | Self::KeyBasic(_) => None,
        }
    }

    pub(crate) fn secret(&self) -> &str {
        match self {
            Self::Bearer { token: secret, .. } | Self::Key(secret) | Self::KeyBasic(secret) => secret.expose_secret(),
        }
    }
}

/// Reads a secret.
fn secret(source: &SecretSource) -> Result<SecretString, ErrorKind> {
    source.read().map_err(|unusable| ErrorKind::Secret { path: unusable.path, problem: unusable.problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_11_a_refusal_shows_the_code_and_nothing_that_was_sent() {
        let check = |status: u16, body: &str, refused: bool, part: &str| {
            let refusal = refusal(status, body.as_bytes());
            assert_eq!(refusal.refused, refused, "{status}");
            assert!(refusal.problem.contains(part) && !refusal.problem.contains("s3cret"), "{}", refusal.problem);
        };
        check(401, r#"{"error":"invalid_client","error_description":"s3cret is wrong"}"#, true, "invalid_client");
        check(400, r#"{"error":"s3cret is wrong"}"#, true, "400");
        check(403, "<html>s3cret</html>", true, "403");
        check(302, "", true, "redirect");
        check(503, "", false, "503");
        check(429, "", false, "429");
    }
}
