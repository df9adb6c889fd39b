//! The present state, for people, monitors and Prometheus.
//!
//! ```text
//! store, configuration, budget ──▶ Snapshot ──┬─▶ page      a page for a browser
//!                     Counters ───────────────┼─▶ metrics   Prometheus' text form
//!                                             └─▶ health    200 or 503
//! ```
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

mod counters;
mod health;
mod help;
mod hosts;
mod metrics;
mod page;
mod server;
mod snapshot;

pub use counters::{Counters, Refused};
pub use health::Health;
pub use hosts::host_name;
pub use metrics::metrics;
pub use page::{page, unreadable};
pub use server::{Gather, Server, StartError};
pub use snapshot::{
    Budget, JobView, LiveJobState, OnSite, Process, Running, Snapshot, SourceFamily, UnreachableChannel, Unserved,
};
