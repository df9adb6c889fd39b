//! An account of a process, whether it runs or not, and what its tasks come to.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::account::{Entrance, Identity, RunningAccount, StartError};
use super::claims::Held;
use super::unstarted::Receivers;
use crate::daemon::state::DaemonState;

/// The key of an account: its name, or nothing.
pub(super) type AccountKey = String;

/// A request that an account be begun.
pub(super) type Ask = (AccountKey, oneshot::Sender<Result<Arc<DaemonState>, String>>);

/// What a task came to.
pub(super) enum Done {
    /// An account has begun, or not.
    Begun(AccountKey, Box<Result<RunningAccount, NotBegun>>),
    /// An account has ended: asked to, or because its loop broke off.
    Ended(AccountKey, Result<(), StartError>),
    /// An account that stands by tries to have its state.
    Again(AccountKey),
    /// An account was asked to take a new configuration, or stores were closed.
    Other,
}

/// Why an account has not begun, and who hears of that, as far as it is known.
pub(super) struct NotBegun {
    pub(super) error: StartError,
    pub(super) receivers: Option<Receivers>,
}

/// An account, whether it runs or not.
pub(super) struct Seat {
    pub(super) identity: Identity,
    pub(super) entrance: Arc<Entrance>,
    pub(super) state: SeatState,
    /// Who wait for it to begin.
    pub(super) askers: Vec<oneshot::Sender<Result<Arc<DaemonState>, String>>>,
    /// What was asked of it while it began.
    pub(super) missed: Missed,
    /// The socket on which it is heard though it does not run.
    pub(super) held: Option<Held>,
    /// Whether it was reported that it stands by.
    pub(super) is_told: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Missed {
    pub(super) runs: bool,
    pub(super) reload: bool,
}

pub(super) enum SeatState {
    Begins,
    Runs(Arc<DaemonState>),
    /// Why.
    Stopped(String),
    /// Another process has its state: it begins when it can have it.
    StandsBy,
    /// It is on its way out.
    Ends,
}
