//! Compaction: merges the rows of sled and a sorted file into a new sorted file.
//!
//! The file is on disk before one commit of sled names it; that commit alone makes every row of sled that was written over
//! the file before it count no more, and they are swept up afterwards. So a process that ends at any moment leaves the old
//! file with its rows or the new one, and a new one that is not named is removed at the next opening.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use super::reader::SsTable;
use super::sorted_rows::SortedRows;
use super::table::TableMeta;
use super::writer::TableWriter;
use crate::crash::{self, point};
use crate::disk;
use crate::store::embedded::{Embedded, Writing, ignore_not_found};
use crate::store::engine::{Engine as _, Projection};
use crate::store::{Batch, Error, ErrorKind, Keyspace, MetaKey, row};

/// So many rows of a space stay in sled before they are merged, and more where the file is large: each merge writes it
/// whole. A debug build merges early, so that every test goes over it.
const ROWS_MIN: u64 = if cfg!(debug_assertions) { 64 } else { 4096 };
const ROWS_SHARE: u64 = 8;
const ROWS_MAX: u64 = 64 * 1024;

impl Embedded {
    /// After so many rows of a space, rewriting its file costs less than adding more of them to sled.
    pub(in crate::store::embedded) fn rows_max(&self, space: Keyspace) -> u64 {
        (self.file_of(space).meta().rows / ROWS_SHARE).clamp(crash::rows_min(ROWS_MIN), ROWS_MAX)
    }

    /// Merges the spaces of which sled holds many rows.
    pub(in crate::store::embedded) fn compact_grown(&self, writing: &mut Writing) -> Result<(), Error> {
        let grown: Vec<Keyspace> = writing
            .overlay
            .iter()
            .filter(|(space, rows)| **rows > self.rows_max(**space))
            .map(|(space, _)| *space)
            .collect();
        grown.into_iter().try_for_each(|space| match self.compact(writing, space) {
            // What was committed is on disk; it is merged when there is room.
            Err(Error { kind: ErrorKind::Full, .. }) => Ok(()),
            outcome => outcome,
        })
    }

    /// Merges every space of which sled holds any rows that a file could hold.
    pub(in crate::store::embedded) fn compact_all(&self, writing: &mut Writing) -> Result<(), Error> {
        let some: Vec<Keyspace> =
            writing.overlay.iter().filter(|(_, rows)| **rows > 0).map(|(space, _)| *space).collect();
        some.into_iter().try_for_each(|space| self.compact(writing, space))
    }

    /// Writes a new file for a space, of its file and the rows of sled.
    fn compact(&self, writing: &mut Writing, space: Keyspace) -> Result<(), Error> {
        self.compact_together(writing, vec![(space, SortedRows::default())], Batch::default())
    }

