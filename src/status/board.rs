//! The accounts that one address shows: one without a name, or any number by their names.
//!
//! Requests within [`FRESH`] get the same snapshot: a page that is reloaded in haste reads the store no more often than
//! that.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use super::counters::Counters;
use super::snapshot::Snapshot;
use crate::api::Traffic;

/// How long a snapshot serves all who ask.
const FRESH: Duration = Duration::from_secs(2);
/// The longest that gathering one may take.
const GATHER_MAX: Duration = Duration::from_secs(10);
/// How many are gathered at once.
const AT_ONCE: usize = 8;

/// Where the figures of an account come from.
pub trait Gather: Send + Sync + 'static {
    /// The present state, or why it could not be determined; names no person.
    fn snapshot(&self) -> BoxFuture<'_, Result<Snapshot, String>>;

    /// What came of requests to the service.
    fn traffic(&self) -> Traffic;

    /// Whether the loop that starts runs has turned not long ago.
    fn is_alive(&self) -> bool;

    /// Why the account does not run at all; names no person. Nothing where it does.
    fn stopped(&self) -> Option<String> {
        None
    }

    /// Where the account runs, while this process stands by.
    fn elsewhere(&self) -> Option<String> {
        None
    }
}

/// A snapshot that several share, or why there is none.
pub(super) type Gathered = Result<Arc<Snapshot>, String>;

/// One account.
pub struct ShownAccount {
    /// Its name; nothing where it is the only one of its process.
    pub(super) name: Option<String>,
    pub(super) gather: Arc<dyn Gather>,
    pub(super) counters: Arc<Counters>,
    last: Mutex<Option<(Instant, Gathered)>>,
}

impl ShownAccount {
    /// An account of this name; without one where it is the only one of its process.
    pub fn new(name: Option<String>, gather: Arc<dyn Gather>, counters: Arc<Counters>) -> Arc<Self> {
        Arc::new(Self { name, gather, counters, last: Mutex::default() })
    }

    /// Its name; nothing where it is the only one of its process.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) async fn snapshot(&self) -> Gathered {
        let mut last = self.last.lock().await;
        if let Some((at, snapshot)) = last.as_ref()
            && at.elapsed() < FRESH
        {
            return snapshot.clone();
        }
        let gathered = tokio::time::timeout(GATHER_MAX, self.gather.snapshot()).await;
        let snapshot = match gathered {
            Ok(snapshot) => snapshot.map(Arc::new),
            Err(_) => Err(format!("it is in use since {} seconds", GATHER_MAX.as_secs())),
        };
        *last = Some((Instant::now(), snapshot.clone()));
        snapshot
    }
}

/// The accounts of one address, in the order of their names.
#[derive(Default)]
pub struct Board(RwLock<Vec<Arc<ShownAccount>>>);

impl Board {
    /// A board of one account.
    pub fn of(shown: Arc<ShownAccount>) -> Arc<Self> {
        let board = Self::default();
        board.show(shown);
        Arc::new(board)
    }

    /// Shows an account, in place of one of its name.
    pub fn show(&self, shown: Arc<ShownAccount>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.name != shown.name);
        all.push(shown);
        all.sort_by(|one, other| one.name.cmp(&other.name));
    }

    /// Shows the account of that name no more.
    pub fn hide(&self, name: Option<&str>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).retain(|other| other.name.as_deref() != name);
    }

    /// The names of its accounts.
    pub fn names(&self) -> Vec<Option<String>> {
        self.accounts().iter().map(|shown| shown.name.clone()).collect()
    }

    /// The accounts.
    pub(super) fn accounts(&self) -> Vec<Arc<ShownAccount>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The account of that name.
    pub(super) fn account(&self, name: &str) -> Option<Arc<ShownAccount>> {
        self.accounts().into_iter().find(|shown| shown.name.as_deref() == Some(name))
    }

    /// The accounts with their snapshots.
    pub(super) async fn snapshots(&self) -> Vec<(Arc<ShownAccount>, Gathered)> {
        let each = futures_util::stream::iter(self.accounts()).map(|shown| async move {
            let snapshot = shown.snapshot().await;
            (shown, snapshot)
        });
        each.buffered(AT_ONCE).collect().await
    }

    /// Whether the loops of all turn.
    pub(super) fn is_alive(&self) -> bool {
        self.accounts().iter().all(|shown| shown.gather.is_alive())
    }
}
