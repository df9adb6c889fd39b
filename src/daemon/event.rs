//! Events of the daemon, for views, metrics and notices.

use std::sync::Arc;

use crate::reconcile::Report;
use crate::record::JobName;

/// Something that happened. A listener that is too slow loses the oldest; the state is in the store, not here.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The daemon is ready.
    Ready,
    /// A run began.
    Began {
        /// The job.
        job: JobName,
    },
    /// A run came to its end.
    Ended {
        /// Its result; a job whose inbox holds several files has one for each.
        report: Arc<Report>,
    },
    /// A run could not be made, because the state could not be used.
    Broken {
        /// The job.
        job: JobName,
        /// Why.
        reason: String,
    },
    /// Times of a job came while it ran.
    Skipped {
        /// The job.
        job: JobName,
        /// How many since the daemon began.
        times: u64,
    },
    /// A person decided something: released, dropped, paused, resumed and the like.
    Decided,
    /// Another configuration is in force.
    Reloaded,
    /// Another configuration was refused; the one before stays.
    Refused {
        /// Why.
        reason: String,
    },
    /// The status page is served again.
    Page,
    /// The daemon ends.
    Stopping,
}
