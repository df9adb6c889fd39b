//! Rewrites a store, so that its files contain nothing of what was removed.
//!
//! sled appends: what is overwritten or removed stays in the file until its place is needed. But the data of a
//! forgotten person must be gone from the disk too, and a store that is written for years must not grow for years.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::PoisonError;

use super::compaction;
use super::swap::{discard, exchange, paths, recover};
use crate::crash::point;
use crate::disk;
use crate::store::embedded::{Embedded, Sled, Writing, catch_panic, ignore_not_found};
use crate::store::{Error, ErrorKind};

/// sled's part of a store may take so many times the room of its rows,
const SPRAWL: u64 = 3;
/// and so many bytes more, which are not worth the trouble.
const SMALL: u64 = 4 * 1024 * 1024;

impl Embedded {
    /// Rewrites everything, so that the files contain nothing of what was removed or overwritten.
    pub(in crate::store::embedded) fn rewrite(&self) -> Result<(), Error> {
        let mut writing = self.writing();
        self.compact_all(&mut writing)?;
        // Readers of a file that was replaced end first: until then its rows stay in sled.
        drop(self.sled.write().unwrap_or_else(PoisonError::into_inner));
        self.purge_replaced(&mut writing)?;
        self.copy(&mut writing)
    }

    /// Rewrites sled's part of the store where it takes much more room than its rows; returns whether it did. Must not
    /// be called while this thread walks over rows.
    pub(in crate::store::embedded) fn rewrite_sprawled(&self) -> Result<bool, Error> {
        let mut writing = self.writing();
        let fail = |error: io::Error| self.error(ErrorKind::from_io(error));
        let (path, ..) = paths(&self.dir);
        let files = compaction::files(&path).map_err(fail)?;
        let filed: io::Result<u64> = files.iter().map(|file| Ok(taken(&fs::metadata(file)?))).sum();
        let taken = size(&path).map_err(fail)?.saturating_sub(filed.map_err(fail)?);
        // Whether it is small is known without walking over its rows, and this is asked after every run.
        if self.is_full || taken <= SMALL {
            return Ok(false);
        }
        let mut live = 0;
        self.with(|sled| {
            sled.tree.iter().try_for_each(|row| row.map(|(key, row)| live += (key.len() + row.len()) as u64))
        })?;
        if taken <= live * SPRAWL + SMALL {
            return Ok(false);
        }
        match self.copy(&mut writing) {
            // There was no room for both: the old one serves.
            Err(Error { kind: ErrorKind::Full, .. }) => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }

    /// Copies every row of sled into a new store that takes the place of this one, with the same files.
    ///
    /// The copy is whole and on disk before the old store is moved away, so a process that ends in between leaves one of
    /// the two: `recover` finds out which at the next opening. The folder's lock is held all the way.
    fn copy(&self, _writing: &mut Writing) -> Result<(), Error> {
        let fail = |kind| self.error(kind);
        let io_fail = |error: io::Error| self.error(ErrorKind::from_io(error));
        let (path, fresh, _) = paths(&self.dir);
        ignore_not_found(fs::remove_dir_all(&fresh)).map_err(io_fail)?;
        let copy = Sled::open(&fresh).map_err(fail)?;
        self.with(|sled| {
            let mut batch = sled::Batch::default();
            for (number, row) in sled.tree.iter().enumerate() {
                let (key, row) = row?;
                batch.insert(key, row);
                if (number + 1).is_multiple_of(Self::PART_ROWS) {
                    copy.tree.apply_batch(std::mem::take(&mut batch))?;
                }
            }
            copy.tree.apply_batch(batch)?;
            copy.tree.flush().map(drop)
        })?;
        disk::sync(&copy.file).map_err(io_fail)?;
        drop(copy);
        for file in compaction::files(&path).map_err(io_fail)? {
            let linked = fresh.join(file.file_name().unwrap_or_default());
            fs::hard_link(&file, &linked).or_else(|_| fs::copy(&file, &linked).map(drop)).map_err(io_fail)?;
        }
        disk::sync_folder(&fresh).map_err(io_fail)?;
        point("store: a copy is there");
        let mut sled = self.sled.write().unwrap_or_else(PoisonError::into_inner);
        // It writes to its folder until it is closed.
        catch_panic(|| {
            drop(sled.take());
            Ok(())
        })
        .map_err(fail)?;
        let moved = exchange(&self.dir);
        if moved.is_err() {
            recover(&self.dir).map_err(io_fail)?;
        }
        *sled = Some(Sled::open(&path).map_err(fail)?);
        drop(sled);
        moved.and_then(|()| discard(&self.dir)).map_err(io_fail)
    }
}

/// How many bytes a folder takes on the disk. sled's own threads remove files from it at any time.
fn size(path: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let found = match entry.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            found => found?,
        };
        bytes += if found.is_dir() { size(&entry.path())? } else { taken(&found) };
    }
    Ok(bytes)
}

