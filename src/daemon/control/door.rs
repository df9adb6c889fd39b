//! What is behind a socket: the account, or nothing but the wish to begin it.

use std::sync::{Arc, PoisonError, RwLock};

use futures_util::future::BoxFuture;

use super::call::{Call, VERSION};
use crate::daemon::state::DaemonState;
use crate::store::Relay;

/// Tries to begin an account that does not run; says why it does not.
pub(in crate::daemon) type Retry =
    Box<dyn Fn() -> BoxFuture<'static, Result<Arc<DaemonState>, NotEntered>> + Send + Sync>;

/// What is behind the socket of an account.
pub(in crate::daemon) enum Behind {
    /// It runs.
    Runs(Arc<DaemonState>),
    /// It can't be reached at the moment, for this reason.
    Closed(String),
    /// It does not run.
    Stopped(Stopped),
    /// Another worker has it: that one is asked.
    StandsBy(Arc<dyn Relay>),
}

/// Why an account does not run.
#[derive(Clone)]
pub(in crate::daemon) struct Stopped {
    pub(in crate::daemon) reason: String,
    /// Whether no one may run it, as another account has what is its own.
    pub(in crate::daemon) is_refused: bool,
}

/// Why a call is not carried out here.
pub(in crate::daemon) enum NotEntered {
    /// Something keeps this call out.
    Elsewhere(String),
    /// The account does not run.
    Stopped(Stopped),
}

impl From<&str> for NotEntered {
    fn from(words: &str) -> Self {
        Self::Elsewhere(words.to_owned())
    }
}

/// Where a call goes.
pub(super) enum Entered {
    /// It is carried out here.
    Here(Reached),
    /// The worker that has the account carries it out.
    Elsewhere(Arc<dyn Relay>),
}

/// Where a call is carried out.
pub struct Reached {
    /// The account.
    pub engine: Arc<DaemonState>,
    /// Whether this call had it begin.
    pub has_begun: bool,
}

/// The door behind the socket of an account.
pub(in crate::daemon) struct Door {
    behind: RwLock<Behind>,
    retry: Retry,
}

impl Door {
    /// The door of an account that does not run so far.
    pub(in crate::daemon) fn closed(retry: Retry) -> Arc<Self> {
        Arc::new(Self { behind: RwLock::new(Behind::Closed("it begins just now".to_owned())), retry })
    }

    /// From now on, this is behind it.
    pub(in crate::daemon) fn leads_to(&self, behind: Behind) {
        *self.behind.write().unwrap_or_else(PoisonError::into_inner) = behind;
    }

    /// Another worker has the account from now on; false where it runs here.
    pub(in crate::daemon) fn stand_by(&self, relay: &Arc<dyn Relay>) -> bool {
        let mut behind = self.behind.write().unwrap_or_else(PoisonError::into_inner);
        let is_free = !matches!(*behind, Behind::Runs(_));
        if is_free {
            *behind = Behind::StandsBy(Arc::clone(relay));
        }
        is_free
    }

    /// Whether it leads to the worker that has the account.
    pub(in crate::daemon) fn stands_by(&self) -> bool {
        matches!(*self.behind.read().unwrap_or_else(PoisonError::into_inner), Behind::StandsBy(_))
    }

    /// Where a call is carried out, or why it is not.
    pub(super) async fn enter(&self, call: &Call, asks_to_reload: bool) -> Result<Entered, NotEntered> {
        let stopped = match &*self.behind.read().unwrap_or_else(PoisonError::into_inner) {
            Behind::Runs(engine) => Ok(Arc::clone(engine)),
            Behind::Closed(reason) => Err(NotEntered::Elsewhere(format!("the account does not run: {reason}"))),
            Behind::Stopped(stopped) => Err(NotEntered::Stopped(stopped.clone())),
            Behind::StandsBy(_) if asks_to_reload => {
                return Err("the daemon here stands by: it takes its configuration when it takes over".into());
            }
            Behind::StandsBy(_) if call.version != VERSION => {
                return Err("the daemon is of another version than this program: restart it".into());
            }
            Behind::StandsBy(relay) => return Ok(Entered::Elsewhere(Arc::clone(relay))),
        };
        let reached = match stopped {
            Ok(engine) => Reached { engine, has_begun: false },
            Err(stopped) if !asks_to_reload => return Err(stopped),
            Err(_) => Reached { engine: (self.retry)().await?, has_begun: true },
        };
        match reached.engine.rejected_by_config(call) {
            Some(words) => Err(NotEntered::Elsewhere(words)),
            None => Ok(Entered::Here(reached)),
        }
    }
}
