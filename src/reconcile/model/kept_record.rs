//! Records of earlier files that no later file says again.

use serde::{Deserialize, Serialize};

use crate::record::{Day, Key, RowMetadata, Value, Values};
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
    /// What counts once this has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) then: Option<Box<Self>>,
}

impl KeptRecord {
    /// One record of all these, which count one after the other; none where two of them count on one day.
    pub(crate) fn in_turn(mut records: Vec<Self>) -> Option<Self> {
        records.sort_by_key(|record| record.from);
        let follows = |one: &Self, other: &Self| one.marks.due.is_some() && one.marks.due <= other.from;
        if !records.windows(2).all(|pair| follows(&pair[0], &pair[1])) {
            return None;
        }
        records.into_iter().rev().reduce(|then, record| Self { then: Some(Box::new(then)), ..record })
    }

    /// Whether two of them say different things of one day, and none of the two is preferred.
    pub(crate) fn compete(rows: &[Self]) -> bool {
        let meets = |one: &Self, other: &Self| one.marks.due.is_none_or(|due| other.from.is_none_or(|from| from < due));
        let differ = |one: &Self, other: &Self| {
            let preferences = one.marks.preference.zip(other.marks.preference);
            let is_preferred = preferences.is_some_and(|(one, other)| one != other);
            one.fields != other.fields && !is_preferred && meets(one, other) && meets(other, one)
        };
        rows.iter().enumerate().any(|(at, one)| rows[at + 1..].iter().any(|other| differ(one, other)))
    }

    /// The same without a last day: each counts until the next one does.
    #[must_use]
    pub(crate) fn without_last_day(mut self) -> Self {
        self.marks.due = self.then.as_ref().and_then(|then| then.from);
        Self { then: self.then.map(|then| Box::new(then.without_last_day())), ..self }
    }

    /// Sets a field of it and of what counts after it.
    pub(crate) fn set(&mut self, field: &'static str, value: &Value) {
        self.fields.insert(field.into(), value.clone());
        self.then.iter_mut().for_each(|then| then.set(field, value));
    }

    /// What of it counts from a day on.
    pub(crate) fn dated_part(self) -> Option<Box<Self>> {
        if self.from.is_some() { Some(Box::new(self)) } else { self.then }
    }

    /// The one of them that counts on a day that `has_come`, and what counts later.
    pub(crate) fn counting(mut self, has_come: impl Fn(Day) -> bool) -> (Self, Option<Self>) {
        while let Some(then) = self.then.take() {
            if !then.from.is_none_or(&has_come) {
                return (self, Some(*then));
            }
            self = *then;
        }
        (self, None)
    }
}
