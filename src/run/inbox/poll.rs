//! Polling: whether a run has something to take.

use std::path::Path;

use super::outbox::Outbox;
use crate::clock::Clock;
use crate::config::Job;
use crate::run::error::Error;
use crate::source::inbox::{Entry, Folder, Look, Watcher};

/// Looks at one job's inbox again and again, and says when a run would have something to take. A look lists the folder and
/// reads nothing, so it may be had every second.
#[derive(Default)]
pub struct Poll {
    watcher: Watcher,
}

impl Poll {
    /// Whether something has settled that a run would take now; never for a job without an inbox.
    pub fn is_ready(&mut self, job: &Job, state_dir: &Path, clock: &Clock) -> Result<bool, Error> {
        let Some(options) = &job.inbox else { return Ok(false) };
        let folder = Folder::open(&options.dir)?;
        // What can't be listed of the state is for the run to tell.
        let laid = Outbox::of(state_dir, &job.name).laid().unwrap_or_default();
        let skip = |entry: &Entry| laid.iter().any(|laid| laid.is(entry));
        let look = self.watcher.look(&folder, options, clock, &skip)?;
        Ok(matches!(look, Look::File(_) | Look::Unfit(..)))
    }
}
