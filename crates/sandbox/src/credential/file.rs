//! The file that keeps keys and clients across restarts, readable by its owner alone.
//!
//! It is written as a whole and renamed into place. It also keeps what the command line gave when it was last started:
//! where that is the same, the tables are taken as they stand, with whatever was rotated, revoked or removed; where it is
//! another, the new entries take the place of the old ones.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::Account;
use crate::error::Error;

const NAME: &str = "credentials.json";
const VERSION: u32 = 1;

/// The file of a data folder.
pub(super) struct File {
    path: PathBuf,
    given: Account,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    given: Account,
    account: Account,
}

impl File {
    /// Reads the tables of a folder, with the entries of the command line in them.
    pub(super) fn open(folder: &Path, given: Account) -> Result<(Account, Self), Error> {
        let path = folder.join(NAME);
        let account = match fs::read(&path) {
            Ok(bytes) => {
                let kept = serde_json::from_slice(&bytes).ok().filter(|kept: &Kept| kept.version == VERSION);
                let kept = kept.ok_or_else(|| Error::Credentials { path: path.clone() })?;
                merged(kept, &given)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => given.clone(),
            Err(source) => return Err(Error::Data { path, source }),
        };
        let file = Self { path, given };
        file.write(&account).map_err(|source| Error::Data { path: file.path.clone(), source })?;
        Ok((account, file))
    }

    /// Puts these tables in the place of those that are there.
    #[expect(clippy::disallowed_methods, reason = "the stand-in shares nothing with the program")]
    pub(super) fn write(&self, account: &Account) -> io::Result<()> {
        let kept = Kept { version: VERSION, given: self.given.clone(), account: account.clone() };
        let fresh = self.path.with_extension("new");
        // One that a kill left behind may have another mode.
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(&serde_json::to_vec(&kept)?)?;
        file.sync_all()?;
        fs::rename(&fresh, &self.path)
    }
}

fn merged(kept: Kept, given: &Account) -> Account {
    let mut account = kept.account;
    if kept.given != *given {
        let old = &kept.given;
        account.keys.retain(|entry| [old, given].iter().all(|by| by.keys.iter().all(|key| key.name != entry.name)));
        account.clients.retain(|entry| [old, given].iter().all(|by| by.clients.iter().all(|own| own.id != entry.id)));
        account.keys.splice(0..0, given.keys.iter().cloned());
        account.clients.splice(0..0, given.clients.iter().cloned());
    }
    account
}
