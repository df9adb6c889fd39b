//! From a source to candidates: the rows that are new or changed, and which known keys are there.

pub(crate) mod collected_rows;
pub(crate) mod collector;
pub(crate) mod duplicates;
pub(crate) mod fingerprint;
pub(crate) mod key_filter;
pub(crate) mod lookups;
pub(crate) mod replica_lag;
mod row_finder;
pub(crate) mod rows;
pub(crate) mod shared_read;
mod silent_entries;
pub(crate) mod stray_rows;
