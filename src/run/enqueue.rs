//! From what a run wants to the queue.

use std::collections::BTreeMap;

use super::prepare::Prepared;
use super::state::JobState;
use super::{Narrow, held};
use crate::config::{Job, Mode};
use crate::plan::{Held, Writes};
use crate::queue::{self, Change, State};
use crate::record::{Action, Key, Private};
use crate::snapshot::{Known, Owner};
use crate::store::{self, Batch, Store};

/// Changes that left an earlier process and whose fate nobody knows; everything else of the queue is planned anew.
pub(super) fn left_unknown(store: &Store, job: &Job) -> Result<Vec<Change>, store::Error> {
    let open = |change: &Change| match &change.state {
        State::Sent { .. } => true,
        // A file of changes says nothing a second time: what waits from an earlier one is sent as it is, so it is looked up.
        State::Waiting => job.mode == Mode::Changes && change.wish.action == Action::Create,
        State::Parked { .. } => false,
    };
    let target = job.mapping.target;
    Ok(queue::list(store, &job.name)?.into_iter().filter(open).map(|change| Change { target, ..change }).collect())
}

/// Stores what the plan found and wants, and returns what is to be sent.
pub(super) fn commit(
    store: &Store,
    job: &Job,
    prepared: &mut Prepared,
    narrow: &Narrow,
) -> Result<Vec<Change>, store::Error> {
    let extra = &prepared.new;
    let mut batch = Batch::default();
    for (key, known) in &extra.waiting {
        known.put(&mut batch, &job.name, key);
    }
    for (key, id) in &extra.forgotten {
        Known::remove(&mut batch, &job.name, key);
        Owner::release(&mut batch, store, &job.name, job.mapping.target, *id)?;
    }
    store.commit(batch)?;
    let judged = |key: &Key| extra.judged_all || extra.digests.contains_key(key);
    let mut changes: BTreeMap<Key, Change> =
        prepared.go.iter().map(|(change, approved)| (change.key.clone(), queued(job, change, *approved))).collect();
    let mut carried = Vec::new();
    let unclear = |old: &Change| old.wish.action == Action::Create && matches!(old.state, State::Sent { .. });
    let mut batch = Batch::default();
    for old in queue::list(store, &job.name)? {
        let parked = matches!(old.state, State::Parked { .. });
        // A change that was parked before it was sent costs no write to try again: the person may have been mended.
        let refused = matches!(old.state, State::Parked { status, .. } if status > 0);
        match changes.get(&old.key) {
            // The service refused just this; it would again. An approval is good for one try.
            Some(new) if refused && new.wish == old.wish && (!new.approved || old.approved) => {
                changes.remove(&old.key);
            }
            Some(_) => {}
            // What became of it is not known, and stays so until the next run looks again.
            None if unclear(&old) => {}
            // A person undid a run: that is sent, or parked, whatever the source says of the record.
            None if old.undo.is_some() && (parked || !narrow.has(&old.key) || job.writes == Writes::Off) => {}
            None if old.undo.is_some() => carried.push(old),
            None if job.mode == Mode::Changes && !judged(&old.key) && old.state == State::Waiting => carried.push(old),
            None if judged(&old.key) || (!parked && narrow.has(&old.key)) => {
                queue::remove(&mut batch, &job.name, &old.key);
            }
            None => {}
        }
    }
    changes.extend(carried.into_iter().map(|old| (old.key.clone(), old)));
    changes.values().for_each(|change| queue::put(&mut batch, change));
    store.load(batch)?;
    let mut batch = Batch::default();
    let mut state = JobState::load(store, &job.name)?;
    if !narrow.is_narrow() {
        let keep = |key: &Key| job.mode == Mode::Changes && !judged(key);
        let kept = held::replace(store, &mut batch, &job.name, &prepared.held, keep, &mut state)?;
        prepared.held.extend(kept.into_iter().map(|(key, held)| Held {
            key,
            reason: held.reason,
            change: None,
            other: None,
        }));
        if extra.mapping_settled || state.mapping.is_empty() {
            state.mapping.clone_from(&extra.mapping);
        }
        state.found.clone_from(&extra.file);
    } else {
        held::replace_some(store, &mut batch, &job.name, &narrow.keys, &prepared.held, &mut state)?;
    }
    let held = prepared.held.iter().filter_map(|held| held.change.as_ref());
    let wanted: BTreeMap<Key, u64> = prepared
        .go
        .iter()
        .map(|(change, _)| change)
        .chain(held)
        .chain(&prepared.dropped)
        .map(|change| (change.key.clone(), change.wish.digest()))
        .collect();
    held::prune(&mut batch, &job.name, &extra.verdicts, &wanted, |key| {
        (judged(key) || extra.there.contains(key)) && !extra.standing.contains(key)
    });
    state.put(&mut batch, &job.name);
    store.commit(batch)?;
    Ok(changes.into_values().collect())
}

pub(super) fn queued(job: &Job, change: &crate::plan::Change, approved: bool) -> Change {
    Change {
        job: job.name.clone(),
        key: change.key.clone(),
        target: job.mapping.target,
        wish: change.wish.clone(),
        approved,
        marks: change.marks.clone(),
        undo: None,
        state: State::Waiting,
    }
}

pub(super) fn parked(store: &Store, job: &Job) -> Result<Vec<(Key, Action, String)>, store::Error> {
    let parked = |change: Change| match change.state {
        State::Parked { status: 0, words } => Some((change.key, change.wish.action, words)),
        // What a service says may name somebody.
        State::Parked { status, words } => {
            Some((change.key, change.wish.action, format!("{status}: {}", Private(&words))))
        }
        State::Waiting | State::Sent { .. } => None,
    };
    Ok(queue::list(store, &job.name)?.into_iter().filter_map(parked).collect())
}
