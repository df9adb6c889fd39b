//! The engine in a folder of this machine: sorted files, and sled as write-ahead log and memory table. Rows are versioned and
//! checksummed; a commit is durable.
//!
//! ```text
//! rows of sled        what came since the file of its space was written, and the names of the files
//! rows-SPACE-NUMBER   all rows of a space up to then, in order; see `lsm`
//! ```
//!
//! Invariants:
//! - A batch is applied as a whole or not at all, and [`Engine::commit`] returns only when it is on disk: sled's own
//!   `flush` asks the kernel to write but never waits for the device, so its file is synced here as well, and only here.
//! - Every row of sled begins with a format version and a checksum over its place and content, every block of a file has a
//!   digest. What does not fit is named in an error, never skipped: a lost row would look like a person who was never
//!   there.
//! - An integrity record moves with every batch: how many there were, how many rows sled has and the XOR of their checksums.
//!   It is compared with the rows at every opening, and its number with a file beside the store: sled opens a file with a
//!   broken segment or a missing tail as if those rows had never been.
//! - A row of sled hides the row of the file under the same key, if it was written over that file or a later one.
//! - One process at a time: a lock file beside the data says who.
//!
//! Rejected: one sled tree per kind of row. A commit has to move rows of several kinds at once, and sled applies a batch
//! atomically within one tree only; so there is one tree, and the first byte of a key says the kind.

pub(super) mod documents;
pub(super) mod files;
mod integrity;
pub(super) mod log;
pub(super) mod mark;
mod lsm;
mod reserve;
mod reset;
mod sled_db;
mod state_dir;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use integrity::IntegrityRecord;
#[cfg(any(test, fuzzing))]
pub(crate) use lsm::fuzzing::sorted_file as fuzz_sorted_file;
use lsm::{OverlayFlags, SsTable, swap};
pub(super) use reserve::give_up as give_up_reserve;
pub(super) use reset::reset;
use serde::de::DeserializeOwned;
pub(super) use sled_db::ignore_not_found;
use sled_db::{Sled, catch_panic};
pub(super) use state_dir::FolderLock;
use state_dir::StateDir;
pub(super) use state_dir::{check_state_dir, create_state_dir, is_locked, place};

use super::batch::RowChange;
use super::engine::{BulkLoad, Engine, Projection, Visit};
use super::tenure::{HandOver, Predecessor};
use super::{Batch, Error, ErrorKind, Keyspace, MetaKey, row};
use crate::crash::point;
use crate::disk;

/// The rows of one state folder.
pub(super) struct Embedded {
    dir: PathBuf,
    /// `None` only while it is rewritten, and if it could not be opened again.
    sled: RwLock<Option<Sled>>,
    files: RwLock<BTreeMap<Keyspace, Arc<SsTable>>>,
    writing: Mutex<Writing>,
    overlay: OverlayFlags,
    commits: integrity::Commits,
    /// Whether the disk was full when it was opened.
    is_full: bool,
    ran_full: AtomicBool,
    lock: Arc<FolderLock>,
}

/// What the writer holds.
#[derive(Default)]
struct Writing {
    integrity: IntegrityRecord,
    /// How many rows of a space sled has that are not in its file.
    overlay: BTreeMap<Keyspace, u64>,
    /// Files that were replaced, of spaces whose merged rows stay in sled for the readers of such a file.
    replaced: Vec<(Keyspace, Weak<SsTable>)>,
}

/// A key of sled with what it holds; `None` where the row of the file is removed.
type OverlayRow = (sled::IVec, Option<Vec<u8>>);

impl Embedded {
    /// Rows that are copied or swept in sled at once.
    const PART_ROWS: usize = 100;
    /// More rows at once go into files: for a batch of them sled takes memory that it never gives back.
    const LOGGED_ROWS_MAX: usize = if cfg!(debug_assertions) { 256 } else { 1024 };
    /// Likewise so many bytes.
    const LOGGED_BYTES_MAX: usize = 512 * 1024;

    /// Opens the store under `dir`, making it where there is none. Fails at once where another process holds it.
    pub(super) fn open(dir: &Path) -> Result<Self, Error> {
        let store = Self::open_locked(dir, StateDir::create(dir)?.lock()?)?;
        store.maybe_vacuum()?;
        Ok(store)
    }

    pub(super) fn open_locked(dir: &Path, lock: Arc<FolderLock>) -> Result<Self, Error> {
        let store = Self::open_unchecked(dir, lock)?;
        store.check()?;
        Ok(store)
    }

