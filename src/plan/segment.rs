//! The limits of the guard for each segment of the people, so that no whole department vanishes among many.
//!
//! A segment that would lose everybody is held even where that is below every limit: most likely it can't be seen any more.
//! Held are all such segments of a read together, unless that is a single person: who was alone in their segment and leaves
//! is an ordinary leaver.

use std::collections::BTreeMap;

use super::guard::{Base, EMPTIED_MIN, Guarded, Reasons};
use super::options::{Limit, Limits, Writes};
use super::{Held, HoldReason, Judged};
use crate::record::Sensitive;

/// Holds, of what the limits of the whole let pass, what is too much for its segment. Who belongs to no segment is measured
/// with the whole only.
pub fn guard_segments<C: Judged>(guarded: &mut Guarded<C>, limits: &Limits, bases: &BTreeMap<String, Base>) {
    let emptied = emptied(&guarded.go, limits, bases);
    let mut by_segment: BTreeMap<String, Vec<C>> = BTreeMap::new();
    for change in std::mem::take(&mut guarded.go) {
        match change.segment() {
            segment if change.is_approved() || segment.is_empty() => guarded.go.push(change),
            segment => match by_segment.get_mut(segment) {
                Some(changes) => changes.push(change),
                None => {
                    by_segment.insert(segment.to_owned(), vec![change]);
                }
            },
        }
    }
    for (segment, changes) in by_segment {
        let base = bases.get(&segment).copied().unwrap_or_default();
        let reasons = Reasons::of(&changes, limits, base, Writes::Auto);
        let emptied = emptied.get(&segment).map(|people| match people {
            1 => HoldReason::EmptiedOfOne,
            people => HoldReason::Emptied { people: *people },
        });
        for change in changes {
            let alone = emptied.as_ref().filter(|_| change.leaves());
            match reasons.for_change(&change).or(alone) {
                Some(reason) => {
                    let segment = Sensitive(&segment).to_string();
                    let reason = HoldReason::Segment { segment, reason: Box::new(reason.clone()) };
                    guarded.held.push(Held::change(change, &reason));
                }
                None => guarded.go.push(change),
            }
        }
    }
}

