//! What a file of changes ends though nothing is taken from it.
//!
//! A row that can't be used may be what takes back an earlier one: no one leaves by what that said, until a row says it again.
//! Where the file has other rows, the run that uses those sees to the removals.

use std::collections::BTreeSet;

use crate::config::{Job, Mode};
use crate::queue::{self, Change};
use crate::reconcile::approval::held::{HELD, PendingApproval};
use crate::reconcile::commit::index::set_days;
use crate::reconcile::model::context::KeyFilter;
use crate::reconcile::model::job_plan::JobPlan;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::kept_record::{KeptRecord, LATER};
use crate::reconcile::model::state_updates::RowIs;
use crate::record::{Action, Key, RowMetadata};
use crate::snapshot::Index;
use crate::store::{self, Batch, Store};

/// Ends the last days and the removals that wait of those whose rows can't be used. Returns whether there are such rows.
pub(crate) fn end_earlier(store: &Store, job: &Job, plan: &JobPlan, filter: &KeyFilter) -> Result<bool, store::Error> {
    if job.mode != Mode::Changes {
        return Ok(false);
    }
    end_days(store, plan)?;
    let _alone = store.deciding();
    end_days_ahead(store, plan)?;
    let rejected = plan.updates.there.iter().filter(|(key, row)| **row == RowIs::Rejected && filter.has(key));
    let rejected: BTreeSet<&Key> = rejected.map(|(key, _)| key).collect();
    if rejected.is_empty() {
        return Ok(!plan.updates.undue.is_empty());
    }
    let (mut batch, mut state, mut ended) = (Batch::default(), JobState::load(store, &job.name)?, BTreeSet::new());
    queue::briefs(store, &job.name, |old| {
        let waits = old.action == Action::Delete && !old.undoes;
        if waits && rejected.contains(&old.key) {
            queue::remove(&mut batch, &job.name, &old.key);
            ended.insert(old.key);
        }
    })?;
    HELD.each(store, &job.name, |key, held| {
        // What waits in the queue for something else than a person is held without saying of what.
        let waits = held.leaves() || (held.action.is_none() && ended.contains(&key));
        if waits && held.undo.is_none() && rejected.contains(&key) {
            HELD.remove(&mut batch, &job.name, &key);
            state.held_set += 1;
            ended.insert(key);
        }
    })?;
    for key in &ended {
        queue::DECISIONS.remove(&mut batch, &job.name, key);
    }
    state.put(&mut batch, &job.name);
    store.commit(batch)?;
    Ok(true)
}

/// Takes the last days out of what is kept for a later day, held or queued of those whose rows can't be used.
pub(super) fn end_days_ahead(store: &Store, plan: &JobPlan) -> Result<(), store::Error> {
    let (job, spoilt) = (&plan.job, &plan.updates.spoilt);
    if spoilt.is_empty() {
        return Ok(());
    }
    let mut batch = Batch::default();
    LATER.each(store, job, |key, record| {
        if spoilt.concerns(&key) {
            LATER.put(&mut batch, job, &key, &record.without_last_day());
        }
    })?;
    HELD.each(store, job, |key, held| {
        if spoilt.concerns(&key) && held.undo.is_none() {
            let marks = RowMetadata { due: None, ..held.marks.clone() };
            let record = held.record.clone().map(KeptRecord::without_last_day);
            HELD.put(&mut batch, job, &key, &PendingApproval { marks, record, ..held });
        }
    })?;
    let mut waiting = Vec::new();
    queue::briefs(store, job, |change| {
        waiting.extend((!change.undoes && spoilt.concerns(&change.key)).then_some(change.key))
    })?;
    for change in queue::of(store, job, &waiting)? {
        let marks = RowMetadata { due: None, ..change.marks.clone() };
        queue::put(&mut batch, &Change { marks, ..change });
    }
    store.commit(batch)
}

fn end_days(store: &Store, plan: &JobPlan) -> Result<(), store::Error> {
    let undue = &plan.updates.undue;
    if undue.is_empty() {
        return Ok(());
    }
    set_days(store, &plan.job, undue.iter().map(|key| (key.clone(), None)))?;
    let index = Index::load(store, &plan.job)?;
    let spoilt: BTreeSet<usize> = undue.iter().filter_map(|key| index.by_key(key.as_str())).collect();
    let entries = (0..index.len()).map(|at| {
        let entry = index.entry(at);
        if spoilt.contains(&at) { entry.undue() } else { entry }
    });
    Index::save(store, &plan.job, entries)
}
