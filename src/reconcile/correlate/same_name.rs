//! New people who may be the same as a person that the job or the service knows already: they have the same name or
//! email.
//!
//! - A person of this job who is missing from the read, or is gone by it: a key was mistyped, or changed together with all fields of
//!   `match_on`. Created again, they would be there twice, and their own entity would be removed. Someone that an earlier
//!   read missed too is asked about as long as the service has their entity: their removal is still to come, was refused, or
//!   waits. Of those who have left and stay at the service the email alone is asked about, since another person may have
//!   the same name.
//! - A person at the service with both the same name and the same email, if `match_on` has no email: one person under
//!   two keys.
//! - A person at the service that the record fitted in an earlier run, as long as it waits for a decision on that: an
//!   edit there hides it now, or another record got them, or another job has them and the row was changed in what it fitted them by.
//!   Created, the record would make a known person twice.
//! - On a first run, and the first after a rebuild, a person at the service that no record matches, by name or by email: where
//!   `match_on` does not fit, everybody would be created a second time. Later runs ask only about records that still wait from it:
//!   then a new person who shares a name is just that.
//!
//! A name proves nothing, but it is reason enough to ask.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::SignedDuration;

use super::correlator::{CorrelationContext, Correlator, RowPresence};
use crate::plan::{Correlation, Decided, HoldReason, LeaverAction, Unclear, identity_hash};
use crate::reconcile::approval::held::{self, PendingApproval};
use crate::reconcile::model::candidate::Candidate;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::JobState;
use crate::record::{Entity, Key, Record, RemoteId, Target, Values};
use crate::snapshot::SyncedRecord;
use crate::store;

