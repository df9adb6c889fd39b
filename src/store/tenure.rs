//! What one process leaves to the next one that has the store, where several may have it in turn.

use std::sync::Arc;
use std::time::Duration;

/// What is left of the budget when a process lets the store go, in whatever form the client gives it.
pub type HandOver = Box<dyn Fn() -> Vec<u8> + Send + Sync>;
/// Whether a request may be sent to the service; the error says why none may.
pub type SendPermit = Arc<dyn Fn() -> Result<Permit, String> + Send + Sync>;

/// What a process may send to the service at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    /// How long until a write may begin.
    pub wait: Duration,
    /// Who sends it: the node, and the epoch of its tenure.
    pub sender: String,
}

/// How long a write to the service may take where another process can take over.
pub const WRITE_MAX: Duration = Duration::from_secs(20);

/// Under what an account is run, as others see it.
pub struct Terms<'a> {
    /// By which its configuration is known from another one.
    pub config: &'a str,
    /// What tells its credentials apart without saying them, for a salt.
    pub credentials: &'a dyn Fn(&[u8]) -> Vec<String>,
}

/// What others say to that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objections {
    /// An account that has a credential of it, and that goes first.
    pub same_credential: Option<String>,
    /// Whether it was run under another configuration before.
    pub other_config: bool,
}

/// What the process that had the store before left behind.
#[derive(Debug)]
pub struct Predecessor {
    /// What it left of the budget, and how long ago; `None` where it did not end in good order.
    pub budget: Option<(Vec<u8>, Duration)>,
    /// Whether it may have sent something that the store does not say.
    pub is_lost: bool,
    /// How long it may go on sending: after a failover it may not know yet that it is over.
    pub sends_for: Duration,
}
