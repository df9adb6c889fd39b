//! What waits for a person, and what the person decided.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::remote_digest;
use crate::config::{Job, Mode};
use crate::plan::{self, Decided, Guarded, Held, HoldReason, Judged, Outline, RemoteDigest, Verdict, Writes};
use crate::queue::{self, State, Undo};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::JobPlan;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::kept_record::KeptRecord;
use crate::record::{Action, Day, DesiredState, JobName, Key, Record, RemoteId, RowMetadata};
use crate::snapshot::{Owner, SyncedRecord};
use crate::spool;
use crate::store::{self, Batch, Keyspace, Store, Table};

/// The changes of a job that wait for a decision, by key.
pub(crate) const HELD: Table<Key, PendingApproval> = Table::new(Keyspace::Held);

/// A held change as it is kept between runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingApproval {
    /// What would be done; none where there is nothing to approve but something to mend.
    pub action: Option<Action>,
    /// The digest of what is wanted.
    pub wish: u64,
    /// What is wanted: a file that holds changes only does not say it a second time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<DesiredState>,
    /// What its row says about itself: nor does it say that again.
    #[serde(default, skip_serializing_if = "RowMetadata::is_empty")]
    pub marks: RowMetadata,
    /// What it takes back, where it does: such a change waits until it is decided on, whatever the source wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undo>,
    /// The record that had its entity when it was held, where that was another one: it takes the entity from no one else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Owner>,
    /// Why it waits.
    pub reason: HoldReason,
    /// The person whose update it is a part of: a decision on one part is a decision on all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<Key>,
    /// What the service held of the person when it was held: an approval is of a change as it was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<RemoteDigest>,
    /// The entity that the record may be, as an earlier run found: nothing but a decision, or the entity's end, makes it a
    /// new person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<RemoteId>,
    /// What the source said. A file of changes does not say it a second time, so each run works it out again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<KeptRecord>,
    /// What a person rejected, in whose place it is held, as long as no run has asked about this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Box<Self>>,
    /// Whether a record was decided on that it is asked about together with: it waits for a decision of its own, as long as the same is
    /// wanted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// What is held instead once a person rejects it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Box<Self>>,
}

/// The held changes of a job, by key.
pub fn held(store: &Store, job: &JobName) -> Result<BTreeMap<Key, PendingApproval>, store::Error> {
    HELD.list(store, job)
}

/// How many changes wait that take back a run.
pub(crate) fn taking_back(store: &Store, job: &JobName) -> Result<usize, store::Error> {
    let mut count = 0;
    HELD.each(store, job, |_, held| count += usize::from(held.undo.is_some()))?;
    Ok(count)
}

/// What was decided, by key.
pub(crate) fn verdicts(store: &Store, job: &JobName) -> Result<BTreeMap<Key, Verdict>, store::Error> {
    Ok(decisions(store, job)?.into_iter().map(|(key, decided)| (key, decided.verdict)).collect())
}

/// The same with what was seen by those who approved.
pub(crate) fn decisions(store: &Store, job: &JobName) -> Result<BTreeMap<Key, Decided>, store::Error> {
    queue::DECISIONS.list(store, job)
}

/// The keys that a person rejected and the job does not know: they are new, and left out.
pub(crate) fn left_out(store: &Store, job: &Job, now: Timestamp) -> Result<Vec<Key>, store::Error> {
    let today = Day::of(job.day(now));
    let mut keys = Vec::new();
    queue::DECISIONS.each(store, &job.name, |key, decided| {
        keys.extend((decided.id.is_none() && decided.is_rejected(today)).then_some(key));
    })?;
    let mut left_out = Vec::new();
    for key in keys {
        // Another question may have taken the place of the one that was rejected.
        let is_asked = HELD.get(store, &job.name, &key)?.is_some();
        if !is_asked && SyncedRecord::get(store, &job.name, &key)?.is_none() {
            left_out.push(key);
        }
    }
    Ok(left_out)
}

