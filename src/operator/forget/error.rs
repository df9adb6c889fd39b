//! Why a person could not be forgotten.

use std::io;

use crate::record::JobName;
use crate::store;

/// Why a person could not be forgotten.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForgetError {
    /// The state could not be read or written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The audit files could not be rewritten.
    #[error("the audit files could not be rewritten; run the command again when the disk is writable")]
    Audit(#[source] io::Error),
    /// What the state keeps beside its rows could not be looked through.
    #[error("what the state keeps beside its rows could not be looked through; run the command again when it can")]
    Kept(#[source] io::Error),
    /// Files filed in an inbox could not be rewritten.
    #[error(
        "some filed files in the inbox of job {job} could not be searched and rewritten; run the command again when they can"
    )]
    Filed {
        /// The job.
        job: JobName,
        /// Why.
        #[source]
        source: io::Error,
    },
}
