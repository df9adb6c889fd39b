//! Replaces a store by a new one.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::integrity::Commits;
use super::lsm::swap;
use super::state_dir::FolderLock;
use super::{Batch, Embedded, Engine as _, Error, ErrorKind, Keyspace, MetaKey, StateDir, ignore_not_found, place};
use crate::crash::point;
use crate::disk;
use crate::store::old_store::{OldStore, ResetOutcome};

/// Throws the store under `dir` away and makes a new one with what `keep` takes over. Where `keep` takes nothing over, not
/// even an empty batch, the old one stays. `None` where there was none.
///
/// As in a rewrite, the new store is whole and on disk before it takes the old one's place: a process that ends in
/// between leaves one of the two. The folder's lock is held all the way.
pub(in crate::store) fn reset<T, E: From<Error>>(
    dir: &Path,
    keep: impl FnOnce(&OldStore<'_>) -> Result<(Option<Batch>, T), E>,
) -> Result<Option<ResetOutcome<T>>, E> {
    let fail = |error: io::Error| Error { place: place(dir), kind: ErrorKind::from_io(error) };
    let lock = StateDir::create(dir)?.lock()?;
    if !dir.join("store").exists() && !dir.join("store.old").exists() && !dir.join("commits").exists() {
        return Ok(None);
    }
    let (store, unreadable, damage) = match Embedded::open_locked(dir, Arc::clone(&lock)) {
        Ok(store) => (Some(store), BTreeSet::new(), None),
        Err(error) if matches!(error.kind, ErrorKind::Damaged(_)) => {
            match Embedded::open_damaged(dir, Arc::clone(&lock)) {
                Ok((store, unreadable)) => (Some(store), unreadable, Some(error)),
                Err(_) => (None, BTreeSet::new(), Some(error)),
            }
        }
        Err(error) if matches!(error.kind, ErrorKind::Newer { .. }) => (None, BTreeSet::new(), Some(error)),
        Err(error) => return Err(error.into()),
    };
    let (batch, seen) =
        keep(&OldStore::of(&place(dir), store.as_ref().map(|store| store as _), unreadable, damage.as_ref()))?;
    drop(store);
    let Some(batch) = batch else { return Ok(Some(ResetOutcome { damage, seen, is_dropped: false })) };
    point("rebuild: before the new store");
    let fresh = dir.join(swap::RESET);
    Embedded::fill_new(&fresh, batch, committed(dir).map_err(fail)?)?;
    point("rebuild: the new store is there");
    swap::swap(dir, &fresh.join("store")).map_err(fail)?;
    point("rebuild: the new store is in its place");
    ignore_not_found(fs::remove_dir_all(&fresh)).map_err(fail)?;
    Ok(Some(ResetOutcome { damage, seen, is_dropped: true }))
}

/// How many batches the folder promises. A number that can't be reached is damage in itself, and the count starts
/// again.
fn committed(dir: &Path) -> io::Result<u64> {
    let commits = Commits::open(dir)?;
    match commits.read()?.unwrap_or(0) {
        committed if committed <= u64::MAX / 2 => Ok(committed),
        _ => commits.write(0).map(|()| 0),
    }
}

impl Embedded {
    /// A store that holds a batch, under a folder of its own; it counts its batches on from `commits`, so that it is not
    /// taken for an older one than that.
    fn fill_new(dir: &Path, batch: Batch, commits: u64) -> Result<(), Error> {
        let store = Self::open_locked(dir, StateDir::create(dir)?.lock()?)?;
        store.writing().integrity.commits = commits;
        let mut batch = batch;
        // There is a batch to commit in any case, for the number's sake.
        batch.put_meta(MetaKey::Format, &crate::store::row::FORMAT);
        store.commit(batch)?;
        drop(store);
        disk::sync_folder(&dir.join("store"))
            .map_err(|error| Error { place: place(dir), kind: ErrorKind::from_io(error) })
    }

    /// A store that is damaged, to be read as far as it goes; with the spaces that can't be read.
    fn open_damaged(dir: &Path, lock: Arc<FolderLock>) -> Result<(Self, BTreeSet<Keyspace>), Error> {
        let store = Self::open_unchecked(dir, lock)?;
        let unreadable = Keyspace::all_filed().filter(|space| store.open_file(*space).is_err()).collect();
        Ok((store, unreadable))
    }
}
