//! Names that go from one person to another in one read (law 6).
//!
//! Where a column of names was sorted apart from the rest, a known person gets the name of someone else, and another row
//! has theirs. If that row is of a new person, nothing is wrong with either by itself: key and email are right in both.
//! So both wait.
//!
//! Who gets another name while no one gets theirs is not asked about, nor is a new person with the name of someone who
//! keeps it. Only changes of the source count: an edit made at the service is set back to what the source says.

use std::collections::BTreeMap;

use super::correlator::{CorrelationContext, Correlator};
use super::same_name;
use crate::plan::{Correlation, HoldReason, Rules};
use crate::reconcile::model::candidate::Candidate;
use crate::reconcile::model::error::Error;
use crate::record::{Key, Record, Target};

/// Who loses a name and who gets it; each is a digest of the name and the position of a candidate.
#[derive(Default)]
pub(crate) struct MovedNames {
    lost: Vec<(u64, usize)>,
    /// Of known people only: a first run has new ones without number.
    gained: Vec<(u64, usize)>,
}

impl MovedNames {
    /// Whether the names of a job's records are names of people that it may change.
    pub(crate) fn concern(rules: Rules<'_>) -> bool {
        rules.target.has_presence() && rules.owned().any(|field| field.name == Target::NAME)
    }

    /// Notes it if the candidate at a position is a known person who gets another name.
    pub(crate) fn note(&mut self, at: usize, record: &Record, correlation: &Correlation) {
        let (entity, known) = match correlation {
            Correlation::Mine { known, entity } => (Some(entity), Some(known)),
            Correlation::Matched { entity, .. } => (Some(entity), None),
            Correlation::Vanished { known } => (None, Some(known)),
            _ => return,
        };
        let Some(name) = record.fields.get(Target::NAME).and_then(same_name::hash) else { return };
        let before =
            [entity.map(|entity| entity.value(Target::NAME)), known.and_then(|known| known.sent.get(Target::NAME))]
                .map(|name| name.and_then(same_name::hash));
        if !before.contains(&Some(name)) {
            self.gained.push((name, at));
            self.lost.extend(before.into_iter().flatten().map(|name| (name, at)));
        }
    }

    /// Why records wait, by key.
    pub(crate) fn reasons(
        mut self,
        claims: &Correlator,
        context: &CorrelationContext<'_>,
    ) -> Result<BTreeMap<Key, HoldReason>, Error> {
        let candidates = context.candidates;
        let mut reasons = BTreeMap::new();
        if self.lost.is_empty() {
            return Ok(reasons);
        }
        self.lost.sort_unstable();
        let is_new = |(_, candidate): &(usize, &Candidate)| context.index.by_key(candidate.key.as_str()).is_none();
        for (at, candidate) in candidates.iter().enumerate().filter(is_new) {
            let (record, _) = candidate.open(context.spill)?;
            let name = record.fields.get(Target::NAME).and_then(same_name::hash);
            if let Some(name) = name.filter(|name| other(&self.lost, *name, at).is_some())
                && !matches!(claims.correlation(at, context)?, Correlation::Matched { .. })
            {
                self.gained.push((name, at));
            }
        }
        self.gained.sort_unstable();
        let mut wait = |at: usize, from: usize, to: usize| {
            let [from, to] = [from, to].map(|at| &candidates[at].key);
            let reason = format!(
                "the name of key {from} goes to key {to} in the same file; were columns sorted apart? approve both if this \
                 is right"
            );
            reasons.entry(candidates[at].key.clone()).or_insert_with(|| HoldReason::MovedName(reason.into()));
        };
        for (name, from) in &self.lost {
            other(&self.gained, *name, *from).into_iter().for_each(|to| wait(*from, *from, to));
        }
        for (name, to) in &self.gained {
            other(&self.lost, *name, *to).into_iter().for_each(|from| wait(*to, from, *to));
        }
        Ok(reasons)
    }
}

/// Another candidate with a name than the one at a position.
fn other(names: &[(u64, usize)], name: u64, at: usize) -> Option<usize> {
    let first = names.partition_point(|(other, _)| *other < name);
    names[first..].iter().take_while(|(other, _)| *other == name).map(|(_, other)| *other).find(|other| *other != at)
}
