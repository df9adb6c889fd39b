//! Ids of the service.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Identifies an entity at the service: a positive int32 (specification, Conventions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RemoteId(i32);

impl RemoteId {
    /// Makes an id of a number that fits int32 and is above zero (0 means "none" in places).
    pub fn new(number: i64) -> Option<Self> {
        i32::try_from(number).ok().filter(|id| *id > 0).map(Self)
    }

    /// The id as a number.
    pub fn get(self) -> i32 {
        self.0
    }
}

impl fmt::Display for RemoteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_positive_int32() {
        for (number, fits) in [(1, true), (0, false), (-4, false), (i64::from(i32::MAX), true), (1 << 31, false)] {
            assert_eq!(RemoteId::new(number).is_some(), fits, "{number}");
        }
    }
}
