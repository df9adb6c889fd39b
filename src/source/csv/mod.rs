//! A table in a file, read in place: CSV, or a workbook (`workbook`), by its first bytes.
//!
//! A read of CSV takes two passes over the bytes, both in constant memory. The first tells the encoding and the digest of the
//! content; the second parses, and its digest must be the same.
//!
//! Invariants:
//! - A row is handed out only if it is whole: it ends in a line end (or need not), its quotes pair, its bytes decode, it
//!   has as many cells as the header. Whatever is not is rejected with its line, and the read is incomplete.
//! - What was found before is not silently found otherwise: encoding and delimiter stay, or the read fails.
//!
//! Rejected: guessing the encoding while parsing. One wrong byte in the last row would come after thousands of rows had
//! already been taken as something else.

mod encoding;
mod error;
mod file;
mod format;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod header;
pub mod limits;
mod options;
mod probe;
mod read;
mod row_tracker;
mod rows;
mod scan;
mod transcode;
mod workbook;

pub use error::{CsvErrorKind, Error};
pub use format::{DetectedFormat, Probe, TextFormat, delimiter_name};
pub(crate) use header::DELIMITERS;
pub use options::{Encoding, Options};
pub use probe::{probe, probe_opened};
pub use read::{Opened, read, read_opened};
pub use workbook::WorkbookFault;

pub use super::name::{ColumnRequirement, Name, RequiredColumns};

#[cfg(test)]
mod tests;