/// The segments that would lose everybody, with the number of their people, those of the last 24 hours included; none where
/// that is a single person, or where leavers have no limit.
fn emptied<C: Judged>(go: &[C], limits: &Limits, bases: &BTreeMap<String, Base>) -> BTreeMap<String, u64> {
    let mut leaving: BTreeMap<&str, u64> = BTreeMap::new();
    for change in go.iter().filter(|change| change.leaves() && !change.segment().is_empty()) {
        *leaving.entry(change.segment()).or_default() += 1;
    }
    let emptied = leaving.into_iter().filter_map(|(segment, leaving)| {
        let base = bases.get(segment)?;
        (leaving >= base.known).then(|| (segment.to_owned(), base.known + base.removed))
    });
    let emptied: BTreeMap<String, u64> = emptied.collect();
    let is_suspect = limits.leavers != Limit::Off && emptied.values().sum::<u64>() >= EMPTIED_MIN;
    if is_suspect { emptied } else { BTreeMap::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Change, Deltas};
    use crate::record::{Action, DesiredState, Key, RemoteId, RowMetadata, Values, reveal};

    fn leaver(number: usize, segment: &str) -> Change {
        let id = RemoteId::new(number as i64 + 1);
        Change {
            key: Key::new(&number.to_string()).unwrap(),
            wish: DesiredState { action: Action::Delete, id, fields: Values::new(), leaver: false },
            fields: Deltas::new(),
            line: None,
            known: true,
            approved: false,
            marks: RowMetadata { segment: segment.to_owned(), ..RowMetadata::default() },
        }
    }

    #[test]
    fn a_segment_over_its_limit_is_held_and_named_and_the_others_go_on() {
        let base = |known, removed| Base { known, matched: 0, removed };
        let bases = BTreeMap::from([
            ("A".to_owned(), base(12, 0)),
            ("B".to_owned(), base(500, 0)),
            ("C".to_owned(), base(12, 2)),
        ]);
        let mut go = Vec::new();
        for (segment, count, approved) in
            [("A", 12, false), ("B", 10, false), ("C", 2, false), ("", 9, false), ("A", 1, true)]
        {
            go.extend((0..count).map(|_| (segment, approved)));
        }
        let leaver = |(at, (segment, approved))| Change { approved, ..leaver(at, segment) };
        let go = go.into_iter().enumerate().map(leaver).collect();
        let mut guarded = Guarded { go, ..Guarded::default() };
        guard_segments(&mut guarded, &Limits::default(), &bases);
        let count = |segment: &str| guarded.go.iter().filter(|change| change.marks.segment == segment).count();
        assert_eq!(["A", "B", "C", ""].map(count), [1, 10, 0, 9]);
        let mut reasons: Vec<_> =
            guarded.held.iter().map(|held| reveal(&held.reason.to_string()).into_owned()).collect();
        reasons.dedup();
        assert_eq!(
            reasons,
            [
                "segment \"A\": max_leavers: 12 people would be removed, 3 are allowed",
                "segment \"C\": max_leavers: 2 people would be removed besides 2 of the last 24 hours, 3 are allowed",
            ]
        );
    }

    #[test]
    fn a_segment_that_loses_everybody_is_held_whatever_its_size() {
        // By segment: people known, people removed in the last 24 hours, leavers, and how many of these go on.
        type Row = (&'static str, u64, u64, usize, usize);
        let cases: &[(&str, Limit, &[Row])] = &[
            ("two of two", Limit::Percent(2.0), &[("A", 2, 0, 2, 0), ("B", 40, 0, 3, 3)]),
            ("three of three", Limit::Percent(2.0), &[("A", 3, 0, 3, 0)]),
            ("two of three", Limit::Percent(2.0), &[("A", 3, 0, 2, 2)]),
            ("the last of two within a day", Limit::Percent(2.0), &[("A", 1, 1, 1, 0)]),
            ("a person who was alone", Limit::Percent(2.0), &[("A", 1, 0, 1, 1), ("B", 40, 0, 1, 1)]),
            ("several who were alone", Limit::Percent(2.0), &[("A", 1, 0, 1, 0), ("B", 1, 0, 1, 0), ("C", 9, 0, 1, 1)]),
            ("leavers without a limit", Limit::Off, &[("A", 2, 0, 2, 2)]),
        ];
        for (name, leavers, rows) in cases {
            let base = |known, removed| Base { known, removed, ..Base::default() };
            let bases = rows.iter().map(|row| (row.0.to_owned(), base(row.1, row.2))).collect();
            let each = rows.iter().flat_map(|row| std::iter::repeat_n(row.0, row.3)).enumerate();
            let mut guarded =
                Guarded { go: each.map(|(at, segment)| leaver(at, segment)).collect(), ..Guarded::default() };
            guard_segments(&mut guarded, &Limits { leavers: *leavers, ..Limits::default() }, &bases);
            for (segment, .., goes) in *rows {
                let went = guarded.go.iter().filter(|change| change.marks.segment == *segment).count();
                assert_eq!(went, *goes, "{name}: {segment}: {:?}", guarded.held);
            }
        }
    }

    #[test]
    fn approved_leavers_empty_a_segment_too_and_are_not_held_again() {
        let bases = BTreeMap::from([("A".to_owned(), Base { known: 2, ..Base::default() })]);
        let go = vec![Change { approved: true, ..leaver(0, "A") }, leaver(1, "A")];
        let mut guarded = Guarded { go, ..Guarded::default() };
        guard_segments(&mut guarded, &Limits::default(), &bases);
        let reasons: Vec<_> = guarded.held.iter().map(|held| reveal(&held.reason.to_string()).into_owned()).collect();
        assert_eq!((guarded.go.len(), reasons), (1, vec!["segment \"A\": all 2 people in it would leave".into()]));
    }
}