    /// Writes new files for several spaces, of their files, the rows of sled, and what comes with them; the commit of
    /// `batch` makes all of them count.
    pub(super) fn compact_together(
        &self,
        writing: &mut Writing,
        spaces: Vec<(Keyspace, SortedRows<'_>)>,
        mut batch: Batch,
    ) -> Result<(), Error> {
        let folder = self.dir.join("store");
        let mut files: Vec<(Keyspace, PathBuf, SsTable)> = Vec::new();
        for (space, rows) in spaces {
            let number =
                self.file_of(space).meta().generation.checked_add(1).expect("a file a second is a century of them");
            let path = path(&folder, space, number);
            let written = self.write_compacted(&path, space, number, rows);
            let opened = written.and_then(|meta| Ok((meta, SsTable::open(&path, &meta)?)));
            let (meta, table) = opened.map_err(|kind| {
                files.iter().map(|(_, path, _)| path).chain([&path]).for_each(|path| {
                    let _ = fs::remove_file(path);
                });
                self.error(kind)
            })?;
            batch.put_meta(MetaKey::File(space), &meta);
            files.push((space, path, table));
        }
        let synced = disk::sync_folder(&folder);
        synced.map_err(|error| self.error(ErrorKind::from_io(error)))?;
        point("store: a merged file is there");
        self.apply(writing, batch.rows)?;
        self.sync(writing)?;
        point("store: a merged file counts");
        let mut removed = Vec::new();
        let mut known = self.files.write().unwrap_or_else(PoisonError::into_inner);
        for (space, _, table) in files {
            writing.overlay.insert(space, 0);
            let old = known.insert(space, Arc::new(table)).unwrap_or_default();
            removed.push(path(&folder, space, old.meta().generation));
            writing.replaced.push((space, Arc::downgrade(&old)));
        }
        drop(known);
        self.overlay.set(&writing.overlay);
        self.purge_replaced(writing)?;
        removed.iter().try_for_each(|path| {
            ignore_not_found(fs::remove_file(path)).map_err(|error| self.error(ErrorKind::from_io(error)))
        })
    }

    /// Removes superseded rows of spaces whose replaced files are no longer in use. A reader of such a file looks in
    /// sled for everything that was merged since the file was written, by the next merge or by a later one.
    pub(in crate::store::embedded) fn purge_replaced(&self, writing: &mut Writing) -> Result<(), Error> {
        let (used, unused): (Vec<_>, Vec<_>) =
            std::mem::take(&mut writing.replaced).into_iter().partition(|(_, file)| file.strong_count() > 0);
        let unused: BTreeSet<Keyspace> = unused.into_iter().map(|(space, _)| space).collect();
        let swept: Vec<Keyspace> =
            unused.into_iter().filter(|space| used.iter().all(|(other, _)| other != space)).collect();
        writing.replaced = used;
        swept.into_iter().try_for_each(|space| self.purge_superseded(writing, space))
    }

    fn write_compacted(
        &self,
        path: &Path,
        space: Keyspace,
        number: u32,
        rows: SortedRows<'_>,
    ) -> Result<TableMeta, ErrorKind> {
        let mut writer = TableWriter::create(path, number).map_err(ErrorKind::from_io)?;
        let mut push = |key: &[u8], value: Option<&[u8]>| {
            value.map_or(Ok(()), |value| writer.push(key, value)).map_err(ErrorKind::from_io)
        };
        let mut rows = rows.peekable();
        let walked = self.walk(&[space as u8], Projection::Rows, &mut |key, payload| {
            let mut is_replaced = false;
            // One that can't be read comes before all.
            while let Some(row) = rows.next_if(|row| row.as_ref().map_or(true, |(new, _)| **new <= *key)) {
                let (new, value) = row.map_err(|kind| self.error(kind))?;
                push(&new, value.as_deref()).map_err(|kind| self.error(kind))?;
                is_replaced = *new == *key;
            }
            if !is_replaced {
                push(key, Some(payload)).map_err(|kind| self.error(kind))?;
            }
            Ok(true)
        });
        walked.map_err(|error| error.kind)?;
        for row in rows {
            let (new, value) = row?;
            push(&new, value.as_deref())?;
        }
        writer.end().map_err(ErrorKind::from_io)
    }

    /// Removes the rows of a space that were merged into its file.
    pub(in crate::store::embedded) fn purge_superseded(
        &self,
        writing: &mut Writing,
        space: Keyspace,
    ) -> Result<(), Error> {
        let number = self.file_of(space).meta().generation;
        loop {
            let mut merged = Vec::new();
            self.with(|sled| {
                for row in sled.tree.scan_prefix([space as u8]) {
                    let (key, row) = row?;
                    if row::decode(&key, &row).is_ok_and(|row| row.generation < number) {
                        merged.push((key.to_vec(), None));
                    }
                    if merged.len() == Self::PART_ROWS {
                        break;
                    }
                }
                Ok(())
            })?;
            if merged.is_empty() {
                return Ok(());
            }
            self.apply_plain(writing, merged)?;
        }
    }

    /// Opens the file of a space, where sled names one.
    pub(in crate::store::embedded) fn open_file(&self, space: Keyspace) -> Result<(), Error> {
        let Some(meta) = self.meta::<TableMeta>(MetaKey::File(space))? else { return Ok(()) };
        let path = path(&self.dir.join("store"), space, meta.generation);
        let table = SsTable::open(&path, &meta).map_err(|kind| self.error(kind))?;
        table.check().map_err(|kind| self.error(kind))?;
        self.files.write().unwrap_or_else(PoisonError::into_inner).insert(space, Arc::new(table));
        Ok(())
    }

    /// Removes the files that sled does not name: of merges that did not come to an end, or whose old file was left.
    pub(in crate::store::embedded) fn remove_unnamed(&self) -> Result<(), Error> {
        let folder = self.dir.join("store");
        let named: Vec<PathBuf> =
            Keyspace::all_filed().map(|space| path(&folder, space, self.file_of(space).meta().generation)).collect();
        let found = files(&folder).map_err(|error| self.error(ErrorKind::from_io(error)))?;
        let mut unnamed = found.into_iter().filter(|file| !named.contains(file));
        unnamed.try_for_each(|file| {
            ignore_not_found(fs::remove_file(&file)).map_err(|error| self.error(ErrorKind::from_io(error)))
        })
    }
}

/// The files of rows in the folder of a store.
pub(in crate::store::embedded) fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let paths: Result<Vec<PathBuf>, _> = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let is_rows = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(NAME) && !path.is_dir())
    };
    Ok(paths?.into_iter().filter(is_rows).collect())
}

const NAME: &str = "rows-";

fn path(folder: &Path, space: Keyspace, number: u32) -> PathBuf {
    folder.join(format!("{NAME}{}-{number}", char::from(space as u8)))
}
