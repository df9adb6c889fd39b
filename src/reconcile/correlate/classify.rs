//! Classifies candidates: the correlation of each at the service, and what it needs.

use std::collections::{BTreeMap, BTreeSet};

use super::correlator::{CorrelationContext, Correlator};
use super::fit::Fitting;
use super::identity_change::People;
use super::moved_names::MovedNames;
use super::same_name::SameName;
use crate::config::Job;
use crate::plan::{Decision, Held, HoldReason, OnDrift, Outline, Rules, Standing, Subject, decide};
use crate::reconcile::model::candidate::Candidate;
use crate::reconcile::model::context::KeyFilter;
use crate::reconcile::model::doubtful_rows::Doubt;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::JobState;
use crate::record::{Action, Entity, Field, JobName, Key, Rejected, RemoteId, Target, Value, Values, normalize};
use crate::snapshot::SyncedRecord;
use crate::store;

/// What the candidates need.
#[derive(Default)]
pub(crate) struct Classified {
    pub(crate) changes: Vec<Outline>,
    pub(crate) held: Vec<Held<Outline>>,
    pub(crate) rejected: Vec<Rejected>,
    /// Values that the service can't take, of records that count all the same.
    pub(crate) bad_values: Vec<Rejected>,
    /// Candidates that need nothing, with the digests of their rows, in order of key.
    pub(crate) settled: Vec<(Key, u128)>,
    /// By field: how many were found by it, the first time.
    pub(crate) matched_by: BTreeMap<String, u64>,
    /// How many of those that were found the first time this job knows under a key that is gone.
    pub(crate) rekeyed: u64,
    /// Entities that were found the first time.
    pub(crate) matched: Vec<RemoteId>,
    /// The same by key, where other parts of the job refer to them.
    pub(crate) found: BTreeMap<Key, RemoteId>,
    /// Their keys, with the segments of their rows, where the job has segments.
    pub(crate) matched_in: BTreeMap<Key, String>,
    /// Keys whose rows may be about another person than the one that the job knows by them, and why.
    pub(crate) doubtful: BTreeMap<Key, HoldReason>,
    /// Entities that a record of this read claims, rightly or not: none of them is removed.
    pub(crate) claimed: BTreeSet<RemoteId>,
    /// Fields that were edited at the service and stay so, by key, if the job names them.
    pub(crate) drift: BTreeMap<Key, Vec<String>>,
    /// Those whose photo is gone from the source and stays at the service.
    pub(crate) photos_left: BTreeSet<Key>,
    /// Of organizations that another job owns: what this job would have otherwise, by that job and key.
    pub(crate) lent: BTreeMap<JobName, BTreeMap<Key, Vec<String>>>,
}

/// Takes what is to be remembered of a candidate that needs nothing.
pub(crate) type Remember<'a> = dyn FnMut(Key, SyncedRecord) -> Result<(), store::Error> + 'a;

