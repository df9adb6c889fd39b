//! The result of a run, for people and the log.

pub(crate) mod besides;
pub(crate) mod job_report;
pub(crate) mod log;
pub(crate) mod names;
pub(crate) mod warnings;
