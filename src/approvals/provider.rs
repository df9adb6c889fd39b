//! A provider of OpenID Connect: its description, its keys, and the exchange of a code for an ID token.
//!
//! Each answer has a limit and a time, and no redirect is followed. The description is read again after an hour; the keys are
//! too, or when a token names one that is not among them.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use reqwest::{Client, Url, redirect};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use super::access::{Person, Proof};
use super::attempt::Attempt;
use super::jwt::{self, Expected, Keys, Refusal, is_plain};
use super::random;
use super::session::SESSION_MAX;
use crate::config::Provider as Options;
use crate::fault::chain;
use crate::http::{THIS_MACHINE, is_this_machine};
use crate::tls;

/// The longest that one answer may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);
/// The longest answer that is taken, in bytes.
const ANSWER_MAX: usize = 256 * 1024;
/// How long a description or keys serve.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// How often keys are asked for because of a token, at most.
const KEYS_EVERY: Duration = Duration::from_secs(10);
/// How old a login may be that has to be a new one.
pub(super) const FRESH_LOGIN: SignedDuration = SignedDuration::from_mins(15);
/// How many groups of a person are looked at.
const GROUPS_MAX: usize = 10_000;

/// Why someone could not log in.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoginError {
    /// It could not be reached.
    #[error("the provider can't be reached: {0}")]
    Unreachable(String),
    /// Its answer is not what it should be.
    #[error("the provider's {what} {problem}")]
    Answer {
        /// Which answer.
        what: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// It did not take the code.
    #[error("the provider did not take the code of this login (it answered {0})")]
    Code(u16),
    /// Its token is not taken.
    #[error(transparent)]
    Token(#[from] Refusal),
    /// The token names no one.
    #[error("the ID token has no claim {0:?} that names the user, or the provider has not verified it")]
    Nameless(String),
    /// The client's secret can't be read.
    #[error("the client's secret can't be used")]
    Secret,
}

/// The description of a provider.
#[derive(Clone, Debug, Deserialize)]
struct Description {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// Where a provider answers.
#[derive(Clone, Debug)]
pub(super) struct Endpoints {
    pub(super) authorization: Url,
    pub(super) token: Url,
    pub(super) keys: Url,
}

/// Someone who logged in, and when.
pub(super) struct LoggedIn {
    pub(super) person: Person,
    pub(super) at: Option<Timestamp>,
}

/// What was read of a provider, and when.
type Read<T> = Mutex<Option<(Instant, T)>>;

/// A provider.
pub(super) struct Provider {
    options: Options,
    /// Where people are sent back to.
    callback: String,
    http: Client,
    endpoints: Read<Endpoints>,
    keys: Read<Keys>,
}

#[derive(Deserialize)]
struct Issued {
    id_token: String,
}

impl Provider {
    /// Asks nothing yet.
    ///
    /// # Errors
    ///
    /// The certificates or the proxy can't be used.
    pub(super) fn new(options: &Options, callback: String) -> Result<Self, String> {
        let ca_file = options.ca_file.as_deref();
        let is_plain = options.issuer.starts_with("http:") && ca_file.is_none();
        let tls = if is_plain { tls::without_roots(ca_file) } else { tls::verified(ca_file) }?;
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!("rosterd/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .timeout(ANSWER_TIME_MAX)
            .connect_timeout(ANSWER_TIME_MAX / 2)
            .no_proxy();
        if let Some(proxy) = &options.proxy {
            let here = reqwest::NoProxy::from_string(THIS_MACHINE);
            let proxy = reqwest::Proxy::all(proxy).map_err(|_| "the proxy is no usable address".to_owned())?;
            builder = builder.proxy(proxy.no_proxy(here));
        }
        let http = builder.build().map_err(|error| chain(&error.without_url()))?;
        Ok(Self { options: options.clone(), callback, http, endpoints: Mutex::default(), keys: Mutex::default() })
    }

    /// Where the browser goes to log in.
    pub(super) async fn login_address(&self, attempt: &Attempt) -> Result<Url, LoginError> {
        let mut url = self.endpoints().await?.authorization;
        let scopes = std::iter::once("openid").chain(self.options.scopes.iter().map(String::as_str));
        let scopes: Vec<&str> =
            scopes.enumerate().filter(|(at, scope)| *at == 0 || *scope != "openid").map(|(_, scope)| scope).collect();
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.options.client_id)
            .append_pair("redirect_uri", &self.callback)
            .append_pair("scope", &scopes.join(" "))
            .append_pair("state", &attempt.state)
            .append_pair("nonce", &attempt.nonce)
            .append_pair("code_challenge", &random::challenge(&attempt.verifier))
            .append_pair("code_challenge_method", "S256");
        // Asked for an age, a provider has to say when the login was (OpenID Connect Core 1.0, 2).
        let age_max = if attempt.is_fresh { FRESH_LOGIN.unsigned_abs() } else { SESSION_MAX };
        query.append_pair("max_age", &age_max.as_secs().to_string());
        drop(query);
        Ok(url)
    }

    /// The issuer's name.
    pub(super) fn issuer(&self) -> &str {
        &self.options.issuer
    }

    /// Who logged in, from the code that their browser brought.
    pub(super) async fn logged_in(
        &self,
        code: &str,
        attempt: &Attempt,
        now: Timestamp,
    ) -> Result<LoggedIn, LoginError> {
        let token = self.redeem(code, attempt).await?;
        let claims = match jwt::verified(&token, &self.keys(FRESH).await?) {
            // A provider may have changed its keys since.
            Err(Refusal::UnknownKey) => jwt::verified(&token, &self.keys(KEYS_EVERY).await?)?,
            claims => claims?,
        };
        let Options { issuer, client_id, user_claim, groups_claim, .. } = &self.options;
        let age_max = attempt.is_fresh.then_some(FRESH_LOGIN);
        let any_age_max = SignedDuration::try_from(SESSION_MAX).expect("it is some hours");
        let expected = Expected { issuer, client_id, nonce: &attempt.nonce, age_max, any_age_max, now };
        let (subject, at) = claims.check(&expected)?;
        let is_verified = user_claim != Options::USER_CLAIM || claims.0.get("email_verified") == Some(&true.into());
        let named = claims.text(user_claim).filter(|name| is_verified && is_plain(name));
        // Who is known by their groups needs no name.
        let name = named.map(str::to_owned);
        let groups = match claims.0.get(groups_claim) {
            Some(serde_json::Value::String(one)) => std::iter::once(one.clone()).collect(),
            Some(serde_json::Value::Array(list)) => {
                list.iter().take(GROUPS_MAX).filter_map(|group| group.as_str().map(str::to_owned)).collect()
            }
            _ => std::collections::BTreeSet::new(),
        };
        if name.is_none() && groups.is_empty() {
            return Err(LoginError::Nameless(user_claim.clone()));
        }
        Ok(LoggedIn { person: Person { name, groups, proof: Proof::Provider { subject } }, at })
    }

    /// Exchanges a code for an ID token.
    async fn redeem(&self, code: &str, attempt: &Attempt) -> Result<String, LoginError> {
        let endpoint = self.endpoints().await?.token;
        let secret = self.options.secret.read().map_err(|_| LoginError::Secret)?;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.callback),
            ("code_verifier", &attempt.verifier),
        ];
        // RFC 6749, 2.3.1: both are encoded as in a form before they are joined.
        let (user, password) = (encoded(&self.options.client_id), encoded(secret.expose_secret()));
        let request = self.http.post(endpoint).basic_auth(user, Some(password)).form(&form);
        let (status, body) = self.answer("answer to a code", request).await?;
        match status {
            200 => parsed::<Issued>("answer to a code", &body).map(|issued| issued.id_token),
            status => Err(LoginError::Code(status)),
        }
    }

    /// Where it answers, as it says itself.
    pub(super) async fn endpoints(&self) -> Result<Endpoints, LoginError> {
        let mut known = self.endpoints.lock().await;
        if let Some((_, endpoints)) = known.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(endpoints.clone());
        }
        let endpoints = self.described().await?;
        *known = Some((Instant::now(), endpoints.clone()));
        Ok(endpoints)
    }

    async fn described(&self) -> Result<Endpoints, LoginError> {
        const WHAT: &str = "description";
        let address = format!("{}/.well-known/openid-configuration", self.options.issuer.trim_end_matches('/'));
        let description: Description = self.document(WHAT, &address).await?;
        let wrong = |problem: String| LoginError::Answer { what: WHAT, problem };
        if description.issuer != self.options.issuer {
            return Err(wrong(format!(
                "says that the issuer is {:?}: write just that as issuer",
                shown(&description.issuer)
            )));
        }
        let methods = description.token_endpoint_auth_methods_supported;
        if methods.is_some_and(|methods| !methods.iter().any(|method| method == "client_secret_basic")) {
            return Err(wrong("does not offer client_secret_basic".to_owned()));
        }
        let endpoint = |name: &str, text: &str| {
            let url = Url::parse(text).ok().filter(|url| {
                let is_here = url.host_str().is_some_and(is_this_machine);
                url.scheme() == "https" || (url.scheme() == "http" && is_here)
            });
            url.ok_or_else(|| wrong(format!("has no https address as {name}")))
        };
        Ok(Endpoints {
            authorization: endpoint("authorization_endpoint", &description.authorization_endpoint)?,
            token: endpoint("token_endpoint", &description.token_endpoint)?,
            keys: endpoint("jwks_uri", &description.jwks_uri)?,
        })
    }

    /// Its keys, read within that time.
    pub(super) async fn keys(&self, age_max: Duration) -> Result<Keys, LoginError> {
        let address = self.endpoints().await?.keys;
        let mut known = self.keys.lock().await;
        if let Some((_, keys)) = known.as_ref().filter(|(at, _)| at.elapsed() < age_max) {
            return Ok(keys.clone());
        }
        let keys: Keys = self.document("list of keys", address.as_str()).await?;
        *known = Some((Instant::now(), keys.clone()));
        Ok(keys)
    }

    async fn document<T: DeserializeOwned>(&self, what: &'static str, address: &str) -> Result<T, LoginError> {
        let (status, body) = self.answer(what, self.http.get(address)).await?;
        match status {
            200 => parsed(what, &body),
            status => Err(LoginError::Answer { what, problem: format!("is missing: it answered {status}") }),
        }
    }

    /// An answer, as far as it is not too long.
    async fn answer(&self, what: &'static str, request: reqwest::RequestBuilder) -> Result<(u16, Vec<u8>), LoginError> {
        let unreachable = |error: reqwest::Error| {
            let text = chain(&error.without_url());
            LoginError::Unreachable(format!("{text}{}", tls::hint(&text, "approvals.oidc.ca_file")))
        };
        let mut answer = request.send().await.map_err(unreachable)?;
        let status = answer.status().as_u16();
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > ANSWER_MAX {
                return Err(LoginError::Answer { what, problem: "is too long".to_owned() });
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, body))
    }
}

fn parsed<T: DeserializeOwned>(what: &'static str, body: &[u8]) -> Result<T, LoginError> {
    serde_json::from_slice(body)
        .map_err(|_| LoginError::Answer { what, problem: "is not what the standard says".to_owned() })
}

/// As a form encodes it.
fn encoded(text: &str) -> String {
    let mut url = Url::parse("x:").expect("an address");
    url.query_pairs_mut().append_key_only(text);
    url.query().unwrap_or_default().to_owned()
}

/// The beginning of what a server says, without what a terminal would act on.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_encoded_as_in_a_form() {
        for (plain, expected) in [("abc-1.2_3", "abc-1.2_3"), ("a b+c:d/ü%", "a+b%2Bc%3Ad%2F%C3%BC%25")] {
            assert_eq!(encoded(plain), expected);
        }
    }
}
