//! Microsoft Entra ID, by Microsoft Graph.
//!
//! ```text
//! fetch (a thread of its own): token ─▶ groups by name ─▶ managers ─▶ users or members, page by page ─▶ ┐ bounded
//! read (the caller's thread):  visit rows ◀─ properties to columns ◀─ twice the same id? ◀──────────────┘ channel
//! ```
//!
//! Every read is a whole one; change tracking (`delta`) is not used.
//!
//! Invariants:
//! - The end of a walk is a page without `@odata.nextLink`, nothing else: a short page and an empty page are no end.
//! - A walk proves that it saw everyone only where the count of its first page equals the different ids that came (law 1).
//!   A count that is missing or differs makes the read incomplete; an answer other than 200 is an error, and nothing of it counts.
//! - A link to the next page is followed only where it stays at the configured address: the token goes nowhere else. No
//!   link is followed twice.
//! - Whatever the service sends, it takes the memory of few pages of a limited size and of a few bytes for each user, and a limited number of requests.
//! - Managers come by a walk of their own, whose requests are no advanced queries: the service does not document `$expand`
//!   together with `$count`. Who is missing from that walk has a manager that is not known, which is not none (law 2).
//! - A read asks only which version of a photo each user has; its bytes are fetched when they are sent. A photo that can't be
//!   asked about is not known, which is not none.
//! - Shown are names of settings, statuses and codes: no token, no secret, no query of a link (law 11).
//!
//! Rejected: photos in every read, which are gigabytes for 100,000 people. And change tracking. It returns who changed since a token was issued, so absence would rest on what was kept of
//! earlier runs; a whole read of 100,000 people is about 100 pages.

mod assertion;
mod error;
mod fetch;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod manager;
mod options;
mod page;
mod photo;
mod property;
mod read;
mod refusal;
mod request;
mod walk;

pub use error::{EntraErrorKind, Error};
pub use options::{Credential, Options};
pub use photo::{PhotoVisit, photos};
pub use read::read;

/// How much of a tenant is taken.
pub mod limits {
    /// The most users of one walk.
    pub const USERS_MAX: u64 = 1_000_000;
    /// How many users a page is asked to have.
    pub(super) const PAGE_USERS: u32 = 999;
    /// The same of users with their managers: the service shows no more at once.
    pub(super) const PAGE_MANAGERS: u32 = 100;
    /// How many requests go in one batch: the service takes no more.
    pub(super) const BATCH_REQUESTS: usize = 20;
    /// The longest answer, in bytes.
    pub const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
    /// The most pages of one walk, empty ones included.
    pub(super) const PAGES_MAX: usize = 20_000;
    /// The longest text value, in bytes.
    pub const VALUE_BYTES_MAX: usize = 4 * 1024;
    /// How often one request is sent while the service asks to wait or fails for a moment.
    pub(super) const ASKED_MAX: u32 = 10;
    /// How many pages wait to be taken, at most.
    pub(super) const PAGES_WAITING: usize = 1;
}
