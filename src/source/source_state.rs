//! What a read found out about its source.

use serde::{Deserialize, Serialize};

use super::{csv, ldap};

/// What a read found out about its source: remembered by the caller and given to the next read.
///
/// Stored without the name of its kind, as it was when there was one kind only; the kinds have no field in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SourceState {
    /// How a file was understood.
    Csv(csv::DetectedFormat),
    /// What a whole read of a directory saw.
    Ldap(ldap::DirectoryState),
}

impl SourceState {
    /// How a file was understood, where it is one.
    pub fn file(&self) -> Option<&csv::DetectedFormat> {
        match self {
            Self::Csv(found) => Some(found),
            Self::Ldap(_) => None,
        }
    }

    /// What a read of a directory saw, where it is one.
    pub fn directory(&self) -> Option<&ldap::DirectoryState> {
        match self {
            Self::Ldap(seen) => Some(seen),
            Self::Csv(_) => None,
        }
    }
}
