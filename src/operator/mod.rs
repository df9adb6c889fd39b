//! What people do besides sync: decide, look, undo, forget.
//!
//! Each command works out what a run would do with the steps of [`crate::reconcile`]; a second version of them would drift
//! from the truth.
//!
//! A plan file never says what to send: it names what a person saw, and of that is sent what a run that is worked out
//! again wants just the same.

pub(crate) mod approvals;
pub(crate) mod explain;
pub(crate) mod forget;
pub(crate) mod held_set;
pub(crate) mod keys;
pub(crate) mod person_story;
pub(crate) mod plan_file;
pub(crate) mod queue;
pub(crate) mod rebuild;
pub(crate) mod revert;
pub(crate) mod transfer;
#[cfg(test)]
mod tests;

pub use approvals::{Chosen, ChosenKey, DecisionError, approve, believe, reject};
pub use explain::{Explanation, FieldState, FieldView, Fit, Kept, Outlook, SourceRow, explain};
pub use forget::error::ForgetError;
pub use forget::forgotten::Forgotten;
pub use forget::person::forget;
pub use held_set::{HeldChange, HeldField, HeldSet, held_set};
pub use keys::{KeysOf, is_key, keys};
pub use person_story::{PersonStory, StoryEvent, StoryField};
pub use plan_file::apply::{Applied, Skipped, apply};
pub use plan_file::file::PlanFile;
pub use queue::{QueuedChange, discard, retry, waiting};
pub use rebuild::{RebuildError, Rebuilt, Which, rebuild};
pub use revert::inverse::NotReverted;
pub use revert::undo_run::{Reverted, plan_revert, revert};
pub use transfer::{export, import};
