//! A disk that forgets what was not synced, for tests.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tempfile::TempDir;

/// Tells a file from a later one that got its number.
type Number = (u64, Option<SystemTime>);

/// What a folder says of a name in it.
struct FoundName {
    number: Number,
    is_folder: bool,
}

/// What is on the disk below one folder.
struct Disk {
    root: PathBuf,
    /// The bytes of each file.
    files: BTreeMap<Number, Vec<u8>>,
    /// The names in each folder.
    folders: BTreeMap<Number, BTreeMap<OsString, FoundName>>,
}

static DISKS: Mutex<Vec<Disk>> = Mutex::new(Vec::new());

/// A folder on a disk that forgets what was not synced.
pub(crate) struct Forgetful {
    root: PathBuf,
}

impl Forgetful {
    /// All that is below `root` now counts as synced.
    pub(crate) fn below(root: &Path) -> Self {
        let root = root.canonicalize().unwrap();
        let mut disk = Disk { root: root.clone(), files: BTreeMap::new(), folders: BTreeMap::new() };
        disk.note_all(&root);
        disks().push(disk);
        Self { root }
    }

    /// What the folder holds after the power failed just now.
    pub(crate) fn cut(&self) -> TempDir {
        let after = TempDir::new().unwrap();
        let disks = disks();
        let disk = disks.iter().find(|disk| disk.root == self.root).unwrap();
        disk.lay_out(number(&fs::metadata(&self.root).unwrap()), after.path());
        after
    }
}

impl Drop for Forgetful {
    fn drop(&mut self) {
        disks().retain(|disk| disk.root != self.root);
    }
}

impl Disk {
    fn note_all(&mut self, path: &Path) {
        // A file may be gone by now: the storage library removes some of its own at any time.
        let Ok(found) = fs::metadata(path) else { return };
        self.note(path, &found);
        if path.is_dir() {
            fs::read_dir(path).unwrap().for_each(|entry| self.note_all(&entry.unwrap().path()));
        }
    }

    fn note(&mut self, path: &Path, found: &Metadata) {
        if found.is_dir() {
            let mut names = BTreeMap::new();
            for entry in fs::read_dir(path).unwrap() {
                let entry = entry.unwrap();
                // The storage library syncs its snapshots itself.
                let is_snapshot = entry.file_name().to_string_lossy().starts_with("snap.");
                let Ok(found) = entry.metadata() else { continue };
                if is_snapshot && let Ok(bytes) = fs::read(entry.path()) {
                    self.files.insert(number(&found), bytes);
                }
                names.insert(entry.file_name(), FoundName { number: number(&found), is_folder: found.is_dir() });
            }
            self.folders.insert(number(found), names);
        } else {
            self.files.insert(number(found), fs::read(path).unwrap_or_default());
        }
    }

    fn lay_out(&self, folder: Number, into: &Path) {
        for (name, found) in self.folders.get(&folder).into_iter().flatten() {
            let path = into.join(name);
            if found.is_folder {
                fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
                self.lay_out(found.number, &path);
            } else {
                // One whose name alone was synced has no bytes.
                fs::write(path, self.files.get(&found.number).map_or(&[][..], Vec::as_slice)).unwrap();
            }
        }
    }
}

/// What was synced just now is on the disk.
pub(super) fn note(synced: impl AsFd) {
    let by_number = PathBuf::from(format!("/proc/self/fd/{}", synced.as_fd().as_raw_fd()));
    let path = fs::read_link(&by_number).unwrap();
    if let Some(disk) = disks().iter_mut().find(|disk| path.starts_with(&disk.root)) {
        let found = File::open(&by_number).and_then(|file| file.metadata()).unwrap();
        disk.note(&by_number, &found);
    }
}

fn number(found: &Metadata) -> Number {
    (found.ino(), found.created().ok())
}

fn disks() -> MutexGuard<'static, Vec<Disk>> {
    DISKS.lock().unwrap_or_else(PoisonError::into_inner)
}
