//! Where the state of an account lies: what can be used without having its store.
//!
//! A process that does not have the store pauses a job, writes down a decision or looks at what was notified. So these lie
//! beside the rows, as documents and as the lines of a log; the store's own lock does not protect them.
//!
//! Invariants:
//! - A document is there as a whole or not at all, and is durable when a write returns.
//! - A line of the log is durable when [`Log::append`] returns, and is never changed, save that people's data goes from it.
//!
//! Rejected: rows of the store. What stops everything in an emergency, and what tells afterwards what went wrong, must not
//! depend on the part that may be in use or damaged.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "postgres")]
use jiff::Timestamp;

use super::embedded::{check_state_dir, create_state_dir, documents, give_up_reserve, log, mark};
use super::kept::{IMPORTING, KeptForm, declared};
use super::log_engine::{LineJudge, LogEngine};
use super::mark::Mark;
use super::membership::Membership;
#[cfg(feature = "postgres")]
use super::postgres::{Account, DatabaseLog, DatabaseMembership, Examined};
use super::relay::{Relay, TakeRequest, TakesRequests};
use super::tenure::SendPermit;
use super::{Batch, Error, ErrorKind, embedded};
use crate::secret::Unusable;

/// Where the state of an account lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// In a folder of this machine.
    Folder(PathBuf),
    /// In a database that several workers may share.
    #[cfg(feature = "postgres")]
    Database(Account),
}

impl Home {
    /// Makes it where it is not there; a folder is this user's, and closed to others (law 11).
    pub fn create(&self) -> Result<(), Error> {
        match self {
            Self::Folder(dir) => create_state_dir(dir),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.create(),
        }
    }

    /// Fails where an import into it has not come to its end: what is changed in it now would be gone with the next try.
    pub fn expect_imported(&self) -> Result<(), Error> {
        match self.read(IMPORTING).map_err(|error| self.error(ErrorKind::from_io(error)))? {
            None => Ok(()),
            Some(_) => Err(self.error(ErrorKind::Unfinished)),
        }
    }

    /// Whether this user may work on it, as far as it is there. Changes nothing.
    pub fn check(&self) -> Result<(), Error> {
        match self {
            Self::Folder(dir) => check_state_dir(dir),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.check(),
        }
    }

    /// Looks at the database, and what of it is not as it should be; `None` where there is none. `now` is this machine's time.
    /// Makes nothing.
    #[cfg(feature = "postgres")]
    pub fn examine(&self, now: Timestamp) -> Option<Result<Examined, Error>> {
        match self {
            Self::Folder(_) => None,
            Self::Database(account) => Some(account.examine(now).map_err(|kind| self.error(kind))),
        }
    }

    /// Reads the password now, for a process that may not read its file later.
    pub fn hold_secrets(&self) -> Result<(), Unusable> {
        match self {
            Self::Folder(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.hold_password(),
        }
    }

    /// What is asked right before each request to the service; `None` where no other process can take over.
    pub fn send_permit(&self) -> Option<SendPermit> {
        match self {
            Self::Folder(_) => None,
            #[cfg(feature = "postgres")]
            Self::Database(account) => Some(account.send_permit()),
        }
    }

    /// This process among the workers that share the accounts of its database; `None` where the state is this machine's own.
    pub fn membership(&self) -> Option<Arc<dyn Membership>> {
        match self {
            Self::Folder(_) => None,
            #[cfg(feature = "postgres")]
            Self::Database(account) => Some(Arc::new(DatabaseMembership::of(account))),
        }
    }

    /// The way to the worker that has the account; `None` where no other machine can have it.
    pub fn relay(&self) -> Option<Arc<dyn Relay>> {
        match self {
            Self::Folder(_) => None,
            #[cfg(feature = "postgres")]
            Self::Database(account) => Some(Arc::new(account.clone())),
        }
    }

    /// Takes what other workers ask of the one that has the account, in that form; `None` where there are none.
    ///
    /// # Errors
    ///
    /// The database can't be reached.
    pub fn take_requests(&self, form: u32, take: TakeRequest) -> Result<Option<TakesRequests>, Error> {
        match self {
            Self::Folder(_) => {
                let _ = (form, take);
                Ok(None)
            }
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.take_requests(form, take).map(Some).map_err(|kind| self.error(kind)),
        }
    }

    /// What an error calls it.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Folder(dir) => embedded::place(dir),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.place(),
        }
    }

    /// An error of it.
    pub fn error(&self, kind: ErrorKind) -> Error {
        Error { place: self.place(), kind }
    }

    /// Whether there is anything of it. Makes nothing.
    ///
    /// # Errors
    ///
    /// The database can't be reached.
    pub fn exists(&self) -> Result<bool, Error> {
        match self {
            Self::Folder(dir) => Ok(dir.exists()),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.exists().map_err(|kind| self.error(kind)),
        }
    }

    /// Whether it is known to have a store. Makes nothing.
    pub fn has_store(&self) -> bool {
        match self {
            Self::Folder(dir) => dir.join("store").is_dir(),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.exists().is_ok_and(|is_there| is_there),
        }
    }

    /// The folder for what a run puts aside, which may be lost.
    pub fn spill_dir(&self) -> &Path {
        match self {
            Self::Folder(dir) => dir,
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.spill_dir(),
        }
    }

    /// Whether a process has the state now, as far as that shows without asking for it; of a database it does not.
    pub fn is_held(&self) -> bool {
        self.folder().is_some_and(embedded::is_locked)
    }

    /// The state folder, where there is one.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(dir) => Some(dir),
            #[cfg(feature = "postgres")]
            Self::Database(_) => None,
        }
    }

    /// Reads a document; `None` where there is none.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Folder(dir) => documents::read(dir, name),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.read(name),
        }
    }

    /// Writes a document, in the place of the one that has its name.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        declared(name, KeptForm::Document)?;
        match self {
            Self::Folder(dir) => documents::replace(dir, name, bytes),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.replace(name, bytes),
        }
    }

    /// Writes a document that is not there yet; false where it is.
    pub fn write_new(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        declared(name, KeptForm::Document)?;
        match self {
            Self::Folder(dir) => documents::create(dir, name, bytes),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.write_new(name, bytes),
        }
    }

    /// Removes a document, where it is.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match self {
            Self::Folder(dir) => documents::remove(dir, name),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.remove(name),
        }
    }

    /// The last parts of the names of the documents that begin with `folder` and a slash, in no order.
    pub fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        match self {
            Self::Folder(dir) => documents::list(dir, folder),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.list(folder),
        }
    }

    /// Leaves a mark, by which this state is distinguished from a copy of it.
    pub fn leave_mark(&self, number: u64) -> io::Result<Mark> {
        match self {
            Self::Folder(dir) => mark::leave(dir, number),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.mark().map_err(io::Error::other),
        }
    }

    /// The mark that is there, with its number where that can be read; `None` where there is none.
    pub fn mark(&self) -> io::Result<Option<(Option<u64>, Mark)>> {
        match self {
            Self::Folder(dir) => mark::find(dir),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.mark().map(|mark| Some((None, mark))).map_err(io::Error::other),
        }
    }

    /// Gives up the room that is kept for a full disk, so that what must be written now can be; false where none was kept.
    pub fn give_up_reserve(&self) -> io::Result<bool> {
        match self {
            Self::Folder(dir) => give_up_reserve(dir),
            #[cfg(feature = "postgres")]
            Self::Database(_) => Ok(false),
        }
    }
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(dir) => dir.display().fmt(f),
            #[cfg(feature = "postgres")]
            Self::Database(account) => account.fmt(f),
        }
    }
}

