//! Why a process of accounts could not begin.

use std::path::PathBuf;

use super::account::StartError;
use super::folder::FolderError;

/// Why a process could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The only account could not.
    #[error(transparent)]
    Account(#[from] StartError),
    /// None of several accounts could.
    #[error("none of the accounts in {} can begin: {}", dir.display(), reasons.join("; "))]
    None {
        /// Their folder.
        dir: PathBuf,
        /// Why, each by its name.
        reasons: Vec<String>,
    },
    /// The folder of the accounts can't be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Signals can't be heard.
    #[error("signals can't be heard")]
    Signals(#[source] std::io::Error),
}
