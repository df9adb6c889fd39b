//! The LSM tree that a keyspace is: sled holds what is new, a sorted file the rest.
//!
//! ```text
//! commit ─▶ overlay (rows of sled) ─compaction─▶ table (a file of rows in order of key)
//!           bulk loader ────────────────────────▶
//! vacuum: sled's own files are rewritten, so that nothing removed is left in them
//! ```

mod bulk_loader;
pub(super) mod compaction;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod overlay;
mod reader;
mod row_buffer;
mod sorted_rows;
pub(super) mod swap;
mod table;
pub(super) mod vacuum;
mod writer;

pub(super) use overlay::OverlayFlags;
pub(super) use reader::SsTable;

#[cfg(test)]
mod forged;
