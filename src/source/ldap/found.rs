//! What a whole read found out about its directory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a whole read found out about its directory; a read that was none leaves the one before as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The server that was read.
    pub server: String,
    /// By base: how many entries it gave.
    pub entries: BTreeMap<String, u64>,
    /// By attribute: how many entries had it.
    pub attributes: BTreeMap<String, u64>,
    /// How far the servers were.
    #[serde(default)]
    pub position: Position,
}

/// How far servers were, so that a replica that is behind can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// By suffix and by the server that wrote: the change number up to which it is contained (`contextCSN`).
    #[serde(default)]
    pub changes: BTreeMap<String, BTreeMap<String, String>>,
    /// By server, as it calls itself: its own last change number (`highestCommittedUSN`), 0 where it tells none.
    #[serde(default)]
    pub servers: BTreeMap<String, u64>,
}
