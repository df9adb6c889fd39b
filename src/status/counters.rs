//! Counters in memory, since the start of the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use crate::histogram::Histogram;
use crate::reconcile::Report;
use crate::record::JobName;

/// From seconds to a week: a change may wait for a person.
pub(super) const DELAY_BOUNDS: &[f64] = &[1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0, 604_800.0];

/// What happened since the process started.
#[derive(Debug, Default)]
pub struct Counters {
    counts: Mutex<Counts>,
}

/// A configuration that was refused; the one before is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
}

/// The counts.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) runs: BTreeMap<(JobName, &'static str), u64>,
    pub(super) changes: BTreeMap<(JobName, &'static str), u64>,
    pub(super) delays: BTreeMap<JobName, Histogram>,
    pub(super) notices: BTreeMap<(&'static str, bool), u64>,
    /// When the configuration in force was taken.
    pub(super) taken: Option<Timestamp>,
    pub(super) refused: Option<Refused>,
}

impl Counters {
    /// A run ended.
    pub fn ended(&self, report: &Report) {
        let mut counts = self.lock();
        *counts.runs.entry((report.name.clone(), report.status.name())).or_default() += 1;
        let Counts { changes, .. } = &mut *counts;
        let numbers = &report.counts;
        for (action, number) in [("create", numbers.created), ("update", numbers.updated), ("delete", numbers.deleted)]
        {
            *changes.entry((report.name.clone(), action)).or_default() += number;
        }
    }

    /// The service confirmed a change so long after the source changed.
    pub fn confirmed(&self, job: &JobName, delay: Duration) {
        let mut counts = self.lock();
        counts.delays.entry(job.root()).or_insert_with(|| Histogram::new(DELAY_BOUNDS)).observe(delay);
    }

    /// A notice was delivered over a channel, or could not be.
    pub fn notice(&self, channel: &'static str, delivered: bool) {
        *self.lock().notices.entry((channel, delivered)).or_default() += 1;
    }

    /// A configuration came into force.
    pub fn taken(&self, at: Timestamp) {
        let mut counts = self.lock();
        (counts.taken, counts.refused) = (Some(at), None);
    }

    /// A new configuration was refused.
    pub fn refuse(&self, at: Timestamp, reason: String) {
        self.lock().refused = Some(Refused { at, reason });
    }

    /// The configuration that was refused last, unless one was taken since.
    pub fn refused(&self) -> Option<Refused> {
        self.lock().refused.clone()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
