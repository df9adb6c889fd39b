//! Errors of the database as the store has them.

use std::io;

use tokio_postgres::error::SqlState;

use super::connection::StatementError;
use crate::store::ErrorKind;

impl ErrorKind {
    pub(super) fn from_database(failure: StatementError) -> Self {
        match failure {
            StatementError::Refused { code, .. } if code == SqlState::DISK_FULL => Self::Full,
            StatementError::Refused { code, .. } if code == SqlState::READ_ONLY_SQL_TRANSACTION => Self::ReadOnly,
            StatementError::Refused { ref code, .. } if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
                Self::Denied(failure.to_string())
            }
            StatementError::Denied(_) => Self::Denied(failure.to_string()),
            failure => Self::Database(failure.to_string()),
        }
    }

    /// The same for those who write documents and files.
    pub(super) fn into_io(self) -> io::Error {
        match self {
            Self::Full => io::ErrorKind::StorageFull.into(),
            Self::Io(error) => error,
            kind => io::Error::other(kind),
        }
    }
}
