//! People whose rows can't be trusted.

use std::collections::BTreeMap;

use crate::plan::HoldReason;
use crate::record::{Key, RowDefect};

/// People of a job whose rows can't be trusted: nothing that joins them is made or ended by such a row.
#[derive(Debug, Default)]
pub(crate) struct DoubtfulRows {
    /// Records whose rows may be about another person, and why.
    pub(crate) held: BTreeMap<Key, HoldReason>,
    /// Those whose rows can't be used, and why.
    pub(crate) rejected: BTreeMap<Key, RowDefect>,
}

impl DoubtfulRows {
    /// Whether someone is one of them.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.held.contains_key(key) || self.rejected.contains_key(key)
    }

    /// All of them.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.held.keys().chain(self.rejected.keys())
    }
}

/// What is wrong with the row of one of them.
pub(crate) enum Doubt {
    Held(HoldReason),
    Rejected(RowDefect),
}
