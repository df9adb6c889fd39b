//! The integrity record: number and checksums of what the store should hold, so that loss is noticed.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::store::{Keyspace, MetaKey, row};

/// The number of batches so far, the number of rows and the XOR of their digests; its own row does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IntegrityRecord {
    pub(super) commits: u64,
    pub(super) rows: u64,
    pub(super) digest: u64,
}

impl IntegrityRecord {
    pub(super) fn add_row(&mut self, key: &[u8], row: &[u8]) {
        if !Self::is_own(key) {
            self.rows += 1;
            self.digest ^= row::digest(row);
        }
    }

    pub(super) fn drop_row(&mut self, key: &[u8], row: &[u8]) {
        if !Self::is_own(key) {
            self.rows = self.rows.wrapping_sub(1);
            self.digest ^= row::digest(row);
        }
    }

    pub(super) fn to_row(&self) -> (Vec<u8>, Vec<u8>) {
        let key = Self::key();
        let payload = serde_json::to_vec(self).expect("three numbers");
        let row = row::encode(&key, 0, Some(&payload));
        (key, row)
    }

    fn is_own(key: &[u8]) -> bool {
        key == Self::key()
    }

    fn key() -> Vec<u8> {
        Keyspace::Meta.key(&MetaKey::Integrity.to_string())
    }
}

/// The number of the latest durable batch, in a file beside the store.
pub(super) struct Commits {
    file: File,
}

impl Commits {
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(dir.join("commits"))?;
        Ok(Self { file })
    }

    /// The number; `None` where the file is new.
    pub(super) fn read(&self) -> io::Result<Option<u64>> {
        let mut bytes = [0; 8];
        match self.file.read_exact_at(&mut bytes, 0) {
            Ok(()) => Ok(Some(u64::from_le_bytes(bytes))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Written after the batch is on disk and not synced itself: it may lag behind the store, never lead.
    pub(super) fn write(&self, commits: u64) -> io::Result<()> {
        self.file.write_all_at(&commits.to_le_bytes(), 0)
    }
}
