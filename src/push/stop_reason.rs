//! Why a push stops before its end.

use std::fmt;

/// Why a push stopped before its end, or did not deliver a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Someone asked it to end.
    Interrupted,
    /// It is paused, in these words.
    Paused(String),
    /// It failed, in these words.
    Failed(String),
}

impl From<String> for StopReason {
    fn from(words: String) -> Self {
        Self::Failed(words)
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Interrupted => "interrupted",
            Self::Paused(words) | Self::Failed(words) => words,
        })
    }
}
