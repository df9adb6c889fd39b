//! Why a state could not be exported or imported.

use std::io;

use crate::store;

/// Why a state could not be exported or imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The state could not be read or written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// What is kept beside its rows could not be.
    #[error("what the state keeps beside its rows could not be read or written")]
    Kept(#[source] io::Error),
    /// The exported state could not be read or written.
    #[error("the file could not be read or written")]
    File(#[source] io::Error),
    /// It is something else.
    #[error("the file is no exported state of rosterd")]
    Foreign,
    /// A later version of the program wrote it.
    #[error("the file has form {found}, and this version reads form 1")]
    Form {
        /// The number of its form.
        found: u64,
    },
    /// It is not what was written.
    #[error("the file was cut or changed: {what} (line {line})")]
    Broken {
        /// The line at which that shows.
        line: u64,
        /// What does not fit.
        what: &'static str,
    },
    /// It belongs to another account.
    #[error("the file is of the account at {theirs}, and this configuration names {ours}")]
    OtherAccount {
        /// The address in the file.
        theirs: String,
        /// The address of the configuration.
        ours: String,
    },
    /// There is something already where it was to go.
    #[error("{place} is not empty")]
    NotEmpty {
        /// What an error calls the state.
        place: String,
    },
}
