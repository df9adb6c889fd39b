//! Why a run did not end as done: words for people, with the kind for code.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// One reason why a run did not end as done, or why nothing is sent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reason {
    /// What people read; it may name records by key.
    pub text: String,
    /// What it is about.
    pub kind: ReasonKind,
}

/// What a reason is about. Each kind but the last is something that is also known elsewhere, and need not be said twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// Single changes wait for a person.
    Held,
    /// Nothing is sent, since someone said so.
    Paused,
    /// The source brought nothing new for too long.
    Stale,
    /// The job did not run when it was to.
    Late,
    /// Rows were rejected.
    Rejected,
    /// Values could not be used.
    BadValues,
    /// The service refused changes.
    Parked,
    /// The read proves no one absent.
    Incomplete,
    /// Anything else.
    Other,
}

impl ReasonKind {
    /// A reason of this kind.
    pub fn because(self, text: impl Into<String>) -> Reason {
        Reason { text: text.into(), kind: self }
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        ReasonKind::Other.because(text)
    }
}

impl Deref for Reason {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
