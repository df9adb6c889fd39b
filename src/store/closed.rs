//! A state that this process keeps for itself while its store is closed.
//!
//! An open store takes threads, files and memory; a process with hundreds of them that are rarely used opens them as they are
//! needed. The lock of the folder stays: no other process gets at the rows meanwhile, so what was read of them stays true.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::embedded::{Embedded, FolderLock};
use super::{Error, Home, Store};

/// A store that is closed, and whose folder is still locked.
pub struct ClosedStore {
    dir: PathBuf,
    lock: Arc<FolderLock>,
}

impl Store {
    /// Closes the store and keeps the lock of its folder. One that lies in a database stays open: there is no lock that would
    /// keep it.
    pub fn close(self: Box<Self>) -> Result<ClosedStore, Box<Self>> {
        match (&self.home, self.engine.folder_lock()) {
            (Home::Folder(dir), Some(lock)) => Ok(ClosedStore { dir: dir.clone(), lock }),
            _ => Err(self),
        }
    }
}

impl ClosedStore {
    /// Opens the store again.
    ///
    /// # Errors
    ///
    /// Why it can't be opened; it stays closed then.
    pub fn open(&self) -> Result<Store, Error> {
        let engine = Embedded::open_locked(&self.dir, Arc::clone(&self.lock))?;
        Ok(Store { home: Home::Folder(self.dir.clone()), engine: Box::new(engine), deciding: Mutex::default() })
    }

    /// Whether the disk has no room left to speak of, as [`Store::is_full`] says it.
    pub fn is_full(&self) -> bool {
        Embedded::has_no_room(&self.dir)
    }
}

#[cfg(test)]
mod tests {
    use crate::store::{Batch, ErrorKind, MetaKey};

    use super::*;

    #[test]
    fn a_closed_store_is_nobody_else_s_and_opens_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        let mut batch = Batch::default();
        batch.put_meta(MetaKey::Account, &"one");
        store.commit(batch).unwrap();
        for _ in 0..3 {
            let closed = Box::new(store).close().unwrap_or_else(|_| panic!("it lies in a folder"));
            assert!(matches!(Store::open(dir.path()).map_err(|error| error.kind), Err(ErrorKind::InUse { .. })));
            store = closed.open().unwrap();
            drop(closed);
            assert!(matches!(Store::open(dir.path()).map_err(|error| error.kind), Err(ErrorKind::InUse { .. })));
            assert_eq!(store.meta::<String>(MetaKey::Account).unwrap().as_deref(), Some("one"));
        }
        drop(store);
        Store::open(dir.path()).unwrap();
    }
}
