//! The state of an account: the store, the configuration with its client, the locks of the targets.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::{OwnedRwLockWriteGuard, broadcast, mpsc};
use tracing::Span;

use super::accounts::claims::Held;
use super::accounts::shared::Shared;
use super::control::{Call, VERSION};
use super::event::Event;
use super::runs::{AccountNumber, ActiveRuns, RunProgress};
use super::scheduler::{ClockReading, Scheduler};
use super::shutdown::CancelHandle;
use super::store_slot::{Slot, StoreGuard, StoreSlot};
use super::target_locks::{TargetGuard, TargetLocks};
use crate::api::{self, BudgetPlace, Client, Credential};
use crate::approvals::HandedPages;
use crate::clock::Clock;
use crate::config::{Config, Instance, folder_of, is_of_accounts};
use crate::record::JobName;
use crate::status::{Counters, LiveJobState, Remembered, Unserved};
use crate::store::{self, Holder, Store, Terms};

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

    /// Has a later reading of the configuration go on with the slots in memory: they outlive the client that took them, and are
    /// handed over with the state.
    pub fn hand_budget_on(&self, next: &mut Config) {
        let present = &self.config.api;
        let BudgetPlace::Shared(budget) = &present.budget else { return };
        let identity = |credential: &Credential| credential.identity(present.base_url.as_bytes());
        let first = identity(&next.api.credential);
        if first.is_some() && present.further.iter().any(|further| identity(&further.credential) == first) {
            // What it has sent as a further one is remembered apart.
            budget.count_as_spent(Duration::ZERO);
        }
        next.api.budget = present.budget.clone();
    }
}

impl Setup {
    /// Says under what the account is run from now on; returns an account with one of its credentials that goes first.
    pub(super) fn announce(&self, store: &Store) -> Result<Option<String>, store::Error> {
        let url = self.config.api.base_url.trim_end_matches('/');
        let credentials = |salt: &[u8]| {
            let all = std::iter::once(self.client.clone()).chain(self.client.further());
            all.map(|client| client.identity(&[salt, url.as_bytes()].concat())).collect()
        };
        let objections = store.announce(&Terms { config: &self.config.digest, credentials: &credentials })?;
        if objections.other_config {
            tracing::warn!(
                "the account was run under another configuration before: every worker should have the same one"
            );
        }
        Ok(objections.same_credential)
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
    /// The account is to end.
    End,
}

/// What an account owns and lends.
pub struct DaemonState {
    shared: Arc<Shared>,
    /// Its name; none where it is the only one of its process.
    name: Option<Instance>,
    number: AccountNumber,
    /// What it has for itself in the process.
    held: Mutex<Held>,
    /// What every entry of its log has.
    span: Span,
    store: StoreSlot,
    setup: RwLock<Setup>,
    turns: TargetLocks,
    runs: ActiveRuns,
    outlook: RwLock<std::collections::BTreeMap<JobName, NextRun>>,
    inputs: mpsc::UnboundedSender<LoopEvent>,
    events: broadcast::Sender<Event>,
    stopping: CancelHandle,
    counters: Arc<Counters>,
    unserved: Mutex<Option<Unserved>>,
    no_decisions: Mutex<Option<Unserved>>,
    /// The pages for decisions, while they are served.
    pages: Arc<Mutex<Option<HandedPages>>>,
    started: Timestamp,
    /// When the loop turned last.
    turned: Mutex<Instant>,
    said: Mutex<Said>,
    pub(super) reloading: tokio::sync::Mutex<()>,
}

/// What an account says of itself to its process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// What it does, in a few words.
    pub(super) summary: String,
    /// The jobs whose runs show no sign of life.
    pub(super) hung: Vec<JobName>,
    /// How many runs are under way.
    pub(super) runs: usize,
}

/// What an account begins with.
pub(super) struct Begun {
    pub(super) shared: Arc<Shared>,
    pub(super) name: Option<Instance>,
    pub(super) number: AccountNumber,
    pub(super) held: Held,
    pub(super) setup: Setup,
    pub(super) store: Store,
}

impl DaemonState {
    pub(super) fn new(begun: Begun) -> (Arc<Self>, mpsc::UnboundedReceiver<LoopEvent>) {
        let Begun { shared, name, number, held, setup, store } = begun;
        let (inputs, heard) = mpsc::unbounded_channel();
        let engine = Self {
            started: shared.clock.now(),
            span: span_of(name.as_ref()),
            shared,
            name,
            number,
            held: Mutex::new(held),
            store: StoreSlot::new(store),
            setup: RwLock::new(setup),
            turns: TargetLocks::default(),
            runs: ActiveRuns::default(),
            outlook: RwLock::default(),
            inputs,
            events: broadcast::Sender::new(EVENTS_KEPT),
            stopping: CancelHandle::new(0),
            counters: Arc::default(),
            unserved: Mutex::default(),
            no_decisions: Mutex::default(),
            pages: Arc::default(),
            turned: Mutex::new(Instant::now()),
            said: Mutex::default(),
            reloading: tokio::sync::Mutex::default(),
        };
        (Arc::new(engine), heard)
    }

    /// Its name; none where it is the only one of its process.
    pub(super) fn name(&self) -> Option<&Instance> {
        self.name.as_ref()
    }