    /// Whether there is no room to write to speak of in a state folder whose store is closed.
    pub(super) fn has_no_room(dir: &Path) -> bool {
        !reserve::keep(dir).unwrap_or(true)
    }

    fn open_unchecked(dir: &Path, lock: Arc<FolderLock>) -> Result<Self, Error> {
        let fail = |kind| Error { place: place(dir), kind };
        let io = |error| fail(ErrorKind::from_io(error));
        swap::recover(dir).map_err(io)?;
        let sled = match Sled::open(&dir.join("store")) {
            Err(ErrorKind::Full) if reserve::give_up(dir).map_err(io)? => Sled::open(&dir.join("store")),
            sled => sled,
        };
        Ok(Self {
            dir: dir.to_owned(),
            sled: RwLock::new(Some(sled.map_err(fail)?)),
            files: RwLock::new(Keyspace::all_filed().map(|space| (space, Arc::default())).collect()),
            writing: Mutex::default(),
            overlay: OverlayFlags::all(),
            commits: integrity::Commits::open(dir).map_err(io)?,
            is_full: !reserve::keep(dir).map_err(io)?,
            ran_full: AtomicBool::new(false),
            lock,
        })
    }

    /// Reads a row about the state as a whole.
    fn meta<T: DeserializeOwned>(&self, key: MetaKey<'_>) -> Result<Option<T>, Error> {
        let key = Keyspace::Meta.key(&key.to_string());
        let row = self.get(&key)?;
        row.map(|row| serde_json::from_slice(&row).map_err(|_| Error::of_row(&place(&self.dir), &key))).transpose()
    }

    /// Applies rows with the last word on each key.
    fn apply(&self, writing: &mut Writing, rows: Vec<RowChange>) -> Result<(), Error> {
        let mut encoded = BTreeMap::new();
        for (key, payload) in rows {
            let file = Keyspace::filed(&key).map(|space| self.file_of(space));
            let generation = file.as_ref().map_or(0, |file| file.meta().generation);
            let hides = || file.as_ref().map_or(Ok(false), |file| file.get(&key).map(|row| row.is_some()));
            let row = match payload {
                Some(payload) => Some(row::encode(&key, generation, Some(&payload))),
                None if hides().map_err(|kind| self.error(kind))? => Some(row::encode(&key, generation, None)),
                None => None,
            };
            encoded.insert(key, row);
        }
        self.apply_plain(writing, encoded.into_iter().collect())
    }

    /// Applies rows as they are stored, in order of key.
    fn apply_plain(&self, writing: &mut Writing, rows: Vec<RowChange>) -> Result<(), Error> {
        let mut next = writing.integrity.clone();
        next.commits += 1;
        let mut overlay = writing.overlay.clone();
        let mut batch = sled::Batch::default();
        for (key, row) in rows {
            let space = Keyspace::filed(&key);
            let number = space.map_or(0, |space| self.file_of(space).meta().generation);
            let counts = |row: &[u8]| u64::from(row::decode(&key, row).is_ok_and(|row| row.generation >= number));
            let mut count = space.map(|space| overlay.entry(space).or_default());
            if let Some(old) = self.with(|sled| sled.tree.get(&key))? {
                next.drop_row(&key, &old);
                count.iter_mut().for_each(|count| **count = count.saturating_sub(counts(&old)));
            }
            match row {
                Some(row) => {
                    next.add_row(&key, &row);
                    count.iter_mut().for_each(|count| **count += counts(&row));
                    batch.insert(key, row);
                }
                None => batch.remove(key),
            }
        }
        let (key, row) = next.to_row();
        batch.insert(key, row);
        point("store: before a batch");
        // A reader that sees one row of the batch looks for the others too.
        self.overlay.add(&overlay);
        self.with(|sled| sled.tree.apply_batch(batch))?;
        point("store: a batch is applied");
        (writing.integrity, writing.overlay) = (next, overlay);
        self.overlay.set(&writing.overlay);
        Ok(())
    }

    fn sync(&self, writing: &Writing) -> Result<(), Error> {
        self.with(|sled| sled.tree.flush())?;
        point("store: flushed");
        let guard = self.sled.read().unwrap_or_else(PoisonError::into_inner);
        let sled = guard.as_ref().ok_or_else(|| self.error(ErrorKind::closed()))?;
        disk::sync_data(&sled.file).map_err(|error| self.error(ErrorKind::from_io(error)))?;
        point("store: on disk");
        self.commits.write(writing.integrity.commits).map_err(|error| self.error(ErrorKind::from_io(error)))?;
        point("store: committed");
        Ok(())
    }