impl From<&Self> for Home {
    fn from(home: &Self) -> Self {
        home.clone()
    }
}

impl From<PathBuf> for Home {
    fn from(dir: PathBuf) -> Self {
        Self::Folder(dir)
    }
}

impl From<&PathBuf> for Home {
    fn from(dir: &PathBuf) -> Self {
        Self::Folder(dir.clone())
    }
}

impl From<&Path> for Home {
    fn from(dir: &Path) -> Self {
        Self::Folder(dir.to_owned())
    }
}

/// The lines of what was done and decided, in a segment for each month.
pub struct Log {
    engine: Box<dyn LogEngine>,
}

impl Log {
    /// The log of a state; nothing is made before the first line.
    pub fn of(home: &Home) -> Self {
        let engine: Box<dyn LogEngine> = match home {
            Home::Folder(dir) => Box::new(log::FolderLog::new(dir)),
            #[cfg(feature = "postgres")]
            Home::Database(account) => Box::new(DatabaseLog::new(account)),
        };
        Self { engine }
    }

    /// Appends a line, which has no end of its own, and returns when it is durable.
    pub fn append(&self, segment: &str, line: &str) -> io::Result<()> {
        self.engine.append(segment, line)
    }

    /// Appends a line that tells of what `batch` is about to do. Where one commit can do both, the line is there if and only if
    /// the rows are; otherwise it is durable when this returns.
    pub fn append_with(&self, batch: &mut Batch, segment: &str, line: &str) -> io::Result<()> {
        self.engine.append_with(batch, segment, line)
    }

    /// Appends lines in their order, and returns when all of them are durable.
    pub(super) fn append_all(&self, segment: &str, lines: &[String]) -> io::Result<()> {
        self.engine.append_all(segment, lines)
    }

    /// The segments, the oldest first.
    pub fn segments(&self) -> io::Result<Vec<String>> {
        self.engine.segments()
    }

    /// Where a segment lies, for people.
    pub fn place(&self, segment: &str) -> PathBuf {
        self.engine.place(segment)
    }

    /// Shows every line of a segment, with or without its end.
    pub fn lines(&self, segment: &str, mut visit: impl FnMut(&[u8])) -> io::Result<()> {
        self.engine.lines(segment, &mut visit)
    }

    /// The newest lines of a segment, as many as fit so many bytes; the first may lack its beginning.
    pub fn tail(&self, segment: &str, bytes: u64) -> io::Result<Vec<u8>> {
        self.engine.tail(segment, bytes)
    }

    /// Rewrites the log line by line; `judge` makes a judge for each pass over a segment. A segment whose lines all stay is
    /// left alone. Returns how many lines changed or were removed.
    pub fn rewrite(&self, judge: impl Fn() -> Box<LineJudge<'static>>) -> io::Result<u64> {
        self.engine.rewrite(&judge)
    }
}
