//! A directory server: LDAP version 3, the habits of Active Directory included.
//!
//! ```text
//! fetch (a thread of its own): connect ─▶ TLS ─▶ wire filter ─▶ bind ─▶ search, page by page ─▶ ranges ─▶ ┐ bounded
//! read (the caller's thread):  visit rows ◀─ attributes to columns ◀─ twice the same entry? ◀──────┘ channel
//! ```
//!
//! Every read is a whole one.
//!
//! Invariants:
//! - The end of a search is result code 0 with an empty cookie, nothing else: a short page, an empty page and a closed
//!   connection are no end (law 1).
//! - Unreachable, refused and empty are three results. The first two are errors; the third proves nothing about anybody.
//! - One bind attempt a read, and none with a name and a password that were refused before, so that a wrong password
//!   locks no account; see `refused_logins`.
//! - A client certificate is read at each connection and is never shown out of its time; see `certificate`.
//! - A read says how far its server had come before and after ([`crate::source::ReplicaPosition`]); what follows from that for
//!   those who are missing is judged where it is known who showed them.
//! - Whatever a server sends, it takes a limited amount of memory and of stack: see `wire_filter`.
//! - No entry is taken in part: what can't be read of it rejects its record.
//!
//! Rejected: the adapters of `ldap3` for pages and entries. They hide referrals, give no result code after an error in the
//! middle, and panic on what they don't understand. Rejected too: content synchronization (RFC 4533). It returns everything
//! in one search, and a garbage cookie looks like a full read.

mod attribute;
mod ber;
mod certificate;
mod code;
mod entry;
mod error;
mod fetch;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod look;
mod options;
mod position;
mod probe;
mod range;
mod read;
mod session;
mod state;
mod transport;
mod trust;
mod units;
mod wire_filter;

pub use certificate::ClientCertificate;
pub use error::{Error, LdapErrorKind};
pub use options::{Bind, Options, SearchScope, Server};
pub use probe::{Counted, DirectoryFlavour, Probe, probe};
pub use read::read;
pub use state::DirectoryState;

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
    /// How much of an entry is read, in bytes of its names and values: its largest attributes are left out beyond that.
    pub const ENTRY_BYTES_MAX: usize = 2 * 1024 * 1024;
    /// The longest message of a server, in bytes. A longer one ends the read; an entry between the two is left out alone.
    pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
    /// How deep a message may be nested; an entry needs six.
    pub(super) const MESSAGE_DEPTH_MAX: usize = 12;
    /// The most parts of a message, at all levels: about as many as an entry has values.
    pub(super) const MESSAGE_PARTS_MAX: usize = 250_000;
    /// How much memory messages take, about, that wait to be looked at.
    pub(super) const WAITING_COST_MAX: usize = 4 * 1024 * 1024;
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