/// Correlates each candidate and decides what it needs.
pub(crate) fn classify(
    job: &Job,
    state: &JobState,
    rules: Rules<'_>,
    candidates: &[Candidate],
    narrow: &KeyFilter,
    identity: &CorrelationContext<'_>,
    remember: &mut Remember<'_>,
) -> Result<Classified, Error> {
    let CorrelationContext { mirror, pile, .. } = *identity;
    let fields = rules.fields;
    let fitting = Fitting::new(job, fields, mirror)?;
    let claims = Correlator::make(&job.match_on, identity, candidates)?;
    let namesakes = SameName::make(state, identity, &claims, candidates)?;
    let mut people = People::new(&job.match_on, rules);
    let mut names = MovedNames::default();
    // Records that may be about another person than their key, and why.
    let mut suspects: BTreeMap<Key, HoldReason> = BTreeMap::new();
    let is_joined = matches!(mirror.target(), Target::Contractor | Target::Organization);
    // Nothing but what the source says becomes of a record here.
    let as_read = fitting.checkboxes.is_empty() && !identity.resolver.resolves();
    let mut stood = Classified { claimed: claims.entities().collect(), ..Classified::default() };
    for (at, candidate) in candidates.iter().enumerate() {
        if !narrow.has(&candidate.key) {
            if MovedNames::concern(rules) {
                names.note(at, &candidate.open(pile)?.0, &found(at, candidates, &claims, identity)?);
            }
            continue;
        }
        let (mut record, marks) = candidate.open(pile)?;
        let bad_before = stood.bad_values.len();
        let fault = match fitting.fit(&mut record, candidate, &mut stood.bad_values) {
            Some(fault) => Some(fault),
            None => identity.resolver.resolve(&mut record)?,
        };
        let has_bad_values = stood.bad_values.len() > bad_before;
        let as_read = as_read && !has_bad_values;
        let pair = record.fields.remove(Target::COMPOSITE);
        match identity.doubt_of_member(&record) {
            None => {}
            Some(Doubt::Held(reason)) => {
                stood.held.push(Held { key: record.key, reason, change: None, other: None });
                continue;
            }
            Some(Doubt::Rejected(reason)) => {
                let line = Some(candidate.line).filter(|_| job.source.has_lines());
                stood.rejected.push(Rejected { key: Some(record.key), line, field: None, reason });
                continue;
            }
        }
        if let Some(fault) = fault {
            stood.rejected.push(fitting.rejected(&record.key, candidate, fault));
            continue;
        }
        let standing = found(at, candidates, &claims, identity)?;
        let standing = match standing {
            Standing::Mine { known, entity } if known.borrowed || identity.mirror.target() == Target::Organization => {
                match identity.owner(known.id, &candidate.key)?.filter(|owner| identity.borrows(owner)) {
                    Some(_) => Standing::Borrowed { entity },
                    // Its owner is no more: it is this job's as if it were found now.
                    None if known.borrowed => Standing::Matched { by: job.match_on[0].clone(), entity },
                    None => Standing::Mine { known, entity },
                }
            }
            standing => standing,
        };
        let is_other = |entity: &Entity| pair.as_ref().is_some_and(|pair| pair != entity.value(Target::COMPOSITE));
        let standing = match standing {
            // One of the two was created again, so this membership joins an entity that is gone.
            Standing::Mine { known, entity } if job.mapping.target == Target::Membership && is_other(&entity) => {
                Standing::Vanished { known }
            }
            standing => standing,
        };
        if let Standing::Mine { entity, .. } = &standing
            && is_other(entity)
        {
            let reason = "the key means another holder or certification than before; let the key hold both".to_owned();
            let (key, line) = (Some(record.key), Some(candidate.line));
            stood.rejected.push(Rejected { key, line, field: None, reason });
            continue;
        }
        let standing = match standing {
            Standing::New => namesakes.of(candidate, identity)?,
            standing => standing,
        };
        if let Standing::Doubtful { entity, .. } = &standing {
            stood.claimed.insert(entity.id);
        }
        if let Standing::Matched { by, entity } = &standing {
            *stood.matched_by.entry(by.to_string()).or_default() += 1;
            stood.matched.push(entity.id);
            stood.rekeyed +=
                u64::from(identity.owner(entity.id, &candidate.key)?.is_some_and(|owner| owner.job == job.name));
            if is_joined {
                stood.found.insert(candidate.key.clone(), entity.id);
            }
            if job.mapping.segment.is_some() {
                stood.matched_in.insert(candidate.key.clone(), marks.segment.clone());
            }
        }
        if let Standing::Borrowed { entity } = &standing {
            stood.found.insert(candidate.key.clone(), entity.id);
            let differs = |field: &&Field| {
                let wanted = record.fields.get(&field.name);
                wanted.is_some_and(|wanted| !field.kind.same(wanted, entity.value(&field.name)))
            };
            let fields: Vec<String> = rules.owned().filter(differs).map(|field| field.name.to_string()).collect();
            let owner = identity.owner(entity.id, &candidate.key)?;
            if let Some(owner) = owner.filter(|_| !fields.is_empty()) {
                stood.lent.entry(owner.job.root()).or_default().insert(candidate.key.clone(), fields);
            }
        }
        if let Standing::Mine { known, entity } = &standing
            && rules.on_drift == OnDrift::Report
        {
            let drifted = rules.drifted(&record.fields, known, entity);
            if !drifted.is_empty() {
                stood.drift.insert(candidate.key.clone(), drifted.into_iter().map(str::to_owned).collect());
            }
        }
        if let Standing::Mine { known, .. } = &standing
            && known.has_stale_photo(&record.fields)
        {
            stood.photos_left.insert(candidate.key.clone());
        }
        let line = Some(candidate.line).filter(|_| job.source.has_lines());
        let other = people.somebody_else(&record, &standing, identity)?;
        if MovedNames::concern(rules) {
            names.note(at, &record, &standing);
        }
        let decision = decide(Subject { record, line, marks, standing }, rules);
        if let (Decision::Change(change), Some(reason)) = (&decision, other)
            && change.wish.action == Action::Update
        {
            suspects.insert(change.key.clone(), reason.into());
        }
        match decision {
            Decision::Settled { remember: known } => {
                if let Some(known) = known {
                    remember(candidate.key.clone(), known)?;
                }
                // Who is to be named in every run must be looked at in every run.
                let is_told = stood.drift.contains_key(&candidate.key)
                    || stood.photos_left.contains(&candidate.key)
                    || has_bad_values
                    || stood.lent.values().any(|lent| lent.contains_key(&candidate.key));
                let digest = if is_told { 0 } else { candidate.digest };
                stood.settled.push((candidate.key.clone(), digest));
            }
            Decision::Photo { change, remember: known } => {
                if let Some(known) = known {
                    remember(candidate.key.clone(), known)?;
                }
                stood.changes.push(pile.put(change)?);
            }
            Decision::Change(change) if change.wish.action == Action::Create && as_read => {
                stood.changes.push(pile.made(&change, candidate.place));
            }
            Decision::Change(change) => stood.changes.push(pile.put(change)?),
            Decision::Held(held) => stood.held.push(held.map(&mut |change| pile.put(change))?),
        }
    }
    for (key, reason) in names.reasons(candidates, &claims, identity)? {
        suspects.entry(key).or_insert(reason);
    }
    stood.hold(&suspects, candidates, identity)?;
    Ok(stood)
}

