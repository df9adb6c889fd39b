//! The limits of the guard for each segment of the people, so that no whole department vanishes among many.

use std::collections::BTreeMap;

use super::Held;
use super::guard::{Base, Guarded, Reasons};
use super::options::{Limits, Writes};
use crate::record::Private;

/// Holds, of what the limits of the whole let pass, what is too much for its segment. Who belongs to no segment is measured
/// with the whole only.
pub fn guard_segments(guarded: &mut Guarded, limits: &Limits, bases: &BTreeMap<String, Base>) {
    let mut by_segment: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for (change, approved) in std::mem::take(&mut guarded.go) {
        if approved || change.marks.segment.is_empty() {
            guarded.go.push((change, approved));
        } else {
            by_segment.entry(change.marks.segment.clone()).or_default().push(change);
        }
    }
    for (segment, changes) in by_segment {
        let base = bases.get(&segment).copied().unwrap_or_default();
        let reasons = Reasons::of(&changes, limits, base, Writes::Auto);
        for change in changes {
            match reasons.for_change(&change) {
                Some(reason) => {
                    let (key, reason) = (change.key.clone(), format!("segment \"{}\": {reason}", Private(&segment)));
                    guarded.held.push(Held { key, reason, change: Some(change), other: None });
                }
                None => guarded.go.push((change, false)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Change;
    use crate::record::{Action, Key, Marks, RemoteId, Wish, shown};

    fn leaver(number: usize, segment: &str) -> Change {
        let id = RemoteId::new(number as i64 + 1);
        Change {
            key: Key::new(&number.to_string()).unwrap(),
            wish: Wish { action: Action::Delete, id, fields: BTreeMap::new(), leaver: false },
            fields: BTreeMap::new(),
            line: None,
            known: true,
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
        let go = go.into_iter().enumerate().map(|(at, (segment, approved))| (leaver(at, segment), approved)).collect();
        let mut guarded = Guarded { go, ..Guarded::default() };
        guard_segments(&mut guarded, &Limits::default(), &bases);
        let count = |segment: &str| guarded.go.iter().filter(|(change, _)| change.marks.segment == segment).count();
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
