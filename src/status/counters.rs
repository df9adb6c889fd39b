//! What nothing remembers: counted in memory, from the start of the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::histogram::Histogram;
use crate::record::{Action, JobName};
use crate::run::Status;

/// From seconds to a week: a change may wait for a person.
pub(super) const DELAY_BOUNDS: &[f64] = &[1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0, 604_800.0];

/// What happened since the process started.
#[derive(Debug, Default)]
pub struct Counters {
    counts: Mutex<Counts>,
}

/// The counts.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) runs: BTreeMap<(JobName, &'static str), u64>,
    pub(super) changes: BTreeMap<(JobName, &'static str), u64>,
    pub(super) delays: BTreeMap<JobName, Histogram>,
    pub(super) notices: BTreeMap<(&'static str, bool), u64>,
}

impl Counters {
    /// A run ended.
    pub fn run(&self, job: &JobName, status: Status) {
        *self.lock().runs.entry((job.clone(), status.name())).or_default() += 1;
    }

    /// The service confirmed a change; `delay` is the time since the source changed, where that is known.
    pub fn confirmed(&self, job: &JobName, action: Action, delay: Option<Duration>) {
        let mut counts = self.lock();
        let job = job.whole();
        if let Some(delay) = delay {
            let delays = counts.delays.entry(job.clone());
            delays.or_insert_with(|| Histogram::new(DELAY_BOUNDS)).observe(delay);
        }
        *counts.changes.entry((job, named(action))).or_default() += 1;
    }

    /// A notice was delivered over a channel, or could not be.
    pub fn notice(&self, channel: &'static str, delivered: bool) {
        *self.lock().notices.entry((channel, delivered)).or_default() += 1;
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn named(action: Action) -> &'static str {
    match action {
        Action::Create => "create",
        Action::Update => "update",
        Action::Delete => "delete",
    }
}
