//! What waits for a person, and what the person decided.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::basis;
use super::error::Error;
use super::prepare::Prepared;
use super::state::JobState;
use crate::clock::Clock;
use crate::config::Job;
use crate::history::{Audit, Line, acting_user};
use crate::plan::{self, Decided, Guarded, Held, Judged, Outline, Seen, Verdict, Writes};
use crate::queue::{self, Change, State, Undo};
use crate::record::{Action, JobName, Key, Marks, Wish};
use crate::spool;
use crate::store::{self, Batch, Space, Store};

/// A held change as it is kept between runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldChange {
    /// What would be done; none where there is nothing to approve but something to mend.
    pub action: Option<Action>,
    /// The digest of what is wanted.
    pub wish: u64,
    /// What is wanted: a file that holds changes only does not say it a second time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Wish>,
    /// What it takes back, where it does: such a change waits until it is decided on, whatever the source wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undo>,
    /// Why it waits.
    pub reason: String,
    /// The person whose update it is a part of: a decision on one part is a decision on all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<Key>,
    /// What the service held of the person when it was held: an approval is of a change as it was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
}

/// The held changes of a job, by key.
pub fn held(store: &Store, job: &JobName) -> Result<BTreeMap<Key, HeldChange>, store::Error> {
    by_key(store, Space::Held, job)
}

/// What was decided, by key.
pub(super) fn verdicts(store: &Store, job: &JobName) -> Result<BTreeMap<Key, Verdict>, store::Error> {
    Ok(decisions(store, job)?.into_iter().map(|(key, decided)| (key, decided.verdict)).collect())
}

/// The same with what was seen by those who approved.
pub(super) fn decisions(store: &Store, job: &JobName) -> Result<BTreeMap<Key, Decided>, store::Error> {
    by_key(store, Space::Decision, job)
}

/// Puts a person's verdicts on what was held before the guard came to it. The keys are those whose verdict still counts
/// though the change that it was made for is not the one that is held now.
pub(super) fn decided(
    held: Vec<Held<Outline>>,
    writes: Writes,
    verdicts: &BTreeMap<Key, Verdict>,
) -> (Guarded<Outline>, BTreeSet<Key>) {
    let mut guarded = Guarded::default();
    let mut standing = BTreeSet::new();
    for mut one in held {
        let verdict = verdicts.get(&one.key);
        let is = |held: &Held<Outline>, verdict: Option<&Verdict>, make: fn(u64) -> Verdict| {
            held.change.as_ref().is_some_and(|change| verdict == Some(&make(change.wish())))
        };
        if let Some(other) = &one.other {
            let rejected = is(&one, verdict, Verdict::Rejected);
            if rejected || is(other, verdict, Verdict::Approved) || is(other, verdict, Verdict::Rejected) {
                standing.extend(rejected.then(|| one.key.clone()));
                one = (**other).clone();
            }
        }
        if is(&one, verdict, Verdict::Approved) && writes != Writes::Off {
            one.change.iter_mut().for_each(Outline::approve);
            guarded.go.extend(one.change);
        } else if is(&one, verdict, Verdict::Rejected) {
            guarded.rejected.extend(one.change);
        } else {
            guarded.held.push(one);
        }
    }
    (guarded, standing)
}

/// Holds everything that a person has not released.
pub(super) fn hold_all(guarded: &mut Guarded<Outline>, reason: &str) {
    for held in &mut guarded.held {
        held.reason = format!("{reason}; {}", held.reason).into();
    }
    let reason = reason.into();
    let open = guarded.go.extract_if(.., |change| !change.is_approved());
    guarded.held.extend(open.map(|change| Held::change(change, &reason)));
}

/// Releases held changes: all of them, or those of `keys`. Returns the keys; none where none of them can be approved.
pub fn approve(store: &Store, clock: &Clock, job: &Job, keys: &BTreeSet<Key>) -> Result<Vec<Key>, DecisionError> {
    decide(store, clock, job, keys, "approved", Verdict::Approved)
}

