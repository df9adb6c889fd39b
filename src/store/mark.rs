//! What tells a state from a copy of it.

use serde::{Deserialize, Serialize};

/// What a mark has that no copy of it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub(super) place: u64,
    pub(super) changed: (i64, i64),
}
