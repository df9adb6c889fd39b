//! What a whole read detected about its directory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a whole read found out about its directory; a read that was none leaves the one before as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryState {
    /// The server that was read.
    pub server: String,
    /// By base: how many entries it gave.
    pub entries: BTreeMap<String, u64>,
    /// By attribute: how many entries had it.
    pub attributes: BTreeMap<String, u64>,
    /// By organizational unit, as people call it: how many entries lay right in it.
    #[serde(default)]
    pub units: BTreeMap<String, u64>,
}
