//! Compaction: merges the rows of sled and a sorted file into a new sorted file.
//!
//! The file is on disk before one commit of sled names it; that commit alone makes every row of sled that was written over
//! the file before it count no more, and they are swept up afterwards. So a process that ends at any moment leaves the old
//! file with its rows or the new one, and a new one that is not named is removed at the next opening.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use super::sorted::{Mark, Sorted, Writer};
use super::{Batch, Error, Kind, Row, Space, Store, Writing, absent, row};
use crate::crash::point;
use crate::disk;

/// So many rows of a space stay in sled before they are merged, and more where the file is large: each merge writes it
/// whole. A debug build merges early, so that every test goes over it, and one with crash points all the time.
const ROWS_MIN: u64 = match () {
    () if cfg!(feature = "crash-points") => 8,
    () if cfg!(debug_assertions) => 64,
    () => 4096,
};
const ROWS_SHARE: u64 = 8;
const ROWS_MAX: u64 = 64 * 1024;

/// Rows that are to stand in the new file.
pub(super) struct Extra<'a> {
    /// In order of key.
    pub(super) rows: &'a mut dyn Iterator<Item = Result<Row, Kind>>,
    /// What keys begin with that are in the new file only if they are among `rows`.
    pub(super) instead_of: Option<Vec<u8>>,
}

impl Store {
    /// After so many rows of a space, rewriting its file costs less than adding more of them to sled.
    pub fn many(&self, space: Space) -> u64 {
        (self.file_of(space).mark().rows / ROWS_SHARE).clamp(ROWS_MIN, ROWS_MAX)
    }

    /// Merges the spaces of which sled holds many rows.
    pub(super) fn merge_grown(&self, writing: &mut Writing) -> Result<(), Error> {
        let grown: Vec<Space> =
            writing.newer.iter().filter(|(space, rows)| **rows > self.many(**space)).map(|(space, _)| *space).collect();
        grown.into_iter().try_for_each(|space| match self.merge(writing, space, None) {
            // What was committed is on disk; it is merged when there is room.
            Err(Error { kind: Kind::Full, .. }) => Ok(()),
            outcome => outcome,
        })
    }

    /// Merges every space of which sled holds any rows that a file could hold.
    pub(super) fn merge_all(&self, writing: &mut Writing) -> Result<(), Error> {
        let some: Vec<Space> = writing.newer.iter().filter(|(_, rows)| **rows > 0).map(|(space, _)| *space).collect();
        some.into_iter().try_for_each(|space| self.merge(writing, space, None))
    }

    /// Writes a new file for a space, of its file, the rows of sled, and `extra`.
    pub(super) fn merge(&self, writing: &mut Writing, space: Space, extra: Option<Extra<'_>>) -> Result<(), Error> {
        self.merge_together(writing, vec![(space, extra)])
    }

