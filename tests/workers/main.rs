//! Workers that share a state in a database, and everything that can come between them: the real program, a real PostgreSQL, the
//! stand-in service.
//!
//! All terms of a lease are divided by one number here, so that a test need not wait for minutes; what waits for the real terms
//! says so. That is why these tests are a program of their own: only a build with `crash-points` has it.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

/// The program ends, or stops, at points that a test names.
const ENDS_AT_POINTS: bool = true;

#[path = "../it/support/mod.rs"]
#[expect(dead_code, reason = "the other tests use more of it")]
mod support;

mod clocks;
mod cuts;
mod examined;
mod history;
mod namespaces;
mod outages;
mod partitions;
mod pauses;
mod pooler;
mod proxy;
mod roster;
mod servers;
mod takeover;
mod verdict;
mod worker;