/// Drops held changes, likewise; each stays dropped until its record changes or comes back.
pub fn reject(store: &Store, clock: &Clock, job: &Job, keys: &BTreeSet<Key>) -> Result<Vec<Key>, DecisionError> {
    decide(store, clock, job, keys, "rejected", Verdict::Rejected)
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

/// The number of the current set of held changes of a job and its parts.
pub fn held_set(store: &Store, job: &Job) -> Result<u64, store::Error> {
    job.parts().map(|part| Ok(JobState::load(store, &part.name)?.held_set)).sum()
}

/// Decides in every part of a job; a key counts wherever it is held.
fn decide(
    store: &Store,
    clock: &Clock,
    job: &Job,
    keys: &BTreeSet<Key>,
    decision: &str,
    verdict: fn(u64) -> Verdict,
) -> Result<Vec<Key>, DecisionError> {
    let mut chosen = Vec::new();
    let mut found = BTreeSet::new();
    for part in job.parts() {
        let mut waiting = held(store, &part.name)?;
        let chosen_parts = waiting.iter().filter(|(key, _)| keys.contains(*key));
        let people: BTreeSet<Key> = chosen_parts.filter_map(|(_, change)| change.part_of.clone()).collect();
        let is_part = |change: &HeldChange| change.part_of.as_ref().is_some_and(|person| people.contains(person));
        waiting.retain(|key, change| keys.is_empty() || keys.contains(key) || is_part(change));
        found.extend(waiting.keys().cloned());
        chosen.push((part, waiting));
    }
    if let Some(key) = keys.iter().find(|key| !found.contains(key)) {
        return Err(DecisionError::NotHeld { key: key.clone() });
    }
    for key in keys {
        let held = chosen.iter().filter_map(|(_, waiting)| waiting.get(key));
        if let Some(change) = held.clone().next().filter(|_| held.clone().all(|change| change.action.is_none())) {
            return Err(DecisionError::Mend { key: key.clone(), reason: change.reason.clone() });
        }
    }
    let mut decided = Vec::new();
    for (part, waiting) in chosen {
        decided.extend(decide_part(store, clock, part, waiting, decision, verdict)?);
    }
    Ok(decided)
}

fn decide_part(
    store: &Store,
    clock: &Clock,
    part: &Job,
    mut waiting: BTreeMap<Key, HeldChange>,
    decision: &str,
    verdict: fn(u64) -> Verdict,
) -> Result<Vec<Key>, DecisionError> {
    let job = &part.name;
    waiting.retain(|_, change| change.action.is_some());
    let audit = Audit::new(store.dir());
    for key in waiting.keys() {
        let at = clock.now();
        let line = Line::Decision { at, job: Some(job), key: Some(key), decision, by: acting_user(), why: None };
        audit.append(at, &line).map_err(DecisionError::Audit)?;
    }
    let mut sent = BTreeSet::new();
    queue::briefs_but_waiting(store, job, |change| {
        if matches!(change.state, State::Sent { .. }) {
            sent.insert(change.key);
        }
    })?;
    let mut batch = Batch::default();
    for (key, change) in &waiting {
        let verdict = verdict(change.wish);
        let seen = change.seen.clone().filter(|_| matches!(verdict, Verdict::Approved(_)));
        batch.put(Space::Decision, &Space::by_job(job, key.as_str()), &Decided { verdict, seen });
        batch.remove(Space::Held, &Space::by_job(job, key.as_str()));
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
                marks: Marks::default(),
                undo: change.undo.clone(),
                state: State::Waiting,
            };
            queue::put(&mut batch, &waits);
        }
    }
    store.commit(batch)?;
    Ok(waiting.into_keys().collect())
}

/// Puts what is held now in place of what was, but for those whom `keep` names; the set's number grows where it is another
/// one, before any row of it is written: nobody approves by a number what it did not hold. Returns those that were kept.
pub(super) fn replace(
    store: &Store,
    batch: &mut Batch,
    prepared: &Prepared,
    keep: impl Fn(&Key) -> bool,
    state: &mut JobState,
) -> Result<BTreeMap<Key, HeldChange>, Error> {
    let job = &prepared.job;
    let mut before: BTreeMap<Key, Option<u64>> = BTreeMap::new();
    let mut kept = BTreeMap::new();
    store.each(Space::Held, &Space::by_job(job, ""), |key, held: HeldChange| {
        let Some(key) = Key::new(key) else { return };
        before.insert(key.clone(), held.approvable());
        if held.undo.is_some() || keep(&key) {
            kept.insert(key, held);
        }
    })?;
    let mut now: BTreeMap<&Key, &Held<Outline>> = BTreeMap::new();
    now.extend(prepared.held.iter().map(|held| (&held.key, held)));
    let after = |key: &Key| match now.get(key) {
        Some(held) => Some(held.change.as_ref().map(Judged::wish)),
        None => kept.get(key).map(HeldChange::approvable),
    };
    let known = before.iter().all(|(key, wish)| wish.is_none() || after(key) == Some(*wish));
    let has = |key: &Key, wish: Option<u64>| wish.is_none() || before.get(key) == Some(&wish);
    if !known || !now.iter().all(|(key, held)| has(key, held.change.as_ref().map(Judged::wish))) {
        state.held_set += 1;
        let mut first = Batch::default();
        state.put(&mut first, job);
        store.commit(first)?;
    }
    for key in before.keys().filter(|key| after(key).is_none()) {
        batch.remove(Space::Held, &Space::by_job(job, key.as_str()));
    }
    let mut failed = None;
    let rows = now.values().map_while(|held| match HeldChange::of(held, prepared) {
        Ok(row) => Some((Space::by_job(job, held.key.as_str()), row)),
        Err(error) => {
            failed = Some(error);
            None
        }
    });
    store.fill(Space::Held, now.len(), rows)?;
    failed.map_or(Ok(kept), |error| Err(error.into()))
}

