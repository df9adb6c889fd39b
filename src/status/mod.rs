//! The present state, for people, monitors and Prometheus.
//!
//! ```text
//! store, configuration, budget ──▶ Snapshot ──┬─▶ page      a page for a browser
//!                     Counters ───────────────┼─▶ metrics   Prometheus' text form
//!                                             └─▶ health    200 or 503
//! ```
//!
//! A [`Board`] has the accounts that one address shows: with several, a page leads to that of each, and metrics and health
//! name the account.
//!
//! Invariants:
//! - A [`Snapshot`] is plain data, gathered in one go and only by reading. What is made of it is pure.
//! - Page, metrics and health name no person, not even by key (law 11): jobs, lines and counts only. What a reason says
//!   of a key is marked as such from the beginning, and left out here ([`redact`](crate::record::redact)).
//! - The page works without scripts and loads nothing.
//! - Who connects takes no more than a small part of what the daemon needs, and sees nothing under a name that is not this
//!   machine's.
//!
//! Rejected: a registry of metrics that modules write to as they go. Nearly all that is of interest is in the store already
//! and outlives a restart there; only what nothing remembers ([`Counters`]) is counted in memory.

mod board;
mod counters;
mod health;
mod help;
mod hosts;
mod metrics;
mod overview;
mod page;
mod remembered;
mod server;
mod snapshot;

pub use board::{Board, Gather, ShownAccount};
pub use counters::{Counters, Refused};
pub use health::Health;
pub use hosts::{Hosts, host_name};
pub use metrics::metrics;
pub use page::{page, unreadable};
pub use remembered::{OnSite, Remembered};
pub use server::{Server, StartError};
pub use snapshot::{
    Around, Budget, JobView, LiveJobState, Process, Running, Snapshot, SourceFamily, UnreachableChannel, Unserved,
};
