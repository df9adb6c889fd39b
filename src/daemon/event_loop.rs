//! The event loop of the daemon.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::control::{Commands, Listener};
use super::event::Event;
use super::runs::worker;
use super::scheduler::{ClockReading, Ended, SLEEP_MAX, Scheduler, Timed, covered};
use super::shutdown::GRACE;
use super::signals::{SignalAction, Wishes};
use super::state::{DaemonState, LoopEvent, NextRun, Setup};
use super::systemd::Manager;
use super::{decisions, inbox_watch, monitors, page};
use crate::clock::Clock;
use crate::config::Config;
use crate::reconcile;
use crate::record::{JobName, reveal};
use crate::store::{self, Store};

/// How often the loop looks around while runs are under way, so that STATUS tells how far they are.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long the daemon waits for runs and callers after it was asked to end: their own grace, and a little for the disk.
const END_MAX: Duration = GRACE.saturating_add(Duration::from_secs(5));

/// How long it waits for a state that a command has, and how often it looks. The service manager tries again after that.
const IN_USE_MAX: Duration = Duration::from_secs(5);
const IN_USE_PAUSE: Duration = Duration::from_millis(50);
/// How often a daemon that stands by tries to claim the account.
const CLAIM_EVERY: Duration = Duration::from_secs(2);

