//! Who calls: keys as they are, tokens fetched and renewed (specification, Authentication).

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{RequestBuilder, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::Instant;

use super::error::Kind;
use super::json;
use super::options::{Credential, SecretSource};
use super::retry::{ATTEMPTS_MAX, Backoff};
use super::transport::{self, Head};

/// A token is renewed so long before it ends.
const EARLY: Duration = Duration::from_secs(60);
/// How long a token lasts that does not say so; a refusal renews it anyway.
const LIFE_DEFAULT: u64 = 300;
/// The longest life believed, in seconds.
const LIFE_MAX: u64 = 24 * 60 * 60;
/// After a failure no token is asked for so long; doubles up to the most.
const FAILURE_WAIT: Duration = Duration::from_secs(60);
const FAILURE_WAIT_MAX: Duration = Duration::from_secs(15 * 60);
/// A larger file is no secret.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// The credential of one account, and the token it has at present.
pub(super) struct Authority {
    credential: Credential,
    key: Option<SecretString>,
    token_url: Option<Url>,
    http: reqwest::Client,
    timeout: Duration,
    backoff: Backoff,
    /// Held while a token is fetched, so that only one is.
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    token: Option<Token>,
    /// How many tokens there were; names the present one.
    serial: u64,
    failure: Option<Failure>,
}

struct Token {
    text: SecretString,
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
pub(super) enum Authorization {
    Key(SecretString),
    KeyBasic(SecretString),
    Bearer { token: SecretString, serial: u64 },
}

impl Authority {
    pub(super) fn new(
        credential: &Credential,
        http: reqwest::Client,
        timeout: Duration,
        token_url: Option<Url>,
        backoff: Backoff,
    ) -> Result<Self, Kind> {
        let key = match credential {
            Credential::ApiKey(source) | Credential::ApiKeyBasic(source) => Some(secret(source)?),
            Credential::Client { .. } => None,
        };
        let state = tokio::sync::Mutex::default();
        Ok(Self { credential: credential.clone(), key, token_url, http, timeout, backoff, state })
    }

    /// What to sign the next request with; fetches a token where there is none that lasts.
    pub(super) async fn authorization(&self) -> Result<Authorization, Kind> {
        let key = || self.key.clone().unwrap_or_default();
        match &self.credential {
            Credential::ApiKey(_) => Ok(Authorization::Key(key())),
            Credential::ApiKeyBasic(_) => Ok(Authorization::KeyBasic(key())),
            Credential::Client { client_id, secret, scopes, .. } => {
                let mut state = self.state.lock().await;
                if let Some(token) = state.token.as_ref().filter(|token| Instant::now() < token.renew_at) {
                    return Ok(Authorization::Bearer { token: token.text.clone(), serial: state.serial });
                }
                self.renew(&mut state, client_id, secret, scopes).await
            }
        }
    }

    /// The token of that number was refused: the next request gets another, unless it has one already.
    pub(super) async fn refused(&self, serial: u64) {
        let mut state = self.state.lock().await;
        if state.serial == serial {
            state.token = None;
        }
    }

    async fn renew(
        &self,
        state: &mut State,
        client_id: &str,
        source: &SecretSource,
        scopes: &[String],
    ) -> Result<Authorization, Kind> {
        let secret = secret(source)?;
        let now = Instant::now();
        if let Some(failure) = &state.failure
            && now < failure.until
            && failure.secret.expose_secret() == secret.expose_secret()
        {
            let again = (!failure.refused).then(|| failure.until - now);
            return Err(Kind::Token { problem: failure.problem.clone(), again });
        }
        match self.fetch(client_id, &secret, scopes).await {
            Ok((text, life)) => {
                state.failure = None;
                state.serial += 1;
                let renew_at = Instant::now() + life.saturating_sub(EARLY).max(life / 2);
                state.token = Some(Token { text: text.clone(), renew_at });
                Ok(Authorization::Bearer { token: text, serial: state.serial })
            }
            Err(Refusal { problem, refused }) => {
                let wait = match &state.failure {
                    Some(failure) => (failure.wait * 2).min(FAILURE_WAIT_MAX),
                    None => FAILURE_WAIT,
                };
                let until = Instant::now() + wait;
                state.token = None;
                state.failure = Some(Failure { until, wait, problem: problem.clone(), refused, secret });
                Err(Kind::Token { problem, again: (!refused).then_some(wait) })
            }
        }
    }

    /// Asks for a token; what may pass by itself is tried again at once, a refusal is not.
    async fn fetch(
        &self,
        client_id: &str,
        secret: &SecretString,
        scopes: &[String],
    ) -> Result<(SecretString, Duration), Refusal> {
        let mut attempt = 1;
        loop {
            match self.ask(client_id, secret, scopes).await {
                Err(refusal) if !refusal.refused && attempt < ATTEMPTS_MAX => {
                    attempt += 1;
                    tokio::time::sleep(self.backoff.before(attempt)).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn ask(
        &self,
        client_id: &str,
        secret: &SecretString,
        scopes: &[String],
    ) -> Result<(SecretString, Duration), Refusal> {
        let url = self.token_url.clone().ok_or_else(|| Refusal::lasting("auth_url is not set"))?;
        let scope = scopes.join(" ");
        let mut form = vec![("grant_type", "client_credentials")];
        if !scope.is_empty() {
            form.push(("scope", scope.as_str()));
        }
        let request = self.http.post(url).basic_auth(client_id, Some(secret.expose_secret())).form(&form);
        let response = request.send().await.map_err(|error| self.passing(error))?;
        let head = Head::of(&response);
        if !head.is_success() {
            return Err(refusal(head.status, &transport::error_body(response).await));
        }
        let body = transport::body(response, self.timeout).await.map_err(|kind| Refusal::passing(&kind.to_string()))?;
        let answer =
            json::parse(&body).map_err(|_| Refusal::passing("auth_url answers with something that is not JSON"))?;
        let token = answer.get("access_token").and_then(Value::as_str).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| Refusal::passing("auth_url answers without an access_token"))?;
        Ok((SecretString::from(token), life(answer.get("expires_in"))))
    }

    fn passing(&self, error: reqwest::Error) -> Refusal {
        let kind = transport::failure(error, self.timeout);
        let problem = match std::error::Error::source(&kind) {
            Some(source) => format!("auth_url can't be reached: {kind}: {source}"),
            None => format!("auth_url can't be reached: {kind}"),
        };
        Refusal::passing(&problem)
    }
}

/// Why there is no token, and whether asking again with the same secret makes sense.
struct Refusal {
    problem: String,
    refused: bool,
}

impl Refusal {
    fn passing(problem: &str) -> Self {
        Self { problem: problem.to_owned(), refused: false }
    }

    fn lasting(problem: &str) -> Self {
        Self { problem: problem.to_owned(), refused: true }
    }
}

/// The service's own code (RFC 6749) is shown where it is one; its other words may hold what was sent.
fn refusal(status: u16, body: &[u8]) -> Refusal {
    let answer = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let code = answer.get("error").and_then(Value::as_str).unwrap_or_default();
    let known = !code.is_empty() && code.len() <= 40 && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let code = if known { format!(" {code}") } else { String::new() };
    match status {
        300..=399 => Refusal::lasting(&format!("auth_url answers with a redirect ({status}); check auth_url")),
        408 | 429 | 500.. => Refusal::passing(&format!("auth_url answers {status}{code}")),
        _ => Refusal::lasting(&format!(
            "the service refuses the client ({status}{code}); check client_id, its secret and its scopes"
        )),
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

impl Authorization {
    /// Signs a request.
    pub(super) fn sign(&self, request: RequestBuilder) -> RequestBuilder {
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
    pub(super) fn serial(&self) -> Option<u64> {
        match self {
            Self::Bearer { serial, .. } => Some(*serial),
            Self::Key(_) | Self::KeyBasic(_) => None,
        }
    }

    pub(super) fn secret(&self) -> &str {
        match self {
            Self::Bearer { token: secret, .. } | Self::Key(secret) | Self::KeyBasic(secret) => secret.expose_secret(),
        }
    }
}

/// Reads a secret: the text, or the first line of the file without trailing white space.
fn secret(source: &SecretSource) -> Result<SecretString, Kind> {
    match source {
        SecretSource::Text(text) => usable(text.expose_secret(), Path::new("the configuration")),
        SecretSource::File(path) => {
            let unreadable =
                |error: std::io::Error| Kind::Secret { path: path.clone(), problem: format!("can't be read: {error}") };
            let mut text = String::new();
            File::open(path)
                .and_then(|file| file.take(SECRET_BYTES_MAX).read_to_string(&mut text))
                .map_err(unreadable)?;
            usable(text.lines().next().unwrap_or_default().trim_end(), path)
        }
    }
}

fn usable(text: &str, place: &Path) -> Result<SecretString, Kind> {
    let problem = if text.is_empty() {
        "is empty"
    } else if text.chars().any(char::is_control) {
        "holds a control character"
    } else {
        return Ok(SecretString::from(text));
    };
    Err(Kind::Secret { path: place.to_owned(), problem: problem.to_owned() })
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

    #[test]
    fn fault_107_a_secret_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let check = |content: &[u8], expected: Option<&str>| {
            std::fs::write(&path, content).unwrap();
            let read = secret(&SecretSource::File(path.clone())).ok();
            assert_eq!(read.as_ref().map(|secret| secret.expose_secret()), expected);
        };
        check(b"abc\n", Some("abc"));
        check(b"abc \r\nmore", Some("abc"));
        check(b"", None);
        check(b"\nabc", None);
        check(b"a\tb", None);
        check(b"\xff\xfe", None);
        assert!(secret(&SecretSource::File(folder.path().join("missing"))).is_err());
    }
}
