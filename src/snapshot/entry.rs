//! One entry of the index.

use std::num::NonZeroU32;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

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

/// A day as pages hold it: year, month and day as one number. Later days are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Day(NonZeroU32);

impl Day {
    /// A day of our era; `None` for one before it.
    pub fn of(date: Date) -> Option<Self> {
        let year = u32::try_from(date.year()).ok()?;
        Self::from_number(
            year * 10_000 + u32::from(date.month().unsigned_abs()) * 100 + u32::from(date.day().unsigned_abs()),
        )
    }

    pub(super) fn from_number(number: u32) -> Option<Self> {
        NonZeroU32::new(number).map(Self)
    }

    pub(super) fn number(self) -> u32 {
        self.0.get()
    }
}
