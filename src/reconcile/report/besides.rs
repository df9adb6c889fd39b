//! What a run came to in the parts of a job besides its people: their memberships, and the organizations of these.
//! Each is named with what it is before its key, as everywhere in a report.

use std::collections::BTreeSet;

use crate::config::Job;
use crate::push::Drained;
use crate::reconcile::model::job_plan::{JobPlan, RowCounts};
use crate::reconcile::model::missing_people::Missed;
use crate::reconcile::report::names::named;
use crate::record::{Action, Key, Target};

/// What a run came to besides the people, by the keys that the report names.
#[derive(Clone, Debug, Default)]
pub struct Besides {
    /// Rows that can be used, with their line and whether they count: those of memberships first.
    pub rows: Vec<(u64, Key, RowCounts)>,
    /// What was confirmed.
    pub confirmed: Vec<(Key, Action)>,
    /// What a person rejected.
    pub dropped: Vec<Key>,
    /// The memberships that complete reads miss, without those of people that they miss, too.
    pub missed: Vec<Missed>,
}

impl Besides {
    /// What the parts of a run came to.
    pub(crate) fn of(job: &Job, parts: &[(&JobPlan, &Drained)]) -> Self {
        let (own, others): (Vec<_>, Vec<_>) = parts.iter().partition(|(plan, _)| plan.target == job.mapping.target);
        let people: BTreeSet<&Key> = own.iter().flat_map(|(plan, _)| &plan.missed).map(|one| &one.key).collect();
        let mut besides = Self::default();
        for (plan, drained) in others.into_iter().rev() {
            let name = |key: &Key| named(plan.target, key);
            let ended = drained.confirmed().filter(|(_, action)| *action == Action::Delete);
            let ended: BTreeSet<&Key> = ended.map(|(key, _)| key).collect();
            let is_of_one = |key: &Key| key.member().is_some_and(|person| people.contains(&person));
            // No organization ends.
            let is_missed =
                |one: &&Missed| plan.target == Target::Membership && !ended.contains(&one.key) && !is_of_one(&one.key);
            let missed = plan.missed.iter().filter(is_missed);
            besides.missed.extend(missed.map(|one| Missed { key: name(&one.key), ..one.clone() }));
            besides.rows.extend(plan.rows.iter().map(|(line, key, counts)| (*line, name(key), *counts)));
            besides.confirmed.extend(drained.confirmed().map(|(key, action)| (name(key), action)));
            besides.dropped.extend(plan.dropped.iter().map(|change| name(&change.key)));
        }
        besides
    }
}
