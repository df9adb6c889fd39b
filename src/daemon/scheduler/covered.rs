//! Stores up to when a job's scheduled times are covered, so that missed runs are detected after a restart.
//!
//! The time is written at a run's end, not at its start: a run that was killed is due again when the daemon is back
//! (fault 113).

use jiff::Timestamp;

use crate::record::JobName;
use crate::store::{self, MetaKey, Store};

/// Up to when a job's times are served; `None` where it never ran by its schedule.
pub fn served(store: &Store, job: &JobName) -> Result<Option<Timestamp>, store::Error> {
    store.meta(MetaKey::Covered(job))
}

/// Remembers it.
pub fn remember(store: &Store, job: &JobName, at: Timestamp) -> Result<(), store::Error> {
    store.set_meta(MetaKey::Covered(job), &at)
}
