//! A source row that can't be used.

use serde::{Deserialize, Serialize};

use super::key::Key;

/// A source row that can't be used, and why. It is reported along with the good records and stops none of them (law 8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// The row's key, where it could be read.
    pub key: Option<Key>,
    /// The line on which the row begins, counted from 1; `None` for sources without lines.
    pub line: Option<u64>,
    /// The column, or the mapped field, that the reason is about.
    pub field: Option<String>,
    /// What is wrong, for the person who can mend it; holds no value of the row.
    pub reason: String,
}
