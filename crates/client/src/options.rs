//! The options of the client for one account.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use crate::budget::{BudgetPlace, SharedBudget};
use crate::operation::Verb;
pub use crate::secret::SecretSource;

/// What the client needs to know of one account.
#[derive(Clone, Debug)]
pub struct Options {
    /// The API root with its version segment and without a final slash, for example `https://api.example.com/v1`.
    pub base_url: String,
    /// Who calls.
    pub credential: Credential,
    /// Paths that the specification does not show.
    pub paths: Paths,
    /// Requests allowed in any 60 seconds (specification, Limits).
    pub requests_per_minute: u32,
    /// The total time that one request may take.
    pub timeout: Duration,
    /// How many entities a list is asked for at once.
    pub page_size: u32,
    /// Certificates added to the system's roots (PEM).
    pub ca_file: Option<PathBuf>,
    /// The proxy; none is taken from the environment.
    pub proxy: Option<String>,
    /// Where the times of sent requests are remembered.
    pub budget: BudgetPlace,
    /// What every request needs besides; none in a process that is alone.
    pub send_guard: Option<SendGuard>,
    /// Further credentials of the same account, for [`Client::further`](crate::Client::further).
    pub further: Vec<FurtherCredential>,
}

/// A further credential of an account. The service counts its requests by themselves (specification, Limits).
#[derive(Clone, Debug)]
pub struct FurtherCredential {
    /// Who calls.
    pub credential: Credential,
    /// Where the times of its requests are remembered: never where those of another credential are. Where nothing is
    /// remembered, all of its requests count as spent for a minute.
    pub budget: BudgetPlace,
}

impl Options {
    /// What suits most accounts: 100 requests a minute (specification, Limits), a minute for each, pages of 1,000, the
    /// system's certificates, no proxy, and the sent requests remembered in memory only.
    pub fn new(base_url: impl Into<String>, credential: Credential) -> Self {
        Self {
            base_url: base_url.into(),
            credential,
            paths: Paths::default(),
            requests_per_minute: 100,
            timeout: Duration::from_secs(60),
            page_size: 1000,
            ca_file: None,
            proxy: None,
            budget: BudgetPlace::Own,
            send_guard: None,
            further: Vec::new(),
        }
    }
}

/// Asked right before a request leaves, when nothing is waited for any more.
#[derive(Clone)]
pub struct SendGuard {
    /// Whether it may leave, and who sends it; the error is why not. Then nothing is sent.
    pub may_send: MaySend,
    /// The longest that a request that changes something may take, where that is less than [`Options::timeout`].
    pub write_timeout: Duration,
}

/// Says whether a request may leave, one that reads or one that changes something ([`Verb::is_read`](crate::Verb::is_read)), and
/// what its `User-Agent` says in parentheses: which of several processes it is from.
pub type MaySend = Arc<dyn Fn(Verb) -> Result<String, String> + Send + Sync>;

impl fmt::Debug for SendGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendGuard").field("write_timeout", &self.write_timeout).finish_non_exhaustive()
    }
}

/// Paths below the base address that the specification does not show; `None` for the likely ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// The bulk upload of employees, for example `/staff`.
    pub bulk: Option<String>,
    /// The issue of an asset, for example `/asset/{id}/issue`.
    pub issue: Option<String>,
    /// The change of an organization's groups, for example `/sp/org/{id}/groups`.
    pub org_groups: Option<String>,
}

/// The two kinds of credential (specification, Authentication).
#[derive(Clone, Debug)]
pub enum Credential {
    /// `Authorization: APIKEY <key>`.
    ApiKey(SecretSource),
    /// The same key as user name of HTTP Basic with an empty password.
    ApiKeyBasic(SecretSource),
    /// OAuth 2.0 client credentials.
    Client {
        /// The token host, without `/oauth2/token`.
        auth_url: String,
        /// The client's id.
        client_id: String,
        /// The client's secret.
        secret: SecretSource,
        /// Scopes asked for; none asks for what the client has.
        scopes: Vec<String>,
    },
}

/// Which credential it is, as messages name it: a client by its id, a key by its file. No secret.
impl fmt::Display for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client { client_id, .. } => write!(f, "client {client_id}"),
            Self::ApiKey(source) | Self::ApiKeyBasic(source) => match source {
                SecretSource::File(path) => write!(f, "the API key in {}", path.display()),
                SecretSource::Text(_) | SecretSource::Missing(_) => f.write_str("the API key"),
            },
        }
    }
}
