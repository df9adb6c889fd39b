//! What a person decides on held changes.

use std::collections::{BTreeMap, BTreeSet};

use super::held_set::{HeldSet, held_set};
use crate::clock::Clock;
use crate::config::Job;
use crate::history::{self, Audit};
use crate::plan::{Decided, Verdict};
use crate::queue::{self, Change, State};
use crate::reconcile::approval::held::{self, HELD, PendingApproval, held};
use crate::reconcile::model::job_state::JobState;
use crate::record::{Key, RowMetadata};
use crate::store::{self, Batch, Store};

/// What is decided on: held changes of a job, as a person saw them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen<'a> {
    /// Their keys; all that are held where there is none.
    pub keys: Option<&'a BTreeSet<Key>>,
    /// The number of the set that the person saw, where it is known.
    pub set: Option<u64>,
    /// The digest of what was shown of it ([`HeldSet::digest`]), likewise.
    pub digest: Option<&'a str>,
}

impl<'a> Chosen<'a> {
    /// These keys, or all where there is none, whatever they are by now.
    pub fn of(keys: &'a BTreeSet<Key>) -> Self {
        Self { keys: Some(keys).filter(|keys| !keys.is_empty()), ..Self::default() }
    }

    /// The keys that are named; none where all are meant.
    pub fn named(&self) -> &'a BTreeSet<Key> {
        static NONE: BTreeSet<Key> = BTreeSet::new();
        self.keys.unwrap_or(&NONE)
    }
}

/// Releases held changes. Returns the keys; none where none of them can be approved.
pub fn approve(store: &Store, clock: &Clock, job: &Job, chosen: &Chosen<'_>) -> Result<Vec<Key>, DecisionError> {
    decide(store, clock, job, chosen, Verdict::Approved)
}

/// Drops held changes, likewise; each stays dropped until its record changes or comes back.
pub fn reject(store: &Store, clock: &Clock, job: &Job, chosen: &Chosen<'_>) -> Result<Vec<Key>, DecisionError> {
    decide(store, clock, job, chosen, Verdict::Rejected)
}

/// Why a decision could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionError {
    /// The state could not be read or written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The audit file could not be written; nothing was decided.
    #[error("the decision could not be written to the audit file; nothing was decided")]
    Audit(#[source] std::io::Error),
    /// Something else is held by now than what was seen.
    #[error("the held set is number {set} by now")]
    Changed {
        /// The number of what is held now.
        set: u64,
    },
    /// Nothing of that key is held.
    #[error("nothing of key {key} is held")]
    NotHeld {
        /// The key.
        key: Key,
    },
    /// Nothing of that key is queued.
    #[error("nothing of key {key} is queued")]
    NotQueued {
        /// The key.
        key: Key,
    },
    /// There is nothing to decide but something to mend.
    #[error("key {key} can't be decided on: {reason}")]
    Mend {
        /// The key.
        key: Key,
        /// What is to be mended.
        reason: String,
    },
}

/// Whether what is held is what a person saw.
fn expect_unchanged(store: &Store, job: &Job, chosen: &Chosen<'_>) -> Result<(), DecisionError> {
    if chosen.set.is_none() && chosen.digest.is_none() {
        return Ok(());
    }
    let set = held_set(store, job)?;
    let differs = |digest: &str| Ok::<_, store::Error>(HeldSet::load(store, job)?.digest() != digest);
    if chosen.set.is_some_and(|seen| seen != set) || chosen.digest.map_or(Ok(false), differs)? {
        return Err(DecisionError::Changed { set });
    }
    Ok(())
}

