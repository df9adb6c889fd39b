//! What the memberships of a job come to today by what earlier files of changes said.

use std::collections::BTreeSet;

use crate::record::Key;

/// Members whose pairs begin or end today by no row of the file that is read.
#[derive(Default)]
pub(crate) struct DuePairs {
    /// A pair of theirs would begin, and none does: the file says something else of it.
    pub(crate) withheld: BTreeSet<Key>,
    /// A pair of theirs has had its last day.
    pub(crate) ended: BTreeSet<Key>,
}
