//! Names and emails that go from one person to another in one read (law 6).
//!
//! Where a column of names was sorted apart from the rest, a known person gets the name of someone else, and another row
//! has theirs. If that row is of a new person, nothing is wrong with either by itself: key and email are right in both.
//! So both wait. The same holds for a column of emails.
//!
//! Who gets another name or email while no one gets theirs is not asked about, nor is a new person with that of someone who
//! keeps it. Only changes of the source count: an edit made at the service is set back to what the source says.

use std::collections::BTreeMap;

use super::correlator::{CorrelationContext, Correlator};
use crate::plan::{Correlation, HoldReason, Rules, identity_hash};
use crate::reconcile::model::candidate::Candidate;
use crate::reconcile::model::error::Error;
use crate::record::{Key, Record, Target};

/// What tells one person from another: the place of a field in [`Target::IDENTITY`], and a digest of its value.
type IdentityValue = (usize, u64);

/// Who loses a name or an email and who gets it, by the position of a candidate.
pub(crate) struct MovedNames {
    /// The fields of [`Target::IDENTITY`], by place, that the job may change in people.
    fields: Vec<usize>,
    target: Target,
    lost: Vec<(IdentityValue, usize)>,
    /// Of known people only: a first run has new ones without number.
    gained: Vec<(IdentityValue, usize)>,
}

impl MovedNames {
    pub(crate) fn new(rules: Rules<'_>) -> Self {
        let is_owned = |name: &str| rules.target.has_presence() && rules.owned().any(|field| field.name == name);
        let fields = Target::IDENTITY.iter().enumerate().filter(|(_, name)| is_owned(name)).map(|(place, _)| place);
        Self { fields: fields.collect(), target: rules.target, lost: Vec::new(), gained: Vec::new() }
    }

    /// Whether names and emails of a job's records are those of people that it may change.
    pub(crate) fn concern(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Notes it if the candidate at a position is a known person who gets another name or email.
    pub(crate) fn note(&mut self, at: usize, record: &Record, correlation: &Correlation) {
        let (entity, known) = match correlation {
            Correlation::Mine { known, entity } => (Some(entity), Some(known)),
            Correlation::Matched { entity, .. } => (Some(entity), None),
            Correlation::Vanished { known } => (None, Some(known)),
            _ => return,
        };
        for field in self.fields.iter().copied() {
            let Some(value) = identity(self.target, record, field) else { continue };
            let name = Target::IDENTITY[field];
            let before = [entity.map(|entity| &entity.fields), known.map(|known| &known.sent)].map(|before| {
                before.and_then(|fields| identity_hash(self.target, fields, name)).map(|hash| (field, hash))
            });
            if !before.contains(&Some(value)) {
                self.gained.push((value, at));
                self.lost.extend(before.into_iter().flatten().map(|value| (value, at)));
            }
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
            let values = self.fields.iter().filter_map(|field| identity(self.target, &record, *field));
            let values: Vec<IdentityValue> = values.filter(|value| other(&self.lost, *value, at).is_some()).collect();
            if !values.is_empty() && !matches!(claims.correlation(at, context)?, Correlation::Matched { .. }) {
                self.gained.extend(values.into_iter().map(|value| (value, at)));
            }
        }
        self.gained.sort_unstable();
        let mut wait = |at: usize, field: usize, (from, to): (usize, usize)| {
            let [from, to] = [from, to].map(|at| candidates[at].key.to_string());
            let field = Target::IDENTITY[field].to_owned();
            reasons.entry(candidates[at].key.clone()).or_insert(HoldReason::MovedValue { field, from, to });
        };
        for (value, from) in &self.lost {
            other(&self.gained, *value, *from).into_iter().for_each(|to| wait(*from, value.0, (*from, to)));
        }
        for (value, to) in &self.gained {
            other(&self.lost, *value, *to).into_iter().for_each(|from| wait(*to, value.0, (from, *to)));
        }
        Ok(reasons)
    }
}

fn identity(target: Target, record: &Record, field: usize) -> Option<IdentityValue> {
    identity_hash(target, &record.fields, Target::IDENTITY[field]).map(|hash| (field, hash))
}

/// Another candidate with a value than the one at a position.
fn other(values: &[(IdentityValue, usize)], value: IdentityValue, at: usize) -> Option<usize> {
    let first = values.partition_point(|(other, _)| *other < value);
    values[first..].iter().take_while(|(other, _)| *other == value).map(|(_, other)| *other).find(|other| *other != at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::OnDrift;
    use crate::record::Field;

    #[test]
    fn only_names_and_emails_of_people_that_a_job_may_change_are_looked_at() {
        // The target, what the job maps, what it sets in new ones alone; the fields that are looked at.
        for (target, mapped, seed_only, expected) in [
            (Target::Staff, &["name", "email", "mobile"][..], &[][..], &[Target::NAME, Target::EMAIL][..]),
            (Target::Staff, &["name", "email"], &["name"], &[Target::EMAIL]),
            (Target::Staff, &["mobile"], &[], &[]),
            (Target::Organization, &["name"], &[], &[]),
        ] {
            let fields: Vec<Field> = mapped.iter().map(|name| target.field(name).unwrap()).collect();
            let seed_only: Vec<_> = seed_only.iter().map(|name: &&str| (*name).into()).collect();
            let rules = Rules { target, fields: &fields, seed_only: &seed_only, on_drift: OnDrift::Overwrite };
            let names = MovedNames::new(rules);
            let looked: Vec<&str> = names.fields.iter().map(|place| Target::IDENTITY[*place]).collect();
            assert_eq!(looked, expected, "{target:?} {mapped:?} {seed_only:?}");
            assert_eq!(names.concern(), !expected.is_empty());
        }
    }
}