/// Decides in every part of a job; a key counts wherever it is held.
fn decide(
    store: &Store,
    clock: &Clock,
    job: &Job,
    choice: &Chosen<'_>,
    verdict: fn(u64) -> Verdict,
) -> Result<Vec<Key>, DecisionError> {
    let _alone = store.deciding();
    expect_unchanged(store, job, choice)?;
    let keys = choice.named();
    let mut chosen = Vec::new();
    let mut left_open = Batch::default();
    let mut found = BTreeSet::new();
    for part in job.parts() {
        let mut waiting = held(store, &part.name)?;
        let chosen_parts = waiting.iter().filter(|(key, _)| keys.contains(*key));
        let people: BTreeSet<Key> = chosen_parts.filter_map(|(_, change)| change.part_of.clone()).collect();
        let is_part = |change: &PendingApproval| change.part_of.as_ref().is_some_and(|person| people.contains(person));
        let mut leaves_open = false;
        waiting.retain(|key, change| {
            let is_chosen = choice.keys.is_none() || keys.contains(key) || is_part(change);
            leaves_open |= !is_chosen && change.reason.is_limit();
            is_chosen
        });
        found.extend(waiting.keys().cloned());
        chosen.push((part, waiting));
        if leaves_open {
            let state = JobState { partly_decided: true, ..JobState::load(store, &part.name)? };
            state.put(&mut left_open, &part.name);
        }
    }
    if let Some(key) = keys.iter().find(|key| !found.contains(key)) {
        return Err(DecisionError::NotHeld { key: key.clone() });
    }
    for key in keys {
        let held = chosen.iter().filter_map(|(_, waiting)| waiting.get(key));
        if let Some(change) = held.clone().next().filter(|_| held.clone().all(|change| change.action.is_none())) {
            return Err(DecisionError::Mend { key: key.clone(), reason: change.reason.to_string() });
        }
    }
    // Before any decision: no run may see one and not that others are left open, in whichever part, whatever ends this process.
    store.commit(left_open)?;
    let mut decided = Vec::new();
    for (part, waiting) in chosen {
        decided.extend(decide_part(store, clock, part, waiting, verdict)?);
    }
    Ok(decided)
}

fn decide_part(
    store: &Store,
    clock: &Clock,
    part: &Job,
    mut waiting: BTreeMap<Key, PendingApproval>,
    verdict: fn(u64) -> Verdict,
) -> Result<Vec<Key>, DecisionError> {
    let job = &part.name;
    waiting.retain(|_, change| change.action.is_some());
    let audit = Audit::new(store.home());
    for (key, change) in &waiting {
        let decision = match verdict(change.wish) {
            Verdict::Approved(_) => "approved",
            Verdict::Rejected(_) => "rejected",
        };
        let (job, key) = (Some(job.clone()), Some(key.clone()));
        let decided = history::Decided { job, key, ..history::Decided::new(clock.now(), decision) };
        audit.append(decided).map_err(DecisionError::Audit)?;
    }
    let mut sent = BTreeSet::new();
    queue::briefs_but_waiting(store, job, |change| {
        if matches!(change.state, State::Sent { .. }) {
            sent.insert(change.key);
        }
    })?;
    let mut batch = Batch::default();
    let (mut state, mut asks_more) = (JobState::load(store, job)?, false);
    for (key, change) in &waiting {
        let verdict = verdict(change.wish);
        let seen = change.seen.clone().filter(|_| matches!(verdict, Verdict::Approved(_)));
        let (doubt, is_answer) = (change.doubt, change.reason.is_question());
        queue::DECISIONS.put(&mut batch, job, key, &Decided { verdict, seen, doubt, is_answer });
        match change.other.as_deref().filter(|_| matches!(verdict, Verdict::Rejected(_))) {
            // The next question: no file need say it again.
            Some(other) => {
                held::add(&mut batch, job, key, other, &mut state);
                asks_more = true;
            }
            None => HELD.remove(&mut batch, job, key),
        }
        // The next plan replaces or drops it; where the source holds changes only, nothing else remembers it.
        if let (Verdict::Approved(_), Some(wish)) = (verdict, &change.change)
            && !sent.contains(key)
        {
            let (job, key, wish) = (job.clone(), key.clone(), wish.clone());
            let waits = Change {
                job,
                key,
                target: part.mapping.target,
                wish,
                approved: true,
                marks: RowMetadata::default(),
                undo: change.undo.clone(),
                state: State::Waiting,
            };
            queue::put(&mut batch, &waits);
        }
    }
    if asks_more {
        state.put(&mut batch, job);
    }
    store.commit(batch)?;
    Ok(waiting.into_keys().collect())
}

/// Takes a job's directory for right as it was read last; `None` where nothing of it is in doubt, else its server.
pub fn believe(store: &Store, clock: &Clock, job: &Job) -> Result<Option<String>, DecisionError> {
    let mut server = None;
    let mut batch = Batch::default();
    for part in job.parts() {
        let mut state = JobState::load(store, &part.name)?;
        let believed: Vec<String> = state.lookups.values_mut().filter_map(|lookup| lookup.shown.believe()).collect();
        if let Some(address) = state.shown.believe().into_iter().chain(believed).next() {
            server = Some(address);
            state.put(&mut batch, &part.name);
        }
    }
    if let Some(server) = &server {
        let (job, why) = (Some(job.name.clone()), Some(server.clone()));
        let decided = history::Decided { job, why, ..history::Decided::new(clock.now(), "believed the server") };
        Audit::new(store.home()).append(decided).map_err(DecisionError::Audit)?;
        store.commit(batch)?;
    }
    Ok(server)
}
