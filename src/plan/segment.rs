//! The limits of the guard for each segment of the people, so that no whole department vanishes among many.

use std::collections::BTreeMap;

use super::guard::{Base, Guarded, Reasons};
use super::options::{Limits, Writes};
use super::{Held, Judged};
use crate::record::Private;

/// Holds, of what the limits of the whole let pass, what is too much for its segment. Who belongs to no segment is measured
/// with the whole only.
pub fn guard_segments<C: Judged>(guarded: &mut Guarded<C>, limits: &Limits, bases: &BTreeMap<String, Base>) {
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
        for change in changes {
            match reasons.for_change(&change) {
                Some(reason) => {
                    let reason = format!("segment \"{}\": {reason}", Private(&segment)).into();
                    guarded.held.push(Held::change(change, &reason));
                }
                None => guarded.go.push(change),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Change, Deltas};
    use crate::record::{Action, Key, Marks, RemoteId, Values, Wish, shown};

    fn leaver(number: usize, segment: &str) -> Change {
        let id = RemoteId::new(number as i64 + 1);
        Change {
            key: Key::new(&number.to_string()).unwrap(),
            wish: Wish { action: Action::Delete, id, fields: Values::new(), leaver: false },
            fields: Deltas::new(),
            line: None,
            known: true,
            approved: false,
            marks: Marks { segment: segment.to_owned(), preference: None },
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
        let mut reasons: Vec<_> = guarded.held.iter().map(|held| shown(&held.reason)).collect();
        reasons.dedup();
        assert_eq!(
            reasons,
            [
                "segment \"A\": max_leavers: 12 people would be removed, 3 are allowed",
                "segment \"C\": max_leavers: 2 people would be removed besides 2 of the last 24 hours, 3 are allowed",
            ]
        );
    }
}
