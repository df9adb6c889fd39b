//! Errors of the database as the store has them.

use tokio_postgres::error::SqlState;

use super::connection::StatementError;
use crate::store::ErrorKind;

impl ErrorKind {
    pub(super) fn from_database(failure: StatementError) -> Self {
        match failure {
            StatementError::Refused { code, .. } if code == SqlState::DISK_FULL => Self::Full,
            failure => Self::Database(failure.to_string()),
        }
    }
}
