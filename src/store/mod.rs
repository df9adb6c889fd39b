//! sled behind one small door: versioned and checksummed rows, one durable commit.
//!
//! Invariants:
//! - A [`Batch`] is applied as a whole or not at all, and [`Store::commit`] returns only when it is on disk: sled's own
//!   `flush` asks the kernel to write but never waits for the device, so its file is synced here as well, and only here.
//! - Every row begins with a format version and a checksum over its place and content. A row that does not fit is named
//!   in an error, never skipped: a lost row would look like a person who was never there.
//! - A manifest moves with every batch: how many there were, how many rows there are and the XOR of their checksums.
//!   It is compared with the rows at every opening, and its number with a file beside the store: sled opens a file with a
//!   broken segment or a missing tail as if those rows had never been.
//! - One process at a time: a lock file beside the data says who.
//!
//! Rejected: one sled tree per kind of row. A commit has to move rows of several kinds at once, and sled applies a batch
//! atomically within one tree only; so there is one tree, and the first byte of a key says the kind.

mod compact;
mod error;
mod manifest;
mod renew;
mod reserve;
mod row;
mod space;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub use error::{Error, Kind};
use manifest::Manifest;
pub use renew::{Dropped, renew};
use serde::Serialize;
use serde::de::DeserializeOwned;
pub use space::Space;

use crate::crash::point;

/// The rows of one state folder.
pub struct Store {
    dir: PathBuf,
    tree: sled::Db,
    file: File,
    manifest: Mutex<Manifest>,
    commits: manifest::Commits,
    is_full: bool,
    _lock: File,
}

/// Changes that are applied together.
#[derive(Default)]
pub struct Batch {
    rows: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Batch {
    /// Puts a row, written as JSON.
    pub fn put<T: Serialize>(&mut self, space: Space, name: &str, value: &T) {
        let payload = serde_json::to_vec(value).expect("rows are made of types that JSON holds");
        self.put_bytes(space, name, &payload);
    }

    /// Puts a row of bytes.
    pub fn put_bytes(&mut self, space: Space, name: &str, payload: &[u8]) {
        let key = space.key(name);
        let row = row::encode(&key, payload);
        self.rows.push((key, Some(row)));
    }

    /// Removes a row, where it is.
    pub fn remove(&mut self, space: Space, name: &str) {
        self.rows.push((space.key(name), None));
    }

    /// Whether there is nothing to apply.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Store {
    /// sled's page cache, in bytes; its own default is 1 GiB.
    const CACHE_BYTES: u64 = 16 * 1024 * 1024;
    /// Rows that sled takes at once: with many more its memory grows and stays.
    const LOAD_ROWS_MAX: usize = 100;

    /// Opens the store under `dir`, making it where there is none. Fails at once where another process holds it.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        lay_down(dir)?;
        let (store, live) = Self::open_locked(dir, lock(dir)?)?;
        store.tidied(live)
    }

    /// The store, and how many bytes its rows have.
    fn open_locked(dir: &Path, lock: File) -> Result<(Self, u64), Error> {
        let fail = |kind| Error { dir: dir.to_owned(), kind };
        compact::recover(dir).map_err(|error| fail(Kind::from_io(error)))?;
        let path = dir.join("store");
        let config = sled::Config::new().path(&path).cache_capacity(Self::CACHE_BYTES);
        let io = |error| fail(Kind::from_io(error));
        let tree = match guarded(|| config.open()) {
            Err(Kind::Full) if reserve::give_up(dir).map_err(io)? => guarded(|| config.open()),
            tree => tree,
        };
        let tree = tree.map_err(fail)?;
        let file = File::open(path.join("db")).map_err(|error| fail(Kind::from_io(error)))?;
        let commits = manifest::Commits::open(dir).map_err(|error| fail(Kind::from_io(error)))?;
        let manifest = Mutex::new(Manifest::default());
        let is_full = !reserve::keep(dir).map_err(io)?;
        let store = Self { dir: dir.to_owned(), tree, file, manifest, commits, is_full, _lock: lock };
        let live = store.check()?;
        Ok((store, live))
    }

