//! Who calls: the API key, the OAuth client, and what each may do (specification, Authentication).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use tokio::time::Instant;

use super::answer::Refusal;
use super::decode;
use super::options::Options;

/// How many bearer tokens are good at a time; the oldest goes first.
const TOKENS_MAX: usize = 10_000;

/// The one key and the one client of the account, and the tokens given out.
pub(super) struct Credentials {
    key: String,
    key_scopes: Arc<[String]>,
    client_id: String,
    pub(super) client_scopes: Vec<String>,
    pub(super) lifetime: Duration,
    /// Makes tokens of one start of the sandbox differ from those of another.
    salt: i128,
    changing: Mutex<Changing>,
}

struct Changing {
    secret: String,
    issued: u64,
    bearers: BTreeMap<u64, Bearer>,
    refreshes: BTreeMap<u64, (String, Arc<[String]>)>,
}

struct Bearer {
    token: String,
    scopes: Arc<[String]>,
    /// None: for ever.
    until: Option<Instant>,
}

/// A caller that has shown a good credential.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    /// What the rate limit counts by.
    pub(super) credential: &'static str,
    scopes: Arc<[String]>,
    unrestricted: bool,
}

/// A bearer token and the token that renews it.
pub(super) struct Grant {
    pub(super) access: String,
    pub(super) refresh: String,
    pub(super) scopes: Arc<[String]>,
}

impl Credentials {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            key: options.api_key.clone(),
            key_scopes: options.api_key_scopes.clone().into(),
            client_id: options.client_id.clone(),
            client_scopes: options.scopes.clone(),
            lifetime: options.token_lifetime,
            salt: options.clock.now().as_nanosecond(),
            changing: Mutex::new(Changing {
                secret: options.client_secret.clone(),
                issued: 0,
                bearers: BTreeMap::new(),
                refreshes: BTreeMap::new(),
            }),
        }
    }

    /// Says who calls, or why that isn't good enough (401).
    pub(super) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        let refused = |message: &str| Refusal::new(StatusCode::UNAUTHORIZED, message);
        let header = headers.get(AUTHORIZATION).ok_or_else(|| refused("there is no credential"))?;
        let text = header.to_str().map_err(|_| refused("the credential can't be read"))?;
        let (scheme, rest) = text.split_once(' ').ok_or_else(|| refused("the credential can't be read"))?;
        if scheme.eq_ignore_ascii_case("bearer") {
            let scopes = self.bearer(rest).ok_or_else(|| refused("the token is unknown or has expired"))?;
            return Ok(Caller { credential: "client", scopes, unrestricted: false });
        }
        let good = match scheme {
            "APIKEY" => rest == self.key,
            _ if scheme.eq_ignore_ascii_case("basic") => {
                decode::basic(rest).is_some_and(|(user, password)| user == self.key && password.is_empty())
            }
            _ => return Err(refused("the credential is of an unknown kind")),
        };
        if !good {
            return Err(refused("the API key is wrong"));
        }
        let unrestricted = self.key_scopes.is_empty();
        Ok(Caller { credential: "key", scopes: Arc::clone(&self.key_scopes), unrestricted })
    }

    /// Whether HTTP Basic names this client and its secret, as they are or form-encoded (RFC 6749, 2.3.1).
    pub(super) fn is_client(&self, headers: &HeaderMap) -> bool {
        let Some((scheme, rest)) =
            headers.get(AUTHORIZATION).and_then(|header| header.to_str().ok()).and_then(|text| text.split_once(' '))
        else {
            return false;
        };
        let Some((id, secret)) = decode::basic(rest).filter(|_| scheme.eq_ignore_ascii_case("basic")) else {
            return false;
        };
        let same =
            |given: &str, own: &str| given == own || decode::decoded(&given.replace('+', " ")).as_deref() == Some(own);
        same(&id, &self.client_id) && same(&secret, &self.changing().secret)
    }

    /// Gives out a bearer token of these scopes, with a refresh token of its own.
    pub(super) fn grant(&self, scopes: Vec<String>) -> Grant {
        let scopes: Arc<[String]> = scopes.into();
        let mut changing = self.changing();
        changing.issued += 1;
        let number = changing.issued;
        let refresh = format!("refresh.{:x}.{number}", self.salt);
        changing.refreshes.insert(number, (refresh.clone(), Arc::clone(&scopes)));
        if changing.refreshes.len() > TOKENS_MAX {
            changing.refreshes.pop_first();
        }
        drop(changing);
        Grant { access: self.issue(&scopes), refresh, scopes }
    }

    /// The scopes of a refresh token.
    pub(super) fn refreshable(&self, token: &str) -> Option<Arc<[String]>> {
        let changing = self.changing();
        changing.refreshes.values().find(|(refresh, _)| refresh == token).map(|(_, scopes)| Arc::clone(scopes))
    }

    /// Gives out a bearer token.
    pub(super) fn issue(&self, scopes: &Arc<[String]>) -> String {
        let mut changing = self.changing();
        changing.issued += 1;
        let number = changing.issued;
        let token = format!("access.{:x}.{number}", self.salt);
        let until = Instant::now().checked_add(self.lifetime);
        changing.bearers.insert(number, Bearer { token: token.clone(), scopes: Arc::clone(scopes), until });
        if changing.bearers.len() > TOKENS_MAX {
            changing.bearers.pop_first();
        }
        token
    }

    /// Changes the client's secret; all tokens are void from then on.
    pub(super) fn rotate(&self, secret: &str) {
        let mut changing = self.changing();
        secret.clone_into(&mut changing.secret);
        changing.bearers.clear();
        changing.refreshes.clear();
    }

    fn bearer(&self, token: &str) -> Option<Arc<[String]>> {
        let number: u64 = token.rsplit('.').next()?.parse().ok()?;
        let changing = self.changing();
        let bearer = changing.bearers.get(&number)?;
        let is_good = bearer.token == token && bearer.until.is_none_or(|until| Instant::now() < until);
        is_good.then(|| Arc::clone(&bearer.scopes))
    }

    fn changing(&self) -> std::sync::MutexGuard<'_, Changing> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller {
    /// Whether the caller may carry out what needs `scope`.
    pub(super) fn may(&self, scope: &str) -> bool {
        self.unrestricted || self.scopes.iter().any(|own| own == scope)
    }
}
