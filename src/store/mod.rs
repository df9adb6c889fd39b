//! The store: everything that is remembered, behind one door, whichever engine holds it.
//!
//! ```text
//! typed tables, rows about the whole ─▶ Store ─┬▶ embedded   sled beside sorted files, in a folder
//!                                              └▶ postgres   tables of a database that several workers share
//! ```
//!
//! Invariants:
//! - A [`Batch`] is applied as a whole or not at all, and [`Store::commit`] returns only when it is durable.
//! - What can't be read is named in an error, never skipped: a lost row would look like a person who was never there.
//! - A keyspace is one typed table beside the type of its rows; see [`Table`].
//! - One process at a time writes.
//!
//! Rejected: engines that know the types of rows. Each would have to be taught every new table, and `forget` would have a
//! list of each.

mod batch;
mod closed;
mod embedded;
mod engine;
mod error;
mod files;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod home;
mod kept;
mod keys;
mod keyspace;
mod log_engine;
mod mark;
mod membership;
mod old_store;
#[cfg(feature = "postgres")]
mod postgres;
mod relay;
mod reset;
mod row;
mod table;
mod tenure;
mod transfer;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use batch::Batch;
pub use closed::ClosedStore;
use embedded::Embedded;
use engine::{BulkLoad, Engine, Interrupted, Projection};
pub use error::{Error, ErrorKind};
pub use home::{Home, Log};
pub use kept::{HoldsOfPeople, KeptForm};
pub use keys::MetaKey;
pub use keyspace::Keyspace;
pub use log_engine::{LineFate, LineJudge};
pub use mark::Mark;
pub use membership::{AccountHolder, Membership, OtherWorker, Workers};
pub use old_store::{OldStore, ResetOutcome};
#[cfg(feature = "postgres")]
pub use postgres::{Account, DatabaseOptions, Doubt, Examined, Obstacle};
pub use relay::{
    AnswerPart, CallerMark, Holder, HolderRequest, Look, PART_BYTES, Relay, Reply, RequestKind, RequestProgress,
    SILENT_MAX, Stage, TakeRequest, TakenRequest, TakesRequests,
};
pub use reset::reset;
use serde::de::DeserializeOwned;
pub use table::{NextReads, RowId, Table};
pub use tenure::{HandOver, Objections, Permit, Predecessor, SendPermit, Terms, WRITE_MAX};
pub use transfer::{Contents, TransferError, import};

/// What is remembered of one account.
pub struct Store {
    home: Home,
    engine: Box<dyn Engine>,
    deciding: Mutex<()>,
}

impl Store {
    /// Opens the store of a state, making it where there is none. Fails at once where another process holds it.
    pub fn open(home: impl Into<Home>) -> Result<Self, Error> {
        let home = home.into();
        #[cfg(feature = "postgres")]
        if let Home::Database(account) = &home {
            account.create()?;
        }
        home.expect_imported()?;
        Self::open_any(&home)
    }

    /// The same for one whose import may not have come to its end.
    fn open_any(home: &Home) -> Result<Self, Error> {
        let home = home.clone();
        let engine: Box<dyn Engine> = match &home {
            Home::Folder(dir) => Box::new(Embedded::open(dir)?),
            #[cfg(feature = "postgres")]
            Home::Database(account) => {
                account.create()?;
                Box::new(postgres::Rows::open(account).map_err(|kind| home.error(kind))?)
            }
        };
        Ok(Self { home, engine, deciding: Mutex::default() })
    }

    /// Where it lies.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Held by those who look at what waits for a person and then change it, so that nothing changes in between: a person
    /// decides on what was shown, or not at all.
    pub fn deciding(&self) -> MutexGuard<'_, ()> {
        self.deciding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the disk has no room left to speak of: what is there can be read, and nothing may be sent. In a folder, the
    /// room that is kept in reserve tells: it is given up where something can't be written, and kept again where there is
    /// room. A database tells by what it refuses, until a run has met no refusal.
    pub fn is_full(&self) -> bool {
        self.engine.is_full()
    }

    /// Fails where the disk is full.
    pub fn expect_room(&self) -> Result<(), Error> {
        if self.engine.may_have_room() { Ok(()) } else { Err(self.home.error(ErrorKind::Full)) }
    }

    /// Something could not be written because the disk is full: gives up the reserve, so that notices and decisions can
    /// still be written.
    pub fn ran_full(&self) {
        self.engine.ran_full();
    }

    /// Whether something could not be written for want of room since this was asked last.
    pub fn has_run_full(&self) -> bool {
        self.engine.has_run_full()
    }

    /// How long until a request that changes anything at the service may begin: another worker may have begun some before
    /// this one took over.
    ///
    /// # Errors
    ///
    /// Another worker may have taken over: none may begin any more.
    pub fn before_sending(&self) -> Result<Duration, Error> {
        self.engine.before_sending()
    }

