//! Where each candidate stands at the service, and what it needs.

use std::collections::{BTreeMap, HashMap};

use super::error::Error;
use super::gather::Candidate;
use crate::config::Job;
use crate::mirror::Mirror;
use crate::plan::{Change, Decision, Held, Match, Matcher, Standing, Subject, decide};
use crate::record::{Field, JobName, Key, Kind, Record, Rejected, RemoteId, Target};
use crate::snapshot::{Known, Owner};
use crate::store::{self, Store};

/// What the candidates need.
#[derive(Default)]
pub(super) struct Stood {
    pub(super) changes: Vec<Change>,
    pub(super) held: Vec<Held>,
    pub(super) rejected: Vec<Rejected>,
    /// Candidates that need nothing, with the digests of their rows.
    pub(super) settled: Vec<(Key, u128)>,
    /// By field: how many were found by it, the first time.
    pub(super) matched_by: BTreeMap<String, u64>,
    /// Entities that were found the first time.
    pub(super) matched: Vec<RemoteId>,
}

/// Takes what is to be remembered of a candidate that needs nothing.
pub(super) type Remember<'a> = dyn FnMut(Key, Known) -> Result<(), store::Error> + 'a;

/// Finds out where each candidate stands and decides what it needs.
pub(super) fn stand(
    job: &Job,
    fields: &[Field],
    mirror: &Mirror,
    store: &Store,
    candidates: &[Candidate],
    remember: &mut Remember<'_>,
) -> Result<Stood, Error> {
    for field in fields.iter().filter(|field| field.kind == Kind::Custom) {
        let title = field.name.trim_start_matches(Target::CUSTOM);
        mirror
            .elements()
            .resolve(title)
            .map_err(|error| Error::Element { field: field.name.clone(), problem: error.to_string() })?;
    }
    let claims = Claims::make(job, mirror, store, candidates)?;
    let mut stood = Stood::default();
    for (at, candidate) in candidates.iter().enumerate() {
        let record = candidate.record();
        if let Some(rejected) = location_fault(&record, fields, mirror, candidate.line) {
            stood.rejected.push(rejected);
            continue;
        }
        let standing = match Known::get(store, &job.name, &candidate.key)? {
            Some(known) => match mirror.get(store, known.id)? {
                Some(entity) => Standing::Mine { known, entity },
                None => Standing::Vanished { known },
            },
            None => claims.standing(at, candidates, &job.name, mirror, store)?,
        };
        if let Standing::Matched { by, entity } = &standing {
            *stood.matched_by.entry(by.clone()).or_default() += 1;
            stood.matched.push(entity.id);
        }
        match decide(Subject { record, line: Some(candidate.line), standing }, fields) {
            Decision::Settled { remember: known } => {
                if let Some(known) = known {
                    remember(candidate.key.clone(), known)?;
                }
                stood.settled.push((candidate.key.clone(), candidate.digest));
            }
            Decision::Change(change) => stood.changes.push(change),
            Decision::Held(held) => stood.held.push(held),
        }
    }
    Ok(stood)
}

/// A location that the service does not have, or has twice.
fn location_fault(record: &Record, fields: &[Field], mirror: &Mirror, line: u64) -> Option<Rejected> {
    fields.iter().filter(|field| field.kind == Kind::Location).find_map(|field| {
        let name = record.fields.get(&field.name)?.as_text()?;
        let reason = mirror.locations().fault(name)?;
        Some(Rejected {
            key: Some(record.key.clone()),
            line: Some(line),
            field: Some(field.name.clone()),
            reason: reason.to_owned(),
        })
    })
}

/// Which entities the candidates that are not known yet lay claim to.
struct Claims {
    /// By position of the candidate.
    found: BTreeMap<usize, Match>,
    /// By entity: the candidates that claim it.
    by_entity: BTreeMap<RemoteId, Vec<usize>>,
    /// By position of a candidate whom the service does not have: the field, and another such candidate with its value.
    twins: BTreeMap<usize, (String, usize)>,
}

impl Claims {
    fn make(job: &Job, mirror: &Mirror, store: &Store, candidates: &[Candidate]) -> Result<Self, store::Error> {
        let mut unknown = Vec::new();
        for (at, candidate) in candidates.iter().enumerate() {
            if Known::get(store, &job.name, &candidate.key)?.is_none() {
                unknown.push(at);
            }
        }
        let mut claims = Self { found: BTreeMap::new(), by_entity: BTreeMap::new(), twins: BTreeMap::new() };
        if unknown.is_empty() {
            return Ok(claims);
        }
        let mut matcher = Matcher::empty(&job.match_on);
        mirror.each(store, |entity| matcher.add(entity))?;
        let matcher = matcher.finish();
        let mut new: HashMap<(String, u64), usize> = HashMap::new();
        for at in unknown {
            let record = candidates[at].record();
            match matcher.find(&record.fields) {
                Match::None => {
                    for (field, mark) in matcher.marks(&record.fields) {
                        if let Some(other) = new.insert((field.to_owned(), mark), at) {
                            claims.twins.entry(at).or_insert_with(|| (field.to_owned(), other));
                            claims.twins.entry(other).or_insert_with(|| (field.to_owned(), at));
                        }
                    }
                }
                found => {
                    if let Match::One { id, .. } = found {
                        claims.by_entity.entry(id).or_default().push(at);
                    }
                    claims.found.insert(at, found);
                }
            }
        }
        Ok(claims)
    }

    fn standing(
        &self,
        at: usize,
        candidates: &[Candidate],
        job: &JobName,
        mirror: &Mirror,
        store: &Store,
    ) -> Result<Standing, store::Error> {
        let (by, id) = match self.found.get(&at) {
            None | Some(Match::None) => {
                return Ok(match self.twins.get(&at) {
                    Some((by, other)) => Standing::Twin { by: by.clone(), key: candidates[*other].key.clone() },
                    None => Standing::New,
                });
            }
            Some(Match::Many { by, ids }) => return Ok(Standing::Ambiguous { by: by.clone(), ids: ids.clone() }),
            Some(Match::One { by, id }) => (by.clone(), *id),
        };
        let key = &candidates[at].key;
        if let Some(owner) = Owner::of(store, Target::Staff, id)?
            && (owner.job != *job || owner.key != *key)
        {
            return Ok(Standing::Taken { by, id, job: owner.job.to_string(), key: owner.key });
        }
        if let Some(other) = self.by_entity.get(&id).into_iter().flatten().find(|other| **other != at) {
            return Ok(Standing::Contested { id, key: candidates[*other].key.clone() });
        }
        let Some(entity) = mirror.get(store, id)? else { return Ok(Standing::New) };
        if !Matcher::confirmed(&candidates[at].record(), &entity, &by) {
            return Ok(Standing::New);
        }
        Ok(Standing::Matched { by, entity })
    }
}
