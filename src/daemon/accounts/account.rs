//! Begins an account, and ends it.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tracing::Instrument as _;

use super::claims::{Conflict, Held, credential_of, credentials_of, places_of};
use super::shared::Shared;
use super::stand_by::StandBy;
use crate::api::Client;
use crate::clock::Clock;
use crate::config::{self, Config, Instance, Needs};
use crate::crash::term;
use crate::daemon::control::{Behind, Callers, Commands, Door, Listener, RemoteCallers, Retry};
use crate::daemon::event::Event;
use crate::daemon::event_loop::{Service, timed};
use crate::daemon::monitors::LiveView;
use crate::daemon::page::{Anchor, OnPage};
use crate::daemon::runs::AccountNumber;
use crate::daemon::scheduler::ClockReading;
use crate::daemon::shutdown::{CancelHandle, CancelToken};
use crate::daemon::state::{Begun, DaemonState, Setup, owner_of, span_of};
use crate::daemon::systemd::Manager;
use crate::daemon::{decisions, inbox_watch, monitors};
use crate::reconcile;
use crate::status::{ShownAccount, Unserved};
use crate::store::{self, Membership, Store};

/// How long it waits for a state that a command has, and how often it looks. The service manager tries again after that.
const IN_USE_MAX: Duration = Duration::from_secs(5);
const IN_USE_PAUSE: Duration = Duration::from_millis(50);
/// How often the only account of a process that stands by tries to claim its state.
const CLAIM_EVERY: Duration = Duration::from_secs(2);

/// How long it waits at the end until each caller has read its answer.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// How long the notice that is delivered may hold up the end of an account.
const TELLING_MAX: Duration = Duration::from_secs(5);

