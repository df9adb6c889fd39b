//! Writing a store anew, so that nothing of what was removed is left in its files.
//!
//! sled appends: what is overwritten or removed stays in the file until its place is needed. Whoever must be forgotten
//! must be gone from the disk too; and a store that is written for years must not grow for years.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{Error, Kind, Store, guarded};

/// A store may take so many times the room of its rows,
const SPRAWL: u64 = 3;
/// and so many bytes more, which are not worth the trouble.
const SMALL: u64 = 4 * 1024 * 1024;

impl Store {
    /// Copies every row into a new store that takes the place of this one.
    ///
    /// The copy is whole and on disk before the old store is moved away, so a process that ends in between leaves one of
    /// the two: `recover` finds out which at the next opening. The folder's lock is held all the way.
    pub fn compacted(self) -> Result<Self, Error> {
        let dir = self.dir.clone();
        let fail = |kind| Error { dir: dir.clone(), kind };
        let io_fail = |error: io::Error| fail(Kind::from_io(error));
        let (path, fresh, aside) = paths(&dir);
        remove(&fresh).map_err(io_fail)?;
        let config = sled::Config::new().path(&fresh).cache_capacity(Self::CACHE_BYTES);
        let copy = guarded(|| config.open()).map_err(fail)?;
        let mut rows = self.tree.iter();
        let mut batch = sled::Batch::default();
        let mut count = 0;
        while let Some((key, row)) = guarded(|| rows.next().transpose()).map_err(fail)? {
            batch.insert(key, row);
            count += 1;
            if count == Self::LOAD_ROWS_MAX {
                guarded(|| copy.apply_batch(std::mem::take(&mut batch))).map_err(fail)?;
                count = 0;
            }
        }
        guarded(|| copy.apply_batch(batch)).map_err(fail)?;
        guarded(|| copy.flush()).map_err(fail)?;
        drop(copy);
        File::open(fresh.join("db")).and_then(|file| file.sync_all()).map_err(io_fail)?;
        File::open(&fresh).and_then(|folder| folder.sync_all()).map_err(io_fail)?;
        let lock = self._lock.try_clone().map_err(io_fail)?;
        drop(rows);
        drop(self);
        fs::rename(&path, &aside).map_err(io_fail)?;
        fs::rename(&fresh, &path).map_err(io_fail)?;
        File::open(&dir).and_then(|folder| folder.sync_all()).map_err(io_fail)?;
        remove(&aside).map_err(io_fail)?;
        Self::open_locked(&dir, lock).map(|(store, _)| store)
    }

    /// Writes the store anew where it takes much more room than its rows, whose bytes are `live`.
    pub(super) fn tidied(self, live: u64) -> Result<Self, Error> {
        let dir = self.dir.clone();
        let fail = |error: io::Error| Error { dir: dir.clone(), kind: Kind::from_io(error) };
        if self.is_full || size(&dir.join("store")).map_err(fail)? <= live * SPRAWL + SMALL {
            return Ok(self);
        }
        let lock = self._lock.try_clone().map_err(fail)?;
        match self.compacted() {
            // There was no room for both: the old one serves.
            Err(Error { kind: Kind::Full, .. }) => Self::open_locked(&dir, lock).map(|(store, _)| store),
            outcome => outcome,
        }
    }
}

/// How many bytes a folder takes on the disk.
fn size(path: &Path) -> io::Result<u64> {
    /// The unit in which the file system counts, whatever its own blocks are.
    const BLOCK: u64 = 512;
    let mut bytes = 0;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let found = entry.metadata()?;
        bytes += if found.is_dir() { size(&entry.path())? } else { found.blocks() * BLOCK };
    }
    Ok(bytes)
}

/// Ends what a process that was writing a store anew left unfinished: a copy counts only where the store was moved away.
pub(super) fn recover(dir: &Path) -> io::Result<()> {
    let (path, fresh, aside) = paths(dir);
    if aside.exists() && fresh.exists() && !path.exists() {
        fs::rename(&fresh, &path)?;
        File::open(dir)?.sync_all()?;
    }
    remove(&fresh)?;
    if path.exists() { remove(&aside) } else { Ok(()) }
}

/// The store, the copy that is written, and the old store on its way out.
fn paths(dir: &Path) -> (PathBuf, PathBuf, PathBuf) {
    (dir.join("store"), dir.join("store.copy"), dir.join("store.old"))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Batch, Space};

    fn holds(dir: &Path, canary: &str) -> bool {
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
            if path.is_dir() {
                return holds(&path, canary);
            }
            fs::read(&path).unwrap().windows(canary.len()).any(|window| window == canary.as_bytes())
        })
    }

    fn filled(dir: &Path) -> Store {
        let store = Store::open(dir).unwrap();
        for number in 0..250 {
            let mut batch = Batch::default();
            batch.put(Space::Known, &format!("{number:03}"), &format!("canary-{number:03}"));
            store.commit(batch).unwrap();
        }
        let mut batch = Batch::default();
        batch.remove(Space::Known, "007");
        store.commit(batch).unwrap();
        store
    }

    #[test]
    fn fault_114_what_was_removed_is_gone_from_the_files_and_the_rest_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let store = filled(dir.path());
        assert!(holds(dir.path(), "canary-007"), "sled alone keeps it");
        let store = store.compacted().unwrap();
        assert!(!holds(dir.path(), "canary-007"));
        assert_eq!(store.list::<String>(Space::Known, "").unwrap().len(), 249);
        let mut batch = Batch::default();
        batch.put(Space::Known, "new", &"more");
        store.commit(batch).unwrap();
        drop(store);
        assert_eq!(Store::open(dir.path()).unwrap().list::<String>(Space::Known, "").unwrap().len(), 250);
    }

    #[test]
    fn a_store_that_sprawls_is_written_anew_and_another_is_left_as_it_is() {
        const ROWS: u64 = 1_500;
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let mut batch = Batch::default();
        for number in 0..ROWS {
            let part = |part| format!("{:016x}", xxhash_rust::xxh3::xxh3_64(format!("{number} {part}").as_bytes()));
            batch.put(Space::Known, &format!("{number:04}"), &(0..256).map(part).collect::<String>());
        }
        store.load(batch).unwrap();
        drop(store);
        let file = || fs::metadata(dir.path().join("store/db")).unwrap().ino();
        let (before, taken) = (file(), size(&dir.path().join("store")).unwrap());
        assert!(taken > SMALL, "{taken}");
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(file(), before, "it takes no more than its rows need");
        // As if there were hardly any rows in it.
        let store = store.tidied(taken - SMALL - 1).unwrap();
        assert_eq!(file(), before);
        let store = store.tidied((taken - SMALL - 1) / SPRAWL).unwrap();
        assert_ne!(file(), before, "it was written anew");
        assert_eq!(store.list::<String>(Space::Known, "").unwrap().len() as u64, ROWS);
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
            let store = Store::open(dir.path()).unwrap();
            assert_eq!(store.list::<String>(Space::Known, "").unwrap().len(), 249, "{survives}");
            assert!(!fresh.exists() && !aside.exists(), "{survives}");
        }
    }
}
