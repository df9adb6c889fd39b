//! A file of a web server: one GET, whose answer is read as a CSV file or a workbook.
//!
//! The body goes to a file without a name, in the state folder; nothing of it is parsed before its end was seen. What it
//! holds is then the business of the reader of files.
//!
//! Invariants:
//! - Nothing is taken from an answer that may not be the whole list: another status than 200, a redirect, another media
//!   type, a page for people, more than `size_max`, less than was announced, an end that came too late.
//! - An end that is only the end of the connection proves nothing: such a read is incomplete (law 1).
//! - Shown are the scheme, the host and the path of an address, never its query: that is where links carry their secret
//!   (law 11). The values of headers are not shown either.
//! - Redirects are not followed: the credential and the choice of people belong to the address that was configured.
//!
//! Every run asks without a condition, so 304 is a fault as any other status. A run needs all rows also where the file is
//! as before: what was edited at the service, whose day came, what was approved and who is missing is decided by rows, and
//! of the rows of the run before only digests are left. An answer without rows would need a copy of everybody's unmapped
//! data on disk between runs.
//!
//! Rejected: to parse while the body comes. The encoding is decided by all of it, and a list that is cut would have been
//! half taken before that shows. And to let the answer be compressed: a small body that unpacks to a large one is then
//! no case of its own.

mod address;
mod answer;
mod download;
mod error;
mod options;
mod token;

pub use address::Address;
pub use download::{Downloaded, download};
pub use error::{Error, HttpsErrorKind};
pub use options::{Login, Options, TokenClient, header};