/// Why an account could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Its configuration can't be used.
    #[error(transparent)]
    Config(#[from] config::Errors),
    /// A secret can't be read.
    #[error("the secret in {} {problem}", path.display())]
    Secret {
        /// Where it should be.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// Another account of the process has what is its own.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The state can't be used.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The state is that of another account.
    #[error(transparent)]
    State(#[from] reconcile::Error),
    /// The credential or a certificate can't be used.
    #[error(transparent)]
    Client(#[from] crate::api::Error),
    /// The socket can't be used.
    #[error("the control socket {} can't be used", path.display())]
    Socket {
        /// Where it should be.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// Notices can't be sent.
    #[error(transparent)]
    Notify(#[from] crate::notify::SetupError),
    /// It broke off on its way.
    #[error("it broke off: {0}")]
    BrokenOff(String),
}

/// Which account it is, whether it runs or not.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    /// Its name; none where it is the only one of its process.
    pub(super) name: Option<Instance>,
    pub(super) number: AccountNumber,
    /// Its configuration file.
    pub(super) path: PathBuf,
}

/// With what an account begins.
pub(super) struct Start {
    /// Its configuration, or why it can't be used; without it, it is loaded.
    pub(super) config: Option<Result<Config, StartError>>,
    pub(super) entry: Entry,
    /// Dropped when it has what is its own, or does not begin.
    pub(super) after: oneshot::Sender<()>,
}

/// How an account begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Where several processes share it, it is only looked whether it could; the others hear of that.
    Offers,
    /// It claims what is its own.
    Claims,
}

/// What came of a beginning.
pub(super) enum Entered {
    /// It runs.
    Runs(RunningAccount),
    /// It could, and other processes may as well.
    Shares(Offer),
}

/// An account that this process could run.
pub(super) struct Offer {
    pub(super) membership: Arc<dyn Membership>,
    /// As it was when it was looked at: a reload takes what is in the file then.
    pub(super) config: Arc<Config>,
    /// Keeps its page served.
    pub(super) anchor: Option<Anchor>,
}

/// The socket of an account, with the door behind it; it outlives what the account is at the moment.
pub(super) struct Entrance {
    pub(super) door: Arc<Door>,
    commands: Arc<dyn Commands>,
    listening: tokio::sync::Mutex<Option<Listening>>,
    /// The configuration with which it stood by last.
    known: Mutex<Option<Arc<Config>>>,
    /// While another worker has the state.
    stands_by: tokio::sync::Mutex<Option<StandBy>>,
}

struct Listening {
    path: PathBuf,
    task: JoinHandle<()>,
    callers: Callers,
}

/// An account that runs.
pub(super) struct RunningAccount {
    pub(super) engine: Arc<DaemonState>,
    /// Ends when the account is asked to.
    task: JoinHandle<Result<(), store::Error>>,
    /// Who reach it from other machines.
    remote: RemoteCallers,
}

impl Entrance {
    pub(super) fn new(commands: &Arc<dyn Commands>, retry: Retry) -> Arc<Self> {
        Arc::new(Self {
            door: Door::closed(retry),
            commands: Arc::clone(commands),
            listening: tokio::sync::Mutex::default(),
            known: Mutex::default(),
            stands_by: tokio::sync::Mutex::default(),
        })
    }

    /// Listens on `path` from now on, and nowhere else. Who was heard before is answered.
    pub(super) async fn listen(&self, path: Option<&Path>, shared: &Shared) -> std::io::Result<()> {
        let mut listening = self.listening.lock().await;
        if listening.as_ref().map(|listening| listening.path.as_path()) == path {
            return Ok(());
        }
        let before = listening.take();
        let mut bound = path.map(|path| Listener::bind(path, &shared.callers)).transpose();
        if let Ok(listener) = &mut bound
            && let Some(listener) = listener.take()
        {
            let (door, commands) = (Arc::clone(&self.door), Arc::clone(&self.commands));
            let (path, callers) = (listener.path().to_owned(), listener.callers());
            let task = tokio::spawn(async move { listener.serve(&door, &commands).await });
            *listening = Some(Listening { path, task, callers });
        }
        if let Some(before) = before {
            before.end().await;
        }
        bound.map(drop)
    }

    /// Answers for the worker that has the state, until the account begins or is dismissed.
    async fn stand_by(&self, config: &Arc<Config>, shared: &Shared, identity: &Identity) {
        let Some(relay) = config.state.home.relay() else { return };
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(config));
        let mut standing = self.stands_by.lock().await;
        if standing.is_some() || !self.door.stand_by(&relay) {
            return;
        }
        *standing = Some(StandBy::begin(config, shared, identity.name.as_ref(), relay).await);
        let listens = self.listen(config.control.socket.as_deref(), shared).await;
        if let Err(error) = listens {
            tracing::warn!(%error, "commands don't reach this worker while it stands by: {error}");
        }
    }

    /// Stands by as it did before it ran, under the configuration that it had then.
    pub(super) async fn stand_by_again(&self, shared: &Shared, identity: &Identity) {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(config) = known {
            self.stand_by(&config, shared, identity).await;
        }
    }

    /// Shows why it stands by.
    async fn stands_by_for(&self, reason: &str) {
        self.stands_by.lock().await.iter().for_each(|standing| standing.says(reason));
    }

    /// Does not stand by any more: the account runs, or is dismissed.
    pub(super) async fn stands_by_no_more(&self, shared: &Shared, runs: Option<&OnPage>) {
        if let Some(mut standing) = self.stands_by.lock().await.take() {
            standing.leave_decisions().await;
            standing.leave_page(shared, runs);
        }
    }

    /// Listens no more, once callers have their answers.
    pub(super) async fn close(&self) {
        if let Some(listening) = self.listening.lock().await.take() {
            listening.end().await;
        }
    }
}

impl Listening {
    async fn end(self) {
        self.task.abort();
        // The socket's file goes with its listener.
        let _ = self.task.await;
        self.callers.gone(ANSWER_MAX).await;
    }
}

/// Begins an account under a configuration; without one it is loaded.
///
/// # Errors
///
/// Why it can't begin; then it has nothing.
pub(super) async fn begin(
    shared: &Arc<Shared>,
    identity: &Identity,
    start: Start,
    entrance: &Entrance,
) -> Result<Entered, StartError> {
    let Start { config, entry, after } = start;
    let config = match config {
        Some(config) => config?,
        None => config::load(&identity.path, config::environment(), Needs::Jobs)?,
    };
    let setup = Setup::new(config, &shared.clock)?;
    if let (Entry::Offers, Some(membership)) = (entry, setup.config.state.home.membership()) {
        entrance.stand_by(&setup.config, shared, identity).await;
        let anchor = shared.pages.keep(&setup.config.status, &shared.clock).await;
        return Ok(Entered::Shares(Offer { membership, config: setup.config, anchor }));
    }
    let own = places_of(&setup.config).into_iter().chain(credentials_of(&setup.config, &setup.client));
    let mut held = shared.claims.take(&identity.owner(), own.collect())?;
    drop(after);
    let (store, stood_by) = opened(&setup.config, shared, identity, entrance).await?;
    reconcile::expect_account(&store, &setup.config.api.base_url)?;
    let mut setup = setup;
    if stood_by {
        setup = as_written_now(&setup, identity, shared)?;
        let own = places_of(&setup.config).into_iter().chain(credentials_of(&setup.config, &setup.client));
        held = shared.claims.take(&identity.owner(), own.collect())?;
    }
    expect_own_credentials(&setup, &store, identity.owner())?;
    let jobs = timed(&setup, &store, ClockReading::now(&shared.clock))?;
    let config = Arc::clone(&setup.config);
    let (shared, name, number) = (Arc::clone(shared), identity.name.clone(), identity.number);
    let (engine, inputs) = DaemonState::new(Begun { shared, name, number, held, setup, store });
    let teller = monitors::teller(&config, engine.counters())?;
    // Before the socket: a client that finds the daemon there finds its page too.
    let shared = engine.shared();
    let view = Arc::new(LiveView(Arc::clone(&engine)));
    let shown = ShownAccount::new(engine.name().map(ToString::to_string), view, Arc::clone(engine.counters()));
    if let Some(name) = engine.name() {
        shared.pages.hide_stopped(&name.to_string());
    }
    let on_page = shared.pages.put_on(&config.status, shown, &shared.clock).await;
    if let Some(on_page) = &on_page {
        engine.serves_page(on_page.unserved.borrow().clone());
    }
    entrance.door.leads_to(Behind::Runs(Arc::clone(&engine)));
    // Once the door leads here: no one stands by again in between.
    entrance.stands_by_no_more(shared, on_page.as_ref()).await;
    if let Err(error) = listen(entrance, &engine, &config).await {
        on_page.iter().for_each(|on_page| shared.pages.take_off(on_page));
        let path = config.control.socket.clone().unwrap_or_default();
        return Err(StartError::Socket { path, error });
    }
    let remote = RemoteCallers::serve(&engine, &entrance.commands);
    let mut watchers = watchers(&engine, on_page.as_ref());
    let (ending, mut telling) = (CancelHandle::new(0), JoinSet::new());
    let teller = monitors::tell(Arc::clone(&engine), teller, CancelToken::by([&ending]));
    telling.spawn(teller.instrument(engine.span().clone()));
    engine.counters().taken(shared.clock.now());
    engine.publish(Event::Ready);
    let (count, what) = (jobs.len(), engine.what());
    let named = if count == 1 { "job" } else { "jobs" };
    engine.span().in_scope(|| tracing::info!(jobs = count, "{what} is ready, with {count} {named}"));
    let service = Service::new(&engine, jobs);
    let lives = {
        let engine = Arc::clone(&engine);
        async move {
            let ended = service.run(inputs).await;
            ending.send_modify(|askers| *askers += 1);
            let _ = tokio::time::timeout(TELLING_MAX, telling.join_next()).await;
            watchers.shutdown().await;
            on_page.iter().for_each(|on_page| engine.shared().pages.take_off(on_page));
            ended
        }
    };
    let task = tokio::spawn(lives.instrument(engine.span().clone()));
    Ok(Entered::Runs(RunningAccount { engine, task, remote }))
}

/// Listens at the control socket of an account, unless another process of this machine stands by for it there, and hands on
/// what comes.
async fn listen(entrance: &Entrance, engine: &DaemonState, config: &Config) -> io::Result<()> {
    match entrance.listen(config.control.socket.as_deref(), engine.shared()).await {
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_shared(config) && engine.name().is_some() => {
            engine.span().in_scope(|| tracing::warn!(%error, "the control socket is another process's: {error}"));
            Ok(())
        }
        listens => listens,
    }
}

/// Says, where the state lies in a database, by which credentials the account is run.
///
/// # Errors
///
/// Another account has one of them, and goes first.
pub(in crate::daemon) fn expect_own_credentials(setup: &Setup, store: &Store, owner: String) -> Result<(), StartError> {
    match setup.announce(store)? {
        None => Ok(()),
        Some(other) => Err(Conflict { owner, other, claim: credential_of(&setup.config, &setup.client) }.into()),
    }
}

/// The client of a command that has an account for itself. Sends nothing.
///
/// # Errors
///
/// Another account of the database has a credential of it and runs, or the client can't be made.
pub fn client_for_command(config: &Config, store: &Store, clock: &Clock) -> Result<Client, StartError> {
    let setup = Setup::new(config.clone(), clock)?;
    let stem = config.source_path.file_stem().unwrap_or_default().to_string_lossy();
    expect_own_credentials(&setup, store, stem.into_owned())?;
    Ok(setup.client)
}

/// What runs beside the loop of an account.
fn watchers(engine: &Arc<DaemonState>, on_page: Option<&OnPage>) -> JoinSet<()> {
    let mut watchers = JoinSet::new();
    watchers.spawn(monitors::count(Arc::clone(engine)).instrument(engine.span().clone()));
    watchers.spawn(decisions::serve(Arc::clone(engine)).instrument(engine.span().clone()));
    watchers.spawn(inbox_watch::watch(Arc::clone(engine)).instrument(engine.span().clone()));
    if let Some(on_page) = on_page {
        watchers.spawn(page_watch(Arc::clone(engine), on_page.unserved.clone()));
    }
    watchers
}

/// Waits for the end of an account's loop, and ends what is left of it: its callers have their answers, and its store is
/// closed.
///
/// # Errors
///
/// The loop broke off, or the state is another process's.
pub(super) async fn end(account: RunningAccount, entrance: &Entrance) -> Result<(), StartError> {
    let RunningAccount { engine, task, remote } = account;
    let result = match task.await {
        Ok(result) => result.map_err(StartError::from),
        Err(error) => Err(StartError::BrokenOff(error.to_string())),
    };
    remote.end(ANSWER_MAX).await;
    entrance.close().await;
    // The lease of a database is let go, which may wait for that.
    let (handle, closing) = (tokio::runtime::Handle::current(), Arc::clone(&engine));
    let closed = tokio::task::spawn_blocking(move || handle.block_on(closing.close())).await;
    let result = closed.map_err(|error| StartError::BrokenOff(error.to_string())).and(result);
    // Before the last who still looks at it lets it go.
    engine.hold(Held::default());
    let what = engine.what();
    engine.span().in_scope(|| tracing::info!("{what} has ended"));
    result
}

/// The configuration as its file is after a worker stood by, which may have been months: it takes over by no other one, and with the
/// credential of today.
fn as_written_now(setup: &Setup, identity: &Identity, shared: &Shared) -> Result<Setup, StartError> {
    let mut config = config::load(&identity.path, config::environment(), Needs::Jobs)?;
    if config.state.home != setup.config.state.home {
        let reason = "its configuration names another place for the state than when it began to stand by";
        return Err(StartError::BrokenOff(reason.to_owned()));
    }
    if config.digest != setup.config.digest {
        let path = identity.path.display().to_string();
        tracing::info!(
            path,
            "the configuration {path} was changed while this worker stood by; it takes over by the new one"
        );
    }
    setup.hand_budget_on(&mut config);
    Ok(Setup::new(config, &shared.clock)?)
}

/// Opens the store, and says whether that took standing by. A command may have it for a moment: that is waited for, where it is not
/// another daemon of this machine. Where another worker has it, a process of one account stands by for as long as it takes; those of
/// several are shared out.
async fn opened(
    config: &Arc<Config>,
    shared: &Shared,
    identity: &Identity,
    entrance: &Entrance,
) -> Result<(Store, bool), store::Error> {
    let begun = Instant::now();
    let mut stood_by = false;
    // An account that does not run listens there itself.
    let is_own = entrance.listening.lock().await.is_some();
    let socket_answers =
        || !is_own && config.control.socket.as_deref().is_some_and(|socket| UnixStream::connect(socket).is_ok());
    let stopping = CancelToken::by([&shared.stopping]);
    let mut is_told = false;
    loop {
        let (error, stands_by) = match reconcile::open_store(config) {
            Err(error) if matches!(error.kind, store::ErrorKind::InUse { .. }) => (error, false),
            Err(error) if matches!(error.kind, store::ErrorKind::Leased { .. }) && identity.name.is_none() => {
                // Another daemon of this machine may have it.
                if !is_told && socket_answers() {
                    return Err(config.state.home.error(store::ErrorKind::InUse { holder: None }));
                }
                entrance.stand_by(config, shared, identity).await;
                entrance.stands_by_for(&error.kind.to_string()).await;
                stood_by = true;
                (error, true)
            }
            opened => return opened.map(|store| (store, stood_by)),
        };
        if !stands_by && (socket_answers() || begun.elapsed() >= IN_USE_MAX) {
            return Err(error);
        }
        if !is_told {
            tracing::info!(reason = %error, "the daemon waits until it can have its state: {error}");
            if identity.name.is_none() {
                Manager::waits(&error.to_string());
            }
            is_told = true;
        }
        tokio::select! {
            () = tokio::time::sleep(if stands_by { term(CLAIM_EVERY) } else { IN_USE_PAUSE }) => {}
            () = stopping.wait() => return Err(error),
        }
    }
}

/// Whether other machines can have the account.
fn is_shared(config: &Config) -> bool {
    config.state.home.relay().is_some()
}

/// Takes note of whether the page of an account is served.
async fn page_watch(engine: Arc<DaemonState>, mut unserved: watch::Receiver<Option<Unserved>>) {
    while unserved.changed().await.is_ok() {
        let now = unserved.borrow_and_update().clone();
        let is_back = now.is_none() && engine.unserved().is_some();
        engine.serves_page(now);
        if is_back {
            engine.publish(Event::Page);
        }
    }
}

impl StartError {
    /// Where the process runs that has the state, as far as that is known.
    pub(super) fn holder(&self) -> Option<String> {
        match self {
            Self::Store(store::Error { kind: store::ErrorKind::Leased { node }, .. }) => Some(node.clone()),
            _ => None,
        }
    }

    /// Whether another process has the state, and may let it go: then the account stands by.
    pub(super) fn stands_by(&self) -> bool {
        let Self::Store(error) = self else { return false };
        matches!(error.kind, store::ErrorKind::Leased { .. } | store::ErrorKind::Fenced)
    }
}

impl Identity {
    /// What every entry of its log has.
    pub(super) fn span(&self) -> tracing::Span {
        span_of(self.name.as_ref())
    }

    /// How it is called among the accounts.
    pub(super) fn owner(&self) -> String {
        owner_of(self.name.as_ref())
    }
}
