//! Replaces a store by a new one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::integrity::Commits;
use super::lsm::swap;
use super::{Batch, Error, ErrorKind, Keyspace, MetaKey, StateDir, Store, ignore_not_found};
use crate::crash::point;
use crate::disk;

/// A store that is to be thrown away.
pub struct OldStore<'a> {
    store: Option<&'a Store>,
    unreadable: BTreeSet<Keyspace>,
    damage: Option<&'a Error>,
}

/// What became of a store that was to be thrown away.
#[derive(Debug)]
pub struct ResetOutcome<T> {
    /// Why it could not be used, where it could not.
    pub damage: Option<Error>,
    /// What its reader made of it.
    pub seen: T,
    /// Whether it was thrown away.
    pub is_dropped: bool,
}

impl OldStore<'_> {
    /// Why it can't be used; `None` where it is whole.
    pub fn damage(&self) -> Option<&Error> {
        self.damage
    }

    /// Reads a row about the state as a whole; of a damaged store, where it is readable.
    pub fn meta<T: DeserializeOwned>(&self, key: MetaKey<'_>) -> Result<Option<T>, Error> {
        self.store.map_or(Ok(None), |store| self.as_far_as_readable(store.meta(key)))
    }

    /// Walks the rows of a space; of a damaged store, as far as they are readable.
    pub(super) fn scan(&self, space: Keyspace, visit: impl FnMut(&str, &[u8])) -> Result<(), Error> {
        match self.store.filter(|_| !self.unreadable.contains(&space)) {
            Some(store) => self.as_far_as_readable(store.scan(space, "", visit)),
            None => Ok(()),
        }
    }

    fn as_far_as_readable<T: Default>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.or_else(|error| if self.damage.is_some() { Ok(T::default()) } else { Err(error) })
    }
}

/// Throws the store under `dir` away and makes a new one with what `keep` takes over. Where `keep` takes nothing over, not
/// even an empty batch, the old one stays. `None` where there was none.
///
/// As in a rewrite, the new store is whole and on disk before it takes the old one's place: a process that ends in
/// between leaves one of the two. The folder's lock is held all the way.
pub fn reset<T, E: From<Error>>(
    dir: &Path,
    keep: impl FnOnce(&OldStore<'_>) -> Result<(Option<Batch>, T), E>,
) -> Result<Option<ResetOutcome<T>>, E> {
    let fail = |error: io::Error| Error { dir: dir.to_owned(), kind: ErrorKind::from_io(error) };
    let lock = StateDir::create(dir)?.lock()?;
    let again = || lock.try_clone().map_err(fail);
    if !dir.join("store").exists() && !dir.join("store.old").exists() && !dir.join("commits").exists() {
        return Ok(None);
    }
    let (store, unreadable, damage) = match Store::open_locked(dir, again()?) {
        Ok(store) => (Some(store), BTreeSet::new(), None),
        Err(error) if matches!(error.kind, ErrorKind::Damaged(_)) => match Store::open_damaged(dir, again()?) {
            Ok((store, unreadable)) => (Some(store), unreadable, Some(error)),
            Err(_) => (None, BTreeSet::new(), Some(error)),
        },
        Err(error) if matches!(error.kind, ErrorKind::Newer { .. }) => (None, BTreeSet::new(), Some(error)),
        Err(error) => return Err(error.into()),
    };
    let (batch, seen) = keep(&OldStore { store: store.as_ref(), unreadable, damage: damage.as_ref() })?;
    drop(store);
    let Some(batch) = batch else { return Ok(Some(ResetOutcome { damage, seen, is_dropped: false })) };
    point("rebuild: before the new store");
    let fresh = dir.join(swap::RESET);
    Store::fill_new(&fresh, batch, committed(dir).map_err(fail)?)?;
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

impl Store {
    /// A store that holds a batch, under a folder of its own; it counts its batches on from `commits`, so that it is not
    /// taken for an older one than that.
    fn fill_new(dir: &Path, batch: Batch, commits: u64) -> Result<(), Error> {
        let store = Self::open_locked(dir, StateDir::create(dir)?.lock()?)?;
        store.writing().integrity.commits = commits;
        let mut batch = batch;
        // There is a batch to commit in any case, for the number's sake.
        batch.put_meta(MetaKey::Format, &super::row::FORMAT);
        store.commit(batch)?;
        drop(store);
        disk::sync_folder(&dir.join("store"))
            .map_err(|error| Error { dir: dir.to_owned(), kind: ErrorKind::from_io(error) })
    }

    /// A store that is damaged, to be read as far as it goes; with the spaces that can't be read.
    fn open_damaged(dir: &Path, lock: File) -> Result<(Self, BTreeSet<Keyspace>), Error> {
        let store = Self::open_unchecked(dir, lock)?;
        let unreadable = Keyspace::all_filed().filter(|space| store.open_file(*space).is_err()).collect();
        Ok((store, unreadable))
    }
}