    /// Says under what the account is run from now on, and hears what speaks against it.
    pub fn announce(&self, terms: &Terms<'_>) -> Result<Objections, Error> {
        self.engine.announce(terms)
    }

    /// What the process that had the store before left; once, and only where several have it in turn.
    pub fn predecessor(&self) -> Option<Predecessor> {
        self.engine.predecessor()
    }

    /// Says what of the budget is left when this process lets the store go.
    pub fn hands_over(&self, budget: HandOver) {
        self.engine.hands_over(budget);
    }

    /// Reads a row written by [`Batch::put`].
    fn get<T: DeserializeOwned>(&self, space: Keyspace, name: &str) -> Result<Option<T>, Error> {
        let Some(payload) = self.get_bytes(space, name)? else { return Ok(None) };
        self.parse(space, name, &payload).map(Some)
    }

    /// Reads a row written by [`Batch::put_bytes`].
    fn get_bytes(&self, space: Keyspace, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.engine.get(&space.key(name))
    }

    /// Walks the rows of a space whose names begin with `prefix`, in order of name, until `visit` fails; stops at the first
    /// unreadable one. `visit` must not write to the store.
    fn scan(
        &self,
        space: Keyspace,
        prefix: &str,
        visit: impl FnMut(&str, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.walk(space, prefix, Projection::Rows, visit)
    }

    /// Walks their names alone, likewise and in less time.
    fn scan_names(
        &self,
        space: Keyspace,
        prefix: &str,
        mut visit: impl FnMut(&str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.walk(space, prefix, Projection::Keys, |name, _| visit(name))
    }

    fn walk(
        &self,
        space: Keyspace,
        prefix: &str,
        shown: Projection,
        mut visit: impl FnMut(&str, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.engine.walk(&space.key(prefix), shown, &mut |key, payload| {
            let name = std::str::from_utf8(&key[1..]).map_err(|_| Error::of_row(&self.home.place(), key))?;
            visit(name, payload).map(|()| true)
        })
    }

    /// Whether a space has no row whose name begins with `prefix`.
    fn is_empty(&self, space: Keyspace, prefix: &str) -> Result<bool, Error> {
        let mut is_empty = true;
        self.engine.walk(&space.key(prefix), Projection::Keys, &mut |_, _| {
            is_empty = false;
            Ok(false)
        })?;
        Ok(is_empty)
    }

    fn many(&self, space: Keyspace) -> u64 {
        self.engine.many(space)
    }

    /// Applies a batch as a whole and returns when it is on disk.
    pub fn commit(&self, batch: Batch) -> Result<(), Error> {
        if batch.is_empty() { Ok(()) } else { self.engine.commit(batch) }
    }

    /// Begins to gather rows, in any order, however many there will be.
    pub fn bulk_load(&self) -> BulkLoader<'_> {
        BulkLoader(self.engine.bulk_load())
    }

    /// Rewrites everything, so that the files contain nothing of what was removed or overwritten.
    pub fn vacuum(&self) -> Result<(), Error> {
        self.engine.vacuum()
    }

    /// Rewrites the part of the store that takes much more room than its rows; returns whether it did. Must not be called
    /// while this thread walks over rows.
    pub fn maybe_vacuum(&self) -> Result<bool, Error> {
        self.engine.maybe_vacuum()
    }

    fn parse<T: DeserializeOwned>(&self, space: Keyspace, name: &str, payload: &[u8]) -> Result<T, Error> {
        serde_json::from_slice(payload).map_err(|_| Error::of_row(&self.home.place(), &space.key(name)))
    }
}

/// Rows that become part of the store together. Where they are few, that is a commit like any other; otherwise it costs as
/// much as rewriting their spaces.
pub struct BulkLoader<'a>(Box<dyn BulkLoad + 'a>);

impl BulkLoader<'_> {
    /// Adds the rows of a batch.
    pub fn add(&mut self, batch: Batch) -> Result<(), Error> {
        self.0.add(batch)
    }

    /// Makes all of it part of the store; on disk when it returns.
    pub fn commit(self) -> Result<(), Error> {
        self.0.commit()
    }

    /// The same with `rows` of one space, which come in order of key after those that were added. Where one of them fails,
    /// nothing is part of the store.
    pub fn commit_with<E: From<Error>>(self, rows: impl IntoIterator<Item = Result<Batch, E>>) -> Result<(), E> {
        let mut failure = None;
        let mut rows = rows.into_iter().map(|row| {
            row.map_err(|error| {
                failure = Some(error);
                Interrupted
            })
        });
        let done = self.0.commit_with(&mut rows);
        failure.map_or_else(|| Ok(done?), Err)
    }
}

#[cfg(test)]
mod tests;
