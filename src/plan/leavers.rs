//! Decides who is gone from the source.

use jiff::Timestamp;

use super::options::{LeaverAction, Leavers};
use crate::snapshot::{Gone, Index};
use crate::source::Complete;

/// Which keys of an index a read has seen, by position.
#[derive(Clone, Debug)]
pub struct Present(Vec<bool>);

impl Present {
    /// No key of `index` seen yet.
    pub fn none(index: &Index) -> Self {
        Self(vec![false; index.len()])
    }

    /// Marks a position as seen; says whether it was before.
    pub fn mark(&mut self, at: usize) -> bool {
        std::mem::replace(&mut self.0[at], true)
    }

    /// Whether a position was seen.
    pub fn has(&self, at: usize) -> bool {
        self.0[at]
    }
}

/// The positions of an index that a complete read did not see. Absence is evidence after such a read only (law 1).
pub fn missing(present: &Complete<Present>) -> impl Iterator<Item = usize> + '_ {
    present.get().0.iter().enumerate().filter(|(_, seen)| !**seen).map(|(at, _)| at)
}

/// What a further complete read means for someone who is missing from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absence {
    /// What is to be remembered.
    pub gone: Gone,
    /// Whether the grace is over.
    pub due: bool,
}

/// Judges someone who is missing from a complete read; `first` is since when, where it is the first. `content` identifies what
/// was read: the same unchanged file is no further read. Where the job keeps leavers, they are never due, and only the first read is
/// remembered.
pub fn absent(before: Option<&Gone>, policy: &Leavers, (now, first): (Timestamp, Timestamp), content: &str) -> Absence {
    let gone = match before {
        None => Gone { content: content.to_owned(), ..Gone::since(first) },
        Some(gone) if gone.content == content || policy.action == LeaverAction::Keep => gone.clone(),
        Some(gone) => Gone { reads: gone.reads.saturating_add(1), content: content.to_owned(), ..gone.clone() },
    };
    let due = is_due(&gone, policy, now);
    Absence { gone, due }
}

/// Whether the grace of someone who is missing from complete reads is over.
pub fn is_due(gone: &Gone, policy: &Leavers, now: Timestamp) -> bool {
    policy.action != LeaverAction::Keep
        && now.duration_since(gone.since) >= policy.grace
        && gone.reads >= policy.grace_reads
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn grace_is_a_time_and_a_number_of_further_reads() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let policy = |hours, grace_reads| Leavers {
            action: LeaverAction::Delete,
            grace: SignedDuration::from_hours(hours),
            grace_reads,
        };
        // (policy, reads as (hours after the start, content), due at the last)
        for (policy, reads, due) in [
            (policy(0, 0), &[(0, "a")][..], true),
            (policy(24, 0), &[(0, "a")], false),
            (policy(24, 0), &[(0, "a"), (24, "a")], true),
            (policy(24, 0), &[(0, "a"), (23, "b")], false),
            (policy(0, 1), &[(0, "a"), (1, "a")], false),
            (policy(0, 1), &[(0, "a"), (1, "b")], true),
            (policy(24, 2), &[(0, "a"), (25, "b"), (26, "b")], false),
            (policy(24, 2), &[(0, "a"), (25, "b"), (26, "c")], true),
        ] {
            let mut gone = None;
            let mut last = false;
            for (hours, content) in reads {
                let now = start + SignedDuration::from_hours(*hours);
                let absence = absent(gone.as_ref(), &policy, (now, now), content);
                (gone, last) = (Some(absence.gone), absence.due);
            }
            assert_eq!(last, due, "{policy:?} {reads:?}");
        }
    }

    #[test]
    fn no_one_leaves_a_job_that_keeps_them() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let later = now + SignedDuration::from_hours(10_000);
        let first = absent(None, &Leavers::default(), (now, now), "a");
        let last = absent(Some(&first.gone), &Leavers::default(), (later, later), "b");
        assert_eq!((first.due, last.due, &last.gone), (false, false, &first.gone));
    }

    #[test]
    fn a_clock_set_back_lengthens_the_grace_and_never_shortens_it() {
        let start: Timestamp = "2026-01-02T00:00:00Z".parse().unwrap();
        let policy = Leavers { action: LeaverAction::Delete, ..Leavers::default() };
        let gone = Gone { content: "a".into(), ..Gone::since(start) };
        let now = start - SignedDuration::from_hours(48);
        assert!(!absent(Some(&gone), &policy, (now, now), "b").due);
        // Who is missed first while the clock is behind: the grace begins by the one that is right.
        let first = absent(None, &policy, (now, start), "a");
        assert_eq!((first.due, first.gone.since), (false, start));
        let short = Leavers { grace: SignedDuration::ZERO, ..policy };
        assert!(absent(None, &short, (start, start), "a").due, "there is no grace");
    }
}
