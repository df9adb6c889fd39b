//! What is remembered of a job between its runs.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::error::Error;
use super::inbox::InboxState;
use super::report::{Counts, Status};
use crate::history::Audit;
use crate::record::JobName;
use crate::source::Found;
use crate::store::{self, Batch, Space, Store};

/// What is remembered of a job between its runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JobState {
    /// The digest of the mapping of the last run that got as far as a plan.
    #[serde(default)]
    pub mapping: String,
    /// What the last read found out about its source.
    #[serde(default)]
    pub found: Option<Found>,
    /// The number of the current set of held changes; it grows with every other set.
    #[serde(default)]
    pub held_set: u64,
    /// The last run.
    #[serde(default)]
    pub last: Option<LastRun>,
    /// The digest of the source's content at the last run that got as far as a plan.
    #[serde(default)]
    pub content: String,
    /// When content came that was new, or the first run began.
    #[serde(default)]
    pub fresh: Option<Timestamp>,
    /// What is remembered of the inbox, where the source is one.
    #[serde(default)]
    pub(super) inbox: InboxState,
}

/// The last run of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LastRun {
    /// Its number.
    pub run: u64,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// How it ended.
    pub status: Status,
    /// Whether its read proved that it saw everyone.
    pub complete: bool,
    /// Its numbers.
    pub counts: Counts,
    /// Why it did not end as done.
    pub reason: Option<String>,
}

impl JobState {
    /// Reads it; a job that never ran has an empty one.
    pub fn load(store: &Store, job: &JobName) -> Result<Self, store::Error> {
        Ok(store.get(Space::Job, job.as_str())?.unwrap_or_default())
    }

    /// Puts it.
    pub fn put(&self, batch: &mut Batch, job: &JobName) {
        batch.put(Space::Job, job.as_str(), self);
    }
}

/// The row of the number of the last run.
pub(super) const RUNS: &str = "runs";

/// The number of the next run, counted over all jobs. The history outlives a store, so no number of it is given again.
pub(super) fn next_run(store: &Store) -> Result<u64, Error> {
    // Runs on two targets may begin at the same time.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let told = Audit::last_run(store.dir()).map_err(Error::History)?;
    let run = store.get::<u64>(Space::Meta, RUNS)?.unwrap_or(0).max(told) + 1;
    let mut batch = Batch::default();
    batch.put(Space::Meta, RUNS, &run);
    store.commit(batch)?;
    Ok(run)
}
