//! What a run came to, as people and the log are told.

pub(crate) mod job_report;
pub(crate) mod log;
pub(crate) mod warnings;