/// How long it waits then until each caller has read its answer.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// Why the daemon could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The state can't be used.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The credential or a certificate can't be used.
    #[error(transparent)]
    Client(#[from] crate::api::Error),
    /// The socket can't be used.
    #[error("the control socket {} can't be used", path.display())]
    Socket {
        /// Where it should be.
        path: std::path::PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// Notices can't be sent.
    #[error(transparent)]
    Notify(#[from] crate::notify::SetupError),
    /// Signals can't be heard.
    #[error("signals can't be heard")]
    Signals(#[source] std::io::Error),
}

/// Runs the daemon until it is asked to end.
///
/// # Errors
///
/// Why it could not begin.
pub async fn serve(config: Config, clock: &Clock, commands: Arc<dyn Commands>) -> Result<(), StartError> {
    // Before the daemon is visible to others: an unhandled signal would end it.
    let mut wishes = Wishes::hear().map_err(StartError::Signals)?;
    let store = opened(&config, &mut wishes).await?;
    let setup = Setup::new(config, clock)?;
    let jobs = timed(&setup, &store)?;
    let config = Arc::clone(&setup.config);
    let (engine, inputs) = DaemonState::new(setup, store, clock);
    // Before the socket: a client that finds the daemon there finds its page too.
    let server = page::bind(&engine).await;
    let listener = match &config.control.socket {
        None => None,
        Some(path) => {
            let bound = Listener::bind(path);
            Some(bound.map_err(|error| StartError::Socket { path: path.clone(), error })?)
        }
    };
    let callers = listener.as_ref().map(Listener::callers);
    let teller = monitors::teller(&config, engine.counters())?;
    let mut watchers = JoinSet::new();
    watchers.spawn(monitors::count(Arc::clone(&engine)));
    watchers.spawn(monitors::tell(Arc::clone(&engine), teller));
    if config.status.listen.is_some() {
        watchers.spawn(page::serve(Arc::clone(&engine), server));
    }
    watchers.spawn(decisions::serve(Arc::clone(&engine)));
    let listens = {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move {
            match &listener {
                Some(listener) => listener.serve(&engine, &commands).await,
                None => std::future::pending().await,
            }
        })
    };
    let looks = tokio::spawn(inbox_watch::watch(Arc::clone(&engine)));
    engine.counters().taken(clock.now());
    Manager::ready();
    engine.publish(Event::Ready);
    let count = jobs.len();
    let named = if count == 1 { "job" } else { "jobs" };
    tracing::info!(jobs = count, "the daemon is ready, with {count} {named}");
    let service =
        Service { engine: Arc::clone(&engine), scheduler: Scheduler::new(jobs), manager: Manager::new(), running: 0 };
    let ended = service.run(wishes, inputs).await;
    looks.abort();
    watchers.shutdown().await;
    listens.abort();
    // The socket's file goes with its listener.
    let _ = listens.await;
    if let Some(callers) = callers {
        callers.gone(ANSWER_MAX).await;
    }
    engine.close().await;
    tracing::info!("the daemon has ended");
    Ok(ended?)
}

/// Opens the store. A command may have it for a moment: that is waited for, where it is not another daemon of this machine.
/// Where another worker has it, this one stands by for as long as it takes.
async fn opened(config: &Config, wishes: &mut Wishes) -> Result<Store, store::Error> {
    let begun = Instant::now();
    let is_served = || config.control.socket.as_deref().is_some_and(|socket| UnixStream::connect(socket).is_ok());
    let mut is_told = false;
    loop {
        let (error, stands_by) = match reconcile::open_store(config) {
            Err(error) if matches!(error.kind, store::ErrorKind::InUse { .. }) => (error, false),
            Err(error) if matches!(error.kind, store::ErrorKind::Leased { .. }) => (error, true),
            opened => return opened,
        };
        if is_served() || !stands_by && begun.elapsed() >= IN_USE_MAX {
            return Err(error);
        }
        if !is_told {
            tracing::info!(reason = %error, "the daemon waits until it can have its state: {error}");
            Manager::waits(&error.to_string());
            is_told = true;
        }
        tokio::select! {
            () = tokio::time::sleep(if stands_by { CLAIM_EVERY } else { IN_USE_PAUSE }) => {}
            wish = wishes.next() => if wish == SignalAction::End { return Err(error) },
        }
    }
}

/// The jobs of a configuration as the scheduler takes them.
fn timed(setup: &Setup, store: &Store) -> Result<Vec<Timed>, store::Error> {
    setup.config.jobs.iter().map(|job| Ok(Timed::new(job, covered::served(store, &job.name)?))).collect()
}

struct Service {
    engine: Arc<DaemonState>,
    scheduler: Scheduler,
    manager: Manager,
    running: usize,
}

impl Service {
    /// Turns until the daemon is asked to end; the error is why it has to.
    async fn run(
        mut self,
        mut wishes: Wishes,
        mut inputs: mpsc::UnboundedReceiver<LoopEvent>,
    ) -> Result<(), store::Error> {
        let mut outcome = Ok(());
        loop {
            self.engine.turned();
            if self.engine.is_fenced() {
                let error = self.engine.setup().config.state.home.error(store::ErrorKind::Fenced);
                tracing::error!(%error, "the daemon ends, and stands by when it is started again: {error}");
                outcome = Err(error);
                break;
            }
            self.tick();
            let sleep = tokio::time::sleep(self.sleep());
            tokio::select! {
                wish = wishes.next() => match wish {
                    SignalAction::End => break,
                    SignalAction::RunAll => self.ask(&[]),
                    SignalAction::Reload => {
                        let engine = Arc::clone(&self.engine);
                        let handle = tokio::runtime::Handle::current();
                        tokio::task::spawn_blocking(move || handle.block_on(engine.reload()).is_ok());
                    }
                },
                Some(input) = inputs.recv() => self.handle(input).await,
                () = sleep => {}
            }
        }
        self.end(wishes, inputs).await;
        outcome
    }

    /// Starts what is due, and says how things are.
    fn tick(&mut self) {
        let now = ClockReading::now(self.engine.clock());
        for job in self.scheduler.due(now) {
            self.running += 1;
            worker::start(&self.engine, job);
        }
        let setup = self.engine.setup();
        let mut outlook = BTreeMap::new();
        for job in &setup.config.jobs {
            let (next, waits) = (self.scheduler.next(&job.name), self.scheduler.waits_since(&job.name));
            outlook.insert(job.name.clone(), NextRun { next, waits, skipped: self.scheduler.skipped(&job.name) });
        }
        let refused = self.engine.counters().refused();
        let refused =
            refused.map(|refused| format!("; the new configuration was refused: {}", reveal(&refused.reason)));
        self.manager.status(&(self.summary(now, &outlook) + &refused.unwrap_or_default()));
        self.engine.publish_schedule(outlook);
        let hung = self.engine.runs().hung(Instant::now());
        // A run that waits until the service lets it go on is quiet, and does not hang.
        let waits = || {
            let budget = setup.client.budget();
            budget.blocked_until.is_some() || budget.used >= budget.limit
        };
        if hung.is_empty() || waits() {
            self.manager.ping();
        } else if self.manager.watchdog_due_in() == Some(Duration::ZERO) {
            let jobs = hung.iter().map(JobName::as_str).collect::<Vec<_>>().join(", ");
            tracing::error!(jobs, "runs show no sign of life, so the service manager will restart the daemon: {jobs}");
        }
    }

    fn sleep(&self) -> Duration {
        let now = ClockReading::now(self.engine.clock());
        let busy = if self.running > 0 { LOOK_EVERY } else { SLEEP_MAX };
        self.scheduler.sleep(now).min(busy).min(self.manager.watchdog_due_in().unwrap_or(SLEEP_MAX))
    }

    async fn handle(&mut self, input: LoopEvent) {
        match input {
            LoopEvent::Ask(jobs) => self.ask(&jobs),
            LoopEvent::Ended(job, how) => self.ended(&job, how).await,
            LoopEvent::Ran(job) => {
                let served = self.scheduler.ran(&job, ClockReading::now(self.engine.clock()));
                self.remember(&job, served).await;
            }
            LoopEvent::Looked => {}
            LoopEvent::Reloaded => {
                let setup = self.engine.setup();
                // Who is new in the file may have run under an earlier one.
                let jobs: Vec<Timed> = match self.engine.store().await {
                    Ok(store) => timed(&setup, &store).unwrap_or_default(),
                    Err(_) => Vec::new(),
                };
                let jobs = if jobs.is_empty() {
                    setup.config.jobs.iter().map(|job| Timed::new(job, None)).collect()
                } else {
                    jobs
                };
                self.scheduler.replace(jobs, ClockReading::now(self.engine.clock()));
            }
        }
    }

    fn ask(&mut self, jobs: &[JobName]) {
        let setup = self.engine.setup();
        let all = setup.config.jobs.iter().map(|job| &job.name);
        for job in all.filter(|job| jobs.is_empty() || jobs.contains(job)) {
            self.scheduler.ask(job);
        }
    }

    async fn ended(&mut self, job: &JobName, how: Ended) {
        self.running = self.running.saturating_sub(1);
        let before = self.scheduler.skipped(job);
        let served = self.scheduler.ended(job, how, ClockReading::now(self.engine.clock()));
        let times = self.scheduler.skipped(job);
        if times > before {
            let (name, more) = (job.as_str(), times - before);
            tracing::warn!(
                job = name,
                times = more,
                "{name}: the run took longer than its interval; {more} times of the schedule were skipped"
            );
            self.engine.publish(Event::Skipped { job: job.clone(), times });
        }
        self.remember(job, served).await;
    }

    /// Remembers across restarts up to when a job's times are served.
    async fn remember(&self, job: &JobName, served: Option<jiff::Timestamp>) {
        let Some(at) = served else { return };
        // Where it can't be remembered, the job runs once more after a restart.
        let kept = match self.engine.store().await {
            Ok(store) => covered::remember(&store, job, at),
            Err(error) => Err(error),
        };
        if let Err(error) = kept {
            let job = job.as_str();
            tracing::warn!(job, %error, "{job}: the end of the run could not be remembered: {error}");
        }
    }

    /// Asks runs and callers to end, and waits for them.
    async fn end(mut self, mut wishes: Wishes, mut inputs: mpsc::UnboundedReceiver<LoopEvent>) {
        Manager::stopping();
        let runs = self.running;
        tracing::info!(runs, "the daemon ends ({runs} runs): what is under way is finished, what waits stays queued");
        self.engine.publish(Event::Stopping);
        self.engine.stopping().send_modify(|askers| *askers += 1);
        let over = async {
            while self.running > 0 {
                let Some(input) = inputs.recv().await else { break };
                if matches!(input, LoopEvent::Ended(..) | LoopEvent::Ran(_)) {
                    self.handle(input).await;
                }
            }
            // The holder of a lock is a caller's command: it ends by itself.
            self.engine.turns().of_all().await
        };
        let hurried = async {
            loop {
                if wishes.next().await == SignalAction::End {
                    break;
                }
            }
        };
        tokio::select! {
            _ = over => {}
            () = tokio::time::sleep(END_MAX) => tracing::warn!("shutdown grace period elapsed with work unfinished"),
            () = hurried => tracing::warn!("asked a second time: ending at once"),
        }
    }

    /// How things are, for `systemctl status`.
    fn summary(&self, now: ClockReading, outlook: &BTreeMap<JobName, NextRun>) -> String {
        if Scheduler::is_clock_wrong(now) {
            return "waiting: this machine's clock is wrong".to_owned();
        }
        let mut parts = Vec::new();
        let going = self.engine.runs().describe();
        if !going.is_empty() {
            parts.push(going);
        }
        let next = outlook.iter().filter_map(|(job, outlook)| Some((outlook.next?, job))).min();
        match next {
            Some((next, job)) => parts.push(format!("next: {job} at {next:.0}")),
            None => parts.push(format!("{} jobs, none with a schedule", outlook.len())),
        }
        parts.join("; ")
    }
}
