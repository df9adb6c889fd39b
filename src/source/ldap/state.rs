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
    /// By display name: the id of the group that was read under it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, String>,
}

impl DirectoryState {
    /// Why a read proves nothing in which a part of the directory, a base or a group, shows no one that showed people before;
    /// `entries` are those of the read, and `setting` names the parts.
    pub fn emptied(&self, entries: &BTreeMap<String, u64>, setting: &str) -> Vec<String> {
        let now = |part: &str| entries.get(part).copied();
        let emptied = self.entries.iter().filter(|(part, before)| **before > 0 && now(part) == Some(0));
        let reason = |(part, before): (&String, &u64)| {
            format!(
                "{part} shows no one any more, and {before} when it was read before; may the account still see them? If it is empty \
                 for good, take it out of `{setting}`"
            )
        };
        emptied.map(reason).collect()
    }
}
