//! Tracks a run: its progress for the views, and how long its changes took to arrive.
//!
//! Runs of the schedule and runs by the command `sync` are tracked alike, so that page, metrics and notices show no
//! difference.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use crate::config::Job;
use crate::daemon::event::Event;
use crate::daemon::state::DaemonState;
use crate::push::Outcome;
use crate::queue::Change;
use crate::reconcile::{RunObserver, Stage};
use crate::record::JobName;

/// Watches the run of some jobs, one after the other. Whatever of it is under way counts as ended when this is dropped.
pub struct TrackedRun<'a> {
    engine: &'a DaemonState,
    jobs: &'a [&'a Job],
    /// Who else watches, and says when to end.
    other: &'a dyn RunObserver,
    begun: Mutex<BTreeSet<JobName>>,
    /// When the source of each job changed, as far as that is known.
    changed: Mutex<BTreeMap<JobName, Timestamp>>,
}

impl DaemonState {
    /// Watches the run of these jobs, beside `other`.
    pub fn attend<'a>(&'a self, jobs: &'a [&'a Job], other: &'a dyn RunObserver) -> TrackedRun<'a> {
        TrackedRun { engine: self, jobs, other, begun: Mutex::default(), changed: Mutex::default() }
    }
}

impl TrackedRun<'_> {
    /// The run of a job begins, where it has not begun before.
    pub(crate) fn begin(&self, job: &JobName) {
        if self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(job.clone()) {
            self.engine.runs().begin(job, self.engine.clock().now());
            self.engine.publish(Event::Began { job: job.clone() });
        }
    }

    /// A file that is read in place says when it changed.
    fn look_at_file(&self, job: &JobName) {
        let job = self.jobs.iter().find(|one| one.name == *job && one.inbox.is_none());
        let path = job.and_then(|job| Some((&job.name, &job.source.file()?.path)));
        if let Some((name, path)) = path
            && let Some(modified) = path.metadata().ok().and_then(|found| found.modified().ok())
            && let Ok(at) = Timestamp::try_from(modified)
        {
            self.changed(name, at);
        }
    }

    /// Since when the source of a job wants what it wants now; of a directory it is known only that it was read.
    fn since(&self, job: &JobName) -> Timestamp {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner).get(job).copied();
        let began = || self.engine.runs().of(job).map(|going| going.since);
        changed.or_else(began).unwrap_or_else(|| self.engine.clock().now())
    }
}

impl RunObserver for TrackedRun<'_> {
    fn stage(&self, job: &JobName, stage: Stage) {
        let whole = job.root();
        self.begin(&whole);
        if stage == Stage::Reading {
            self.look_at_file(&whole);
        }
        self.engine.runs().alive(&whole, |going| {
            going.stage = Some(stage);
            going.outcomes = 0;
        });
        self.other.stage(job, stage);
    }

    fn changed(&self, job: &JobName, at: Timestamp) {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).insert(job.root(), at);
        self.other.changed(job, at);
    }

    fn outcome(&self, change: &Change, outcome: &Outcome) {
        let job = change.job.root();
        if *outcome == Outcome::Confirmed {
            // A file from a machine whose clock is ahead changed just now.
            let delay = Duration::try_from(self.engine.clock().now().duration_since(self.since(&job)));
            self.engine.counters().confirmed(&job, delay.unwrap_or_default());
        }
        self.engine.runs().alive(&job, |going| going.outcomes += 1);
        self.other.outcome(change, outcome);
    }

    fn interrupted(&self) -> bool {
        for job in self.begun.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            self.engine.runs().alive(job, |_| {});
        }
        self.other.interrupted()
    }

    fn will_resume(&self) -> bool {
        self.other.will_resume()
    }
}

impl Drop for TrackedRun<'_> {
    fn drop(&mut self) {
        for job in self.begun.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            self.engine.runs().end(job);
        }
    }
}
