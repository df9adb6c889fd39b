//! The storage of the slots: in memory, or in a file that processes share.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::time::Time;
use super::window::Window;
use crate::crash::point;
use crate::error::ErrorKind;

/// A file larger than this is none of ours.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

pub(super) struct BudgetStore {
    file: Option<PathBuf>,
    /// The window where there is no file; with one, only what keeps this process's threads apart.
    memory: Mutex<Window>,
}

impl BudgetStore {
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        Self { file, memory: Mutex::new(Window::default()) }
    }

    pub(super) fn change<T>(
        &self,
        time: &Time,
        limit: u32,
        change: impl FnOnce(&mut Window, u64) -> T,
    ) -> Result<T, ErrorKind> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.file {
            None => Ok(change(&mut memory, time.now())),
            Some(path) => {
                in_file(path, time, limit, change).map_err(|source| ErrorKind::Budget { path: path.clone(), source })
            }
        }
    }
}

/// Opens the file on each call. Otherwise two processes could hold a budget each after the state folder was deleted.
/// The lock ends with the file.
fn in_file<T>(path: &Path, time: &Time, limit: u32, change: impl FnOnce(&mut Window, u64) -> T) -> io::Result<T> {
    let mut file = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create(path, time)?;
            open(path)?
        }
        file => file?,
    };
    file.lock()?;
    let mut bytes = Vec::new();
    (&mut file).take(BYTES_MAX).read_to_end(&mut bytes)?;
    let now = time.now();
    let before = Window::decode(&bytes, time.boot(), now, limit);
    let mut window = before.clone();
    let outcome = change(&mut window, now);
    let written = window.encode(time.boot(), now);
    // What is damaged is mended at once: else it would count as spent just now for ever.
    if window != before || !Window::is_whole(&bytes) || bytes.len() != written.len() {
        point("budget: before it is written");
        file.write_all_at(&written, 0)?;
        point("budget: written, not cut to length");
        file.set_len(written.len() as u64)?;
        point("budget: written");
    }
    Ok(outcome)
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// A new file appears whole, so that an empty one is known to be damaged. Its mode is 0600.
fn create(path: &Path, time: &Time) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".budget").tempfile_in(folder)?;
    file.write_all(&Window::default().encode(time.boot(), time.now()))?;
    point("budget: before it is made");
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn law_12_a_file_that_can_t_be_used_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let time = Time::machine();
        for path in [folder.path().join("missing/budget"), folder.path().to_owned()] {
            assert!(BudgetStore::new(Some(path)).change(&time, 5, |_, _| ()).is_err());
        }
    }

    #[test]
    fn law_11_no_one_else_may_read_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("budget");
        BudgetStore::new(Some(path.clone())).change(&Time::machine(), 5, |_, _| ()).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn law_12_an_emptied_file_counts_as_spent_and_a_new_one_as_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("budget");
        let store = BudgetStore::new(Some(path.clone()));
        let time = Time::machine();
        assert_eq!(store.change(&time, 5, |window, now| window.used(now)).unwrap(), 0);
        std::fs::write(&path, b"").unwrap();
        assert_eq!(store.change(&time, 5, |window, now| window.used(now)).unwrap(), 5);
    }

    #[test]
    fn law_12_fault_8_a_damaged_file_counts_as_spent_once_and_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("budget");
        let store = BudgetStore::new(Some(path.clone()));
        let time = Time::machine();
        (0..5).for_each(|_| assert!(store.change(&time, 5, |window, now| window.take(now, 5).is_ok()).unwrap()));
        // As long as a spent window is: a power cut leaves a file with its length and without its bytes.
        std::fs::write(&path, vec![0; std::fs::read(&path).unwrap().len()]).unwrap();
        assert_eq!(store.change(&time, 5, |window, now| window.used(now)).unwrap(), 5);
        assert!(Window::is_whole(&std::fs::read(&path).unwrap()), "from now on time passes for it");
    }

    #[test]
    fn the_limit_may_change_between_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("budget");
        let time = Time::machine();
        let take = |limit: u32| {
            BudgetStore::new(Some(path.clone()))
                .change(&time, limit, |window, now| window.take(now, limit).is_ok())
                .unwrap()
        };
        assert!(take(3) && take(3) && take(3) && !take(3));
        assert!(!take(2));
        assert!(take(4) && !take(4));
    }
}
