//! What an engine does: rows by key, in bytes. The door above it gives them names and types.

use std::sync::Arc;
use std::time::Duration;

use super::embedded::FolderLock;
use super::tenure::{HandOver, Objections, Predecessor, Terms};
use super::{Batch, Error, Keyspace};

/// What a walk shows of each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Projection {
    /// Key and payload.
    Rows,
    /// The key alone, in less time; the payload is empty.
    Keys,
}

/// Shown the rows of a walk, key and payload; the walk ends where it returns false or fails.
pub(super) type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<bool, Error> + 'a;
/// Rows that come in order of key; the first failure ends a load.
pub(super) type OrderedRows<'a> = dyn Iterator<Item = Result<Batch, Interrupted>> + 'a;

/// Rows did not come to their end; who gives them knows why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interrupted;

/// Where rows are kept.
///
/// Every write is whole or not at all and is durable when it returns; of one key the last word counts. One writer at a time
/// is the engine's to ensure, among the threads of this process and among processes.
pub(super) trait Engine: Send + Sync {
    /// Reads a row.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error>;

    /// Hears which rows are read next, one by one: where each read is a way to another process, they come together. The keys
    /// are made only where that is so.
    fn read_ahead(&self, _keys: &mut dyn FnMut() -> Vec<Vec<u8>>) -> Result<(), Error> {
        Ok(())
    }

    /// Walks the rows whose keys begin with `prefix`, which has a keyspace at least, in order of key. `visit` must not
    /// write; it may read.
    fn walk(&self, prefix: &[u8], shown: Projection, visit: &mut Visit<'_>) -> Result<(), Error>;

    /// Applies a batch that is not empty, of few rows or many.
    fn commit(&self, batch: Batch) -> Result<(), Error>;

    /// Begins to gather rows, in any order, however many there will be.
    fn bulk_load(&self) -> Box<dyn BulkLoad + '_>;

    /// After so many rows of a space at once, to walk over all of them costs less than to look them up.
    fn many(&self, space: Keyspace) -> u64;

    /// Whether there is no room to write to speak of.
    fn is_full(&self) -> bool;

    /// Whether a run may try to write.
    fn may_have_room(&self) -> bool;

    /// Something beside the rows could not be written for want of room.
    fn ran_full(&self);

    /// Whether something could not be written for want of room since this was asked last.
    fn has_run_full(&self) -> bool;

    /// How long until a request that changes anything at the service may begin.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Fenced`](super::ErrorKind::Fenced) where none may any more.
    fn before_sending(&self) -> Result<Duration, Error>;

    /// Says under what the account is run from now on. Where no other process can run one, there is no objection.
    fn announce(&self, _: &Terms<'_>) -> Result<Objections, Error> {
        Ok(Objections::default())
    }

    /// What the tenure before this one left; once.
    fn predecessor(&self) -> Option<Predecessor>;

    /// Says what of the budget is left when this tenure ends.
    fn hands_over(&self, budget: HandOver);

    /// The lock of the folder in which the rows lie: as long as it is held, no other process gets at them, though the engine is
    /// closed. `None` where they lie in no folder.
    fn folder_lock(&self) -> Option<Arc<FolderLock>> {
        None
    }

    /// Leaves nothing of what was removed or overwritten, as far as the engine can promise that.
    fn vacuum(&self) -> Result<(), Error>;

    /// Gives room back where much more is taken than the rows need; returns whether it did.
    fn maybe_vacuum(&self) -> Result<bool, Error>;
}

/// Rows that become part of the store together. Nothing of them is there before a commit, and all of it after.
pub(super) trait BulkLoad {
    /// Adds the rows of a batch.
    fn add(&mut self, batch: Batch) -> Result<(), Error>;

    /// Makes all of it part of the store; on disk when it returns.
    fn commit(self: Box<Self>) -> Result<(), Error>;

    /// The same with `rows` of one space, which come in order of key and count more than those that were added. Where they
    /// are interrupted, nothing is part of the store and an error says so.
    fn commit_with(self: Box<Self>, rows: &mut OrderedRows<'_>) -> Result<(), Error>;
}
