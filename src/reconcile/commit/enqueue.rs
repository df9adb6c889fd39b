//! From what a run wants to the queue.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Job, Mode};
use crate::plan::{self, Held, Judged as _, Outline, Writes};
use crate::queue::{self, Brief, Change, State, Ticket};
use crate::reconcile::approval::held::{self, PendingApproval};
use crate::reconcile::approval::outdated::OUTDATED;
use crate::reconcile::model::context::KeyFilter;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::JobPlan;
use crate::reconcile::model::job_state::JobState;
use crate::record::{Action, Key, Sensitive};
use crate::snapshot::{Owner, SyncedRecord};
use crate::store::{self, Batch, Keyspace, Store};

/// Changes that an earlier process sent and whose fate is unknown; everything else in the queue is planned again.
pub(crate) fn left_unknown(store: &Store, job: &Job) -> Result<Vec<Change>, store::Error> {
    let open = |change: &Brief| match &change.state {
        State::Sent { .. } => true,
        // A file of changes says nothing a second time: what waits from an earlier one is sent as it is, so it is looked up.
        State::Waiting => job.mode == Mode::Changes && change.action == Action::Create,
        State::Parked { .. } => false,
    };
    let target = job.mapping.target;
    let mut unknown = Vec::new();
    queue::briefs(store, &job.name, |change| unknown.extend(open(&change).then_some(change.key)))?;
    let unknown = queue::of(store, &job.name, &unknown)?;
    Ok(unknown.into_iter().map(|change| Change { target, ..change }).collect())
}

