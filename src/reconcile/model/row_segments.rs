//! The segments of rows whose people the state does not have, or has as they were.

use std::collections::BTreeMap;

use crate::record::Key;

/// The segments of rows whose people the state does not have, or has as they were; none where the job has no segments.
#[derive(Default)]
pub(crate) struct RowSegments {
    /// Of the people who were found just now.
    pub(crate) matched: BTreeMap<Key, String>,
    /// Of known people who need nothing, where their row changed.
    pub(crate) settled: BTreeMap<Key, String>,
}
