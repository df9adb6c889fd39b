//! What waits in the queue, and what a person decides about it.
//!
//! Of the queue only what is surely without effect can be decided on: a change that was sent, and whose fate the next run
//! looks up, stays. The one exception is a create of which several people at the service may be the result: the looking is
//! over, it found no answer, and only a person can give one.

use std::collections::BTreeSet;

use super::approvals::{DecisionError, write_down};
use crate::clock::Clock;
use crate::config::Job;
use crate::history::Audit;
use crate::plan::Decided;
use crate::queue::{self, Change, State};
use crate::reconcile::approval::held::{HELD, held};
use crate::record::{Action, JobName, Key};
use crate::store::{self, Batch, Store};

/// One change of the queue.
pub struct QueuedChange {
    /// The change.
    pub change: Change,
    /// Why it is not known what became of it, where a look at the service did not tell.
    pub unclear: Option<String>,
}

/// All changes of the queue of a job and its parts, each in order of key.
pub fn waiting(store: &Store, job: &Job) -> Result<Vec<QueuedChange>, store::Error> {
    let mut all = Vec::new();
    for part in job.parts() {
        all.extend(of_part(store, &part.name)?);
    }
    Ok(all)
}

fn of_part(store: &Store, job: &JobName) -> Result<Vec<QueuedChange>, store::Error> {
    let held = held(store, job)?;
    let with_reason = |change: Change| {
        let looked = held.get(&change.key).filter(|held| held.action.is_none());
        let is_open = change.wish.action == Action::Create && matches!(change.state, State::Sent { .. });
        QueuedChange { unclear: looked.filter(|_| is_open).map(|held| held.reason.to_string()), change }
    };
    Ok(queue::list(store, job)?.into_iter().map(with_reason).collect())
}

/// Lets the next run send parked changes again: all of them, or those of `keys`. Returns the keys.
pub fn retry(store: &Store, clock: &Clock, job: &Job, keys: &BTreeSet<Key>) -> Result<Vec<Key>, DecisionError> {
    let _alone = store.deciding();
    let is_parked = |waiting: &QueuedChange| waiting.change.state.is_parked();
    let chosen = choose(store, job, keys, is_parked, "it is not parked; the next run sees to it by itself")?;
    decide(store, clock, &chosen, "retried", |batch, waiting| {
        queue::put(batch, &Change { state: State::Waiting, ..waiting.change.clone() });
    })
}

/// Drops changes: all that can be, or those of `keys`. A change that was not sent, or was refused, stays dropped until
/// its record changes; the record of an unclear create is planned again. Returns the keys.
pub fn discard(store: &Store, clock: &Clock, job: &Job, keys: &BTreeSet<Key>) -> Result<Vec<Key>, DecisionError> {
    let _alone = store.deciding();
    let is_over =
        |waiting: &QueuedChange| waiting.unclear.is_some() || !matches!(waiting.change.state, State::Sent { .. });
    let chosen = choose(store, job, keys, is_over, "it was sent, and the next run looks up what became of it")?;
    decide(store, clock, &chosen, "dropped", |batch, waiting| {
        let (job, key) = (&waiting.change.job, &waiting.change.key);
        queue::remove(batch, job, key);
        if waiting.unclear.is_some() {
            HELD.remove(batch, job, key);
        } else {
            let wish = &waiting.change.wish;
            let due = waiting.change.marks.due;
            let decided = Decided { id: wish.id, due, ..Decided::rejected(wish.digest()) };
            queue::DECISIONS.put(batch, job, key, &decided);
        }
    })
}

/// The changes that are meant and can be decided on; one that was named and can't be is an error.
fn choose(
    store: &Store,
    job: &Job,
    keys: &BTreeSet<Key>,
    fits: impl Fn(&QueuedChange) -> bool,
    otherwise: &str,
) -> Result<Vec<QueuedChange>, DecisionError> {
    let mut all = waiting(store, job)?;
    for key in keys {
        // A key may be queued in several parts.
        let mut queued = all.iter().filter(|waiting| waiting.change.key == *key).peekable();
        if queued.peek().is_none() {
            return Err(DecisionError::NotQueued { key: key.clone() });
        }
        if !queued.any(&fits) {
            return Err(DecisionError::Mend { key: key.clone(), reason: otherwise.to_owned() });
        }
    }
    all.retain(|waiting| fits(waiting) && (keys.is_empty() || keys.contains(&waiting.change.key)));
    Ok(all)
}

/// Writes the decision down before it counts.
fn decide(
    store: &Store,
    clock: &Clock,
    chosen: &[QueuedChange],
    decision: &str,
    carry_out: impl Fn(&mut Batch, &QueuedChange),
) -> Result<Vec<Key>, DecisionError> {
    let (audit, at) = (Audit::new(store.home()), clock.now());
    let mut batch = Batch::default();
    for waiting in chosen {
        write_down(&audit, at, decision, (&waiting.change.job, &waiting.change.key))?;
        carry_out(&mut batch, waiting);
    }
    store.commit(batch)?;
    Ok(chosen.iter().map(|waiting| waiting.change.key.clone()).collect())
}