    /// Writes new files for several spaces, which one commit makes count.
    pub(super) fn merge_together(
        &self,
        writing: &mut Writing,
        spaces: Vec<(Space, Option<Extra<'_>>)>,
    ) -> Result<(), Error> {
        let folder = self.dir.join("store");
        let mut batch = Batch::default();
        let mut files: Vec<(Space, PathBuf, Sorted)> = Vec::new();
        for (space, extra) in spaces {
            let number =
                self.file_of(space).mark().number.checked_add(1).expect("a file a second is a century of them");
            let path = path(&folder, space, number);
            let written = self.write_merged(&path, space, number, extra);
            let opened = written.and_then(|mark| Ok((mark, Sorted::open(&path, &mark)?)));
            let (mark, sorted) = opened.map_err(|kind| {
                files.iter().map(|(_, path, _)| path).chain([&path]).for_each(|path| {
                    let _ = fs::remove_file(path);
                });
                self.error(kind)
            })?;
            batch.put(Space::Meta, &name(space), &mark);
            files.push((space, path, sorted));
        }
        let synced = disk::sync_folder(&folder);
        synced.map_err(|error| self.error(Kind::from_io(error)))?;
        point("store: a merged file is there");
        batch.put(Space::Meta, "format", &row::FORMAT);
        self.apply(writing, batch.rows)?;
        self.sync(writing)?;
        point("store: a merged file counts");
        let mut removed = Vec::new();
        let mut known = self.files.write().unwrap_or_else(PoisonError::into_inner);
        for (space, _, sorted) in files {
            writing.newer.insert(space, 0);
            let old = known.insert(space, Arc::new(sorted)).unwrap_or_default();
            removed.push(path(&folder, space, old.mark().number));
            writing.replaced.push((space, Arc::downgrade(&old)));
        }
        drop(known);
        self.newer.set(&writing.newer);
        self.sweep_replaced(writing)?;
        removed
            .iter()
            .try_for_each(|path| absent(fs::remove_file(path)).map_err(|error| self.error(Kind::from_io(error))))
    }

    /// Removes superseded rows of spaces whose replaced files are no longer in use. A reader of such a file looks in
    /// sled for everything that was merged since the file was written, by the next merge or by a later one.
    pub(super) fn sweep_replaced(&self, writing: &mut Writing) -> Result<(), Error> {
        let (used, unused): (Vec<_>, Vec<_>) =
            std::mem::take(&mut writing.replaced).into_iter().partition(|(_, file)| file.strong_count() > 0);
        let unused: BTreeSet<Space> = unused.into_iter().map(|(space, _)| space).collect();
        let swept: Vec<Space> =
            unused.into_iter().filter(|space| used.iter().all(|(other, _)| other != space)).collect();
        writing.replaced = used;
        swept.into_iter().try_for_each(|space| self.sweep(writing, space))
    }

    fn write_merged(&self, path: &Path, space: Space, number: u32, extra: Option<Extra<'_>>) -> Result<Mark, Kind> {
        let mut writer = Writer::create(path, number).map_err(Kind::from_io)?;
        let (mut none, instead_of) = (std::iter::empty(), extra.as_ref().and_then(|extra| extra.instead_of.clone()));
        let rows: &mut dyn Iterator<Item = Result<Row, Kind>> = match extra {
            Some(extra) => extra.rows,
            None => &mut none,
        };
        let mut rows = rows.peekable();
        let mut failed = None;
        let mut push = |key: &[u8], value: Option<&[u8]>| {
            value.map_or(Ok(()), |value| writer.push(key, value)).map_err(Kind::from_io)
        };
        let walked = self.walk(space, &[space as u8], |key, payload| {
            let pushed = (|| {
                // One that can't be read comes before all.
                while let Some(row) = rows.next_if(|row| row.as_ref().map_or(true, |(extra, _)| **extra < *key)) {
                    let (extra, value) = row?;
                    push(&extra, value.as_deref())?;
                }
                match rows.next_if(|row| row.as_ref().is_ok_and(|(extra, _)| **extra == *key)) {
                    Some(row) => row.and_then(|(extra, value)| push(&extra, value.as_deref())),
                    None if instead_of.as_ref().is_some_and(|prefix| key.starts_with(prefix)) => Ok(()),
                    None => push(key, Some(payload)),
                }
            })();
            failed = pushed.err();
            failed.is_none()
        });
        walked.map_err(|error| error.kind)?;
        failed.map_or(Ok(()), Err)?;
        for row in rows {
            let (extra, value) = row?;
            push(&extra, value.as_deref())?;
        }
        writer.end().map_err(Kind::from_io)
    }

    /// Removes the rows of a space that were merged into its file.
    pub(super) fn sweep(&self, writing: &mut Writing, space: Space) -> Result<(), Error> {
        let number = self.file_of(space).mark().number;
        loop {
            let mut merged = Vec::new();
            self.with(|sled| {
                for row in sled.tree.scan_prefix([space as u8]) {
                    let (key, row) = row?;
                    if row::decode(&key, &row).is_ok_and(|row| row.over < number) {
                        merged.push((key.to_vec(), None));
                    }
                    if merged.len() == Self::LOAD_ROWS_MAX {
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
    pub(super) fn open_file(&self, space: Space) -> Result<(), Error> {
        let Some(mark) = self.get::<Mark>(Space::Meta, &name(space))? else { return Ok(()) };
        let path = path(&self.dir.join("store"), space, mark.number);
        let sorted = Sorted::open(&path, &mark).map_err(|kind| self.error(kind))?;
        sorted.check().map_err(|kind| self.error(kind))?;
        self.files.write().unwrap_or_else(PoisonError::into_inner).insert(space, Arc::new(sorted));
        Ok(())
    }

    /// Removes the files that sled does not name: of merges that did not come to an end, or whose old file was left.
    pub(super) fn remove_unnamed(&self) -> Result<(), Error> {
        let folder = self.dir.join("store");
        let named: Vec<PathBuf> =
            Space::FILED.iter().map(|space| path(&folder, *space, self.file_of(*space).mark().number)).collect();
        let found = files(&folder).map_err(|error| self.error(Kind::from_io(error)))?;
        let mut unnamed = found.into_iter().filter(|file| !named.contains(file));
        unnamed.try_for_each(|file| absent(fs::remove_file(&file)).map_err(|error| self.error(Kind::from_io(error))))
    }
}

/// The files of rows in the folder of a store.
pub(super) fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let paths: Result<Vec<PathBuf>, _> = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let is_rows = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(NAME) && !path.is_dir())
    };
    Ok(paths?.into_iter().filter(is_rows).collect())
}

const NAME: &str = "rows-";

fn path(folder: &Path, space: Space, number: u32) -> PathBuf {
    folder.join(format!("{NAME}{}-{number}", char::from(space as u8)))
}

/// The row that names the file of a space.
fn name(space: Space) -> String {
    format!("rows.{}", char::from(space as u8))
}
