//! The next file of an inbox, once it has settled.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::reconcile::model::error::Error;
use crate::source::inbox::{
    self, Folder, InboxEntry, Look, Options, Refusal, TakeRefusal, Taken, Watcher, shown, take,
};

/// How long an unsettled file is waited for beyond ten times its settling time.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What an inbox has next.
pub(crate) enum NextFile {
    /// Nothing waits.
    Nothing,
    /// A file that does not settle, and what is said of it.
    Restless(InboxEntry, &'static str),
    /// A file, with the copy that was taken of it.
    Taken(InboxEntry, Taken),
    /// An entry that is never read, and why.
    Refused(InboxEntry, Refusal),
}

/// Looks for the next file of an inbox.
pub(crate) struct Arrivals<'a> {
    folder: &'a Folder,
    options: &'a Options,
    clock: &'a Clock,
    watcher: Watcher,
    /// Until when a file is waited for that does not settle.
    until: Option<Instant>,
}

impl<'a> Arrivals<'a> {
    pub(crate) fn of(folder: &'a Folder, options: &'a Options, clock: &'a Clock) -> Self {
        Self { folder, options, clock, watcher: Watcher::default(), until: None }
    }

    /// How long to wait before the next look.
    pub(crate) fn pause(&self) -> Duration {
        LOOK_EVERY.min(self.options.settle).max(Duration::from_millis(1))
    }

    /// What comes next, copied to `into`; `None` where that is to be seen by a further look. `skip` names what is done.
    pub(crate) fn look(&mut self, skip: &dyn Fn(&InboxEntry) -> bool, into: &Path) -> Result<Option<NextFile>, Error> {
        let patience = self.options.settle.saturating_mul(10).saturating_add(PATIENCE);
        let until = *self.until.get_or_insert_with(|| Instant::now() + patience);
        let restless = |entry, what| (Instant::now() > until).then_some(NextFile::Restless(entry, what));
        let next = match self.watcher.look(self.folder, self.options, self.clock, skip)? {
            Look::Nothing => Some(NextFile::Nothing),
            Look::Unfit(entry, refusal) => Some(NextFile::Refused(entry, refusal)),
            Look::Unsettled(entry) => restless(entry, "is still being written; it waits for the next run"),
            Look::File(entry) => match take(self.folder, &entry, self.options.size_max, into) {
                Ok(taken) => Some(NextFile::Taken(entry, taken)),
                // The next look finds what it is by now.
                Err(TakeRefusal::Changed | TakeRefusal::Unfit(_)) => {
                    restless(entry, "changed while it was read; it waits for the next run")
                }
                Err(TakeRefusal::Barred) => Some(NextFile::Refused(entry, Refusal::NotReadable)),
                Err(TakeRefusal::Unreadable(source)) => {
                    let path = self.options.dir.join(&entry.name);
                    return Err(inbox::Error::Unreadable { path, source }.into());
                }
                Err(TakeRefusal::Unwritable(source)) => {
                    return Err(inbox::Error::Copy { name: shown(&entry.name), source }.into());
                }
            },
        };
        if next.is_some() {
            self.until = None;
        }
        Ok(next)
    }
}