    /// Compares the rows with the integrity record and opens the files; lays a store down that is new.
    fn check(&self) -> Result<(), Error> {
        let stored: Option<IntegrityRecord> = self.meta(MetaKey::Integrity)?;
        let committed = self.commits.read().map_err(|error| self.error(ErrorKind::from_io(error)))?;
        let Some(stored) = stored else {
            if self.with(|sled| Ok(sled.tree.is_empty()))? && committed.is_none() {
                let mut batch = Batch::default();
                batch.put_meta(MetaKey::Format, &row::FORMAT);
                self.commit(batch)?;
                // The names of its files, and its own.
                let named = disk::sync_folder(&self.dir.join("store")).and_then(|()| disk::sync_folder(&self.dir));
                return named.map_err(|error| self.error(ErrorKind::from_io(error)));
            }
            return Err(self.error(ErrorKind::Damaged("its integrity record is missing".into())));
        };
        match self.meta::<u32>(MetaKey::Format)? {
            Some(row::FORMAT) => {}
            Some(format) => return Err(self.error(ErrorKind::Newer { format })),
            None => return Err(self.error(ErrorKind::Damaged("its format row is missing".into()))),
        }
        if committed.is_some_and(|committed| stored.commits < committed) {
            return Err(self.error(ErrorKind::Damaged("its latest changes are missing".into())));
        }
        Keyspace::all_filed().try_for_each(|space| self.open_file(space))?;
        let mut writing = self.writing();
        let mut found = IntegrityRecord { commits: stored.commits, ..IntegrityRecord::default() };
        let mut stale = Vec::new();
        let guard = self.sled.read().unwrap_or_else(PoisonError::into_inner);
        let sled = guard.as_ref().ok_or_else(|| self.error(ErrorKind::closed()))?;
        let mut rows = sled.tree.iter();
        while let Some((key, row)) = catch_panic(|| rows.next().transpose()).map_err(|kind| self.error(kind))? {
            let generation = row::decode(&key, &row).map_err(|fault| self.row_error(&key, fault))?.generation;
            found.add_row(&key, &row);
            let Some(space) = Keyspace::filed(&key) else { continue };
            if generation >= self.file_of(space).meta().generation {
                *writing.overlay.entry(space).or_default() += 1;
            } else if stale.last() != Some(&space) {
                stale.push(space);
            }
        }
        if found != stored {
            let message = format!("it should hold {} rows and holds {}, or others", stored.rows, found.rows);
            return Err(self.error(ErrorKind::Damaged(message)));
        }
        writing.integrity = stored;
        self.overlay.set(&writing.overlay);
        drop(rows);
        drop(guard);
        self.remove_unnamed()?;
        if self.is_full {
            return Ok(());
        }
        stale.into_iter().try_for_each(|space| self.purge_superseded(&mut writing, space))
    }

    /// The file that a key could be in as it is now.
    fn merged_file(&self, key: &[u8]) -> Arc<SsTable> {
        Keyspace::filed(key).map(|space| self.file_of(space)).unwrap_or_default()
    }

    /// The file of a space as it is now; one without rows where there is none.
    fn file_of(&self, space: Keyspace) -> Arc<SsTable> {
        self.files.read().unwrap_or_else(PoisonError::into_inner).get(&space).cloned().unwrap_or_default()
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks sled.
    fn with<T>(&self, call: impl FnOnce(&Sled) -> sled::Result<T>) -> Result<T, Error> {
        let guard = self.sled.read().unwrap_or_else(PoisonError::into_inner);
        let sled = guard.as_ref().ok_or_else(|| self.error(ErrorKind::closed()))?;
        catch_panic(|| call(sled)).map_err(|kind| self.error(kind))
    }

    fn error(&self, kind: ErrorKind) -> Error {
        if matches!(kind, ErrorKind::Full) {
            self.ran_full();
        }
        Error { place: place(&self.dir), kind }
    }

    fn row_error(&self, key: &[u8], fault: row::RowFault) -> Error {
        self.error(match fault {
            row::RowFault::Version(version) => ErrorKind::Newer { format: version.into() },
            row::RowFault::Checksum => return Error::of_row(&place(&self.dir), key),
        })
    }
}

impl Engine for Embedded {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let may_be_in_sled = Keyspace::filed(key).is_none_or(|space| self.overlay.has(space));
        let overlay = if may_be_in_sled { self.with(|sled| sled.tree.get(key))? } else { None };
        // Only now: what was merged in between is in the file that is there now.
        let file = self.merged_file(key);
        if let Some(row) = &overlay {
            let row = row::decode(key, row).map_err(|fault| self.row_error(key, fault))?;
            if row.generation >= file.meta().generation {
                return Ok(row.payload.map(<[u8]>::to_vec));
            }
        }
        file.get(key).map_err(|kind| self.error(kind))
    }

