//! One run of one job, started by the loop.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::ending::Ending;
use super::engine::{Engine, Input, Setup};
use super::event::Event;
use super::scheduler::Ended;
use crate::config::Job;
use crate::push::Outcome;
use crate::queue::Change;
use crate::record::{JobName, shown};
use crate::run::{self, Context, Narrow, Report, Stage, Watch};

/// How long a run sends before it starts over for a time of its schedule.
const SENDS_MIN: Duration = Duration::from_secs(if cfg!(debug_assertions) { 2 } else { 30 });

/// Starts a run on a thread of its own; the loop hears of its end, whatever that is. A run reads files and waits for disks:
/// on a thread that also serves the socket it would keep callers waiting.
pub(super) fn start(engine: &Arc<Engine>, job: JobName) {
    let engine = Arc::clone(engine);
    tokio::spawn(async move {
        let handle = tokio::runtime::Handle::current();
        let work = tokio::task::spawn_blocking({
            let (engine, job) = (Arc::clone(&engine), job.clone());
            move || handle.block_on(run(&engine, &job))
        });
        let how = match work.await {
            Ok(how) => how,
            Err(error) => {
                broken(&engine, &job, &format!("the run broke off: {error}"));
                Ended::Served
            }
        };
        engine.runs().end(&job);
        engine.tell(Input::Ended(job, how));
    });
}

async fn run(engine: &Arc<Engine>, name: &JobName) -> Ended {
    let setup = engine.setup();
    let Some(job) = setup.config.jobs.iter().find(|job| job.name == *name) else { return Ended::Served };
    let _turn = engine.turns().of(run::needed(job)).await;
    let ending = Ending::of_run(engine.turns(), [engine.stopping()]);
    if ending.asked() {
        return Ended::GaveWay;
    }
    engine.runs().begin(name, engine.clock().now());
    engine.publish(Event::Began { job: name.clone() });
    match sync(engine, &setup, job, &ending).await {
        None => Ended::GaveWay,
        Some(Ok(reports)) => {
            // One that had come to its end all the same when it was asked is done with.
            let gave_way = reports.iter().any(|report| report.details.gave_way);
            let cut_off = reports.is_empty() || reports.iter().any(|report| report.status == run::Status::Failed);
            for report in reports {
                tell(&report);
                engine.publish(Event::Ended { report: Arc::new(report) });
            }
            if gave_way || (cut_off && ending.asked()) { Ended::GaveWay } else { Ended::Served }
        }
        Some(Err(error)) => {
            broken(engine, name, &crate::fault::chain(&error));
            if matches!(error, run::Error::Store(_)) {
                // After an error sled refuses everything, and a disk that was full may have room by now: opened again, the
                // store says what is true.
                engine.close().await;
            }
            Ended::Served
        }
    }
}

/// `None` where the run was asked to end and did not in its grace: what it left unknown is settled by the next one.
async fn sync(
    engine: &Arc<Engine>,
    setup: &Setup,
    job: &Job,
    ending: &Ending,
) -> Option<Result<Vec<Report>, run::Error>> {
    let store = match engine.store().await {
        Ok(store) => store,
        Err(error) => return Some(Err(error.into())),
    };
    let again = job.schedule.as_ref().filter(|_| job.inbox.is_none());
    let again = again.and_then(|schedule| schedule.next_after(engine.clock().now(), &job.time_zone));
    let begun = Instant::now();
    let since = changed(engine, job);
    let watch = Watcher { engine, since, job: &job.name, ending, again, begun, sending: OnceLock::new() };
    let client = setup.client.for_run();
    let context =
        Context { config: &setup.config, client: &client, store: &store, clock: engine.clock(), watch: &watch };
    ending.guard(run::sync(&context, &[job], &Narrow::default())).await
}

fn broken(engine: &Engine, job: &JobName, reason: &str) {
    tracing::error!(job = job.as_str(), reason = &*shown(reason), "a run could not be made");
    engine.publish(Event::Broken { job: job.clone(), reason: reason.to_owned() });
}

/// Logs what a run came to: numbers and reasons, no people (law 11).
fn tell(report: &Report) {
    let counts = &report.counts;
    let reason = report.reason().unwrap_or_default();
    let reason = &*shown(&reason);
    let (job, status) = (report.name.as_str(), report.status.name());
    macro_rules! log {
        ($level:ident) => {
            tracing::$level!(
                job,
                status,
                records = counts.records,
                created = counts.created,
                updated = counts.updated,
                deleted = counts.deleted,
                rejected = counts.rejected,
                parked = counts.parked,
                held = counts.held,
                requests = counts.requests,
                reason,
                "what the run came to"
            )
        };
    }
    match report.status {
        run::Status::Done => log!(info),
        run::Status::Partial | run::Status::Held => log!(warn),
        run::Status::Failed => log!(error),
    }
}

/// When the source of a job changed: a file that is read in place says so; of any other it is known only that it is being read.
fn changed(engine: &Engine, job: &Job) -> Timestamp {
    let now = engine.clock().now();
    let file = job.source.file().filter(|_| job.inbox.is_none());
    let modified = file.and_then(|file| file.path.metadata().ok()?.modified().ok());
    modified.and_then(|modified| Timestamp::try_from(modified).ok()).unwrap_or(now).min(now)
}

/// Notes signs of life, and says when to give way.
struct Watcher<'a> {
    engine: &'a Engine,
    /// When the source changed, as far as that can be told.
    since: Timestamp,
    job: &'a JobName,
    ending: &'a Ending,
    /// The next time of the job's schedule.
    again: Option<Timestamp>,
    begun: Instant,
    /// Since when it sends.
    sending: OnceLock<Instant>,
}

impl Watcher<'_> {
    /// Whether the source is to be read again though not all is sent: the next time of the schedule has come. Who left
    /// meanwhile is removed before what else waits (law 12). A run sends for at least as long as it took to get there.
    fn starts_over(&self) -> bool {
        let Some(sending) = self.sending.get() else { return false };
        let sent_for = sending.elapsed();
        let is_due = self.again.is_some_and(|again| again <= self.engine.clock().now());
        is_due && sent_for >= SENDS_MIN && sent_for >= sending.duration_since(self.begun)
    }
}

impl Watch for Watcher<'_> {
    fn stage(&self, job: &JobName, stage: Stage) {
        if matches!(stage, Stage::Sending { .. }) {
            self.sending.get_or_init(Instant::now);
        }
        self.engine.runs().alive(job, |going| {
            going.stage = Some(stage);
            going.outcomes = 0;
        });
    }

    fn outcome(&self, change: &Change, outcome: &Outcome) {
        if *outcome == Outcome::Confirmed {
            let delay = Duration::try_from(self.engine.clock().now().duration_since(self.since));
            self.engine.counters().confirmed(self.job, delay.unwrap_or_default());
        }
        self.engine.runs().alive(&change.job, |going| going.outcomes += 1);
    }

    fn interrupted(&self) -> bool {
        self.engine.runs().alive(self.job, |_| {});
        self.ending.asked() || self.starts_over()
    }

    fn goes_on(&self) -> bool {
        true
    }
}
