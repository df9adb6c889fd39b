//! How a change undoes an earlier one.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::record::{FieldKind, Value, Values};

/// What a change takes back: it answers to a person who reverts a run, not to the source.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// The run.
    pub run: u64,
    /// What the run left, by field: one that holds something else when the change is sent is left alone.
    pub left: Values,
    /// The digest of the wish with which the source would do it again. It counts as rejected from the intent of the undoing
    /// on, so that the next run does not do so until the record changes, whatever becomes of this process.
    pub again: Option<u64>,
}

impl Undo {
    /// Whether a field still holds what the run left.
    pub fn is_left(&self, field: &str, kind: FieldKind, value: &Value) -> bool {
        self.left.get(field).is_none_or(|left| kind.same(left, value))
    }
}

/// Names the run only (law 11).
impl fmt::Debug for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Undo").field("run", &self.run).finish_non_exhaustive()
    }
}
