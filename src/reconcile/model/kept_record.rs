//! Records of earlier files that no later file says again.

use serde::{Deserialize, Serialize};

use crate::record::{Day, Key, RowMetadata, Values};
use crate::store::{Keyspace, Table};

/// What files of changes said that counts from a later day on, or once something else is mended: they do not say it again. By key;
/// the last row of a key counts.
pub(crate) const LATER: Table<Key, KeptRecord> = Table::new(Keyspace::Later);

/// A record of an earlier file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRecord {
    /// The mapping by which it was made: by another one it would be another record.
    pub(crate) mapping: String,
    pub(crate) fields: Values,
    #[serde(default, skip_serializing_if = "RowMetadata::is_empty")]
    pub(crate) marks: RowMetadata,
    /// The day from which on it counts, where that lay ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<Day>,
}
