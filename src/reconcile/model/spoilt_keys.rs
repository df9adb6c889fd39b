//! Keys of which a file of changes has a row that can't be used.

use std::collections::BTreeSet;

use crate::record::Key;

/// Keys of which a file of changes has a row that can't be used, or may have one. Such a row may take back what an earlier one said
/// of the person, or of what they are a member of.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpoiltKeys(BTreeSet<Key>);

impl SpoiltKeys {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them is this key or, of a membership, its member's.
    pub(crate) fn concerns(&self, key: &Key) -> bool {
        self.0.contains(key) || key.member().is_some_and(|member| self.0.contains(&member))
    }
}

impl Extend<Key> for SpoiltKeys {
    fn extend<I: IntoIterator<Item = Key>>(&mut self, keys: I) {
        self.0.extend(keys);
    }
}
