//! New people whose name somebody at the service has whom no record matches.
//!
//! Where `match_on` does not fit, a first run would create everybody a second time. A name proves nothing, but on a first
//! run it is reason enough to ask. Later runs ask about those who still wait from it, and about nobody else: then a new
//! person who shares a name is just that.

use std::collections::{BTreeSet, HashMap};

use xxhash_rust::xxh3::xxh3_64;

use super::claims::{Claims, Identity};
use super::error::Error;
use super::gather::Candidate;
use super::held;
use super::state::JobState;
use crate::plan::NAMESAKE;
use crate::record::{Key, RemoteId, Value, fold};
use crate::store;

/// The field that holds a person's name.
const NAME: &str = "name";

/// The people at the service whom no record matches, by name.
pub(super) struct Namesakes {
    by_name: HashMap<u64, Vec<RemoteId>>,
    /// Who is asked about; none for everybody.
    asked: Option<BTreeSet<Key>>,
}

impl Namesakes {
    /// Finds whom to ask about; `state` says whether this is the job's first run.
    pub(super) fn make(state: &JobState, identity: &Identity<'_>, claims: &Claims) -> Result<Self, store::Error> {
        let mut namesakes = Self { by_name: HashMap::new(), asked: None };
        if !state.mapping.is_empty() {
            let waiting = held::held(identity.store, identity.job)?.into_iter();
            let asked = waiting.filter(|(_, held)| held.reason.starts_with(NAMESAKE)).map(|(key, _)| key);
            namesakes.asked = Some(asked.collect());
        }
        if namesakes.asked.as_ref().is_none_or(|asked| !asked.is_empty()) && claims.has_new() {
            let claimed: BTreeSet<RemoteId> = claims.entities().collect();
            identity.mirror.each(identity.store, |entity| {
                let name = hash(entity.value(NAME)).filter(|_| !claimed.contains(&entity.id));
                name.into_iter().for_each(|name| namesakes.by_name.entry(name).or_default().push(entity.id));
            })?;
        }
        Ok(namesakes)
    }

    /// Somebody at the service with the name of a new record, whom no record of any job is.
    pub(super) fn of(&self, candidate: &Candidate, identity: &Identity<'_>) -> Result<Option<RemoteId>, Error> {
        if self.by_name.is_empty() || self.asked.as_ref().is_some_and(|asked| !asked.contains(&candidate.key)) {
            return Ok(None);
        }
        let (record, _) = candidate.open(identity.pile)?;
        let ids = record.fields.get(NAME).and_then(hash).and_then(|name| self.by_name.get(&name));
        for id in ids.into_iter().flatten() {
            if identity.owner(*id, &candidate.key)?.is_none() {
                return Ok(Some(*id));
            }
        }
        Ok(None)
    }
}

fn hash(name: &Value) -> Option<u64> {
    let words: Vec<&str> = name.as_text()?.split_whitespace().collect();
    Some(xxh3_64(fold(&words.join(" ")).as_bytes()))
}
