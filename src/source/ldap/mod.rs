//! A directory server: LDAP version 3, the habits of Active Directory included.
//!
//! ```text
//! fetch (a thread of its own): connect ─▶ StartTLS ─▶ bind ─▶ search, page by page ─▶ ranges ─▶ ┐ bounded
//! read (the caller's thread):  visit rows ◀─ attributes to columns ◀─ twice the same entry? ◀───┘ channel
//! ```
//!
//! Every read is a whole one.
//!
//! Invariants:
//! - The end of a search is result code 0 with an empty cookie, nothing else: a short page, an empty page and a closed
//!   connection are no end (law 1).
//! - Unreachable, refused and empty are three results. The first two are errors; the third proves nothing about anybody.
//! - One bind attempt a read, so that a wrong password locks no account.
//! - A server that is behind what an earlier read saw proves nothing about who is absent.
//! - No entry is taken in part: what can't be read of it rejects its record.
//!
//! Rejected: the adapters of `ldap3` for pages and entries. They hide referrals, give no result code after an error in the
//! middle, and panic on what they don't understand. Rejected too: content synchronization (RFC 4533). It returns everything
//! in one search, and a garbage cookie looks like a full read.

mod attribute;
mod code;
mod entry;
mod error;
mod fetch;
mod found;
mod options;
mod position;
mod probe;
mod range;
mod read;
mod session;
mod trust;

pub use error::{Error, Kind};
pub use found::{Found, Position};
pub use options::{Bind, Options, Scope, Server};
pub use probe::{Counted, Kin, Probe, probe};
pub use read::read;

/// The filter of a search, checked.
///
/// # Errors
///
/// Why it is none, as a sentence without it.
pub fn check_filter(filter: &str) -> Result<(), String> {
    ldap3::parse_filter(filter).map(drop).map_err(|()| "is no LDAP filter".to_owned())
}

/// How much of a directory is taken.
pub mod limits {
    /// The most entries of one read.
    pub const ENTRIES_MAX: u64 = 1_000_000;
    /// The largest entry, in bytes of its names and values.
    pub const ENTRY_BYTES_MAX: usize = 1024 * 1024;
    /// The longest text value, in bytes.
    pub const VALUE_BYTES_MAX: usize = 4 * 1024;
    /// The most pages without an entry, one after the other.
    pub(super) const EMPTY_PAGES_MAX: u32 = 1000;
    /// How many entries are handed over at once, at most.
    pub(super) const BATCH_ENTRIES: usize = 256;
    /// How many bytes are handed over at once, save where one entry is larger.
    pub(super) const BATCH_BYTES: usize = 256 * 1024;
    /// How many batches wait to be taken, at most.
    pub(super) const BATCHES_WAITING: usize = 4;
}
