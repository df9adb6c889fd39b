//! Polling: whether a run has something to take.

use std::cell::LazyCell;
use std::ffi::OsString;
use std::time::Duration;

use crate::clock::Clock;
use crate::config::Job;
use crate::reconcile::dropped::staging::Staging;
use crate::reconcile::model::error::Error;
use crate::source::inbox::{Folder, InboxEntry, Look, Stamp, Watcher};
use crate::store::Home;

/// Looks at one job's inbox again and again, and says when a run would have something to take. A look lists the folder and
/// reads nothing, so it may be had every second.
#[derive(Default)]
pub struct Poll {
    watcher: Watcher,
    settles_in: Option<Duration>,
}

/// What a run would take first. It is another one once the file changes, or a file comes before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Front {
    name: OsString,
    stamp: Stamp,
}

impl Poll {
    /// What has settled and a run would take now; never anything for a job without an inbox.
    pub fn front(&mut self, job: &Job, home: &Home, clock: &Clock) -> Result<Option<Front>, Error> {
        let Some(options) = &job.inbox else { return Ok(None) };
        let folder = Folder::open(&options.dir)?;
        // Asked for only where something lies there. What can't be listed of the state is for the run to tell.
        let laid = LazyCell::new(|| Staging::of(home, &job.name).laid().unwrap_or_default());
        let skip = |entry: &InboxEntry| laid.iter().any(|laid| laid.is(entry));
        let found = self.watcher.look(&folder, options, clock, &skip)?;
        self.settles_in = None;
        Ok(match found {
            Look::File(InboxEntry { name, stamp, .. }) | Look::Unfit(InboxEntry { name, stamp, .. }, _) => {
                Some(Front { name, stamp })
            }
            Look::Unsettled(entry) => {
                self.settles_in = Some(self.watcher.settles_in(&entry, options, clock));
                None
            }
            Look::Nothing => None,
        })
    }

    /// How long what is in front has to lie still yet, where the last look found that.
    pub fn settles_in(&self) -> Option<Duration> {
        self.settles_in
    }
}

#[cfg(test)]
impl Front {
    /// A file of this name and size, for tests of what is done about it.
    pub(crate) fn of(name: &str, size: u64) -> Self {
        let file = tempfile::tempfile().unwrap();
        let mut stamp = Stamp::of(&file.metadata().unwrap());
        stamp.size = size;
        Self { name: name.into(), stamp }
    }
}
