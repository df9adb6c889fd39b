//! What the memberships of a job come to today by what files of changes said.
//!
//! Who belongs to an organization is at the service, and who belongs to none any more leaves, whatever a row said of the person
//! last: it named one of several.

use std::collections::BTreeSet;

use crate::record::Key;

/// The members of the memberships of a job of changes, by what those come to in a read.
#[derive(Default)]
pub(crate) struct DuePairs {
    /// Members with a membership that is or begins, or is to begin once it is decided on or sent.
    pub(crate) standing: BTreeSet<Key>,
    /// Members who have none of those, and one that is over or begins later.
    pub(crate) without: BTreeSet<Key>,
    /// Members with one that is over by a day that an earlier file named.
    pub(crate) ended: BTreeSet<Key>,
    /// Members with a membership that no file named before.
    pub(crate) named: BTreeSet<Key>,
    /// The lines of rows of which it can't be read which organization they mean.
    pub(crate) unreadable: BTreeSet<u64>,
}

impl DuePairs {
    /// Whether a person is there by what their memberships come to; none where nothing is known of any, or not of all: of those who
    /// are `unsure`.
    pub(crate) fn stands(&self, person: &Key, unsure: &BTreeSet<Key>) -> Option<bool> {
        if unsure.contains(person) {
            return None;
        }
        match self.standing.contains(person) {
            true => Some(true),
            false => self.without.contains(person).then_some(false),
        }
    }
}