    /// What it is called in the log.
    pub(super) fn what(&self) -> &'static str {
        if self.name.is_some() { "the account" } else { "the daemon" }
    }

    /// By what its runs are distinguished from those of other accounts.
    pub(super) fn number(&self) -> AccountNumber {
        self.number
    }

    /// What the accounts of its process share.
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// What every entry of its log has.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Its name among those who have something for themselves.
    pub(super) fn owner(&self) -> String {
        owner_of(self.name.as_ref())
    }

    /// Has these for itself from now on, in place of those before.
    pub(super) fn hold(&self, held: Held) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }

    /// Says how it is; the process hears of what is new.
    pub(super) fn say(&self, said: Said) {
        let mut before = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if *before != said {
            *before = said;
            self.shared.changed.notify_one();
        }
    }

    /// What it said last.
    pub(super) fn said(&self) -> Said {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        &self.shared.clock
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

    /// Why the pages for decisions are not served, where they should be.
    pub fn no_decisions(&self) -> Option<Unserved> {
        self.no_decisions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn serves_decisions(&self, unserved: Option<Unserved>) {
        *self.no_decisions.lock().unwrap_or_else(PoisonError::into_inner) = unserved;
    }

    /// The pages for decisions, while they are served.
    pub(super) fn pages(&self) -> Option<HandedPages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// These are the pages for decisions, until the result is dropped.
    pub(super) fn shows_pages(&self, pages: HandedPages) -> ShownPages {
        *self.pages.lock().unwrap_or_else(PoisonError::into_inner) = Some(pages);
        ShownPages(Arc::clone(&self.pages))
    }

    /// This worker, as others see it that share the state.
    pub fn holder(&self) -> Option<Holder> {
        self.setup().config.state.home.relay()?.holder().ok().flatten()
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

    /// The store, for as long as the guard is held. One that was closed, or lost to an error, is opened again first.
    pub async fn store(&self) -> Result<StoreGuard, store::Error> {
        let guard = self.store.shared(&self.setup().config).await;
        // Which stores are open may be another matter now.
        self.shared.changed.notify_one();
        guard
    }

    /// The store for one command alone: runs end between two changes first, and no other code uses it meanwhile. When
    /// the result is dropped, the store is opened again for all.
    pub async fn alone(self: &Arc<Self>) -> ExclusiveStore {
        let turn = self.turns.preempt_all().await;
        let slot = self.store.alone().await;
        ExclusiveStore { engine: Arc::clone(self), slot, _turn: turn }
    }

    /// Whether another process has taken the state over, or may have: nothing can be done here any more.
    pub(super) fn is_fenced(&self) -> bool {
        self.store.is_fenced()
    }

    /// Closes the store after it failed; its next user opens it again.
    pub(super) async fn close(&self) {
        self.store.let_go(&mut *self.store.alone().await);
    }

    /// When the store was asked for last, where it is open.
    pub(super) fn store_open_since(&self) -> Option<Instant> {
        self.store.open_since()
    }

    /// Closes the store until it is needed, unless it is in use. Blocks.
    pub(super) fn rest_store(&self) {
        self.store.rest(&self.setup().config);
    }

    /// What is remembered in the store, and whether its disk is full; without opening it where that is known.
    pub async fn remembered(&self, config: &Arc<Config>) -> Result<(Remembered, bool), store::Error> {
        if let Some(known) = self.store.remembered(config).await {
            return Ok(known);
        }
        let store = self.store().await?;
        let config = Arc::clone(config);
        let read = move || Ok((Remembered::read(&store, &config)?, store.is_full()));
        tokio::task::spawn_blocking(read).await.expect("reading a store does not panic")
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
        let is_clock_wrong = Scheduler::is_clock_wrong(ClockReading::now(self.clock()));
        LiveJobState { next, late_from: waits, is_clock_wrong, running: self.runs.of(job).map(RunProgress::seen) }
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
        if same_place(&call.config, &config.source_path) {
            return None;
        }
        // Each file beside this one is another account, also where it names this one's state by mistake; unless it is this one, renamed.
        let (own_folder, theirs) = (folder_of(&config.source_path), folder_of(&call.config));
        if is_of_accounts(own_folder) && same_place(own_folder, theirs) && config.source_path.exists() {
            return Some(format!("the state in {own} is that of the account of {}", config.source_path.display()));
        }
        // A state folder that its own file names since counts from the next start: until then this one works for the account.
        let has_state = |dir| own.folder().is_some_and(|own| same_place(dir, own));
        let ours = call.state_dir.as_deref().is_some_and(has_state);
        (!ours).then(|| format!("the daemon's state lies in {own}, and that is not the one asked for"))
    }
}

/// The pages for decisions are served until this is dropped.
pub(super) struct ShownPages(Arc<Mutex<Option<HandedPages>>>);

impl Drop for ShownPages {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// How an account is called among those who have something for themselves.
pub(super) fn owner_of(name: Option<&Instance>) -> String {
    name.map_or_else(|| "of this daemon".to_owned(), ToString::to_string)
}

/// What every entry of the log of an account has, where its process has several.
pub(super) fn span_of(name: Option<&Instance>) -> Span {
    name.map_or_else(Span::none, |name| tracing::error_span!(parent: None, "account", account = %name))
}

fn same_place(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.components().collect());
    one == other || real(one) == real(other)
}

/// The store, for one command alone.
pub struct ExclusiveStore {
    engine: Arc<DaemonState>,
    slot: OwnedRwLockWriteGuard<Slot>,
    _turn: TargetGuard,
}

impl ExclusiveStore {
    /// Takes the store out; opens it where it is not open.
    pub fn take(&mut self) -> Result<Store, store::Error> {
        self.engine.store.take(&mut self.slot, &self.engine.setup().config)
    }

    /// Closes the store, for what opens it itself.
    pub fn close(&mut self) {
        self.engine.store.let_go(&mut self.slot);
    }
}

impl Drop for ExclusiveStore {
    fn drop(&mut self) {
        // Where it can't be opened, the next who needs it says why.
        let _ = self.engine.store.fill(&mut self.slot, &self.engine.setup().config);
    }
}
