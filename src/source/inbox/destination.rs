//! The folders for processed and failed files.

use serde::{Deserialize, Serialize};

/// A folder for files that are done, inside the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Destination {
    /// Files that were read.
    Processed,
    /// Files of which nothing was used.
    Failed,
}

impl Destination {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Processed, Self::Failed];

    /// Its name inside the inbox.
    pub fn name(self) -> &'static str {
        match self {
            Self::Processed => "processed",
            Self::Failed => "failed",
        }
    }
}