/// Stores what the plan found and wants, and returns what is to be sent.
pub(crate) fn commit(
    store: &Store,
    job: &Job,
    prepared: &mut JobPlan,
    narrow: &KeyFilter,
) -> Result<Vec<Ticket>, Error> {
    let extra = &prepared.updates;
    let mut batch = Batch::default();
    for (key, known) in &extra.waiting {
        known.put(&mut batch, &job.name, key);
    }
    for (key, id) in &extra.forgotten {
        SyncedRecord::remove(&mut batch, &job.name, key);
        Owner::release(&mut batch, store, &job.name, job.mapping.target, *id)?;
    }
    store.commit(batch)?;
    let judged = |key: &Key| extra.judged_all || extra.digests.has(key);
    // What is queued already, as far as it stays or goes for a reason of its own.
    let (mut again, mut carried, mut outdated) = (Vec::new(), Vec::new(), Vec::new());
    let mut dropped = Batch::default();
    let mut go: BTreeMap<&Key, &Outline> = BTreeMap::new();
    if !queue::is_empty(store, &job.name)? {
        go.extend(prepared.go.iter().map(|change| (&change.key, change)));
    }
    let unclear = |old: &Brief| old.action == Action::Create && matches!(old.state, State::Sent { .. });
    queue::briefs(store, &job.name, |old| {
        let parked = matches!(old.state, State::Parked { .. });
        // A change that was parked before it was sent costs no write to try again: the person may have been mended.
        let is_refused = matches!(old.state, State::Parked { status, .. } if status > 0);
        match go.get(&old.key) {
            Some(_) if is_refused => again.push(old.key),
            Some(_) => {}
            // What became of it is not known, and stays so until the next run looks again.
            None if unclear(&old) => {}
            // A person undid a run: that is sent, or parked, whatever the source says of the record.
            None if old.undoes && (parked || !narrow.has(&old.key) || job.writes == Writes::Off) => {}
            None if old.undoes => carried.push(old.key),
            None if job.mode == Mode::Changes && !judged(&old.key) && old.state == State::Waiting => {
                let keys = if extra.outdated.contains_key(&old.key) { &mut outdated } else { &mut carried };
                keys.push(old.key);
            }
            None if judged(&old.key) || (!parked && narrow.has(&old.key)) => {
                queue::remove(&mut dropped, &job.name, &old.key);
            }
            None => {}
        }
    })?;
    let mut refused = BTreeSet::new();
    for key in again {
        let (Some(new), Some(old)) = (go.get(&key), queue::get(store, &job.name, &key)?) else { continue };
        // The service refused just this; it would again. An approval is good for one try.
        if new.wish() == old.wish.digest() && (!new.is_approved() || old.approved) {
            refused.insert(key);
        }
    }
    drop(go);
    let carried = queue::of(store, &job.name, &carried)?;
    let mut bulk = store.bulk_load();
    bulk.add(dropped)?;
    let mut tickets: Vec<Ticket> = carried.iter().map(Change::ticket).collect();
    let mut wanted: Vec<&Outline> = prepared.go.iter().filter(|change| !refused.contains(&change.key)).collect();
    wanted.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    for change in wanted {
        let change = queued(job, prepared.pile.change(change)?);
        tickets.push(change.ticket());
        let mut batch = Batch::default();
        queue::put(&mut batch, &change);
        bulk.add(batch)?;
    }
    bulk.commit()?;
    let mut batch = Batch::default();
    let mut state = JobState::load(store, &job.name)?;
    if !narrow.is_narrow() {
        let keep = |key: &Key| job.mode == Mode::Changes && !judged(key);
        let kept = held::replace(store, &mut batch, prepared, keep, &mut state)?;
        prepared.held.extend(kept.into_iter().map(|(key, held)| Held {
            key,
            reason: held.reason.into(),
            change: None,
            other: None,
        }));
        if extra.mapping_settled || state.mapping.is_empty() {
            state.mapping.clone_from(&extra.mapping);
        }
        state.copies = extra.copies.unwrap_or(state.copies);
        state.found.clone_from(&extra.file);
    } else {
        held::replace_some(store, &mut batch, &narrow.keys, prepared, &mut state)?;
    }
    state.shown.clone_from(&extra.shown);
    for key in prepared.updates.outdated.keys() {
        batch.remove(Keyspace::Decision, &Keyspace::by_job(&job.name, key.as_str()));
    }
    for change in queue::of(store, &job.name, &outdated)? {
        queue::remove(&mut batch, &job.name, &change.key);
        let seen = prepared.updates.outdated.get(&change.key).and_then(|one| one.seen.clone());
        let held = PendingApproval::again(change.wish, OUTDATED, seen);
        held::add(&mut batch, &job.name, &change.key, &held, &mut state);
        prepared.held.push(Held { key: change.key, reason: OUTDATED.into(), change: None, other: None });
    }
    let held = prepared.held.iter().filter_map(|held| held.change.as_ref());
    let wanted: BTreeMap<Key, u64> = prepared
        .go
        .iter()
        .chain(held)
        .chain(&prepared.dropped)
        .filter(|change| extra.verdicts.contains_key(&change.key))
        .map(|change| (change.key.clone(), change.wish()))
        .collect();
    held::prune(&mut batch, &job.name, &extra.verdicts, &wanted, |key| {
        (judged(key) || extra.there.contains(key)) && !extra.standing.contains(key)
    });
    state.put(&mut batch, &job.name);
    store.commit(batch)?;
    Ok(tickets)
}

pub(crate) fn queued(job: &Job, change: plan::Change) -> Change {
    Change {
        job: job.name.clone(),
        key: change.key,
        target: job.mapping.target,
        wish: change.wish,
        approved: change.approved,
        marks: change.marks,
        undo: None,
        state: State::Waiting,
    }
}

pub(crate) fn parked(store: &Store, job: &Job) -> Result<Vec<(Key, Action, String)>, store::Error> {
    let mut parked = Vec::new();
    queue::briefs_but_waiting(store, &job.name, |change| match change.state {
        State::Parked { status: 0, words } => parked.push((change.key, change.action, words)),
        // The service's words may contain a person's name.
        State::Parked { status, words } => {
            parked.push((change.key, change.action, format!("{status}: {}", Sensitive(&words))));
        }
        State::Waiting | State::Sent { .. } => {}
    })?;
    Ok(parked)
}
