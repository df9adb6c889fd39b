//! Why a plan file is not applied.

use jiff::Timestamp;

use crate::record::JobName;

/// Why a plan file can't be applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFileError {
    /// It is no plan, or not as it was written.
    #[error("it is no plan file, or it was changed or damaged since it was written")]
    Damaged,
    /// Another version of the program wrote it.
    #[error("it was written by another version of rosterd (form {0})")]
    Version(u64),
    /// It was made for another service.
    #[error("it was made for the service at {planned}, and the configuration names {configured}")]
    Service {
        /// The service that it was made for.
        planned: String,
        /// The one configured.
        configured: String,
    },
    /// It was made with another credential.
    #[error("it was made with another credential than the one configured")]
    Credential,
    /// A job of it changed, or is no more.
    #[error("job {0} is configured differently since it was made, or not at all")]
    Job(JobName),
    /// It was applied before.
    #[error("it was applied already, on {}", .0.strftime("%Y-%m-%d %H:%M UTC"))]
    Used(Timestamp),
}
