//! The folder of the accounts of a process: a file `NAME.toml` is the account NAME.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::account::StartError;
use crate::config::{Config, Instance, MARK, is_of_accounts};

/// The folder can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// It can't be read.
    #[error("the folder of accounts {} can't be read", dir.display())]
    Unreadable {
        /// The folder.
        dir: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// It is not known as one, and can't be made known.
    #[error("{} is no folder of accounts", dir.display())]
    Unmarked {
        /// The folder.
        dir: PathBuf,
        /// Why the file that marks it can't be made.
        #[source]
        error: io::Error,
    },
    /// There is no account in it.
    #[error("there is no account in {}", dir.display())]
    Empty {
        /// The folder.
        dir: PathBuf,
    },
}

/// The accounts of a process.
pub enum Accounts {
    /// One, with this configuration.
    One(Box<Config>),
    /// Those of a folder, each with its configuration where that can be used.
    Folder(AccountsFolder, Vec<(Instance, PathBuf, Result<Config, StartError>)>),
}

/// A folder of accounts.
#[derive(Clone, Debug)]
pub struct AccountsFolder {
    dir: PathBuf,
}

impl AccountsFolder {
    /// The folder at `dir`. One that is not known as a folder of accounts is marked as one: a command that names one of its
    /// files would take another state for it otherwise.
    ///
    /// # Errors
    ///
    /// It is none, and can't be marked.
    pub fn open(dir: &Path) -> Result<Self, FolderError> {
        let unreadable = |error| FolderError::Unreadable { dir: dir.to_owned(), error };
        let dir = std::path::absolute(dir).map_err(unreadable)?;
        std::fs::read_dir(&dir).map_err(unreadable)?;
        if !is_of_accounts(&dir) {
            mark(&dir).map_err(|error| FolderError::Unmarked { dir: dir.clone(), error })?;
        }
        Ok(Self { dir })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its accounts, with the files of their configurations.
    ///
    /// # Errors
    ///
    /// It can't be read.
    pub fn accounts(&self) -> Result<BTreeMap<String, (Instance, PathBuf)>, FolderError> {
        let unreadable = |error| FolderError::Unreadable { dir: self.dir.clone(), error };
        let mut found = BTreeMap::new();
        for entry in std::fs::read_dir(&self.dir).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if let Some(instance) = Instance::of(&path) {
                found.insert(instance.to_string(), (instance, path));
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                let name = path.file_name().unwrap_or_default().display();
                tracing::warn!(
                    "{name} is no account: its name is not one (lower-case letters, digits and inner dashes)"
                );
            }
        }
        Ok(found)
    }
}

/// Marks a folder as one of accounts. Workers that begin at the same time may all do so.
fn mark(dir: &Path) -> io::Result<()> {
    match File::create_new(dir.join(MARK)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_of_accounts(dir) => Ok(()),
        made => made.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_folder_are_its_accounts() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["south.toml", "north.toml", "config.toml", "North.toml", "east.toml.bak", "notes"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let folder = AccountsFolder::open(dir.path()).unwrap();
        assert_eq!(folder.accounts().unwrap().into_keys().collect::<Vec<_>>(), ["north", "south"]);
        assert!(Instance::of(&dir.path().join("north.toml")).is_some(), "from now on it is known");
        AccountsFolder::open(dir.path()).unwrap();
        let missing = AccountsFolder::open(&dir.path().join("missing")).unwrap_err();
        assert!(matches!(missing, FolderError::Unreadable { .. }));
    }

    #[test]
    fn a_folder_that_another_worker_has_just_marked_is_marked() {
        let dir = tempfile::tempdir().unwrap();
        mark(dir.path()).unwrap();
        mark(dir.path()).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("missing", elsewhere.path().join(MARK)).unwrap();
        assert_eq!(mark(elsewhere.path()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }
}
