//! Stores up to when a job's scheduled times are covered, so that missed runs are detected after a restart.
//!
//! The time is written at a run's end, not at its start: a run that was killed is due again when the daemon is back
//! (fault 113).

use jiff::Timestamp;

use crate::record::JobName;
use crate::store::{self, Batch, Keyspace, Store};

/// Up to when a job's times are served; `None` where it never ran by its schedule.
pub fn served(store: &Store, job: &JobName) -> Result<Option<Timestamp>, store::Error> {
    store.get(Keyspace::Meta, &name(job))
}

/// Remembers it.
pub fn remember(store: &Store, job: &JobName, at: Timestamp) -> Result<(), store::Error> {
    let mut batch = Batch::default();
    batch.put(Keyspace::Meta, &name(job), &at);
    store.commit(batch)
}

fn name(job: &JobName) -> String {
    format!("served{}{job}", Keyspace::SEPARATOR)
}
