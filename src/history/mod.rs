//! The audit file: what was done and what was decided, for people.
//!
//! Invariants:
//! - It lies outside the store, under `audit/` in the state folder, one file a month, and is only ever appended to: it
//!   survives a store that is thrown away (law 9).
//! - One line a confirmed change and a decision, as JSON. A line is on disk before what it tells of is committed; so after
//!   a crash a line may be there twice, and none is missing.
//! - It holds people's values, as few other files do, and nobody but its owner may read it.
//!
//! Rejected: rows in the store. What people need to find out what went wrong must not depend on the part that may be what
//! went wrong.

mod audit;

pub use audit::{Audit, Line, acting_user};
