//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

use super::Keyspace;

/// A failure of the store of a state.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {kind}")]
#[non_exhaustive]
pub struct Error {
    /// Where it lies, for people.
    pub place: String,
    /// What went wrong.
    pub kind: ErrorKind,
}

/// What went wrong with a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another process holds it.
    #[error("in use by {}", holder.map_or("another process".to_owned(), |pid| format!("process {pid}")))]
    InUse {
        /// The other process's number, where it could be read.
        holder: Option<u32>,
    },
    /// Another worker has the account.
    #[error("{node} has it")]
    Leased {
        /// Where that worker runs.
        node: String,
    },
    /// Another worker has taken the account over, or may have.
    #[error("another worker may have taken it over: nothing more is written or sent from here")]
    Fenced,
    /// The database could not be reached, or refused something.
    #[error("{0}")]
    Database(String),
    /// The database does not know the role, or the role may not do what has to be done.
    #[error("{0}")]
    Denied(String),
    /// The database takes no writes.
    #[error("it takes no writes: it is a standby, or default_transaction_read_only is on")]
    ReadOnly,
    /// More than one server of the URL takes writes.
    #[error("several of its servers take writes, and a worker could have it at each of them: {}", hosts.join(", "))]
    SeveralPrimaries {
        /// A host of each.
        hosts: Vec<String>,
    },
    /// This user may not use it.
    #[error("no permission to use it")]
    Permission,
    /// It belongs to another user: what this one would write there, its owner could not use.
    #[error("it belongs to user {uid}, and this is another")]
    Owner {
        /// Its owner's number.
        uid: u32,
    },
    /// Another user could replace the folder, and this process is root.
    #[error("{}, so root can't work there safely", exposed(path, *uid))]
    Exposed {
        /// The folder or link, on the way to it or itself.
        path: PathBuf,
        /// Its owner's number, where that is not root; else others may write to it.
        uid: Option<u32>,
    },
    /// It is no folder.
    #[error("it is no folder")]
    NoFolder,
    /// What was to be imported is not all there.
    #[error("an import did not come to its end")]
    Unfinished,
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// What is on disk is not what was written.
    #[error("damaged: {0}")]
    Damaged(String),
    /// The tables do not say which version made them, or one that there never was.
    #[error("its tables can't be used: {0}")]
    Unversioned(String),
    /// A later version of the program wrote it.
    #[error("written by a later version (format {format})")]
    Newer {
        /// The format found.
        format: u32,
    },
    /// Anything else of the operating system.
    #[error("could not be read or written: {0}")]
    Io(io::Error),
}

impl Error {
    /// A row that is not what was written.
    pub(super) fn of_row(place: &str, key: &[u8]) -> Self {
        let what = format!("row {} does not fit its checksum or its form", Keyspace::shown(key));
        Self { place: place.to_owned(), kind: ErrorKind::Damaged(what) }
    }
}

fn exposed(path: &Path, uid: Option<u32>) -> String {
    match uid {
        Some(uid) => format!("{} belongs to user {uid}", path.display()),
        None => format!("others than root may write to {}", path.display()),
    }
}

impl ErrorKind {
    /// A store that was being rewritten and could not be opened again.
    pub(super) fn closed() -> Self {
        Self::Damaged("it could not be opened again after it was tidied; start rosterd again".into())
    }

    pub(crate) fn from_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::Permission,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Io(error),
        }
    }

    pub(super) fn from_sled(error: sled::Error) -> Self {
        match error {
            // sled reports its own lock as an error text; rosterd's lock file is taken first, so this is another program
            sled::Error::Io(error) if error.to_string().contains("could not acquire lock") => {
                Self::InUse { holder: None }
            }
            sled::Error::Io(error) => Self::from_io(error),
            sled::Error::Corruption { .. } => Self::Damaged("a page does not fit its checksum".into()),
            other => Self::Damaged(other.to_string()),
        }
    }
}
