//! The scope of a bad value: the field or the whole row.

use super::options::{OnBadValue, Options};
use crate::record::{Field, Target};

/// What a bad value concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The whole row: without this value it is not known who it is about.
    Row,
    /// The field alone.
    Field,
}

impl Reach {
    /// What a bad value of a field concerns (law 8).
    pub(super) fn of(field: &Field, options: &Options) -> Self {
        let names_somebody =
            matches!(options.target, Target::Staff | Target::Contractor) && field.name == Target::EMAIL;
        let is_strict = options.on_bad_value == OnBadValue::Row;
        match is_strict || field.required || names_somebody || options.match_on.contains(&field.name) {
            true => Self::Row,
            false => Self::Field,
        }
    }
}