/// The same for the keys of a narrowed run.
pub(super) fn replace_some(
    store: &Store,
    batch: &mut Batch,
    keys: &BTreeSet<Key>,
    prepared: &Prepared,
    state: &mut JobState,
) -> Result<(), Error> {
    let job = &prepared.job;
    for (key, _) in held(store, job)?.iter().filter(|(key, held)| held.undo.is_none() && keys.contains(*key)) {
        batch.remove(Space::Held, &Space::by_job(job, key.as_str()));
    }
    for held in &prepared.held {
        add(batch, job, &held.key, &HeldChange::of(held, prepared)?, state);
    }
    Ok(())
}

/// Puts what is held besides what was.
pub(super) fn add(batch: &mut Batch, job: &JobName, key: &Key, held: &HeldChange, state: &mut JobState) {
    batch.put(Space::Held, &Space::by_job(job, key.as_str()), held);
    state.held_set += 1;
}

/// Keeps those as held who wait for something else than a person: nothing can be decided about them.
pub(super) fn wait<'a>(
    store: &Store,
    job: &JobName,
    keys: impl Iterator<Item = &'a Key>,
    reason: &str,
) -> Result<(), store::Error> {
    let mut batch = Batch::default();
    for key in keys {
        let waits = HeldChange::new(None, reason, None);
        batch.put(Space::Held, &Space::by_job(job, key.as_str()), &waits);
    }
    store.commit(batch)
}

/// Forgets verdicts on what is no longer wanted: `wanted` holds the digest of every change of this run.
pub(super) fn prune(
    batch: &mut Batch,
    job: &JobName,
    verdicts: &BTreeMap<Key, Verdict>,
    wanted: &BTreeMap<Key, u64>,
    evaluated: impl Fn(&Key) -> bool,
) {
    for (key, verdict) in verdicts {
        let (Verdict::Approved(wish) | Verdict::Rejected(wish)) = verdict;
        if wanted.get(key) != Some(wish) && evaluated(key) {
            batch.remove(Space::Decision, &Space::by_job(job, key.as_str()));
        }
    }
}

impl HeldChange {
    fn of(held: &Held<Outline>, prepared: &Prepared) -> Result<Self, spool::Error> {
        let change = held.change.as_ref().map(|change| prepared.pile.change(change)).transpose()?;
        let id = change.as_ref().and_then(|change| change.wish.id);
        let seen = id.zip(prepared.new.remote.get(&held.key)).map(|(id, remote)| basis::seen(id, *remote));
        let part_of = held.change.as_ref().and_then(Judged::part_of).cloned();
        Ok(Self { seen, part_of, ..Self::new(change, &held.reason, None) })
    }

    /// What was approved and is to be looked at again, as it is queued.
    pub(super) fn again(wish: Wish, reason: &str, seen: Option<Seen>) -> Self {
        let (action, digest) = (Some(wish.action), wish.digest());
        Self { action, wish: digest, change: Some(wish), undo: None, reason: reason.to_owned(), part_of: None, seen }
    }

    /// A change that waits, or something to mend.
    pub(super) fn new(change: Option<plan::Change>, reason: &str, undo: Option<Undo>) -> Self {
        Self {
            action: change.as_ref().map(|change| change.wish.action),
            wish: change.as_ref().map_or(0, |change| change.wish.digest()),
            change: change.map(|change| change.wish),
            undo,
            reason: reason.to_owned(),
            part_of: None,
            seen: None,
        }
    }

    /// The wish that can be approved.
    fn approvable(&self) -> Option<u64> {
        self.action.map(|_| self.wish)
    }
}

fn by_key<T: serde::de::DeserializeOwned>(
    store: &Store,
    space: Space,
    job: &JobName,
) -> Result<BTreeMap<Key, T>, store::Error> {
    let rows = store.list(space, &Space::by_job(job, ""))?;
    Ok(rows.into_iter().filter_map(|(key, row)| Some((Key::new(&key)?, row))).collect())
}