    /// The state folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the disk has no room left to speak of: what is there can be read, and nothing may be sent.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Fails where the disk is full.
    pub fn expect_room(&self) -> Result<(), Error> {
        if self.is_full { Err(self.error(Kind::Full)) } else { Ok(()) }
    }

    /// Reads a row written by [`Batch::put`].
    pub fn get<T: DeserializeOwned>(&self, space: Space, name: &str) -> Result<Option<T>, Error> {
        let Some(payload) = self.get_bytes(space, name)? else { return Ok(None) };
        self.parse(space, name, &payload).map(Some)
    }

    /// Reads a row written by [`Batch::put_bytes`].
    pub fn get_bytes(&self, space: Space, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let key = space.key(name);
        let Some(row) = guarded(|| self.tree.get(&key)).map_err(|kind| self.error(kind))? else { return Ok(None) };
        row::decode(&key, &row).map(|payload| Some(payload.to_vec())).map_err(|fault| self.row_error(&key, fault))
    }

    /// Walks the rows of a space whose names begin with `prefix`, in order of name; stops at the first unreadable one.
    pub fn scan(&self, space: Space, prefix: &str, mut visit: impl FnMut(&str, &[u8])) -> Result<(), Error> {
        let mut rows = self.tree.scan_prefix(space.key(prefix));
        while let Some(row) = guarded(|| rows.next().transpose()).map_err(|kind| self.error(kind))? {
            let (key, row) = row;
            let payload = row::decode(&key, &row).map_err(|fault| self.row_error(&key, fault))?;
            let name = std::str::from_utf8(&key[1..]).map_err(|_| self.row_error(&key, row::Fault::Checksum))?;
            visit(name, payload);
        }
        Ok(())
    }

    /// Reads the JSON rows of a space whose names begin with `prefix`; a name comes without it.
    pub fn list<T: DeserializeOwned>(&self, space: Space, prefix: &str) -> Result<Vec<(String, T)>, Error> {
        let mut payloads = Vec::new();
        self.scan(space, prefix, |name, payload| payloads.push((name[prefix.len()..].to_owned(), payload.to_vec())))?;
        payloads.into_iter().map(|(name, payload)| Ok((name.clone(), self.parse(space, &name, &payload)?))).collect()
    }

    /// Applies a batch as a whole and returns when it is on disk.
    pub fn commit(&self, batch: Batch) -> Result<(), Error> {
        if batch.is_empty() {
            return Ok(());
        }
        self.apply(batch.rows)?;
        self.sync()
    }

    /// Applies a large batch in order of name, in parts: for rows that can be made again where only some arrive. On disk
    /// when it returns.
    pub fn load(&self, mut batch: Batch) -> Result<(), Error> {
        if batch.is_empty() {
            return Ok(());
        }
        batch.rows.sort_by(|one, other| one.0.cmp(&other.0));
        let mut rows = batch.rows.into_iter().peekable();
        while rows.peek().is_some() {
            self.apply(rows.by_ref().take(Self::LOAD_ROWS_MAX).collect())?;
        }
        self.sync()
    }

