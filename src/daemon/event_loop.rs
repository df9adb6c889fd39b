//! The event loop of an account.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::event::Event;
use super::runs::worker;
use super::scheduler::{ClockReading, Ended, SLEEP_MAX, Scheduler, Timed, covered};
use super::shutdown::{CancelToken, GRACE};
use super::state::{DaemonState, LoopEvent, NextRun, Said, Setup};
use crate::config::Job;
use crate::queue;
use crate::reconcile::JobState;
use crate::record::{JobName, reveal};
use crate::store::{self, Store};

/// How often the loop looks around while runs are under way, so that STATUS tells how far they are.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long the daemon waits for runs and callers after it was asked to end: their own grace, and a little for the disk.
const END_MAX: Duration = GRACE.saturating_add(Duration::from_secs(5));

/// The jobs of a configuration as the scheduler takes them. A job that never ran by its schedule counts from its last run,
/// or else from now on; either is remembered, so that a time that is missed from here is made up once. One of which changes are
/// queued goes on at once.
pub(super) fn timed(setup: &Setup, store: &Store, now: ClockReading) -> Result<Vec<Timed>, store::Error> {
    let timed = |job: &Job| {
        let mut served = covered::served(store, &job.name)?;
        if served.is_none() && !Scheduler::is_clock_wrong(now) {
            let last = JobState::load(store, &job.name)?.last.map(|last| last.started);
            let from = last.filter(|last| *last <= now.wall).unwrap_or(now.wall);
            if let Err(error) = covered::remember(store, &job.name, from) {
                let job = job.name.as_str();
                tracing::warn!(job, %error, "{job}: when its schedule began could not be remembered: {error}");
            }
            served = Some(from);
        }
        let mut is_open = false;
        for part in job.parts() {
            queue::briefs(store, &part.name, |change| is_open |= !change.state.is_parked())?;
        }
        Ok(Timed::new(job, served).going_on(is_open))
    };
    setup.config.jobs.iter().map(timed).collect()
}

/// The loop of one account.
pub(super) struct Service {
    engine: Arc<DaemonState>,
    scheduler: Scheduler,
    running: usize,
    /// Whether the clock was wrong when it was looked at last.
    is_clock_wrong: bool,
}

impl Service {
    pub(super) fn new(engine: &Arc<DaemonState>, jobs: Vec<Timed>) -> Self {
        Self { engine: Arc::clone(engine), scheduler: Scheduler::new(jobs), running: 0, is_clock_wrong: false }
    }

    /// Turns until the account is asked to end; the error is why it has to.
    pub(super) async fn run(mut self, mut inputs: mpsc::UnboundedReceiver<LoopEvent>) -> Result<(), store::Error> {
        let mut outcome = Ok(());
        loop {
            self.engine.turned();
            if self.engine.is_fenced() {
                let error = self.engine.setup().config.state.home.error(store::ErrorKind::Fenced);
                let who = self.engine.what();
                tracing::error!(%error, "{who} ends, and stands by when it is started again: {error}");
                outcome = Err(error);
                break;
            }
            self.tick();
            let sleep = tokio::time::sleep(self.sleep());
            tokio::select! {
                input = inputs.recv() => match input {
                    Some(LoopEvent::End) | None => break,
                    Some(input) => self.handle(input).await,
                },
                () = sleep => {}
            }
        }
        self.end(inputs).await;
        outcome
    }

    /// Starts what is due, and says how things are.
    fn tick(&mut self) {
        let now = ClockReading::now(self.engine.clock());
        self.watch_clock(now);
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
        let summary = self.summary(now, &outlook) + &refused.unwrap_or_default();
        self.engine.publish_schedule(outlook);
        // A run that waits until the service lets it go on is quiet, and does not hang.
        let waits = || {
            let budget = setup.client.budget();
            budget.blocked_until.is_some() || budget.used >= budget.limit
        };
        let hung = self.engine.runs().hung(Instant::now());
        let hung = if hung.is_empty() || waits() { Vec::new() } else { hung };
        self.engine.say(Said { summary, hung, runs: self.running });
    }

    /// Says once that nothing runs since the clock can't be right, and once that it is.
    fn watch_clock(&mut self, now: ClockReading) {
        let is_wrong = Scheduler::is_clock_wrong(now);
        if is_wrong != self.is_clock_wrong {
            self.is_clock_wrong = is_wrong;
            if is_wrong {
                tracing::warn!(
                    "this machine's clock says {:.0}, which can't be right: no job runs before it is set",
                    now.wall
                );
            } else {
                tracing::info!("this machine's clock is set: jobs run again");
            }
        }
    }

    fn sleep(&self) -> Duration {
        let now = ClockReading::now(self.engine.clock());
        let busy = if self.running > 0 { LOOK_EVERY } else { SLEEP_MAX };
        self.scheduler.sleep(now).min(busy)
    }

    async fn handle(&mut self, input: LoopEvent) {
        match input {
            LoopEvent::Ask(jobs) => self.ask(&jobs),
            LoopEvent::Ended(job, how) => self.ended(&job, how).await,
            LoopEvent::Ran(job) => {
                let served = self.scheduler.ran(&job, ClockReading::now(self.engine.clock()));
                self.remember(&job, served).await;
            }
            LoopEvent::Looked | LoopEvent::End => {}
            LoopEvent::Reloaded => {
                let (setup, now) = (self.engine.setup(), ClockReading::now(self.engine.clock()));
                // Who is new in the file may have run under an earlier one.
                let jobs: Vec<Timed> = match self.engine.store().await {
                    Ok(store) => timed(&setup, &store, now).unwrap_or_default(),
                    Err(_) => Vec::new(),
                };
                let jobs = if jobs.is_empty() {
                    setup.config.jobs.iter().map(|job| Timed::new(job, None)).collect()
                } else {
                    jobs
                };
                self.scheduler.replace(jobs, now);
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
    async fn end(mut self, mut inputs: mpsc::UnboundedReceiver<LoopEvent>) {
        let (runs, who) = (self.running, self.engine.what());
        tracing::info!(runs, "{who} ends ({runs} runs): what is under way is finished, what waits stays queued");
        self.engine.publish(Event::Stopping);
        self.engine.stopping().send_modify(|askers| *askers += 1);
        let hurry = CancelToken::by([&self.engine.shared().hurry]);
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
        tokio::select! {
            _ = over => {}
            () = tokio::time::sleep(END_MAX) => tracing::warn!("shutdown grace period elapsed with work unfinished"),
            () = hurry.wait() => tracing::warn!("asked a second time: ending at once"),
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
