//! The index at the end of a run: a digest for every row that needs nothing any more.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use crate::config::{Job, Mode};
use crate::mirror::Mirror;
use crate::push::{Drained, Outcome};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::JobPlan;
use crate::record::{Action, Day, Field, JobName, Key, RemoteId, RowMetadata, Value};
use crate::snapshot::{Index, IndexEntry, SyncedRecord};
use crate::store::{self, Batch, Store};

/// What became of one part of a job, as its index follows from it.
pub(crate) struct IndexUpdate<'a> {
    pub(crate) job: &'a Job,
    pub(crate) mirror: &'a Mirror,
    /// The entities that were seen to have moved when the plan was made; what a look-up during the push saw besides is
    /// for the next run.
    pub(crate) moved: &'a BTreeSet<RemoteId>,
    pub(crate) plan: &'a JobPlan,
    pub(crate) drained: &'a Drained,
}

/// Writes the index: a digest for every row that needs nothing any more.
pub(crate) fn save_index(store: &Store, update: &IndexUpdate<'_>) -> Result<(), Error> {
    let IndexUpdate { job, mirror, moved, plan, drained } = update;
    // Of a person with a photo, both halves must have come to an end.
    let is_open = |(_, _, outcome): &&(Key, Action, Outcome)| *outcome != Outcome::Confirmed;
    let open: BTreeSet<&Key> = drained.outcomes.iter().filter(is_open).map(|(key, _, _)| key).collect();
    let mut confirmed = BTreeMap::new();
    for (key, _) in drained.confirmed().filter(|(key, _)| !open.contains(key)) {
        if let Some(digest) = plan.updates.digests.get(key, &plan.spill)?
            && is_as_wanted(store, job, mirror, &plan.fields, key)?
        {
            confirmed.insert(key.as_str(), digest);
        }
    }
    let late: BTreeSet<i32> = mirror.changed().difference(moved).map(|id| id.get()).collect();
    let undue: BTreeSet<&str> = plan.updates.undue.iter().map(Key::as_str).collect();
    let none = plan.updates.digests.keys().next().is_none() && plan.updates.settled.is_empty() && undue.is_empty();
    if none && late.is_empty() && Index::is_current(store, &job.name)? {
        return Ok(());
    }
    let index = Index::load(store, &job.name)?;
    if job.mode == Mode::Changes {
        let was = |key: &Key| index.by_key(key.as_str()).and_then(|at| index.entry(at).due);
        let named = plan.updates.digests.keys().map(|key| (key.clone(), plan.updates.due.get(key).copied()));
        let ended = plan.updates.undue.iter().map(|key| (key.clone(), None));
        set_days(store, &job.name, named.chain(ended).filter(|(key, due)| was(key) != *due))?;
    }
    // A first run has a digest for everybody, so they are not put into a map of their own.
    let mut settled = plan.updates.settled.iter().map(|(key, digest)| (key.as_str(), *digest)).peekable();
    let mut open = plan.updates.digests.keys().map(|key| (key.as_str(), 0)).peekable();
    let mut due = plan.updates.due.iter().map(|(key, day)| (key.as_str(), *day)).peekable();
    let entries = (0..index.len()).map(|at| {
        let entry = index.entry(at);
        let (open, settled) = (along(&mut open, entry.key), along(&mut settled, entry.key));
        let day = along(&mut due, entry.key);
        let entry = match confirmed.get(entry.key).copied().or(settled).or(open) {
            Some(digest) => IndexEntry { digest, due: day, ..entry },
            None if undue.contains(entry.key) => entry.undue(),
            None => IndexEntry { due: day.or(entry.due), ..entry },
        };
        IndexEntry { digest: if late.contains(&entry.id) { 0 } else { entry.digest }, ..entry }
    });
    Ok(Index::save(store, &job.name, entries)?)
}

/// Says of people of a job of changes which day their last rows named, where nothing that is confirmed says it: the pages of the index,
/// which have it otherwise, are dropped by a rebuild.
pub(super) fn set_days(
    store: &Store,
    job: &JobName,
    days: impl Iterator<Item = (Key, Option<Day>)>,
) -> Result<(), store::Error> {
    let mut batch = Batch::default();
    for (key, due) in days {
        if let Some(known) = SyncedRecord::get(store, job, &key)?.filter(|known| known.marks.due != due) {
            let marks = RowMetadata { due, ..known.marks };
            SyncedRecord { marks, ..known }.put(&mut batch, job, &key);
        }
    }
    store.commit(batch)
}

/// Looks up keys among rows that are sorted by key; must be asked in order of key.
fn along<'a, T>(rows: &mut Peekable<impl Iterator<Item = (&'a str, T)>>, key: &str) -> Option<T> {
    while rows.next_if(|(own, _)| *own < key).is_some() {}
    rows.next_if(|(own, _)| *own == key).map(|(_, found)| found)
}

/// Whether the service holds all that was last sent, or what it makes of that.
fn is_as_wanted(store: &Store, job: &Job, mirror: &Mirror, fields: &[Field], key: &Key) -> Result<bool, store::Error> {
    let Some(known) = SyncedRecord::get(store, &job.name, key)? else { return Ok(true) };
    let Some(entity) = mirror.person(store, &known)? else { return Ok(false) };
    let owned = fields.iter().filter(|field| !job.seed_only.contains(&field.name));
    Ok(owned.filter(|field| job.mapping.fields.contains_key(field.name.as_str())).all(|field| {
        let wanted = known.sent.get(&field.name).unwrap_or(&Value::Empty);
        known.is_in_sync(&field.name, field.kind, wanted, entity.value(&field.name))
    }))
}
