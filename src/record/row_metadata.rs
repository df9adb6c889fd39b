//! Row metadata: what a row says about itself besides its fields.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Day;

/// What a row says about itself besides its fields. None of it is sent; the guard and the choice between several rows of
/// one key go by it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowMetadata {
    /// The part of the people that it belongs to; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub segment: String,
    /// The number by which it is preferred to other rows of its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preference: Option<Number>,
    /// The first day on which it comes to something else though it stays the same: the one after the last day that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Day>,
    /// How many copies of the state had been laid back when a file of changes named that day: in a later copy, another file may have
    /// named another one since.
    #[serde(default, skip_serializing_if = "is_default")]
    pub copies: u64,
    /// Which attributes that `include` names an entry of a directory had: a bit for each, by the hash of its name.
    #[serde(default, skip_serializing_if = "is_default")]
    pub included_by: u64,
}

/// Whether a value is the one that is not stored.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl RowMetadata {
    /// Whether the last day that it names has passed on a day.
    pub fn is_over(&self, on: Option<Day>) -> bool {
        self.due.zip(on).is_some_and(|(due, on)| on >= due)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        is_default(self)
    }
}

/// Names nothing of the row (law 11).
impl fmt::Debug for RowMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowMetadata").finish_non_exhaustive()
    }
}

/// A number that is one: neither infinite nor undefined.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Number(f64);

impl Eq for Number {}

impl Number {
    /// Reads a number with a decimal point; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let number: f64 = text.trim().parse().ok()?;
        number.is_finite().then_some(Self(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_finite() {
        for (text, is_one) in
            [("1", true), (" 0.5 ", true), ("-2e3", true), ("", false), ("0,5", false), ("NaN", false), ("inf", false)]
        {
            assert_eq!(Number::parse(text).is_some(), is_one, "{text}");
        }
        assert!(Number::parse("10") > Number::parse("9.5"));
    }

    #[test]
    fn law_11_debug_shows_no_mark() {
        let marks = RowMetadata {
            segment: "Canary".into(),
            preference: Number::parse("1"),
            due: None,
            copies: 0,
            included_by: 0,
        };
        assert_eq!(format!("{marks:?}"), "RowMetadata { .. }");
    }
}
