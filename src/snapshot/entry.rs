//! One entry of the index.

use crate::record::Day;

/// One key of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry<'a> {
    /// The key.
    pub key: &'a str,
    /// The digest of its row and of the job's mapping where nothing is left to do for it; 0 otherwise.
    pub digest: u128,
    /// The id of its entity.
    pub id: i32,
    /// Whether complete reads miss it.
    pub gone: bool,
    /// The first day on which its row has another result though it stays the same.
    pub due: Option<Day>,
}

impl IndexEntry<'_> {
    /// The same once the day that its row named counts no more. The row may say it again, so it is none with nothing left to do.
    pub fn undue(self) -> Self {
        Self { digest: 0, due: None, ..self }
    }
}