/// The correlation of a candidate by its key, or else by what it is matched by.
fn found(
    at: usize,
    candidates: &[Candidate],
    claims: &Correlator,
    identity: &CorrelationContext<'_>,
) -> Result<Standing, Error> {
    let Some(known) = identity.known(&candidates[at].key)? else { return claims.standing(at, candidates, identity) };
    if let Some(entity) = identity.mirror.get(identity.store, known.id)? {
        return Ok(Standing::Mine { known, entity });
    }
    // They may have been created again there.
    Ok(match claims.standing(at, candidates, identity)? {
        Standing::New => Standing::Vanished { known },
        found => found,
    })
}

impl Classified {
    /// Holds the changes of records that may be about another person than their key.
    fn hold(
        &mut self,
        suspects: &BTreeMap<Key, HoldReason>,
        candidates: &[Candidate],
        identity: &CorrelationContext<'_>,
    ) -> Result<(), Error> {
        // The names and emails in their rows.
        let mut doubted = BTreeSet::new();
        for change in self.changes.extract_if(.., |change| suspects.contains_key(&change.key)) {
            let (key, reason) = (change.key.clone(), &suspects[&change.key]);
            let mut held = Held::change(change, reason);
            if held.change.as_ref().is_some_and(|change| change.action == Action::Update) {
                let at = candidates.binary_search_by(|candidate| candidate.key.cmp(&key)).expect("it is one of them");
                doubted.extend(named_by(&candidates[at].open(identity.pile)?.0.fields));
                self.doubtful.insert(key.clone(), reason.clone());
                held.other = Some(Box::new(Held { key, reason: REFUSED.into(), change: None, other: None }));
            }
            self.held.push(held);
        }
        self.held.sort_by(|one, other| one.key.cmp(&other.key));
        self.claimed.extend(named_among(&doubted, identity)?);
        Ok(())
    }
}

/// What to do after a person said that a row is about another person.
const REFUSED: &str = "it was rejected that this row is still about the same person: the person in it is not at the service; \
                       another person needs a key of their own in the source";

/// The name and email by which a record names its person.
fn named_by(fields: &Values) -> impl Iterator<Item = (&'static str, String)> {
    let named = |field| Some((field, normalize(fields.get(field)?.as_text()?)));
    Target::IDENTITY.into_iter().filter_map(named).filter(|(_, text)| !text.is_empty())
}

/// The entities of missing people that a doubtful row names: their number was mistyped, so they are there.
fn named_among(
    doubted: &BTreeSet<(&'static str, String)>,
    identity: &CorrelationContext<'_>,
) -> Result<Vec<RemoteId>, store::Error> {
    let mut named = Vec::new();
    for at in identity.missed.iter().filter(|_| !doubted.is_empty()) {
        let key = Key::new(identity.index.entry(*at).key);
        let known = key.map(|key| SyncedRecord::get(identity.store, identity.job, &key)).transpose()?.flatten();
        let is_named = |known: &SyncedRecord| {
            let text = |field| known.sent.get(field).and_then(Value::as_text).map(normalize);
            Target::IDENTITY.into_iter().any(|field| text(field).is_some_and(|text| doubted.contains(&(field, text))))
        };
        named.extend(known.filter(is_named).map(|known| known.id));
    }
    Ok(named)
}

/// The keys that the job doesn't know of rows that can't be used for what the service has: any of them may be mistyped.
pub(crate) fn strange(
    job: &Job,
    fields: &[Field],
    candidates: &[Candidate],
    identity: &CorrelationContext<'_>,
) -> Result<BTreeSet<Key>, Error> {
    let fitting = Fitting::new(job, fields, identity.mirror)?;
    let mut strange = BTreeSet::new();
    for candidate in candidates.iter().filter(|one| identity.index.by_key(one.key.as_str()).is_none()) {
        let (mut record, _) = candidate.open(identity.pile)?;
        let fits = fitting.fit(&mut record, candidate, &mut Vec::new()).is_none();
        if !fits || identity.resolver.resolve(&mut record)?.is_some() {
            strange.insert(record.key);
        }
    }
    Ok(strange)
}
