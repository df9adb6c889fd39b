//! The shared state of the daemon: the store, the configuration with its client, the locks of the targets.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, broadcast, mpsc};

use super::control::{Call, VERSION};
use super::event::Event;
use super::runs::{ActiveRuns, RunProgress};
use super::shutdown::CancelHandle;
use super::target_locks::{TargetGuard, TargetLocks};
use crate::api::{self, Client};
use crate::clock::Clock;
use crate::config::Config;
use crate::reconcile;
use crate::record::JobName;
use crate::status::{Counters, LiveJobState, Unserved};
use crate::store::{self, Store};

/// How long the loop may stand still before `/livez` says that it hangs.
const STILL_MAX: Duration = Duration::from_secs(60);
/// Events that are kept for a slow listener.
const EVENTS_KEPT: usize = 256;

/// A configuration, and the client that it describes.
#[derive(Clone)]
pub struct Setup {
    /// The configuration.
    pub config: Arc<Config>,
    /// The client of its account.
    pub client: Client,
}

impl Setup {
    /// Makes the client of a configuration; sends nothing.
    pub fn new(config: Config, clock: &Clock) -> Result<Self, api::Error> {
        Ok(Self { client: Client::new(&config.api, clock)?, config: Arc::new(config) })
    }
}

/// When a job runs next, as the scheduler sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextRun {
    /// When it is due, or was, where it waits or is late; `None` without a schedule.
    pub next: Option<Timestamp>,
    /// Since when it is due and waits for another's run to end.
    pub waits: Option<Timestamp>,
    /// How many times came while it ran.
    pub skipped: u64,
}

/// A message to the loop.
#[derive(Debug)]
pub(super) enum LoopEvent {
    /// Jobs are wanted as soon as may be; all of them where none is named.
    Ask(Vec<JobName>),
    /// A run has come to its end.
    Ended(JobName, super::scheduler::Ended),
    /// A caller's run of a whole job has come to its end.
    Ran(JobName),
    /// Another configuration is in force.
    Reloaded,
    /// Something changed in the views, and no reaction is needed.
    Looked,
}

/// What the daemon owns and lends.
pub struct DaemonState {
    clock: Clock,
    /// None only while one command has it for itself, or after it could not be opened again.
    store: Arc<tokio::sync::RwLock<Option<Store>>>,
    setup: RwLock<Setup>,
    turns: TargetLocks,
    runs: ActiveRuns,
    outlook: RwLock<std::collections::BTreeMap<JobName, NextRun>>,
    inputs: mpsc::UnboundedSender<LoopEvent>,
    events: broadcast::Sender<Event>,
    stopping: CancelHandle,
    counters: Arc<Counters>,
    unserved: Mutex<Option<Unserved>>,
    started: Timestamp,
    /// Whether another process took the state over.
    fenced: AtomicBool,
    /// When the loop turned last.
    turned: Mutex<Instant>,
    pub(super) reloading: tokio::sync::Mutex<()>,
}

/// A store that others use as well.
pub type StoreGuard = OwnedRwLockReadGuard<Option<Store>, Store>;

impl DaemonState {
    pub(super) fn new(setup: Setup, store: Store, clock: &Clock) -> (Arc<Self>, mpsc::UnboundedReceiver<LoopEvent>) {
        let (inputs, heard) = mpsc::unbounded_channel();
        let engine = Self {
            clock: clock.clone(),
            store: Arc::new(tokio::sync::RwLock::new(Some(store))),
            setup: RwLock::new(setup),
            turns: TargetLocks::default(),
            runs: ActiveRuns::default(),
            outlook: RwLock::default(),
            inputs,
            events: broadcast::Sender::new(EVENTS_KEPT),
            stopping: CancelHandle::new(0),
            counters: Arc::default(),
            unserved: Mutex::default(),
            started: clock.now(),
            fenced: AtomicBool::new(false),
            turned: Mutex::new(Instant::now()),
            reloading: tokio::sync::Mutex::default(),
        };
        (Arc::new(engine), heard)
    }

