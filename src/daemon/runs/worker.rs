//! One run of one job, started by the loop.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tracing::Instrument as _;

use super::places::RunPlace;
use crate::clock::Clock;
use crate::config::Job;
use crate::daemon::event::Event;
use crate::daemon::scheduler::Ended;
use crate::daemon::shutdown::CancelToken;
use crate::daemon::state::{DaemonState, LoopEvent, Setup};
use crate::push::Outcome;
use crate::queue::Change;
use crate::reconcile::{self, Context, KeyFilter, Report, RunObserver, Stage};
use crate::record::{JobName, reveal};

/// How long a run sends before it starts over for a time of its schedule.
const SENDS_MIN: Duration = Duration::from_secs(if cfg!(debug_assertions) { 2 } else { 30 });

/// Starts a run; the loop hears of its end, whatever that is.
pub(crate) fn start(engine: &Arc<DaemonState>, job: JobName) {
    let engine = Arc::clone(engine);
    let span = engine.span().clone();
    let begun = async move {
        let how = run(&engine, &job).await;
        engine.tell(LoopEvent::Ended(job, how));
    };
    tokio::spawn(begun.instrument(span));
}

/// Waits for its turn and for a place, and makes the run on a thread of its own: it reads files and waits for disks, and on a
/// thread that also serves the socket it would keep callers waiting.
async fn run(engine: &Arc<DaemonState>, name: &JobName) -> Ended {
    let setup = engine.setup();
    let Some(job) = setup.config.jobs.iter().find(|job| job.name == *name) else { return Ended::Served };
    let turn = engine.turns().of(reconcile::needed(job)).await;
    let ending = CancelToken::of_run(engine.turns(), [engine.stopping()]);
    // After the turn: what waits for another run of its account takes no place.
    let place = tokio::select! {
        biased;
        () = ending.wait() => return Ended::Preempted,
        place = engine.shared().places.take(engine.number()) => place,
    };
    let (handle, span) = (tokio::runtime::Handle::current(), engine.span().clone());
    let work = tokio::task::spawn_blocking({
        let (engine, name) = (Arc::clone(engine), name.clone());
        move || {
            let _turn = turn;
            span.in_scope(|| handle.block_on(placed(&engine, &name, &ending, &place)))
        }
    });
    match work.await {
        Ok(how) => how,
        Err(error) => {
            broken(engine, name, &format!("the run broke off: {error}"));
            Ended::Served
        }
    }
}

async fn placed(engine: &Arc<DaemonState>, name: &JobName, ending: &CancelToken, place: &RunPlace) -> Ended {
    let setup = engine.setup();
    let Some(job) = setup.config.jobs.iter().find(|job| job.name == *name) else { return Ended::Served };
    match sync(engine, (&setup, job), ending, place).await {
        None => Ended::Preempted,
        Some(Ok(reports)) => {
            // One that had come to its end all the same when it was asked is done with.
            let preempted = reports.iter().any(|report| report.details.preempted);
            let cut_off = reports.is_empty() || reports.iter().any(|report| report.status == reconcile::Status::Failed);
            for report in reports {
                engine.publish(Event::Ended { report: Arc::new(report) });
            }
            if preempted || (cut_off && ending.asked()) { Ended::Preempted } else { Ended::Served }
        }
        Some(Err(error)) => {
            broken(engine, name, &crate::fault::chain(&error));
            if matches!(error, reconcile::Error::Store(_)) {
                // After an error sled refuses everything, and a disk that was full may have room by now: opened again, the
                // store says what is true.
                engine.close().await;
                return Ended::Lost;
            }
            Ended::Served
        }
    }
}

/// `None` where the run was asked to end and did not in its grace: what it left unknown is settled by the next one.
async fn sync(
    engine: &Arc<DaemonState>,
    (setup, job): (&Setup, &Job),
    ending: &CancelToken,
    place: &RunPlace,
) -> Option<Result<Vec<Report>, reconcile::Error>> {
    let again = job.schedule.as_ref().filter(|_| job.inbox.is_none());
    let again = again.and_then(|schedule| schedule.next_after(engine.clock().now(), &job.time_zone));
    let (clock, begun, sending) = (engine.clock(), Instant::now(), OnceLock::new());
    let jobs = [job];
    let other = PreemptionPolicy { ending, place, again, clock, begun, sending };
    let watch = engine.attend(&jobs, &other);
    watch.begin(&job.name);
    let store = match engine.store().await {
        Ok(store) => store,
        Err(error) => return Some(Err(error.into())),
    };
    let client = setup.client.for_run();
    let context =
        Context { config: &setup.config, client: &client, store: &store, clock: engine.clock(), watch: &watch };
    ending.guard(reconcile::sync(&context, &jobs, &KeyFilter::default())).await
}

fn broken(engine: &DaemonState, job: &JobName, reason: &str) {
    tracing::error!(
        job = job.as_str(),
        reason = &*reveal(reason),
        "{job}: the run could not be made: {}",
        reveal(reason)
    );
    engine.publish(Event::Broken { job: job.clone(), reason: reason.to_owned() });
}

/// Says when to stop for another run.
struct PreemptionPolicy<'a> {
    ending: &'a CancelToken,
    place: &'a RunPlace,
    /// The next time of the job's schedule, by this clock; none for an inbox, whose files are read when they come.
    again: Option<Timestamp>,
    clock: &'a Clock,
    begun: Instant,
    /// Since when it sends.
    sending: OnceLock<Instant>,
}

impl PreemptionPolicy<'_> {
    /// Whether the source is to be read again though not all is sent: the next time of the schedule has come, or runs of
    /// other accounts can't begin for this one. Who left meanwhile is removed before what else waits (law 12). A run sends for
    /// at least as long as it took to get there.
    fn should_restart(&self) -> bool {
        let Some(sending) = self.sending.get() else { return false };
        let sent_for = sending.elapsed();
        let is_due = self.again.is_some_and(|again| again <= self.clock.now());
        (is_due || self.place.is_wanted()) && sent_for >= SENDS_MIN && sent_for >= sending.duration_since(self.begun)
    }
}

impl RunObserver for PreemptionPolicy<'_> {
    fn stage(&self, _: &JobName, stage: Stage) {
        if matches!(stage, Stage::Sending { .. }) {
            self.place.sends();
            self.sending.get_or_init(Instant::now);
        }
    }

    fn outcome(&self, _: &Change, _: &Outcome) {}

    fn interrupted(&self) -> bool {
        self.ending.asked() || self.should_restart()
    }

    fn will_resume(&self) -> bool {
        true
    }
}
