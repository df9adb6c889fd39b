//! Monitors of the daemon: the status page, the counters, and the notices.
//!
//! Each has a task of its own and only reads; a place that does not answer holds up neither runs nor commands.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use tokio::sync::broadcast::error::RecvError;

use super::event::Event;
use super::shutdown::CancelToken;
use super::state::DaemonState;
use crate::api::Traffic;
use crate::config::Config;
use crate::fault::chain;
use crate::notify::{self, NoticeStore, Notifier, Outage, SetupError};
use crate::status::{Around, Counters, Gather, Process, Snapshot};
use crate::store;

/// How often it is looked how things are, where nothing happens: a job becomes overdue without a run.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The shortest wait between two tries to deliver.
const DELIVER_EVERY: Duration = Duration::from_secs(1);

/// How long no worker may have an account before that is wrong: a lease runs out, and the next one begins.
const UNOWNED_MAX: Duration = Duration::from_secs(90);

/// How long the state may be unreadable before there is a notice.
const LOST_MAX: SignedDuration = SignedDuration::from_mins(2);

/// How things are at the daemon.
pub(super) struct LiveView(pub(super) Arc<DaemonState>);

impl Gather for LiveView {
    fn snapshot(&self) -> BoxFuture<'_, Result<Snapshot, String>> {
        Box::pin(async { gather(&self.0).await.map_err(|lost| lost.describe()) })
    }

    fn traffic(&self) -> Traffic {
        self.0.setup().client.traffic()
    }

    fn is_alive(&self) -> bool {
        self.0.is_alive()
    }
}

/// An account that does not run.
pub(super) struct StoppedView(pub(super) String);

impl Gather for StoppedView {
    fn snapshot(&self) -> BoxFuture<'_, Result<Snapshot, String>> {
        Box::pin(std::future::ready(Err(self.0.clone())))
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    fn is_alive(&self) -> bool {
        true
    }

    fn stopped(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

/// An account that stands by.
pub(super) struct StandbyView {
    /// Where it runs.
    node: Option<String>,
    since: Instant,
}

impl StandbyView {
    /// One that runs there; nowhere so far without it.
    pub(super) fn new(node: Option<String>) -> Self {
        Self { node, since: Instant::now() }
    }

    fn words(&self) -> String {
        self.node.clone().unwrap_or_else(|| "no worker has it".to_owned())
    }
}

impl Gather for StandbyView {
    fn snapshot(&self) -> BoxFuture<'_, Result<Snapshot, String>> {
        Box::pin(std::future::ready(Err(self.words())))
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    fn is_alive(&self) -> bool {
        true
    }

    fn stopped(&self) -> Option<String> {
        (self.node.is_none() && self.since.elapsed() > UNOWNED_MAX).then(|| self.words())
    }

    fn elsewhere(&self) -> Option<String> {
        self.stopped().is_none().then(|| self.words())
    }
}

/// Why it can't be said how things are.
enum Lost {
    Store(store::Error),
    BrokenOff,
}

impl Lost {
    /// The message, with personal data removed.
    fn describe(&self) -> String {
        match self {
            Self::Store(error) => notify::describe(error),
            Self::BrokenOff => "looking at it broke off".to_owned(),
        }
    }
}

async fn gather(engine: &Arc<DaemonState>) -> Result<Snapshot, Lost> {
    let setup = engine.setup();
    let (remembered, is_full) = engine.remembered(&setup.config).await.map_err(Lost::Store)?;
    let engine = Arc::clone(engine);
    let work = tokio::task::spawn_blocking(move || {
        let (budget, at) = (setup.client.budget(), engine.clock().now());
        let seen = setup.config.jobs.iter().map(|job| engine.seen(&job.name)).collect();
        let snapshot = Snapshot::of(remembered, &setup.config, Around { budget, at, is_full, seen });
        let unheard = NoticeStore::open(&setup.config.state.home).unheard();
        let process = Process { started: Some(engine.started()), ..snapshot.process };
        let (refused, unserved, no_decisions) = (engine.counters().refused(), engine.unserved(), engine.no_decisions());
        Snapshot { unheard, refused, unserved, no_decisions, process, ..snapshot }
    });
    work.await.map_err(|_| Lost::BrokenOff)
}

/// Counts the results of runs, for as long as it is polled.
pub(super) async fn count(engine: Arc<DaemonState>) {
    let mut events = engine.events();
    loop {
        match events.recv().await {
            Ok(Event::Ended { report }) => engine.counters().ended(&report),
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// The sender of notices under a configuration; `None` if there are none.
pub(super) fn teller(config: &Config, counters: &Arc<Counters>) -> Result<Option<Notifier>, SetupError> {
    if config.notify.is_off() {
        return Ok(None);
    }
    Notifier::open(&config.state.home, &config.notify, counters).map(|teller| Some(teller.for_jobs(&config.jobs)))
}

/// Tells people what is new until `ending` asks it to end. What is delivered then is delivered first: cut off, it would come a second
/// time after the next start.
pub(super) async fn tell(engine: Arc<DaemonState>, mut teller: Option<Notifier>, ending: CancelToken) {
    let mut events = engine.events();
    // An earlier process may have left something untold.
    let mut look = true;
    let mut looked = Instant::now();
    loop {
        if look {
            looked = Instant::now();
        }
        if let Some(teller) = &mut teller {
            if look {
                match gather(&engine).await {
                    Ok(snapshot) => teller.look(&snapshot).await,
                    Err(lost) => {
                        let reason = lost.describe();
                        tracing::warn!(reason, "status could not be determined: {reason}");
                        if let Lost::Store(error) = &lost {
                            teller.down(&Outage::of_store(error, LOST_MAX), engine.clock().now());
                        }
                    }
                }
            }
            teller.deliver(engine.clock().now()).await;
        }
        let now = engine.clock().now();
        let due = teller.as_ref().and_then(|teller| teller.due_in(now)).unwrap_or(LOOK_EVERY);
        let wait = due.clamp(DELIVER_EVERY, LOOK_EVERY).min(LOOK_EVERY.saturating_sub(looked.elapsed()));
        let is_news = tokio::select! {
            event = events.recv() => match event {
                Ok(Event::Reloaded) => {
                    match self::teller(&engine.setup().config, engine.counters()) {
                        Ok(next) => teller = next,
                        Err(error) => {
                            let error = chain(&error);
                            tracing::error!(error, "the new [notify] can't be used, so the one before stays: {error}");
                        }
                    }
                    true
                }
                Ok(
                    Event::Ready
                    | Event::Ended { .. }
                    | Event::Broken { .. }
                    | Event::Decided
                    | Event::Refused { .. }
                    | Event::Page,
                )
                | Err(RecvError::Lagged(_)) => true,
                Ok(_) => false,
                Err(RecvError::Closed) => return,
            },
            () = tokio::time::sleep(wait) => false,
            () = ending.wait() => return,
        };
        // Events that follow each other closely must not put it off.
        look = is_news || looked.elapsed() >= LOOK_EVERY;
    }
}
