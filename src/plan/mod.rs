//! What a run would change, and what of it must wait for a person. Pure: nothing here reads a file, a clock or a socket.
//!
//! ```text
//! record + correlation ──decide──▶ nothing | change | held
//! missing keys ──leavers──▶ change            (only over a Complete read)
//! changes ──guard──▶ go | held | rejected
//! ```
//!
//! Invariants:
//! - A leaver by absence takes a [`Complete`](crate::source::Complete) value, which only a read that reached its end can
//!   make (law 1).
//! - The guard holds all changes of a kind or none of that kind: a part of a suspect set is as suspect as the whole.
//! - A record that matches no single entity for sure is held, never created (law 6).
//! - The guard asks of a change no more than [`Judged`] says, so that an [`Outline`] will do where everybody is new.
//!
//! Rejected: letting the guard pass the first changes of a kind up to the limit. Which of them are right is just what
//! is not known.

mod correlation;
mod decide;
mod guard;
mod hold_reason;
mod leavers;
mod matching;
mod options;
mod outline;
mod person;
mod protect;
mod rules;
mod segment;
mod summary;
#[cfg(test)]
mod tests;

pub use correlation::{Correlation, Unclear};
pub use decide::{Decision, Subject, decide};
pub use guard::{Base, Decided, Guarded, RemoteDigest, Verdict, guard, leavers_held, updates_held};
pub use hold_reason::{HoldReason, Leaving, ManyMissing};
pub use leavers::{Absence, Present, absent, is_due, missing};
pub use matching::{Match, Matcher, contradicted, match_hash};
pub use options::{LeaverAction, Leavers, Limit, Limits, Writes};
pub use outline::{Judged, Outline};
pub use person::{
    has_same_name, identity_form, identity_hash, is_another_person, is_named_alike, name_words, named_by,
};
pub use protect::{ProtectedPerson, Protection};
pub use rules::{OnDrift, Rules};
pub use segment::guard_segments;
pub use summary::ChangeSummary;

use crate::record::{Action, DesiredState, FieldMap, Key, RowMetadata, Value};

/// One change that a run would make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The record.
    pub key: Key,
    /// What is wanted.
    pub wish: DesiredState,
    /// The fields that move in an update; what a create moves is what it sets ([`Change::moves`]).
    pub fields: Deltas,
    /// The line of the source row, where there is one.
    pub line: Option<u64>,
    /// Whether the record was known or matched to its entity before: it counts as an update even where its entity has to
    /// be made again.
    pub known: bool,
    /// Whether a person released it past the guard.
    pub approved: bool,
    /// What its row says about itself.
    pub marks: RowMetadata,
}

/// The fields that move, by name.
pub type Deltas = FieldMap<Delta>;

/// One field that moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// What the service holds.
    pub from: Value,
    /// What the source wants.
    pub to: Value,
}

impl Change {
    /// The fields that move, with what the service holds and what the source wants; none for a delete.
    pub fn moves(&self) -> impl Iterator<Item = (&str, &Value, &Value)> {
        const NOTHING: &Value = &Value::Empty;
        let made = self.wish.fields.iter().filter(|(_, value)| !value.is_empty());
        let made = made.filter(|_| self.wish.action == Action::Create).map(|(name, to)| (name.as_str(), NOTHING, to));
        made.chain(self.fields.iter().map(|(name, Delta { from, to })| (name.as_str(), from, to)))
    }
}

impl Delta {
    /// Whether the field turns empty.
    pub fn blanks(&self) -> bool {
        !self.from.is_empty() && self.to.is_empty()
    }
}

/// A record that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held<C = Change> {
    /// The record.
    pub key: Key,
    /// Why it waits.
    pub reason: HoldReason,
    /// The change that can be approved; none where there is nothing to approve but something to mend.
    pub change: Option<C>,
    /// What is held instead once a person rejects the match: then the record is a new person.
    pub other: Option<Box<Held<C>>>,
}

impl<C> Held<C> {
    /// The same with its changes in another form.
    pub fn map<D, E>(self, form: &mut impl FnMut(C) -> Result<D, E>) -> Result<Held<D>, E> {
        Ok(Held {
            key: self.key,
            reason: self.reason,
            change: self.change.map(&mut *form).transpose()?,
            other: self.other.map(|other| other.map(form).map(Box::new)).transpose()?,
        })
    }
}

impl<C: Judged> Held<C> {
    /// A change that waits.
    pub fn change(change: C, reason: &HoldReason) -> Self {
        Self { key: change.key().clone(), reason: reason.clone(), change: Some(change), other: None }
    }
}
