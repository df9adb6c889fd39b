//! Moves everything that is remembered from one state to another, whichever engines hold them, by a file.
//!
//! Invariants:
//! - Nothing is ever in memory as a whole.
//! - A file that was cut or changed, or that is of something else, is refused before anything is written.
//! - Until an import has come to its end, no other command works with the state: a document says so, and goes last. The same
//!   import can be said again.
//!
//! Rejected: a copy of the engine's own files. It would tie the two ends to one engine and one version of it.

mod entry;
mod error;
mod export;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod import;
mod reader;
#[cfg(test)]
mod tests;

pub use entry::Contents;
pub use error::TransferError;
pub use import::import;
