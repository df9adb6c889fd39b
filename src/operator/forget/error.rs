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
    /// The audit files could not be written anew.
    #[error("the audit files could not be written anew; say it again once they can")]
    Audit(#[source] io::Error),
    /// What was filed in an inbox could not be written anew.
    #[error(
        "not all that is filed in the inbox of job {job} could be searched and written anew; say it again once it can"
    )]
    Filed {
        /// The job.
        job: JobName,
        /// Why.
        #[source]
        source: io::Error,
    },
}
