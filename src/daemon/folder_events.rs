//! Hears of files that come into folders.
//!
//! Invariants:
//! - An event is a hint that a look is worth while, and nothing else: events get lost, so each folder is looked at now and then
//!   all the same.
//! - A folder counts as heard only where its file system is known to tell of everything: on a network share, what other machines
//!   do is not seen here.
//!
//! One process has one queue of events, however many folders it watches: the system has few of those for each user.
//!
//! Rejected: a library for all systems. What it does beside this, watching trees and polling, is not wanted here.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use tokio::sync::Notify;

/// A file is there as a whole, under its name; or one that was before it is not.
const WORTH_A_LOOK: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::ONLYDIR);
/// File systems of this machine alone, by their magic numbers: ext, XFS, Btrfs, F2FS, ZFS, bcachefs, in memory, and layers over them.
const LOCAL: [u64; 8] =
    [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x2FC1_2FC1, 0xCA45_1A4E, 0x0102_1994, 0x794C_7630];
/// How many bytes of events are read at once.
const BUFFER: usize = 16 * 1024;

/// Who wants to hear of a folder, by its watch.
type Listeners = Arc<Mutex<BTreeMap<i32, Weak<Notify>>>>;

/// The folders that a process watches.
#[derive(Default)]
pub(super) struct FolderEvents {
    queue: OnceLock<Option<Arc<OwnedFd>>>,
    listeners: Listeners,
}

impl FolderEvents {
    /// Tells `listener` of files that come into a folder from now on, as long as it lives; false where the folder does not tell
    /// of all. To ask again costs next to nothing, and is needed where another folder has come in its place.
    pub(super) fn watch(&self, dir: &Path, listener: &Arc<Notify>) -> bool {
        let is_local = rustix::fs::statfs(dir).is_ok_and(|found| LOCAL.contains(&(found.f_type as u64)));
        let Some(queue) = self.queue().filter(|_| is_local) else { return false };
        // Held until it is known who listens: an event may come at once.
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        // There is a limit for each user; who can't be heard is looked at.
        let Ok(watch) = inotify::add_watch(queue, dir, WORTH_A_LOOK) else { return false };
        listeners.insert(watch, Arc::downgrade(listener));
        true
    }

    fn queue(&self) -> Option<&Arc<OwnedFd>> {
        let made = || {
            let queue = Arc::new(inotify::init(CreateFlags::CLOEXEC).ok()?);
            let (heard, listeners) = (Arc::clone(&queue), Arc::clone(&self.listeners));
            thread::Builder::new().name("folders".to_owned()).spawn(move || hear(&heard, &listeners)).ok()?;
            Some(queue)
        };
        self.queue.get_or_init(made).as_ref()
    }
}

/// Hands events on, until the process ends.
fn hear(queue: &OwnedFd, listeners: &Listeners) {
    let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
    let mut events = Reader::new(queue, &mut buffer);
    loop {
        match events.next() {
            Ok(event) => hand_on(queue, listeners, (event.wd(), event.events())),
            Err(Errno::INTR) => {}
            Err(error) => {
                tracing::warn!(%error, "files that come into folders are not heard of any more, and looked for: {error}");
                return;
            }
        }
    }
}

fn hand_on(queue: &OwnedFd, listeners: &Listeners, (watch, what): (i32, ReadFlags)) {
    let mut listeners = listeners.lock().unwrap_or_else(PoisonError::into_inner);
    if what.contains(ReadFlags::QUEUE_OVERFLOW) {
        listeners.values().filter_map(Weak::upgrade).for_each(|listener| listener.notify_one());
        return;
    }
    match listeners.get(&watch).and_then(Weak::upgrade) {
        Some(listener) => listener.notify_one(),
        // Its account has ended.
        None => _ = inotify::remove_watch(queue, watch),
    }
    if what.contains(ReadFlags::IGNORED) {
        listeners.remove(&watch);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn a_file_that_comes_into_a_folder_is_heard_of_and_one_elsewhere_is_not() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        [&one, &other].iter().for_each(|dir| fs::create_dir(dir).unwrap());
        let events = FolderEvents::default();
        let listeners = [Arc::<Notify>::default(), Arc::default()];
        assert!(events.watch(&one, &listeners[0]) && events.watch(&other, &listeners[1]));
        assert!(!events.watch(&dir.path().join("missing"), &listeners[0]));
        fs::write(one.join("a.csv"), "a").unwrap();
        listeners[0].notified().await;
        fs::write(dir.path().join("b.csv"), "b").unwrap();
        fs::rename(dir.path().join("b.csv"), other.join("b.csv")).unwrap();
        listeners[1].notified().await;
        // Another folder of that name is watched once it is asked for.
        fs::rename(&one, dir.path().join("before")).unwrap();
        fs::create_dir(&one).unwrap();
        assert!(events.watch(&one, &listeners[0]));
        fs::write(one.join("a.csv"), "a").unwrap();
        listeners[0].notified().await;
    }
}