    fn walk(&self, prefix: &[u8], shown: Projection, visit: &mut Visit<'_>) -> Result<(), Error> {
        let guard = self.sled.read().unwrap_or_else(PoisonError::into_inner);
        let sled = guard.as_ref().ok_or_else(|| self.error(ErrorKind::closed()))?;
        // While it is held, what it hides or lacks stays in sled.
        let file = self.merged_file(prefix);
        let mut rows = sled.tree.scan_prefix(prefix);
        let number = file.meta().generation;
        let mut next = || -> Result<Option<OverlayRow>, Error> {
            while let Some((key, row)) = catch_panic(|| rows.next().transpose()).map_err(|kind| self.error(kind))? {
                let row = row::decode(&key, &row).map_err(|fault| self.row_error(&key, fault))?;
                if row.generation >= number {
                    let shown = |payload: &[u8]| if shown == Projection::Keys { Vec::new() } else { payload.to_vec() };
                    return Ok(Some((key, row.payload.map(shown))));
                }
            }
            Ok(None)
        };
        // Skips tombstones.
        let mut show = |key: &[u8], payload: Option<&[u8]>| payload.map_or(Ok(true), |payload| visit(key, payload));
        let mut overlay = next()?;
        let mut merged = file.rows_from(prefix, shown);
        while let Some((key, payload)) = merged.next().map_err(|kind| self.error(kind))? {
            if !key.starts_with(prefix) {
                break;
            }
            while let Some((own, payload)) = overlay.take_if(|(own, _)| **own < *key) {
                if !show(&own, payload.as_deref())? {
                    return Ok(());
                }
                overlay = next()?;
            }
            let hidden = overlay.take_if(|(own, _)| **own == *key);
            let goes_on = match &hidden {
                Some((own, payload)) => show(own, payload.as_deref())?,
                None => show(key, Some(payload))?,
            };
            if !goes_on {
                return Ok(());
            }
            if hidden.is_some() {
                overlay = next()?;
            }
        }
        while let Some((own, payload)) = overlay.take() {
            if !show(&own, payload.as_deref())? {
                return Ok(());
            }
            overlay = next()?;
        }
        Ok(())
    }

    fn commit(&self, batch: Batch) -> Result<(), Error> {
        if batch.rows.len() > Self::LOGGED_ROWS_MAX {
            let mut bulk = Box::new(self.bulk());
            bulk.add(batch)?;
            return bulk.commit();
        }
        let mut writing = self.writing();
        self.apply(&mut writing, batch.rows)?;
        self.sync(&writing)?;
        self.compact_grown(&mut writing)
    }

    fn bulk_load(&self) -> Box<dyn BulkLoad + '_> {
        Box::new(self.bulk())
    }

    fn many(&self, space: Keyspace) -> u64 {
        self.rows_max(space)
    }

    fn is_full(&self) -> bool {
        !reserve::keep(&self.dir).unwrap_or(!self.is_full)
    }

    fn may_have_room(&self) -> bool {
        !self.is_full()
    }

    fn ran_full(&self) {
        self.ran_full.store(true, Ordering::Relaxed);
        if let Err(error) = reserve::give_up(&self.dir) {
            tracing::warn!(%error, "the room kept in reserve could not be given up: {error}");
        }
    }

    fn has_run_full(&self) -> bool {
        self.ran_full.swap(false, Ordering::Relaxed)
    }

    fn before_sending(&self) -> Result<Duration, Error> {
        Ok(Duration::ZERO)
    }

    /// The lock of the folder keeps all others out, and what they left lies in it.
    fn predecessor(&self) -> Option<Predecessor> {
        None
    }

    fn hands_over(&self, _: HandOver) {}

    fn folder_lock(&self) -> Option<Arc<FolderLock>> {
        Some(Arc::clone(&self.lock))
    }

    fn vacuum(&self) -> Result<(), Error> {
        self.rewrite()
    }

    fn maybe_vacuum(&self) -> Result<bool, Error> {
        self.rewrite_sprawled()
    }
}

#[cfg(test)]
mod tests;
