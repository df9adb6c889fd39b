//! Errors that end a push: of the disk and of lists. The service's answer to one change is an outcome, not an error.

use std::io;

use crate::mirror;
use crate::store;

/// A push that can't go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed; nothing more was sent.
    #[error("what was done could not be recorded; nothing more was sent")]
    Store(#[from] store::Error),
    /// The audit file failed; nothing more was sent.
    #[error("what was done could not be written to the audit file; nothing more was sent")]
    Audit(#[source] io::Error),
    /// What became of earlier changes could not be looked up.
    #[error("what became of earlier changes could not be looked up")]
    Mirror(#[from] mirror::Error),
}