    fn apply(&self, rows: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> Result<(), Error> {
        let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = manifest.clone();
        next.commits += 1;
        // The last word on a key counts, as it does in the batch.
        let rows: BTreeMap<Vec<u8>, Option<Vec<u8>>> = rows.into_iter().collect();
        let mut batch = sled::Batch::default();
        for (key, row) in rows {
            if let Some(old) = guarded(|| self.tree.get(&key)).map_err(|kind| self.error(kind))? {
                next.drop_row(&key, &old);
            }
            match row {
                Some(row) => {
                    next.add_row(&key, &row);
                    batch.insert(key, row);
                }
                None => batch.remove(key),
            }
        }
        let (key, row) = next.to_row();
        batch.insert(key, row);
        point("store: before a batch");
        guarded(|| self.tree.apply_batch(batch)).map_err(|kind| self.error(kind))?;
        point("store: a batch is applied");
        *manifest = next;
        Ok(())
    }

    fn sync(&self) -> Result<(), Error> {
        guarded(|| self.tree.flush()).map_err(|kind| self.error(kind))?;
        point("store: flushed");
        self.file.sync_data().map_err(|error| self.error(Kind::from_io(error)))?;
        point("store: on disk");
        let commits = self.manifest.lock().unwrap_or_else(PoisonError::into_inner).commits;
        self.commits.write(commits).map_err(|error| self.error(Kind::from_io(error)))?;
        point("store: committed");
        Ok(())
    }

    /// Compares the rows with the manifest; lays both down in a store that is new.
    fn check(&self) -> Result<u64, Error> {
        let stored: Option<Manifest> = self.get(Space::Meta, Manifest::NAME)?;
        let promised = self.commits.read().map_err(|error| self.error(Kind::from_io(error)))?;
        let Some(stored) = stored else {
            if self.tree.is_empty() && promised.is_none() {
                let mut batch = Batch::default();
                batch.put(Space::Meta, "format", &row::FORMAT);
                return self.commit(batch).map(|()| 0);
            }
            return Err(self.error(Kind::Damaged("its manifest is missing".into())));
        };
        match self.get::<u32>(Space::Meta, "format")? {
            Some(row::FORMAT) => {}
            Some(format) => return Err(self.error(Kind::Newer { format })),
            None => return Err(self.error(Kind::Damaged("its format row is missing".into()))),
        }
        if promised.is_some_and(|promised| stored.commits < promised) {
            return Err(self.error(Kind::Damaged("its latest changes are missing".into())));
        }
        let mut found = Manifest { commits: stored.commits, ..Manifest::default() };
        let mut live = 0;
        let mut rows = self.tree.iter();
        while let Some((key, row)) = guarded(|| rows.next().transpose()).map_err(|kind| self.error(kind))? {
            row::decode(&key, &row).map_err(|fault| self.row_error(&key, fault))?;
            live += (key.len() + row.len()) as u64;
            found.add_row(&key, &row);
        }
        if found != stored {
            let message = format!("it should hold {} rows and holds {}, or others", stored.rows, found.rows);
            return Err(self.error(Kind::Damaged(message)));
        }
        *self.manifest.lock().unwrap_or_else(PoisonError::into_inner) = stored;
        Ok(live)
    }

    fn parse<T: DeserializeOwned>(&self, space: Space, name: &str, payload: &[u8]) -> Result<T, Error> {
        serde_json::from_slice(payload).map_err(|_| self.row_error(&space.key(name), row::Fault::Content))
    }

    fn error(&self, kind: Kind) -> Error {
        Error { dir: self.dir.clone(), kind }
    }

    fn row_error(&self, key: &[u8], fault: row::Fault) -> Error {
        self.error(match fault {
            row::Fault::Version(version) => Kind::Newer { format: version.into() },
            row::Fault::Checksum | row::Fault::Content => {
                Kind::Damaged(format!("row {} does not fit its checksum or its form", Space::shown(key)))
            }
        })
    }
}

/// Makes the state folder where there is none; one that is there must be this user's, and is closed to others (law 11).
pub fn lay_down(dir: &Path) -> Result<(), Error> {
    let fail = |kind| Error { dir: dir.to_owned(), kind };
    if fs::metadata(dir).is_ok_and(|found| !found.is_dir()) {
        return Err(fail(Kind::NoFolder));
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| fail(Kind::from_io(error)))?;
    let found = fs::metadata(dir).map_err(|error| fail(Kind::from_io(error)))?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(fail(Kind::Owner { uid: found.uid() }));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(|error| fail(Kind::from_io(error)))?;
    }
    Ok(())
}

/// Takes the lock of a state folder and writes this process's number into it.
fn lock(dir: &Path) -> Result<File, Error> {
    let fail = |kind| Error { dir: dir.to_owned(), kind };
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(dir.join("lock"))
        .map_err(|error| fail(Kind::from_io(error)))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            return Err(fail(Kind::InUse { holder: holder.trim().parse().ok() }));
        }
        Err(fs::TryLockError::Error(error)) => return Err(fail(Kind::from_io(error))),
    }
    file.set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(|error| fail(Kind::from_io(error)))?;
    Ok(file)
}

/// Runs a sled call; a panic inside it (a damaged file makes it panic) becomes an error.
fn guarded<T>(call: impl FnOnce() -> sled::Result<T>) -> Result<T, Kind> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Kind::from_sled(error)),
        Err(_) => Err(Kind::Damaged("the storage library gave up on it".into())),
    }
}

#[cfg(test)]
mod tests;