    /// When the daemon began.
    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// The loop turns.
    pub(super) fn turned(&self) {
        *self.turned.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Whether the loop has turned not long ago; it does so every 20 seconds at least.
    pub fn is_alive(&self) -> bool {
        self.turned.lock().unwrap_or_else(PoisonError::into_inner).elapsed() < STILL_MAX
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The configuration in force. What runs under it keeps it, whatever is in force later.
    pub fn setup(&self) -> Setup {
        self.setup.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn put_in_force(&self, setup: Setup) {
        *self.setup.write().unwrap_or_else(PoisonError::into_inner) = setup;
        self.tell(LoopEvent::Reloaded);
    }

    /// What happened since the process started.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Why the status page is not served, where it should be.
    pub fn unserved(&self) -> Option<Unserved> {
        self.unserved.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn serves_page(&self, unserved: Option<Unserved>) {
        *self.unserved.lock().unwrap_or_else(PoisonError::into_inner) = unserved;
    }

    /// The turns of the targets.
    pub fn turns(&self) -> &TargetLocks {
        &self.turns
    }

    /// The runs under way.
    pub fn runs(&self) -> &ActiveRuns {
        &self.runs
    }

    /// Asks everything to end, once the daemon is to end.
    pub fn stopping(&self) -> &CancelHandle {
        &self.stopping
    }

    /// The store, for as long as the guard is held. One that was lost to an error is opened again first.
    pub async fn store(&self) -> Result<StoreGuard, store::Error> {
        let guard = Arc::clone(&self.store).read_owned().await;
        if let Ok(shared) = OwnedRwLockReadGuard::try_map(guard, Option::as_ref) {
            return Ok(shared);
        }
        let mut slot = Arc::clone(&self.store).write_owned().await;
        if slot.is_none() {
            if self.fenced.load(Ordering::Relaxed) {
                return Err(self.setup().config.state.home.error(store::ErrorKind::Fenced));
            }
            *slot = Some(reconcile::open_store(&self.setup().config)?);
        }
        let guard = OwnedRwLockWriteGuard::downgrade(slot);
        Ok(OwnedRwLockReadGuard::map(guard, |store| store.as_ref().expect("it was just opened")))
    }

    /// The store for one command alone: runs end between two changes first, and no other code uses it meanwhile. When
    /// the result is dropped, the store is opened again for all.
    pub async fn alone(self: &Arc<Self>) -> ExclusiveStore {
        let turn = self.turns.preempt_all().await;
        let slot = Arc::clone(&self.store).write_owned().await;
        ExclusiveStore { engine: Arc::clone(self), slot, _turn: turn }
    }

    /// Whether another process has taken the state over, or may have: nothing can be done here any more.
    pub(super) fn is_fenced(&self) -> bool {
        let store = self.store.try_read();
        self.fenced.load(Ordering::Relaxed) || store.is_ok_and(|store| store.as_ref().is_some_and(is_lost))
    }

    /// Closes the store after it failed; its next user opens it again.
    pub(super) async fn close(&self) {
        let mut store = self.store.write().await;
        // One that another process took over is not opened again: this daemon ends, and stands by when it is started again.
        self.fenced.fetch_or(store.as_ref().is_some_and(is_lost), Ordering::Relaxed);
        *store = None;
    }

    /// Has jobs run as soon as may be; all of them where none is named.
    pub fn ask(&self, jobs: impl IntoIterator<Item = JobName>) {
        self.tell(LoopEvent::Ask(jobs.into_iter().collect()));
    }

    /// A caller's run of these jobs has come to its end: their times until now are served.
    pub fn ran(&self, jobs: impl IntoIterator<Item = JobName>) {
        jobs.into_iter().for_each(|job| self.tell(LoopEvent::Ran(job)));
    }

    pub(super) fn tell(&self, input: LoopEvent) {
        // There is no receiver once the loop has ended.
        let _ = self.inputs.send(input);
    }

    /// Publishes what happened.
    pub fn publish(&self, event: Event) {
        // There may be no listener.
        let _ = self.events.send(event);
    }

    /// What happens from now on.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// When a job runs next.
    pub fn outlook(&self, job: &JobName) -> NextRun {
        self.outlook.read().unwrap_or_else(PoisonError::into_inner).get(job).copied().unwrap_or_default()
    }

    /// What is known of a job besides the store.
    pub fn seen(&self, job: &JobName) -> LiveJobState {
        let NextRun { next, waits, .. } = self.outlook(job);
        LiveJobState { next, late_from: waits, running: self.runs.of(job).map(RunProgress::seen) }
    }

    pub(super) fn publish_schedule(&self, outlook: std::collections::BTreeMap<JobName, NextRun>) {
        *self.outlook.write().unwrap_or_else(PoisonError::into_inner) = outlook;
    }

    /// Why a call is not for this daemon; nothing where it is.
    pub(super) fn rejected_by_config(&self, call: &Call) -> Option<String> {
        let config = self.setup().config;
        let own = &config.state.home;
        if call.version != VERSION {
            return Some("the daemon is of another version than this program: restart it".to_owned());
        }
        let ours = match &call.state_dir {
            Some(dir) => own.folder().is_some_and(|own| same_place(dir, own)),
            None => same_place(&call.config, &config.source_path),
        };
        (!ours).then(|| format!("the daemon's state lies in {own}, and that is not the one asked for"))
    }
}

/// Whether another process has taken a store over, or may have.
fn is_lost(store: &Store) -> bool {
    store.before_sending().is_err_and(|error| matches!(error.kind, store::ErrorKind::Fenced))
}

fn same_place(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.components().collect());
    one == other || real(one) == real(other)
}

/// The store, for one command alone.
pub struct ExclusiveStore {
    engine: Arc<DaemonState>,
    slot: OwnedRwLockWriteGuard<Option<Store>>,
    _turn: TargetGuard,
}

impl ExclusiveStore {
    /// Takes the store out; opens it where it was lost.
    pub fn take(&mut self) -> Result<Store, store::Error> {
        match self.slot.take() {
            Some(store) => Ok(store),
            None => reconcile::open_store(&self.engine.setup().config),
        }
    }

    /// Closes the store, for what opens it itself.
    pub fn close(&mut self) {
        *self.slot = None;
    }
}

impl Drop for ExclusiveStore {
    fn drop(&mut self) {
        if self.slot.is_none() {
            // Where it can't be opened, the next who needs it says why.
            *self.slot = reconcile::open_store(&self.engine.setup().config).ok();
        }
    }
}