fn taken(found: &fs::Metadata) -> u64 {
    /// The unit in which the file system counts, whatever its own blocks are.
    const BLOCK: u64 = 512;
    found.blocks() * BLOCK
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::engine::Engine as _;
    use crate::store::{Batch, Keyspace};

    fn holds(dir: &Path, canary: &str) -> bool {
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
            if path.is_dir() {
                return holds(&path, canary);
            }
            fs::read(&path).unwrap().windows(canary.len()).any(|window| window == canary.as_bytes())
        })
    }

    fn filled(dir: &Path) -> Embedded {
        let store = Embedded::open(dir).unwrap();
        for number in 0..250 {
            let mut batch = Batch::default();
            batch.put(Keyspace::Synced, &format!("{number:03}"), &format!("canary-{number:03}"));
            store.commit(batch).unwrap();
        }
        let mut batch = Batch::default();
        batch.remove(Keyspace::Synced, "007");
        store.commit(batch).unwrap();
        store
    }

    #[test]
    fn fault_114_what_was_removed_is_gone_from_the_files_and_the_rest_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let store = filled(dir.path());
        assert!(holds(dir.path(), "canary-007"), "sled alone keeps it");
        store.vacuum().unwrap();
        assert!(!holds(dir.path(), "canary-007"));
        assert_eq!(store.list::<String>(Keyspace::Synced, "").unwrap().len(), 249);
        let mut batch = Batch::default();
        batch.put(Keyspace::Synced, "new", &"more");
        store.commit(batch).unwrap();
        drop(store);
        assert_eq!(Embedded::open(dir.path()).unwrap().list::<String>(Keyspace::Synced, "").unwrap().len(), 250);
    }

    #[test]
    fn a_store_that_sprawls_is_rewritten_while_it_is_open_and_another_is_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let store = Embedded::open(dir.path()).unwrap();
        let part = |part| format!("{:016x}", xxhash_rust::xxh3::xxh3_64(format!("{part}").as_bytes()));
        let text = (0..4096).map(part).collect::<String>();
        let file = || fs::metadata(dir.path().join("store/db")).unwrap().ino();
        let before = file();
        let put = |number: u32, text: Option<&str>| {
            let mut batch = Batch::default();
            match text {
                Some(text) => batch.put(Keyspace::Meta, &format!("row {number}"), &text),
                None => batch.remove(Keyspace::Meta, &format!("row {number}")),
            }
            store.commit(batch).unwrap();
        };
        (0..200).for_each(|number| put(number, Some(&text)));
        assert!(!store.maybe_vacuum().unwrap(), "it takes no more than its rows need");
        assert_eq!(file(), before);
        (1..200).for_each(|number| put(number, None));
        assert!(store.maybe_vacuum().unwrap());
        assert_ne!(file(), before);
        assert!(size(&dir.path().join("store")).unwrap() < SMALL);
        assert_eq!(store.read::<String>(Keyspace::Meta, "row 0").unwrap().as_ref(), Some(&text));
        put(1, Some("more"));
        drop(store);
        let store = Embedded::open(dir.path()).unwrap();
        assert_eq!(store.read::<String>(Keyspace::Meta, "row 0").unwrap(), Some(text));
        assert_eq!(store.read::<String>(Keyspace::Meta, "row 1").unwrap().as_deref(), Some("more"));
        assert!(!store.maybe_vacuum().unwrap());
    }

    #[test]
    fn a_process_that_ends_half_way_leaves_the_old_store_or_the_new_one() {
        // (what lies there: store, copy, old), by which of the two the rows are there afterwards
        for (there, survives) in [
            ([true, true, false], "the old one"),
            ([false, true, true], "the copy"),
            ([true, false, true], "the copy, moved already"),
        ] {
            let dir = tempfile::tempdir().unwrap();
            drop(filled(dir.path()));
            let (path, fresh, aside) = paths(dir.path());
            let other = tempfile::tempdir().unwrap();
            drop(filled(other.path()));
            match there {
                [true, true, false] => fs::create_dir(&fresh).unwrap(),
                [false, true, true] => {
                    fs::rename(&path, &aside).unwrap();
                    fs::rename(other.path().join("store"), &fresh).unwrap();
                }
                _ => fs::rename(other.path().join("store"), &aside).unwrap(),
            }
            let store = Embedded::open(dir.path()).unwrap();
            assert_eq!(store.list::<String>(Keyspace::Synced, "").unwrap().len(), 249, "{survives}");
            assert!(!fresh.exists() && !aside.exists(), "{survives}");
        }
    }
}
