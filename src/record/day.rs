//! A day in few bytes.

use std::fmt;
use std::num::NonZeroU32;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// A day as it is stored: year, month and day as one number. Later days are greater.
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

    pub(crate) fn from_number(number: u32) -> Option<Self> {
        NonZeroU32::new(number).map(Self)
    }

    pub(crate) fn number(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for Day {
    /// As in `2026-02-28`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = (self.0.get() / 10_000, self.0.get() / 100 % 100, self.0.get() % 100);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}
