//! Per job: what each key last was, what was last confirmed at the service, and its remote id.
//!
//! Two layers:
//! - [`SyncedRecord`], one row a key, is the truth. It moves only with a confirmed answer, in the commit that takes the change out
//!   of the queue (law 5).
//! - [`Index`], a few large pages a job in order of key, is what makes a run with nothing to do cheap: a source row whose
//!   digest stands in it needs no mapping and no comparison. It is written at the end of a run and may be behind; keys
//!   whose truth or whose entity has moved since are marked, and a row whose digest is not found is merely mapped again.
//!
//! Invariants: every key with a remote id is in the index once the pages or marks are read; a digest is in it only where
//! nothing is left to do for that row.
//!
//! Rejected: the digest in the row of each key. A run over a million unchanged rows would read a million rows of the
//! store, at several times the cost of parsing the file.

mod dirty;
mod entry;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod index;
mod link;
mod owner;
mod pages;
mod synced_record;

pub use entry::IndexEntry;
pub use index::Index;
pub use link::Links;
pub use owner::{OWNERS, Owner};
#[cfg(test)]
pub(crate) use synced_record::DIRTY;
pub use synced_record::{Gone, Left, SYNCED, SyncedRecord};
