//! From a plan to the disk: changes to the queue, matches to the snapshot, digests to the index.

pub(crate) mod adopt;
pub(crate) mod enqueue;
mod entry_fate;
pub(crate) mod index;
pub(crate) mod spoilt_rows;
