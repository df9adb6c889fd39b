//! Credentials: API keys, OAuth clients, and their permissions (specification, Authentication).
//!
//! The account has a table of keys and one of clients. What the command line gives is the first entry of each; the
//! control interface adds, changes and removes entries while the sandbox runs, and a data folder keeps them.
//!
//! Invariants:
//! - A change is in the file, where there is one, before anyone can use or see it.
//! - A token is good only while its client is active and has the secret under which the token was given out; so no code
//!   has to find and remove tokens.
//! - A secret is shown once, in the answer to what made it.

mod account;
mod file;
mod restriction;
mod tokens;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};

pub(super) use account::{Account, ApiKey, Client, ClientState, fresh_secret};
pub use restriction::Restriction;

use super::answer::Rejection;
use super::decode;
use super::error::Error;
use super::options::Options;
use file::File;
use tokens::{Owner, Tokens};

/// The keys and clients of the account, and the tokens given out.
pub(super) struct Credentials {
    pub(super) lifetime: Duration,
    changing: Mutex<Changing>,
}

struct Changing {
    account: Account,
    file: Option<File>,
    tokens: Tokens,
}

/// A caller that has shown a good credential.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    /// What the rate limit counts by.
    pub(super) credential: String,
    /// None: everything.
    scopes: Option<Arc<[String]>>,
}

/// A client that has shown its secret.
pub(super) struct Authenticated {
    owner: Owner,
    pub(super) scopes: Arc<[String]>,
}

/// A bearer token and the token that renews it.
pub(super) struct Grant {
    pub(super) access: String,
    pub(super) refresh: String,
    pub(super) scopes: Arc<[String]>,
}

impl Credentials {
    /// Opens the tables: those of the data folder, which must be locked, or just the entries of the options.
    pub(super) fn open(options: &Options) -> Result<Self, Error> {
        let given = Account::given(options);
        let (account, file) = match &options.data {
            Some(folder) => File::open(folder, given).map(|(account, file)| (account, Some(file)))?,
            None => (given, None),
        };
        let tokens = Tokens::new(options.clock.now().as_nanosecond());
        Ok(Self { lifetime: options.token_lifetime, changing: Mutex::new(Changing { account, file, tokens }) })
    }

    /// Says who calls, or why that isn't good enough (401).
    pub(super) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Rejection> {
        let refused = |message: &str| Rejection::new(StatusCode::UNAUTHORIZED, message);
        let header = headers.get(AUTHORIZATION).ok_or_else(|| refused("there is no credential"))?;
        let text = header.to_str().map_err(|_| refused("the credential can't be read"))?;
        let (scheme, rest) = text.split_once(' ').ok_or_else(|| refused("the credential can't be read"))?;
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.bearer(rest).ok_or_else(|| refused("the token is unknown or has expired"));
        }
        let key = match scheme {
            "APIKEY" => Some(rest.to_owned()),
            _ if scheme.eq_ignore_ascii_case("basic") => {
                decode::basic(rest).and_then(|(user, password)| password.is_empty().then_some(user))
            }
            _ => return Err(refused("the credential is of an unknown kind")),
        };
        let changing = self.changing();
        let entry = key.and_then(|key| changing.account.keys.iter().find(|entry| entry.key == key));
        let entry = entry.ok_or_else(|| refused("the API key is wrong"))?;
        Ok(Caller { credential: format!("key {}", entry.name), scopes: entry.scopes().map(Into::into) })
    }

    /// The active client that HTTP Basic names with its secret, as they are or form-encoded (RFC 6749, 2.3.1).
    pub(super) fn client(&self, headers: &HeaderMap) -> Option<Authenticated> {
        let (scheme, rest) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        let (id, secret) = decode::basic(rest).filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
        let same =
            |given: &str, own: &str| given == own || decode::decoded(&given.replace('+', " ")).as_deref() == Some(own);
        let changing = self.changing();
        let client = changing.account.clients.iter().find(|client| same(&id, &client.id))?;
        let is_good = client.state == ClientState::Active && same(&secret, &client.secret);
        is_good.then(|| Authenticated { owner: Owner::of(client), scopes: client.scopes.clone().into() })
    }

    /// Gives out a bearer token of these scopes, with a refresh token of its own.
    pub(super) fn grant(&self, client: &Authenticated, scopes: Arc<[String]>) -> Grant {
        let mut changing = self.changing();
        let refresh = changing.tokens.refresh(&client.owner, &scopes);
        let access = changing.tokens.access(&client.owner, &scopes, self.lifetime);
        Grant { access, refresh, scopes }
    }

    /// The scopes of a refresh token, if it was given to this client under its present secret.
    pub(super) fn refreshable(&self, client: &Authenticated, token: &str) -> Option<Arc<[String]>> {
        self.changing().tokens.refreshable(&client.owner, token)
    }

    /// Gives out a bearer token.
    pub(super) fn issue(&self, client: &Authenticated, scopes: &Arc<[String]>) -> String {
        self.changing().tokens.access(&client.owner, scopes, self.lifetime)
    }

    /// Looks at the tables.
    pub(super) fn see<T>(&self, look: impl FnOnce(&Account) -> T) -> T {
        look(&self.changing().account)
    }

    /// Changes the tables; nothing is changed where that is refused or can't be kept.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Account) -> Result<T, Rejection>) -> Result<T, Rejection> {
        let mut changing = self.changing();
        let mut account = changing.account.clone();
        let changed = change(&mut account)?;
        if let Some(file) = &changing.file {
            let message = "the credentials could not be written";
            file.write(&account).map_err(|_| Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, message))?;
        }
        changing.account = account;
        Ok(changed)
    }

    /// Lets go of the file; later changes are not kept.
    pub(super) fn close(&self) {
        self.changing().file = None;
    }

    fn bearer(&self, token: &str) -> Option<Caller> {
        let changing = self.changing();
        let (owner, scopes) = changing.tokens.bearer(token)?;
        let is_good = changing.account.clients.iter().any(|client| owner.is_still(client));
        is_good.then(|| Caller { credential: format!("client {}", owner.id), scopes: Some(scopes) })
    }

    fn changing(&self) -> MutexGuard<'_, Changing> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller {
    /// Whether the caller may carry out what needs `scope`.
    pub(super) fn may(&self, scope: &str) -> bool {
        self.scopes.as_ref().is_none_or(|scopes| scopes.iter().any(|own| own == scope))
    }
}
