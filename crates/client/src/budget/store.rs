//! The storage of the slots: in memory, or in a file that processes share.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::time::Time;
use super::window::Window;
use crate::crash::point;
use crate::error::ErrorKind;

/// A file larger than this is none of ours.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The slots in memory, shared by the clients of one credential in this process.
///
/// Another process can go on with them: [`SharedBudget::hand_over`] says how long each of them is still taken.
#[derive(Clone, Debug, Default)]
pub struct SharedBudget(Arc<Mutex<Memory>>);

#[derive(Debug, Default)]
struct Memory {
    window: Window,
    /// From when on all slots count as taken, until a client looks: it knows the limit.
    spent_from: Option<u64>,
}

impl SharedBudget {
    /// All of it counts as spent: someone else may have sent until now, and may go on so for a while.
    pub fn count_as_spent(&self, more: Duration) {
        let more = u64::try_from(more.as_millis()).unwrap_or(u64::MAX);
        let from = Time::machine().now().saturating_add(more);
        *self.lock() = Memory { window: Window::default(), spent_from: Some(from) };
    }

    /// What another process needs to go on.
    pub fn hand_over(&self) -> Vec<u8> {
        let memory = self.lock();
        let time = Time::machine();
        match memory.spent_from {
            // No client has looked: the limit is not known here.
            Some(_) => Vec::new(),
            None => memory.window.encode(time.boot(), time.now()),
        }
    }

    /// Goes on where another process was, `age` after it handed over. What can't be read counts as spent.
    pub fn take_over(&self, bytes: &[u8], age: Duration) {
        let now = Time::machine().now();
        match Window::carried(bytes, now, age) {
            Some(window) => *self.lock() = Memory { window, spent_from: None },
            None => self.count_as_spent(Duration::ZERO),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the times of sent requests are remembered (specification, Limits).
#[derive(Clone, Debug, Default)]
pub enum BudgetPlace {
    /// By the client, as long as it lives.
    #[default]
    Own,
    /// In a file, across restarts, shared between the processes of this machine.
    File(PathBuf),
    /// In memory that several clients of one credential share, and that another process can go on with.
    Shared(SharedBudget),
}

pub(super) enum BudgetStore {
    Memory(SharedBudget),
    File {
        path: PathBuf,
        /// Whether all counts as spent where there is no file.
        is_spent_when_new: bool,
        /// Keeps this process's threads apart.
        threads: Mutex<()>,
    },
}

impl BudgetStore {
    pub(super) fn new(place: BudgetPlace) -> Self {
        match place {
            BudgetPlace::Own => Self::Memory(SharedBudget::default()),
            BudgetPlace::Shared(budget) => Self::Memory(budget),
            BudgetPlace::File(path) => Self::File { path, is_spent_when_new: false, threads: Mutex::new(()) },
        }
    }

    /// The same, where all counts as spent unless it is remembered.
    pub(super) fn spent_unless_known(place: BudgetPlace) -> Self {
        let mut store = Self::new(place);
        match &mut store {
            Self::Memory(budget) => budget.count_as_spent(Duration::ZERO),
            Self::File { is_spent_when_new, .. } => *is_spent_when_new = true,
        }
        store
    }

    pub(super) fn change<T>(
        &self,
        time: &Time,
        limit: u32,
        change: impl FnOnce(&mut Window, u64) -> T,
    ) -> Result<T, ErrorKind> {
        match self {
            Self::Memory(budget) => {
                let mut memory = budget.lock();
                if let Some(from) = memory.spent_from.take() {
                    memory.window = Window::spent(from, limit);
                }
                Ok(change(&mut memory.window, time.now()))
            }
            Self::File { path, is_spent_when_new, threads } => {
                let _alone = threads.lock().unwrap_or_else(PoisonError::into_inner);
                let new = || match is_spent_when_new {
                    true => Window::spent(time.now(), limit),
                    false => Window::default(),
                };
                in_file(path, time, limit, (new, change))
                    .map_err(|source| ErrorKind::Budget { path: path.clone(), source })
            }
        }
    }
}

/// Opens the file on each call. Otherwise two processes could hold a budget each after the state folder was deleted.
/// The lock ends with the file.
fn in_file<T>(
    path: &Path,
    time: &Time,
    limit: u32,
    (new, change): (impl FnOnce() -> Window, impl FnOnce(&mut Window, u64) -> T),
) -> io::Result<T> {
    let mut file = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create(path, time, &new())?;
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
fn create(path: &Path, time: &Time, window: &Window) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".budget").tempfile_in(folder)?;
    file.write_all(&window.encode(time.boot(), time.now()))?;
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
            assert!(BudgetStore::new(BudgetPlace::File(path)).change(&time, 5, |_, _| ()).is_err());
        }
    }

    #[test]
    fn law_11_no_one_else_may_read_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("budget");
        BudgetStore::new(BudgetPlace::File(path.clone())).change(&Time::machine(), 5, |_, _| ()).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn law_12_an_emptied_file_counts_as_spent_and_a_new_one_as_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("budget");
        let store = BudgetStore::new(BudgetPlace::File(path.clone()));
        let time = Time::machine();
        assert_eq!(store.change(&time, 5, |window, now| window.used(now)).unwrap(), 0);
        std::fs::write(&path, b"").unwrap();
        assert_eq!(store.change(&time, 5, |window, now| window.used(now)).unwrap(), 5);
    }

    #[test]
    fn law_12_fault_8_a_damaged_file_counts_as_spent_once_and_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("budget");
        let store = BudgetStore::new(BudgetPlace::File(path.clone()));
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
            BudgetStore::new(BudgetPlace::File(path.clone()))
                .change(&time, limit, |window, now| window.take(now, limit).is_ok())
                .unwrap()
        };
        assert!(take(3) && take(3) && take(3) && !take(3));
        assert!(!take(2));
        assert!(take(4) && !take(4));
    }

    #[test]
    fn law_12_another_process_goes_on_where_one_was() {
        let time = Time::machine();
        let take = |store: &BudgetStore| store.change(&time, 5, |window, now| window.take(now, 5).is_ok()).unwrap();
        let free_in = |store: &BudgetStore| store.change(&time, 5, |window, now| window.free_in(now, 5, 5)).unwrap();
        let one = SharedBudget::default();
        let store = BudgetStore::new(BudgetPlace::Shared(one.clone()));
        assert!(take(&store) && take(&store) && take(&store));
        for (age, bytes, used) in [
            (0, one.hand_over(), 3),
            (59, one.hand_over(), 3),
            (62, one.hand_over(), 0),
            (0, Vec::new(), 5),
            (62, b"no window".to_vec(), 5),
        ] {
            let other = SharedBudget::default();
            other.take_over(&bytes, Duration::from_secs(age));
            let store = BudgetStore::new(BudgetPlace::Shared(other));
            assert_eq!(store.change(&time, 5, |window, now| window.used(now)).unwrap(), used, "{age}");
            assert!(free_in(&store) <= 61_550 - if used == 3 { age * 1_000 } else { 0 }, "{age}");
        }
        one.count_as_spent(Duration::from_secs(25));
        assert_eq!(one.hand_over(), b"", "no limit is known yet");
        assert!(!take(&store));
        assert!(one.hand_over().len() > 5 * 8);
    }
}
