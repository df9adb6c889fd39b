//! People that a job of staff and one of contractors both have: the service has two entities of them.
//!
//! - Each person who is new to a job, made or found at the service, is compared with those of the jobs of the other side: one person is
//!   who has the same email and name, or the same key where that is a UUID.
//! - Who was found so is remembered, and each run names them for as long as both jobs have them under one email or one name: in an
//!   evacuation one of the two entities is looked for in vain.
//!
//! Rejected: to hold them. Some work on both sides, and who is held is missing from a list.
//! Rejected, too: to compare everybody in each run. It takes a walk over the people of all jobs where nothing is to do.

use std::collections::HashMap;

use super::inputs::Inputs;
use crate::config::Job;
use crate::plan::{has_same_name, match_hash};
use crate::reconcile::model::candidate::Candidate;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::Counterparts;
use crate::record::{JobName, Key, Target, Values};
use crate::snapshot::{SYNCED, SyncedRecord};
use crate::store;

impl Inputs<'_> {
    /// Who is on both sides: of those who are new to the job, and of those who were before.
    pub(super) fn on_both_sides(&self) -> Result<Counterparts, Error> {
        let Some(side) = other_side(self.job().mapping.target) else { return Ok(Counterparts::new()) };
        let jobs = self.part.context.config.jobs.iter();
        let others: Vec<&Job> = jobs.filter(|other| other.mapping.target == side).collect();
        let mut found = self.still_on_both_sides(&others)?;
        let is_new = |one: &&Candidate| self.index.by_key(one.key.as_str()).is_none();
        let new: Vec<&Candidate> = self.asked().filter(is_new).filter(|_| !others.is_empty()).collect();
        if new.is_empty() {
            return Ok(found);
        }
        let mut by_email: HashMap<u64, Vec<&Candidate>> = HashMap::new();
        for one in &new {
            let email = match_hash(&self.spill.record(one.place)?.0, Target::EMAIL);
            email.into_iter().for_each(|email| by_email.entry(email).or_default().push(one));
        }
        for other in others {
            for one in new.iter().filter(|one| one.key.is_universal()) {
                let theirs = known(self.store(), &other.name, &one.key)?;
                found.extend(theirs.map(|_| (one.key.clone(), (other.name.clone(), one.key.clone()))));
            }
            let mut alike = Vec::new();
            SYNCED.each(self.store(), &other.name, |key, theirs: SyncedRecord| {
                let same = match_hash(&theirs.sent, Target::EMAIL).and_then(|email| by_email.get(&email));
                alike.extend(
                    same.into_iter()
                        .flatten()
                        .filter(|_| theirs.stays())
                        .map(|one| (*one, key.clone(), theirs.sent.clone())),
                );
            })?;
            for (one, key, theirs) in alike {
                if is_one(&self.spill.record(one.place)?.0, &theirs) {
                    found.insert(one.key.clone(), (other.name.clone(), key));
                }
            }
        }
        Ok(found)
    }

    /// Those of the people who were on both sides, if both jobs still have them.
    fn still_on_both_sides(&self, others: &[&Job]) -> Result<Counterparts, Error> {
        let mut still = Counterparts::new();
        for (key, (job, other)) in &self.state.on_both_sides {
            if !others.iter().any(|one| one.name == *job) {
                continue;
            }
            let (own, theirs) = (known(self.store(), &self.job().name, key)?, known(self.store(), job, other)?);
            let is_one = |(own, theirs): (SyncedRecord, SyncedRecord)| {
                let has_one = |field| {
                    match_hash(&own.sent, field).is_some_and(|own| Some(own) == match_hash(&theirs.sent, field))
                };
                (key == other && key.is_universal()) || has_one(Target::EMAIL) || has_one(Target::NAME)
            };
            still.extend(own.zip(theirs).is_some_and(is_one).then(|| (key.clone(), (job.clone(), other.clone()))));
        }
        Ok(still)
    }
}

/// What a job has of someone who is not gone there.
fn known(store: &store::Store, job: &JobName, key: &Key) -> Result<Option<SyncedRecord>, store::Error> {
    Ok(SyncedRecord::get(store, job, key)?.filter(SyncedRecord::stays))
}

fn other_side(target: Target) -> Option<Target> {
    match target {
        Target::Staff => Some(Target::Contractor),
        Target::Contractor => Some(Target::Staff),
        _ => None,
    }
}

fn is_one(own: &Values, theirs: &Values) -> bool {
    let email = |values| match_hash(values, Target::EMAIL);
    email(own).is_some() && email(own) == email(theirs) && has_same_name(own, theirs)
}
