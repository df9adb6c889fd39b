//! What a run would change, and what of it must wait for a person. Pure: nothing here reads a file, a clock or a socket.
//!
//! ```text
//! record + standing ──decide──▶ nothing | change | held
//! missing keys ──leavers──▶ change            (only over a Complete read)
//! changes ──guard──▶ go | held | rejected
//! ```
//!
//! Invariants:
//! - A leaver by absence takes a [`Complete`](crate::source::Complete) value, which only a read that reached its end can
//!   make (law 1).
//! - The guard holds all changes of a kind or none of that kind: a part of a suspect set is as suspect as the whole.
//! - A record that matches no single entity for sure is held, never created (law 6).
//!
//! Rejected: letting the guard pass the first so many changes of a kind. Which of them are right is just what is not
//! known.

mod decide;
mod guard;
mod leavers;
mod matching;
mod options;
mod protect;
mod rules;
mod segment;

use std::collections::BTreeMap;

pub use decide::{Decision, NAMESAKE, Standing, Subject, decide};
pub use guard::{Base, Guarded, Verdict, guard, leavers_held};
pub use leavers::{Absence, Present, absent, missing};
pub use matching::{Match, Matcher};
pub use options::{LeaverAction, Leavers, Limit, Limits, Writes};
pub use protect::Protection;
pub use rules::{OnDrift, Rules};
pub use segment::guard_segments;

use crate::record::{Key, Marks, Value, Wish};

/// One change that a run would make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The record.
    pub key: Key,
    /// What is wanted.
    pub wish: Wish,
    /// The fields that move; empty for a delete.
    pub fields: BTreeMap<String, Delta>,
    /// The line of the source row, where there is one.
    pub line: Option<u64>,
    /// Whether the record was known or matched to its entity before: it counts as an update even where its entity has to
    /// be made again.
    pub known: bool,
    /// What its row says about itself.
    pub marks: Marks,
}

/// One field that moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// What the service holds.
    pub from: Value,
    /// What the source wants.
    pub to: Value,
}

/// A record that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The record.
    pub key: Key,
    /// Why it waits.
    pub reason: String,
    /// The change that can be approved; none where there is nothing to approve but something to mend.
    pub change: Option<Change>,
    /// What is held in its place once a person rejected it: somebody who is not the one they were taken for is new.
    pub other: Option<Box<Held>>,
}
