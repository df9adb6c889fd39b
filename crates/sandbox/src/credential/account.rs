//! The tables of keys and clients, as they are kept.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use serde::{Deserialize, Serialize};

use super::Restriction;
use crate::options::Options;

/// The name of the entries that the command line gives.
const GIVEN: &str = "command line";

/// The keys and clients of the account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Account {
    pub(crate) keys: Vec<ApiKey>,
    pub(crate) clients: Vec<Client>,
}

/// An API key.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ApiKey {
    pub(crate) name: String,
    pub(crate) key: String,
    /// The names of its restrictions.
    pub(crate) restrictions: Vec<String>,
    /// What it may do besides; without restrictions and scopes it may do everything.
    pub(crate) scopes: Vec<String>,
}

/// An OAuth client.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) secret: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) state: ClientState,
    /// How often its secret has changed since the start; tokens are good for one secret.
    #[serde(skip)]
    pub(super) rotations: u64,
}

/// Whether a client may ask for tokens and use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ClientState {
    Active,
    Disabled,
}

impl Account {
    /// The one key and the one client of the options.
    pub(super) fn given(options: &Options) -> Self {
        let key = ApiKey {
            name: GIVEN.to_owned(),
            key: options.api_key.clone(),
            restrictions: options.api_key_restrictions.iter().map(Restriction::to_string).collect(),
            scopes: options.api_key_scopes.clone(),
        };
        let client = Client::new(options.client_id.clone(), GIVEN.to_owned(), options.scopes.clone());
        Self { keys: vec![key], clients: vec![Client { secret: options.client_secret.clone(), ..client }] }
    }

    /// Whether the key and the client of the options are still taken.
    pub(crate) fn takes(&self, options: &Options) -> bool {
        let given = Self::given(options);
        let mut clients = given.clients.iter();
        given.keys.iter().all(|key| self.keys.contains(key))
            && clients.all(|client| self.clients.iter().any(|own| own.is_same(client)))
    }
}

impl ApiKey {
    /// What it may do; `None` for everything.
    pub(super) fn scopes(&self) -> Option<Vec<String>> {
        if self.restrictions.is_empty() && self.scopes.is_empty() {
            return None;
        }
        let mut scopes = self.scopes.clone();
        for restriction in &self.restrictions {
            // A restriction that this version doesn't know gives nothing.
            if let Ok(restriction) = restriction.parse::<Restriction>() {
                scopes.extend(restriction.scopes()?);
            }
        }
        Some(scopes)
    }
}

impl Client {
    /// An active client with a secret of its own.
    pub(crate) fn new(id: String, name: String, scopes: Vec<String>) -> Self {
        Self { id, name, secret: fresh_secret(), scopes, state: ClientState::Active, rotations: 0 }
    }

    /// Whether it is that client with that secret, and in the same state.
    fn is_same(&self, other: &Self) -> bool {
        (&self.id, &self.secret, self.state) == (&other.id, &other.secret, other.state)
    }

    /// Gives it another secret; its tokens are void from then on.
    pub(crate) fn rotate(&mut self, secret: String) {
        self.secret = secret;
        self.rotations += 1;
    }
}

/// 128 unpredictable bits in hexadecimal, from the random keys that the system gives to hash maps.
pub(crate) fn fresh_secret() -> String {
    let bits = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", bits(), bits())
}

/// Leaves the key out (law 11).
impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiKey").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Leaves the secret out (law 11).
impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("id", &self.id).field("state", &self.state).finish_non_exhaustive()
    }
}
