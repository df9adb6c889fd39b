//! An account of a process, whether it runs or not, and what its tasks come to.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::account::{Entered, Entrance, Entry, Identity, StartError};
use super::claims::Held;
use super::shared::Shared;
use super::unstarted::Receivers;
use crate::config::Config;
use crate::daemon::control::{Behind, NotEntered};
use crate::daemon::page::Anchor;
use crate::daemon::state::{DaemonState, Said};
use crate::record::reveal;
use crate::store::Workers;

/// Accounts whose reasons are named where none can begin.
const REASONS_MAX: usize = 10;

/// The key of an account: its name, or nothing.
pub(super) type AccountKey = String;

/// Who waits for an account to begin.
pub(super) type Asker = oneshot::Sender<Result<Arc<DaemonState>, NotEntered>>;

/// A request that an account be begun.
pub(super) type Ask = (AccountKey, Asker);

/// What a task came to.
pub(super) enum Done {
    /// An account has begun, or not.
    Begun(AccountKey, Box<Result<Entered, NotBegun>>),
    /// An account has ended: asked to, or because its loop broke off.
    Ended(AccountKey, Result<(), StartError>),
    /// It was looked how the workers of a database are; or why that could not be seen.
    Looked(String, Result<Workers, String>),
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
    pub(super) askers: Vec<Asker>,
    /// What was asked of it while it began.
    pub(super) missed: Missed,
    /// The socket on which it is heard though it does not run.
    pub(super) held: Option<Held>,
    /// Where it runs while it stands by, as far as that is known.
    pub(super) node: Option<String>,
    /// The database in which it is shared out.
    pub(super) pool: Option<String>,
    /// With what it begins when it is this process's.
    pub(super) config: Option<Arc<Config>>,
    /// Keeps its page served while it does not run.
    pub(super) anchor: Option<Anchor>,
    /// Dropped once it is there no more: others wait for what it had.
    pub(super) gone: Option<oneshot::Sender<()>>,
}

impl Seat {
    /// The seat of an account that is to begin.
    pub(super) fn new(identity: Identity, entrance: Arc<Entrance>) -> Self {
        Self {
            identity,
            entrance,
            state: SeatState::Begins(Entry::Offers),
            askers: Vec::new(),
            missed: Missed::default(),
            held: None,
            node: None,
            pool: None,
            config: None,
            anchor: None,
            gone: None,
        }
    }

    /// Ends once the account is there no more.
    pub(super) fn until_gone(&mut self) -> oneshot::Receiver<()> {
        let (gone, is_gone) = oneshot::channel();
        self.gone = Some(gone);
        is_gone
    }

    /// From now on it is on its way to another process; its engine is to end.
    pub(super) fn hand_over(&mut self) -> Option<Arc<DaemonState>> {
        let SeatState::Runs(engine) = &self.state else { return None };
        let engine = Arc::clone(engine);
        self.config = Some(engine.setup().config);
        self.state = SeatState::HandsOver;
        Some(engine)
    }

    /// Has callers reach the worker that has the account; until then they hear this reason.
    pub(super) fn hands_on(&self, reason: String, shared: &Arc<Shared>) -> impl Future<Output = Done> + use<> {
        let is_so = self.entrance.door.stands_by();
        if !is_so {
            self.entrance.door.leads_to(Behind::Closed(reason));
        }
        let (entrance, shared, identity) = (Arc::clone(&self.entrance), Arc::clone(shared), self.identity.clone());
        async move {
            if !is_so {
                entrance.stand_by_again(&shared, &identity).await;
            }
            Done::Other
        }
    }

    /// The account is there no more.
    pub(super) async fn dismissed(self, shared: Arc<Shared>) -> Done {
        self.entrance.stands_by_no_more(&shared, None).await;
        self.entrance.close().await;
        Done::Other
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Missed {
    pub(super) runs: bool,
    pub(super) reload: bool,
}

pub(super) enum SeatState {
    Begins(Entry),
    Runs(Arc<DaemonState>),
    /// Why.
    Stopped(String),
    /// Another process has its state, or is to have it: it begins when it is this one's.
    StandsBy,
    /// It ends, and stands by then.
    HandsOver,
    /// It is on its way out.
    Ends,
}

/// Why accounts don't run.
pub(super) fn reasons(seats: &BTreeMap<AccountKey, Seat>) -> Vec<String> {
    let reason = |(key, seat): (&AccountKey, &Seat)| match &seat.state {
        SeatState::Stopped(reason) => format!("{key}: {}", reveal(reason)),
        _ => key.clone(),
    };
    seats.iter().take(REASONS_MAX).map(reason).collect()
}

/// How the accounts of a process are, in a few words.
pub(super) fn summary(seats: &BTreeMap<AccountKey, Seat>, said: &[Said]) -> String {
    let stand_by =
        seats.values().filter(|seat| matches!(seat.state, SeatState::StandsBy | SeatState::HandsOver)).count();
    let stopped = seats.len() - said.len() - stand_by;
    let told = |count: usize, words: &str| if count > 0 { format!("; {count} {words}") } else { String::new() };
    let (stopped, stand_by) = (told(stopped, "don't run"), told(stand_by, "stand by"));
    let runs: usize = said.iter().map(|said| said.runs).sum();
    format!("{} accounts{stopped}{stand_by}; {runs} runs under way", seats.len())
}