/// The people to compare new records with.
#[derive(Default)]
pub(crate) struct SameName {
    /// The people at the service that no record matches, by what names them.
    strangers: HashMap<(&'static str, u64), Vec<RemoteId>>,
    /// Whose strangers are asked about; none for everybody.
    asked: Option<BTreeSet<Key>>,
    /// The keys of this job that the read misses, by what names their people.
    missed: HashMap<(&'static str, u64), Vec<Missed>>,
    /// Entities with both a name and an email that a new record has.
    twins: HashMap<u64, RemoteId>,
    /// Whose records waited before.
    waited: BTreeSet<Key>,
    /// The entities that records may be, as an earlier run found, and which no record claims: where a change at the service
    /// hides it, this is all that is known.
    doubts: BTreeMap<Key, Doubt>,
}

/// The entity that a record may be, as an earlier run found.
#[derive(Clone, Copy)]
struct Doubt {
    id: RemoteId,
    /// Whether another record had it then, so that nothing was asked: a row that names someone else by now is of that one.
    was_taken: bool,
}

/// A person of this job who is missing from the read.
#[derive(Clone)]
struct Missed {
    key: Key,
    id: RemoteId,
    /// Whether they have left, and stay at the service: then they are asked about by the email, and for those who waited before.
    has_left: bool,
}

/// For so long someone who is gone and whose job removes no one counts as missing; from then on as someone who has left.
const KEPT_MISSING: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Whether someone who is missing has left, as far as the service is concerned.
fn has_left(known: &SyncedRecord, context: &CorrelationContext<'_>) -> bool {
    let is_kept = context.job.leavers.action == LeaverAction::Keep;
    let is_long_gone = known.gone.as_ref().is_some_and(|gone| context.now.duration_since(gone.since) > KEPT_MISSING);
    known.left.is_some() || (is_kept && is_long_gone)
}

impl SameName {
    /// Finds the people to ask about; `state` says whether this is the job's first run.
    pub(crate) fn make(state: &JobState, context: &CorrelationContext<'_>, claims: &Correlator) -> Result<Self, Error> {
        let mut namesakes = Self::default();
        if !claims.has_new() {
            return Ok(namesakes);
        }
        let waiting = held::held(context.store, &context.job.name)?;
        namesakes.find_missed(context)?;
        namesakes.find_twins(context, claims)?;
        namesakes.waited = waiting.keys().cloned().collect();
        let claimed: BTreeSet<RemoteId> = claims.entities(|_| false).collect();
        let decisions = held::decisions(context.store, &context.job.name)?;
        let asked = |id: RemoteId| Doubt { id, was_taken: false };
        let of_held = |held: &PendingApproval| match held.reason {
            HoldReason::Taken { id, .. } => Some(Doubt { id, was_taken: true }),
            _ => held.doubt.map(asked),
        };
        let doubts = decisions.iter().map(|(key, decided)| (key, decided.doubt.map(asked)));
        let doubts = doubts.chain(waiting.iter().map(|(key, held)| (key, of_held(held))));
        let doubts = doubts.filter_map(|(key, doubt)| Some((key.clone(), doubt?)));
        namesakes.doubts = doubts.filter(|(_, doubt)| !claimed.contains(&doubt.id)).collect();
        if !state.mapping.is_empty() && !state.is_rebuilt {
            let is_asked = |held: &PendingApproval| held.reason.is_stranger();
            let asked = waiting.into_iter().filter(|(_, held)| is_asked(held)).map(|(key, _)| key);
            // Who was rejected as new is asked about again once the row is another one.
            let is_rejected = |decided: &Decided| decided.question.as_ref().is_some_and(HoldReason::is_stranger);
            let rejected = decisions.iter().filter(|(_, decided)| is_rejected(decided)).map(|(key, _)| key.clone());
            namesakes.asked = Some(asked.chain(rejected).collect());
        }
        if namesakes.asked.as_ref().is_none_or(|asked| !asked.is_empty()) {
            let target = context.mirror.target();
            context.mirror.each(context.store, |entity| {
                for field in Target::IDENTITY.into_iter().filter(|_| !claimed.contains(&entity.id)) {
                    let text = identity_hash(target, &entity.fields, field);
                    let people = text.map(|text| namesakes.strangers.entry((field, text)).or_default());
                    people.into_iter().for_each(|people| people.push(entity.id));
                }
            })?;
        }
        Ok(namesakes)
    }

    fn find_missed(&mut self, context: &CorrelationContext<'_>) -> Result<(), store::Error> {
        let target = context.mirror.target();
        if !target.has_presence() {
            return Ok(());
        }
        for at in context.absent.iter().copied() {
            let entry = context.index.entry(at);
            let Some(key) = Key::new(entry.key) else { continue };
            let Some(known) = SyncedRecord::get(context.store, &context.job.name, &key)? else { continue };
            if entry.gone && context.mirror.get(context.store, known.id)?.is_none() {
                continue;
            }
            let missed = Missed { key, id: known.id, has_left: has_left(&known, context) };
            for field in Target::IDENTITY {
                if let Some(value) = identity_hash(target, &known.sent, field) {
                    self.missed.entry((field, value)).or_default().push(missed.clone());
                }
            }
        }
        Ok(())
    }

    fn find_twins(&mut self, context: &CorrelationContext<'_>, claims: &Correlator) -> Result<(), Error> {
        if !context.mirror.target().has_presence() {
            return Ok(());
        }
        let mut wanted = BTreeSet::new();
        for candidate in claims.new_ones(context.candidates) {
            let (record, _) = candidate.open(context.spill)?;
            wanted.extend(whole(context.mirror.target(), &record.fields));
        }
        if !wanted.is_empty() {
            context.mirror.each(context.store, |entity| {
                let found = whole(context.mirror.target(), &entity.fields).filter(|hash| wanted.contains(hash));
                self.twins.extend(found.map(|hash| (hash, entity.id)));
            })?;
        }
        Ok(())
    }

    /// The correlation of a record that has both name and email of a person at the service.
    fn of_twin(&self, record: &Record, context: &CorrelationContext<'_>) -> Result<Option<Correlation>, Error> {
        const BY: &str = "name and email";
        let hash = whole(context.mirror.target(), &record.fields);
        let Some(id) = hash.and_then(|hash| self.twins.get(&hash)).copied() else { return Ok(None) };
        let Some(entity) = context.mirror.get(context.store, id)? else { return Ok(None) };
        let one = context.mirror.target().noun().to_owned();
        let owner = context.owner(id, &record.key)?;
        let earlier = context.earlier(owner.as_ref(), id)?;
        Ok(Some(match owner {
            Some(owner) if owner.job != context.job.name => {
                Correlation::Unclear(Unclear::Taken { by: BY.into(), id, job: owner.job.to_string(), key: owner.key })
            }
            Some(owner) if (context.presence)(&owner.key) != RowPresence::Absent => {
                let seen = (context.presence)(&owner.key) == RowPresence::Seen;
                Correlation::Unclear(Unclear::Shared { by: BY.into(), key: owner.key, seen })
            }
            _ => Correlation::Doubtful { reason: HoldReason::SameNameAndEmail { one, id }, entity, earlier },
        }))
    }

    /// The correlation of a new record that may be a person who exists already.
    pub(crate) fn of(&self, candidate: &Candidate, context: &CorrelationContext<'_>) -> Result<Correlation, Error> {
        if self.missed.is_empty() && self.strangers.is_empty() && self.twins.is_empty() && self.doubts.is_empty() {
            return Ok(Correlation::New);
        }
        let (record, _) = candidate.open(context.spill)?;
        if let Some(correlation) = self.of_twin(&record, context)? {
            return Ok(correlation);
        }
        for field in Target::IDENTITY {
            let value = identity_hash(context.mirror.target(), &record.fields, field);
            let found = value.and_then(|value| self.missed.get(&(field, value))).map(Vec::as_slice).unwrap_or_default();
            // A name is not reason enough to ask about someone who has left.
            let is_asked =
                |missed: &&Missed| !missed.has_left || field == Target::EMAIL || self.waited.contains(&candidate.key);
            let mut found = found.iter().filter(is_asked);
            let Some(first) = found.next() else { continue };
            let is_only = found.next().is_none();
            let entity = context.mirror.get(context.store, first.id)?;
            let Some(entity) = entity.filter(|_| is_only && (context.presence)(&first.key) == RowPresence::Absent)
            else {
                return Ok(Correlation::Unclear(Unclear::Shared {
                    by: field.into(),
                    key: first.key.clone(),
                    seen: false,
                }));
            };
            let reason = HoldReason::NewKey {
                field: field.to_owned(),
                one: context.mirror.target().noun().to_owned(),
                id: entity.id,
                key: first.key.to_string(),
            };
            let earlier = context.known(&first.key)?.filter(|known| known.id == first.id).map(Box::new);
            return Ok(Correlation::Doubtful { reason, entity, earlier });
        }
        if let Some(doubt) = self.doubts.get(&candidate.key)
            && let Some(entity) = context.mirror.get(context.store, doubt.id)?
            && let Some(correlation) = doubt.of(&record, entity, candidate, context)?
        {
            return Ok(correlation);
        }
        if self.asked.as_ref().is_some_and(|asked| !asked.contains(&candidate.key)) {
            return Ok(Correlation::New);
        }
        for field in Target::IDENTITY {
            let text = identity_hash(context.mirror.target(), &record.fields, field);
            for id in text.and_then(|text| self.strangers.get(&(field, text))).into_iter().flatten() {
                if context.owner(*id, &candidate.key)?.is_none() {
                    return Ok(Correlation::Unclear(Unclear::Stranger { field, id: *id }));
                }
            }
        }
        Ok(Correlation::New)
    }
}

impl Doubt {
    /// The correlation of a record that may be this entity; none where another one has it and the row names someone else.
    fn of(
        self,
        record: &Record,
        entity: Entity,
        candidate: &Candidate,
        context: &CorrelationContext<'_>,
    ) -> Result<Option<Correlation>, Error> {
        let is_same = |field: &&'static str| {
            let [text, theirs] =
                [&record.fields, &entity.fields].map(|fields| identity_hash(context.mirror.target(), fields, field));
            text.is_some() && text == theirs
        };
        let same = Target::IDENTITY.into_iter().find(is_same);
        let id = self.id;
        Ok(match (context.owner(id, &candidate.key)?, same) {
            (None, same) if !self.was_taken || same.is_some() => {
                let one = context.mirror.target().noun().to_owned();
                let reason = HoldReason::EarlierMatch { one, id };
                Some(Correlation::Doubtful { reason, entity, earlier: None })
            }
            // Another record has them, which says nothing of this one: it waits until a person has said so.
            (Some(owner), Some(field)) if owner.job == context.job.name => {
                let seen = (context.presence)(&owner.key) == RowPresence::Seen;
                Some(Correlation::Unclear(Unclear::Shared { by: field.into(), key: owner.key, seen }))
            }
            (Some(owner), Some(field)) => {
                let (by, job, key) = (field.into(), owner.job.to_string(), owner.key);
                Some(Correlation::Unclear(Unclear::Taken { by, id, job, key }))
            }
            (_, None) | (None, Some(_)) => None,
        })
    }
}

/// A digest of a name and an email together; `None` if either is empty.
fn whole(target: Target, fields: &Values) -> Option<u64> {
    let [name, email] = Target::IDENTITY.map(|field| identity_hash(target, fields, field));
    Some(name?.rotate_left(1) ^ email?)
}
