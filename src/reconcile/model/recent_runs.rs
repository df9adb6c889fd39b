//! The newest runs of a job, by number: what a chart shows, and since when a job is as it is.
//!
//! Rejected: to read them from the audit files. Those may be large, and a page is asked for every few seconds.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::counts::{Counts, Status};
use crate::record::JobName;
use crate::store::{self, Batch, MetaKey, Store};
use crate::web::Bar;

/// How many runs are remembered.
const RUNS_MAX: usize = 30;

/// The newest runs of a job, the oldest of them first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentRuns(Vec<RecentRun>);

/// A run in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentRun {
    /// Its number.
    pub run: u64,
    /// When it ended.
    pub ended: Timestamp,
    /// How.
    pub status: Status,
    /// Its counts.
    pub counts: Counts,
}

impl RecentRuns {
    /// Reads those of a job.
    pub fn load(store: &Store, job: &JobName) -> Result<Self, store::Error> {
        Ok(store.meta(MetaKey::Recent(job))?.unwrap_or_default())
    }

    /// Adds the newest.
    pub fn push(&mut self, run: RecentRun) {
        self.0.push(run);
        let more = self.0.len().saturating_sub(RUNS_MAX);
        self.0.drain(..more);
    }

    /// Puts them.
    pub(crate) fn put(&self, batch: &mut Batch, job: &JobName) {
        batch.put_meta(MetaKey::Recent(job), self);
    }

    /// The oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &RecentRun> {
        self.0.iter()
    }

    /// The same as bars of a chart; `shown` writes a time.
    pub fn bars(&self, shown: impl Fn(Timestamp) -> String) -> Vec<Bar> {
        let bar = |run: &RecentRun| Bar {
            name: format!("run {}, {}", run.run, shown(run.ended)),
            word: run.status.name().to_owned(),
            failed: run.status == Status::Failed,
            people: run.counts.records,
            parts: [run.counts.created, run.counts.updated, run.counts.deleted, run.counts.held],
        };
        self.0.iter().map(bar).collect()
    }

    /// Since when every run has ended as the last one did; `None` where there was none, or where that was longer ago than
    /// is remembered.
    pub fn unchanged_since(&self) -> Option<Timestamp> {
        let last = self.0.last()?.status;
        let same = self.0.iter().rev().take_while(|run| run.status == last).count();
        (same < self.0.len() || self.0.len() < RUNS_MAX).then(|| self.0[self.0.len() - same].ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(statuses: &[Status]) -> RecentRuns {
        let mut runs = RecentRuns::default();
        for (run, status) in (1..).zip(statuses) {
            let ended = Timestamp::from_second(run).unwrap();
            runs.push(RecentRun { run: run.unsigned_abs(), ended, status: *status, counts: Counts::default() });
        }
        runs
    }

    #[test]
    fn a_job_is_as_it_is_since_the_first_of_equal_ends() {
        use Status::{Done, Failed, Held};
        let one_and_29 = [[Done].as_slice(), &[Failed; 29]].concat();
        for (statuses, since) in [
            (&[][..], None),
            (&[Failed], Some(1)),
            (&[Done, Failed, Failed], Some(2)),
            (&[Failed, Held, Failed], Some(3)),
            (&[Failed; 29], Some(1)),
            (&[Failed; 30], None),
            (&[Failed; 31], None),
            (&one_and_29, Some(2)),
        ] {
            let since = since.map(|second| Timestamp::from_second(second).unwrap());
            assert_eq!(runs(statuses).unchanged_since(), since, "{statuses:?}");
        }
        let numbers: Vec<u64> = runs(&[Done; 40]).iter().map(|run| run.run).collect();
        assert_eq!(numbers, (11..=40).collect::<Vec<u64>>());
    }
}
