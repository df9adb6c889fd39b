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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Number;

    fn day(number: i8) -> Day {
        Day::of(jiff::civil::date(2027, 3, number)).unwrap()
    }

    /// A record that counts from one day to before another, and has a title.
    fn record((from, due): (i8, i8), title: &str) -> KeptRecord {
        let day = |number: i8| (number > 0).then(|| day(number));
        let marks = RowMetadata { due: day(due), ..RowMetadata::default() };
        let fields = [("title".into(), Value::text(title))].into_iter().collect();
        KeptRecord { mapping: "m".into(), fields, marks, from: day(from), then: None }
    }

    /// The days of a record and of those after it.
    fn days(record: &KeptRecord) -> Vec<(Option<Day>, Option<Day>)> {
        let rest = record.then.iter().flat_map(|then| days(then));
        std::iter::once((record.from, record.marks.due)).chain(rest).collect()
    }

    #[test]
    fn records_count_one_after_the_other_where_no_two_of_them_do_on_one_day() {
        for (given, is_one) in [
            (vec![(5, 9)], true),
            (vec![(9, 0), (0, 5)], true),
            (vec![(5, 9), (9, 12), (0, 5)], true),
            (vec![(5, 9), (8, 12)], false),
            // Without a last day it counts on.
            (vec![(0, 0), (5, 9)], false),
            (vec![(5, 0), (9, 12)], false),
        ] {
            let one = KeptRecord::in_turn(given.iter().map(|days| record(*days, "Clerk")).collect());
            assert_eq!(one.is_some(), is_one, "{given:?}");
            let mut in_order: Vec<_> =
                given.iter().map(|days| record(*days, "")).map(|one| (one.from, one.marks.due)).collect();
            in_order.sort();
            assert!(one.is_none_or(|one| days(&one) == in_order), "{given:?}");
        }
    }

    #[test]
    fn records_compete_that_differ_on_one_day_and_of_which_none_is_preferred() {
        let preferred = |number: &str, record: KeptRecord| KeptRecord {
            marks: RowMetadata { preference: Number::parse(number), ..record.marks },
            ..record
        };
        for (one, other, is_so) in [
            (record((5, 9), "Clerk"), record((8, 12), "Nurse"), true),
            (record((5, 9), "Clerk"), record((8, 12), "Clerk"), false),
            (record((5, 9), "Clerk"), record((9, 12), "Nurse"), false),
            (record((0, 0), "Clerk"), record((9, 12), "Nurse"), true),
            (record((0, 9), "Clerk"), record((9, 0), "Nurse"), false),
            (record((0, 10), "Clerk"), record((9, 0), "Nurse"), true),
            (preferred("1", record((0, 0), "Clerk")), preferred("2", record((0, 0), "Nurse")), false),
            (preferred("2", record((0, 0), "Clerk")), preferred("2", record((0, 0), "Nurse")), true),
            (preferred("2", record((0, 0), "Clerk")), record((0, 0), "Nurse"), true),
        ] {
            assert_eq!(KeptRecord::compete(&[one.clone(), other.clone()]), is_so, "{one:?} {other:?}");
            assert_eq!(KeptRecord::compete(&[other, one]), is_so);
        }
    }

    #[test]
    fn the_one_counts_whose_day_has_come_and_the_rest_is_kept() {
        let all = KeptRecord::in_turn(vec![record((0, 5), "a"), record((5, 9), "b"), record((9, 0), "c")]).unwrap();
        for (today, title, later) in [(4, "a", 2), (5, "b", 1), (8, "b", 1), (9, "c", 0)] {
            let (now, then) = all.clone().counting(|from| from <= day(today));
            assert_eq!(
                (now.fields, then.as_ref().map_or(0, |then| days(then).len())),
                (record((0, 0), title).fields, later)
            );
            assert!(now.then.is_none(), "on the {today}th");
        }
        // What counts now says nothing of a later day; what begins later does.
        assert_eq!(all.clone().dated_part().map(|then| days(&then).len()), Some(2));
        let begun = record((5, 9), "b");
        assert_eq!(begun.clone().dated_part().as_deref(), Some(&begun));
        assert_eq!(record((0, 9), "a").dated_part(), None);
        // Each counts until the next one does.
        let open = all.without_last_day();
        assert_eq!(days(&open), [(None, Some(day(5))), (Some(day(5)), Some(day(9))), (Some(day(9)), None)]);
        assert_eq!(days(&record((5, 9), "b").without_last_day()), [(Some(day(5)), None)]);
    }
}