/// Puts a person's verdicts on what was held before the guard came to it. The keys are those whose verdict still counts
/// though the change that it was made for is not the one that is held now. `is_void` says of a verdict that it answered something
/// else than what is held.
pub(crate) fn decided(
    held: Vec<Held<Outline>>,
    writes: Writes,
    verdicts: &BTreeMap<Key, Verdict>,
    is_void: impl Fn(&Held<Outline>, &Verdict) -> bool,
) -> (Guarded<Outline>, BTreeSet<Key>) {
    let mut guarded = Guarded::default();
    let mut in_force = BTreeSet::new();
    for mut one in held {
        let verdict = verdicts.get(&one.key).filter(|verdict| !is_void(&one, verdict));
        let is = |held: &Held<Outline>, verdict: Option<&Verdict>, make: fn(u64) -> Verdict| {
            held.change.as_ref().is_some_and(|change| verdict == Some(&make(change.wish())))
        };
        if let Some(other) = &one.other {
            let rejected = is(&one, verdict, Verdict::Rejected);
            if rejected || is(other, verdict, Verdict::Approved) || is(other, verdict, Verdict::Rejected) {
                in_force.extend(rejected.then(|| one.key.clone()));
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
    (guarded, in_force)
}

/// Holds what the limits held before, of which others were decided on, as long as the same is wanted: so few may be left by now
/// that no limit would hold them. What a person `released` goes.
pub(crate) fn hold_left_open(
    guarded: &mut Guarded<Outline>,
    store: &Store,
    job: &JobName,
    released: impl Fn(&Outline) -> bool,
) -> Result<(), store::Error> {
    let mut open = BTreeMap::new();
    for change in guarded.go.iter().filter(|change| !released(change)) {
        let held = HELD.get(store, job, &change.key)?;
        if let Some(held) = held.filter(|held| held.reason.is_limit() && held.approvable() == Some(change.wish())) {
            open.insert(change.key.clone(), held.reason);
        }
    }
    guarded.hold(|change| open.get(&change.key).cloned());
    Ok(())
}

/// The keys of which something waits that takes back a run, for a decision or to be sent.
pub(crate) fn undone(store: &Store, job: &JobName) -> Result<BTreeSet<Key>, store::Error> {
    let mut all = Vec::new();
    HELD.each(store, job, |key, held| all.extend(held.undone().map(|id| (key, id))))?;
    let mut queued = Vec::new();
    queue::briefs(store, job, |change| {
        queued.extend((change.undoes && !change.state.is_parked()).then_some(change.key));
    })?;
    let queued = queue::of(store, job, &queued)?.into_iter();
    all.extend(queued.filter_map(|change| Some((change.key, change.wish.id?))));
    let mut keys = BTreeSet::new();
    for (key, id) in all {
        if is_of(store, job, &key, id)? {
            keys.insert(key);
        }
    }
    Ok(keys)
}

/// Has the removal of someone by what takes back a run, which waits, reject `again`: the wish with which the source would make them
/// by now. Their row may be another one than when it was asked for.
pub(crate) fn reject_again(
    store: &Store,
    batch: &mut Batch,
    job: &JobName,
    (key, again): (&Key, u64),
) -> Result<(), store::Error> {
    let is_other = |undo: &&mut Undo| undo.again != Some(again);
    if let Some(mut held) = HELD.get(store, job, key)?
        && held.action == Some(Action::Delete)
        && let Some(undo) = held.undo.as_mut().filter(is_other)
    {
        undo.again = Some(again);
        HELD.put(batch, job, key, &held);
    }
    if let Some(mut change) = queue::get(store, job, key)?
        && change.wish.action == Action::Delete
        && change.state == State::Waiting
        && let Some(undo) = change.undo.as_mut().filter(is_other)
    {
        undo.again = Some(again);
        queue::put(batch, &change);
    }
    Ok(())
}

/// Whether a key is still that of an entity: what takes back a run ends with its person.
fn is_of(store: &Store, job: &JobName, key: &Key, id: RemoteId) -> Result<bool, store::Error> {
    Ok(SyncedRecord::get(store, job, key)?.is_some_and(|known| known.id == id))
}

/// Holds everything that a person has not released.
pub(crate) fn hold_all(guarded: &mut Guarded<Outline>, reason: &HoldReason) {
    for held in &mut guarded.held {
        held.reason.precede(reason.clone());
    }
    guarded.hold(|change| (!change.is_approved()).then(|| reason.clone()));
}

/// Replaces what was held by what is held now, except the keys that `keep` selects. If the set differs, its number
/// grows before any row of it is written, so that an approval by number covers only what that set held. Returns the
/// keys that were kept.
pub(crate) fn replace(
    store: &Store,
    batch: &mut Batch,
    (prepared, mode): (&JobPlan, Mode),
    keep: impl Fn(&Key, &PendingApproval) -> bool,
    state: &mut JobState,
) -> Result<BTreeMap<Key, PendingApproval>, Error> {
    let job = &prepared.job;
    let mut before: BTreeMap<Key, Option<u64>> = BTreeMap::new();
    let mut lasting = BTreeMap::new();
    let mut kept = BTreeMap::new();
    HELD.each(store, job, |key, held| {
        before.insert(key.clone(), held.approvable());
        lasting.extend(Lasting::of(&held).map(|one| (key.clone(), one)));
        if held.undo.is_some() || keep(&key, &held) {
            kept.insert(key, held);
        }
    })?;
    let undone = kept.iter().filter_map(|(key, held)| Some((key.clone(), held.undone()?)));
    for (key, id) in undone.collect::<Vec<_>>() {
        if !is_of(store, job, &key, id)? {
            kept.remove(&key);
        }
    }
    let mut now: BTreeMap<&Key, &Held<Outline>> = BTreeMap::new();
    now.extend(prepared.held.iter().map(|held| (&held.key, held)));
    let after = |key: &Key| match now.get(key) {
        Some(held) => Some(held.change.as_ref().map(Judged::wish)),
        None => kept.get(key).map(PendingApproval::approvable),
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
        HELD.remove(batch, job, key);
    }
    let (mut bulk, mut waits_on) = (store.bulk_load(), false);
    for held in now.values() {
        let mut batch = Batch::default();
        let lasting = lasting.get(&held.key).copied().unwrap_or_default();
        let row = PendingApproval::of(store, held, (prepared, mode), lasting)?;
        waits_on |= row.waits_on();
        HELD.put(&mut batch, job, &held.key, &row);
        bulk.add(batch)?;
    }
    bulk.commit()?;
    kept.retain(|key, _| !now.contains_key(key));
    state.partly_decided &= waits_on || kept.values().any(PendingApproval::waits_on);
    Ok(kept)
}

/// The same for the keys of a narrowed run, which `replaced` selects.
pub(crate) fn replace_some(
    store: &Store,
    batch: &mut Batch,
    replaced: impl Fn(&Key, &PendingApproval) -> bool,
    (prepared, mode): (&JobPlan, Mode),
    state: &mut JobState,
) -> Result<(), Error> {
    let job = &prepared.job;
    for (key, _) in held(store, job)?.iter().filter(|(key, held)| held.undo.is_none() && replaced(key, held)) {
        HELD.remove(batch, job, key);
    }
    for held in &prepared.held {
        let lasting = HELD.get(store, job, &held.key)?.and_then(|held| Lasting::of(&held)).unwrap_or_default();
        add(batch, job, &held.key, &PendingApproval::of(store, held, (prepared, mode), lasting)?, state);
    }
    Ok(())
}

/// Puts what is held besides what was.
pub(crate) fn add(batch: &mut Batch, job: &JobName, key: &Key, held: &PendingApproval, state: &mut JobState) {
    HELD.put(batch, job, key, held);
    state.held_set += 1;
}

/// Keeps those as held who wait for something else than a person: nothing can be decided about them.
pub(crate) fn wait<'a>(
    store: &Store,
    job: &JobName,
    keys: impl Iterator<Item = &'a Key>,
    reason: &HoldReason,
) -> Result<(), store::Error> {
    let mut batch = Batch::default();
    let _alone = store.deciding();
    for key in keys {
        let waits = PendingApproval::new(None, reason, None);
        HELD.put(&mut batch, job, key, &waits);
    }
    store.commit(batch)
}

/// Forgets verdicts on what is no longer wanted: `wanted` holds the digest of every change of this run.
pub(crate) fn prune(
    batch: &mut Batch,
    job: &JobName,
    verdicts: &BTreeMap<Key, Verdict>,
    wanted: &BTreeMap<Key, u64>,
    evaluated: impl Fn(&Key) -> bool,
) {
    for (key, verdict) in verdicts {
        let (Verdict::Approved(wish) | Verdict::Rejected(wish)) = verdict;
        if wanted.get(key) != Some(wish) && evaluated(key) {
            queue::DECISIONS.remove(batch, job, key);
        }
    }
}

/// What an earlier run found of something that is held, and what counts on.
#[derive(Clone, Copy, Default)]
struct Lasting {
    /// The entity that it may be.
    doubt: Option<RemoteId>,
    /// The wish that waits for a decision of its own.
    alone: Option<u64>,
}

impl Lasting {
    fn of(held: &PendingApproval) -> Option<Self> {
        let alone = Some(held.wish).filter(|_| held.alone);
        (held.doubt.is_some() || alone.is_some()).then_some(Self { doubt: held.doubt, alone })
    }
}

impl KeptRecord {
    /// What the read said of a key.
    pub(crate) fn of(key: &Key, prepared: &JobPlan) -> Result<Option<Self>, spool::Error> {
        let Some(row) = prepared.updates.digests.row(key) else { return Ok(None) };
        let (Record { fields, .. }, marks) = row.open(&prepared.spill)?;
        Ok(Some(Self { mapping: prepared.updates.mapping.clone(), fields, marks, from: None, then: None }))
    }
}

impl PendingApproval {
    /// What is held; `before` is what an earlier run found of it.
    fn of(
        store: &Store,
        held: &Held<Outline>,
        (prepared, mode): (&JobPlan, Mode),
        before: Lasting,
    ) -> Result<Self, Error> {
        let change = held.change.as_ref().map(|change| prepared.spill.change(change)).transpose()?;
        let id = change.as_ref().and_then(|change| change.wish.id);
        let seen = id.zip(prepared.updates.remote.get(&held.key)).map(|(id, remote)| remote_digest::seen(id, *remote));
        let part_of = held.change.as_ref().and_then(Judged::part_of).cloned();
        let from = id.map(|id| Owner::besides(store, prepared.target, id, (&prepared.job, &held.key))).transpose()?;
        // Where a rejection makes it a new person, it may be another.
        let doubt = id.filter(|_| held.other.is_some()).or(before.doubt);
        let before = Lasting { doubt, ..before };
        let other = held
            .other
            .as_ref()
            .map(|other| Self::of(store, other, (prepared, mode), before))
            .transpose()?
            .map(Box::new);
        // Each run works out again what a file of changes said once. The job that has the entity of a record asks who that is
        // before it lets go.
        let is_undecided = change.is_some() || held.reason.doubts_its_row() || !held.reason.is_found_again();
        let is_said_once = mode == Mode::Changes && is_undecided;
        let is_kept = is_said_once || (change.is_none() && matches!(held.reason, HoldReason::Taken { .. }));
        let record = if is_kept { KeptRecord::of(&held.key, prepared)? } else { None };
        let from = from.flatten();
        let alone = change.as_ref().is_some_and(|change| before.alone == Some(change.wish.digest()));
        Ok(Self { from, seen, part_of, doubt, record, alone, other, ..Self::new(change, &held.reason, None) })
    }

    /// The entity of which it takes back what a run did; none where it does not.
    fn undone(&self) -> Option<RemoteId> {
        self.undo.as_ref().and(self.change.as_ref())?.id
    }

    /// What was approved and is to be looked at again, as it is queued.
    pub(crate) fn again(change: queue::Change, reason: HoldReason, seen: Option<RemoteDigest>) -> Self {
        let queue::Change { wish, marks, from, .. } = change;
        let (action, digest) = (Some(wish.action), wish.digest());
        Self {
            action,
            wish: digest,
            change: Some(wish),
            marks,
            undo: None,
            from,
            reason,
            part_of: None,
            seen,
            doubt: None,
            record: None,
            rejected: None,
            alone: false,
            other: None,
        }
    }

    /// A change that waits, or something to mend.
    pub(crate) fn new(change: Option<plan::Change>, reason: &HoldReason, undo: Option<Undo>) -> Self {
        let (change, marks) = change.map(|change| (change.wish, change.marks)).unzip();
        Self {
            action: change.as_ref().map(|change| change.action),
            wish: change.as_ref().map_or(0, DesiredState::digest),
            change,
            marks: marks.unwrap_or_default(),
            undo,
            from: None,
            reason: reason.clone(),
            part_of: None,
            seen: None,
            doubt: None,
            record: None,
            rejected: None,
            alone: false,
            other: None,
        }
    }

    /// Whether its person would leave.
    pub(crate) fn leaves(&self) -> bool {
        self.action == Some(Action::Delete) || self.change.as_ref().is_some_and(DesiredState::leaves)
    }

    /// Whether its person leaves, once that is approved, only when a grace is over: who is missing does.
    pub(crate) fn has_grace(&self, job: &Job) -> bool {
        self.leaves() && self.reason.is_of_missing() && job.leavers.has_grace()
    }

    /// The same without a key in what it says, if it names it.
    pub(crate) fn without(&self, key: &Key) -> Option<Self> {
        let reason = self.reason.without(key);
        let without = |one: &Option<Box<Self>>| one.as_ref().and_then(|one| one.without(key)).map(Box::new);
        let (other, rejected) = (without(&self.other), without(&self.rejected));
        (reason.is_some() || other.is_some() || rejected.is_some()).then(|| Self {
            reason: reason.unwrap_or_else(|| self.reason.clone()),
            other: other.or_else(|| self.other.clone()),
            rejected: rejected.or_else(|| self.rejected.clone()),
            ..self.clone()
        })
    }

    /// Whether it is what a file of changes said of a record of which nothing can be decided on but that it does not count: a file of the
    /// wrong list, or a number that was corrected since.
    pub(crate) fn can_be_dropped(&self, mode: Mode) -> bool {
        mode == Mode::Changes && self.action.is_none() && self.record.is_some() && self.reason.is_of_others()
    }

    /// Whether it waits for a decision of its own since others were decided on.
    fn waits_on(&self) -> bool {
        self.alone || self.reason.is_limit()
    }

    /// The wish that can be approved.
    fn approvable(&self) -> Option<u64> {
        self.action.map(|_| self.wish)
    }
}

#[cfg(test)]
mod tests;
