//! The engine in a database that several workers share: PostgreSQL 15 or later.
//!
//! ```text
//! worker ─┬─ a few connections ─▶ rows, lines, documents   each statement is a transaction by itself
//!         ├─ another one ───────▶ renewals of its leases
//!         └─ another one ───────▶ requests of other workers, and answers to them
//! ```
//!
//! Invariants:
//! - An account has one writer: who has its [`lease`]. Each commit is refused to all others.
//! - Only the database's clock says when a lease is over.
//! - What needs no lease, a pause or a decision that is written down, any worker may write.
//!
//! Rejected: a cluster of our own, and a lock service beside the state. The first is not ours to build, the second would make
//! two truths.

mod bulk;
mod connection;
mod database;
mod desk;
mod documents;
mod engine;
mod error;
mod examine;
mod fence;
mod files;
mod lease;
mod log;
mod membership;
mod options;
mod primaries;
mod renewal;
mod requests;
mod reset;
mod rows;
mod schema;
mod tenure;
mod timeline;

#[cfg(test)]
mod model;
#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;

pub use database::Account;
pub use examine::{Doubt, Examined, Obstacle};
pub(super) use log::DatabaseLog;
pub(super) use membership::DatabaseMembership;
pub use options::DatabaseOptions;
pub(super) use reset::reset;
pub(super) use rows::Rows;
