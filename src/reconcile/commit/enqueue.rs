//! From what a run wants to the queue.

use std::collections::{BTreeMap, BTreeSet};

use super::entry_fate::{Circumstances, EntryFate};
use crate::config::{Job, Mode};
use crate::plan::{self, HoldReason, Judged as _, Outline, Writes};
use crate::queue::{self, Brief, Change, State, Ticket};
use crate::reconcile::approval::held::{self, PendingApproval};
use crate::reconcile::commit::spoilt_rows;
use crate::reconcile::model::context::KeyFilter;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::JobPlan;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::kept_record::{KeptRecord, LATER};
use crate::reconcile::model::state_updates::RowIs;
use crate::record::{Action, Entity, Key, RemoteId, Sensitive, Target, Value};
use crate::snapshot::{Owner, SyncedRecord};
use crate::source::inbox::Reads;
use crate::store::{self, Batch, Store};

/// The mapping of a part in the first run that had it, where the job had run without.
const UNMAPPED: &str = "none";

/// Changes that an earlier process sent and whose fate is unknown; everything else in the queue is planned again.
pub(crate) fn left_unknown(store: &Store, job: &Job) -> Result<Vec<Change>, store::Error> {
    let open = |change: &Brief| match &change.state {
        State::Sent { .. } => true,
        // What a look did not show may have arrived since.
        State::Waiting if change.tried && change.action == Action::Update => true,
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

/// What a commit came to.
pub(crate) struct Committed {
    /// What is to be sent.
    pub(crate) tickets: Vec<Ticket>,
    /// What is wanted, and was refused before.
    pub(crate) refused: BTreeSet<Key>,
    /// What waits besides what the plan holds: what earlier files of changes left, and void approvals.
    pub(crate) waits: Vec<(Key, HoldReason)>,
    /// What is worth knowing.
    pub(crate) notes: Vec<String>,
}

/// Stores what the plan found and wants: who is gone, then what is to be sent, then what is held and decided. A run that
/// ends in between plans all of it again.
pub(crate) fn commit(store: &Store, job: &Job, plan: &JobPlan, filter: &KeyFilter) -> Result<Committed, Error> {
    let before = JobState::load(store, &job.name)?.copies;
    let is_laid_back = !filter.is_narrow() && plan.updates.copies.is_some_and(|copies| copies > before);
    let commit = Commit { store, job, plan, filter, is_laid_back };
    commit.save_leavers()?;
    // What is approved while this run works is decided on before it, and has the fate that the plan gives it, or after it.
    let _alone = store.deciding();
    spoilt_rows::end_days_ahead(store, plan)?;
    let mut before = commit.sort_queue()?;
    let (outdated, unwritten) = (std::mem::take(&mut before.outdated), std::mem::take(&mut before.unwritten));
    let (mut notes, refused) = (Vec::new(), before.refused.clone());
    let (tickets, replaced) = commit.enqueue(before, &mut notes)?;
    let mut waits = commit.save_approvals(&outdated, &replaced)?;
    waits.extend(unwritten.into_iter().map(|key| (key, HoldReason::WritesOff)));
    Ok(Committed { tickets, refused, waits, notes })
}

/// The plan of one part of a job on its way to the disk.
struct Commit<'a> {
    store: &'a Store,
    job: &'a Job,
    plan: &'a JobPlan,
    filter: &'a KeyFilter,
    /// Whether this is the first run over a state that was laid back: what waits in it is of another time.
    is_laid_back: bool,
}

/// What is queued already, as far as it stays or goes for a reason of its own.
#[derive(Default)]
struct Earlier {
    /// Written before what is wanted: takes out what is not any more, and notes what is new of what the service refused.
    first: Batch,
    /// Wanted again, and the service refused just this.
    refused: BTreeSet<Key>,
    /// Sent as it is.
    carried: Vec<Key>,
    /// Approved, and to be looked at again.
    outdated: Vec<Key>,
    /// Not sent since the job does not write.
    unwritten: Vec<Key>,
    /// What could not be delivered in earlier runs for reasons of its own, and in how many.
    failures: BTreeMap<Key, u32>,
    /// May have been done by requests of unknown outcome.
    tried: BTreeSet<Key>,
}

impl Commit<'_> {
    /// Whether the run says what becomes of a record. A row that needs nothing says so too; one that can't be used says only
    /// that its person is there.
    fn judges(&self, key: &Key, removes: bool) -> bool {
        let updates = &self.plan.updates;
        let says = || updates.there.get(key).is_some_and(|row| removes || *row == RowIs::Usable);
        updates.judged_all || updates.digests.has(key) || (self.filter.has(key) && says())
    }

    /// Whether the run reads what says who leaves.
    fn has_list(&self) -> bool {
        self.job.inbox.as_ref().is_none_or(|inbox| inbox.reads != Reads::Nothing)
    }

    /// Whether a person stays until another job has them.
    fn is_moving(&self, key: &Key) -> bool {
        self.plan.moving.iter().any(|(moving, _)| moving == key)
    }

    fn save_leavers(&self) -> Result<(), Error> {
        let mut batch = Batch::default();
        for (key, known) in &self.plan.updates.waiting {
            // What another record has by now is no more that one's, which was dropped.
            let owner = Owner::besides(self.store, self.job.mapping.target, known.id, (&self.job.name, key))?;
            if owner.is_none() || known.borrowed {
                known.put(&mut batch, &self.job.name, key);
            }
        }
        for (key, id) in &self.plan.updates.forgotten {
            SyncedRecord::remove(&mut batch, &self.job.name, key);
            Owner::release(&mut batch, self.store, &self.job.name, self.job.mapping.target, *id)?;
        }
        Ok(self.store.commit(batch)?)
    }

    fn sort_queue(&self) -> Result<Earlier, Error> {
        let mut earlier = Earlier::default();
        if queue::is_empty(self.store, &self.job.name)? {
            return Ok(earlier);
        }
        let go: BTreeMap<&Key, &Outline> = self.plan.go.iter().map(|change| (&change.key, change)).collect();
        let let_go = self.let_go();
        let held: BTreeSet<&Key> = self.plan.held.iter().map(|held| &held.key).collect();
        let mut again = Vec::new();
        queue::briefs(self.store, &self.job.name, |old| {
            if old.failures > 0 {
                earlier.failures.insert(old.key.clone(), old.failures);
            }
            if old.tried {
                earlier.tried.insert(old.key.clone());
            }
            let found = Found {
                is_wanted: go.contains_key(&old.key),
                is_held: held.contains(&old.key),
                is_let_go: let_go.contains(&old.key),
            };
            match self.fate(&old, found) {
                EntryFate::Stays if self.is_unwritten(&old) => earlier.unwritten.push(old.key),
                EntryFate::Stays => {}
                EntryFate::Compared => again.push(old.key),
                EntryFate::Carried => earlier.carried.push(old.key),
                EntryFate::Outdated => earlier.outdated.push(old.key),
                EntryFate::Removed => queue::remove(&mut earlier.first, &self.job.name, &old.key),
            }
        })?;
        for key in again {
            let (Some(new), Some(old)) = (go.get(&key), queue::get(self.store, &self.job.name, &key)?) else {
                continue;
            };
            // The service refused just this; it would again. An approval is good for one try.
            if new.wish() == old.wish.digest() && (!new.is_approved() || old.approved) {
                // Its row may name other days by now.
                let marks = self.plan.spill.change(new)?.marks;
                queue::put(&mut earlier.first, &Change { marks, ..old });
                earlier.refused.insert(key);
            }
        }
        Ok(earlier)
    }

    /// The records whose entities are other jobs' by now, or offered to one.
    fn let_go(&self) -> BTreeSet<&Key> {
        let updates = &self.plan.updates;
        let offered = updates.waiting.iter().filter(|(_, known)| known.offered().is_some()).map(|(key, _)| key);
        updates.forgotten.iter().map(|(key, _)| key).chain(offered).collect()
    }

    /// Whether nothing keeps a change from being sent but that the job does not write.
    fn is_unwritten(&self, old: &Brief) -> bool {
        let waits = self.job.writes == Writes::Off && !old.state.is_parked();
        waits && self.job.mode == Mode::Changes && !self.plan.go.iter().any(|change| change.key == old.key)
    }

    fn fate(&self, old: &Brief, Found { is_wanted, is_held, is_let_go }: Found) -> EntryFate {
        let now = Circumstances {
            is_wanted,
            is_asked: self.filter.has(&old.key),
            is_judged: self.judges(&old.key, old.action == Action::Delete),
            is_outdated: self.plan.updates.outdated.contains_key(&old.key) || self.is_laid_back,
            is_held,
            is_let_go,
            may_leave: old.action != Action::Delete || (self.has_list() && !self.is_moving(&old.key)),
            of_changes: self.job.mode == Mode::Changes,
            may_write: self.job.writes != Writes::Off,
        };
        EntryFate::of(old.action, &old.state, old.undoes, now)
    }

    /// Whether the last day of someone who was to come has passed. Who is a member leaves with the last membership.
    fn is_over(&self, change: &Change) -> bool {
        let is_over = change.marks.is_over(self.plan.updates.today);
        is_over && change.wish.action == Action::Create && change.undo.is_none() && self.job.memberships.is_none()
    }

    /// Puts what is wanted into the queue. Returns all of it that is to be sent, and the keys of people who get another one by it.
    fn enqueue(&self, mut earlier: Earlier, notes: &mut Vec<String>) -> Result<(Vec<Ticket>, BTreeSet<Key>), Error> {
        let mut carried = queue::of(self.store, &self.job.name, &earlier.carried)?;
        let (claimed, asked) =
            (claims(&self.plan.go), claims(self.plan.held.iter().filter_map(|held| held.change.as_ref())));
        for change in carried.extract_if(.., |change| change.wish.action == Action::Delete).collect::<Vec<_>>() {
            let Some(id) = change.wish.id else { continue };
            let owner = Owner::besides(self.store, change.target, id, (&change.job, &change.key))?;
            let is_of_other = |keys: &BTreeMap<RemoteId, &Key>| keys.get(&id).is_some_and(|key| **key != change.key);
            // The person got another key while it waited, or gets it now.
            let owner =
                owner.or_else(|| claimed.get(&id).map(|key| Owner { job: change.job.clone(), key: (*key).clone() }));
            match owner.filter(|owner| owner.key != change.key || owner.job != change.job) {
                Some(Owner { job, key }) => {
                    queue::remove(&mut earlier.first, &self.job.name, &change.key);
                    notes.push(format!("{} is not removed: the person is key {key} of job {job} by now", change.key));
                }
                None if is_of_other(&asked) => {
                    notes.push(format!("{} is not removed before it is decided who key {} is", change.key, asked[&id]));
                }
                None => carried.push(change),
            }
        }
        for over in carried.extract_if(.., |change| self.is_over(change)) {
            queue::remove(&mut earlier.first, &self.job.name, &over.key);
            notes.push(format!("{} is not created: the last day that its file named has passed", over.key));
        }
        let updates = carried.iter().filter(|change| change.wish.action == Action::Update);
        let taking = self.plan.go.iter().filter_map(|change| Some((&change.key, change.id?)));
        let taking = taking.chain(updates.filter_map(|change| Some((&change.key, change.wish.id?))));
        let mut replaced = BTreeSet::new();
        for (key, id) in taking.filter(|_| self.job.mode == Mode::Changes) {
            let owner = Owner::besides(self.store, self.job.mapping.target, id, (&self.job.name, key))?;
            if let Some(before) = owner.filter(|owner| owner.job == self.job.name) {
                // What was said of the key that they had before counts no more.
                LATER.remove(&mut earlier.first, &self.job.name, &before.key);
                held::HELD.remove(&mut earlier.first, &self.job.name, &before.key);
                self.move_memberships(&mut earlier.first, &before.key, key)?;
                replaced.insert(before.key);
            }
        }
        let mut tickets: Vec<Ticket> = carried.iter().map(Change::ticket).collect();
        let go = self.plan.go.iter();
        let mut wanted: Vec<&Outline> = go.filter(|change| !earlier.refused.contains(&change.key)).collect();
        wanted.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        let mut bulk = self.store.bulk_load();
        bulk.add(earlier.first)?;
        let put = |change: &Outline| {
            let failures = earlier.failures.get(&change.key).copied().unwrap_or_default();
            let before = match earlier.tried.contains(&change.key) {
                true => self.before(change)?,
                false => None,
            };
            let change = queued(self.job, self.plan.spill.change(change)?).planned(self.store)?;
            let change = Change { failures, before, ..change };
            tickets.push(change.ticket());
            let mut batch = Batch::default();
            queue::put(&mut batch, &change);
            Ok(batch)
        };
        bulk.commit_with::<Error>(wanted.into_iter().map(put))?;
        Ok((tickets, replaced))
    }

    /// What the entity of a change was before an earlier request of unknown outcome for the same.
    fn before(&self, change: &Outline) -> Result<Option<Box<Entity>>, store::Error> {
        let old = queue::get(self.store, &self.job.name, &change.key)?;
        let same = old.filter(|old| old.wish.action == change.action && old.wish.id == change.id);
        Ok(same.and_then(|old| old.before))
    }

    /// Keeps under a member's new key what waits of the memberships under the one before: no file of changes says it again.
    fn move_memberships(&self, batch: &mut Batch, before: &Key, now: &Key) -> Result<(), Error> {
        let Some(part) = self.job.memberships.as_deref().map(|part| &part.name) else { return Ok(()) };
        let mut kept: BTreeMap<Key, KeptRecord> = BTreeMap::new();
        held::HELD.each(self.store, part, |pair, held| {
            if let Some(record) = held.record.filter(|_| pair.is_about(part, before)) {
                kept.insert(pair, record);
            }
        })?;
        LATER.each(self.store, part, |pair, record| {
            if pair.is_about(part, before) {
                kept.insert(pair, record);
            }
        })?;
        for (pair, mut record) in kept {
            let Some((_, organization)) = pair.split_membership() else { continue };
            record.set(Target::MEMBER, &Value::text(now.as_str()));
            held::HELD.remove(batch, part, &pair);
            LATER.remove(batch, part, &pair);
            LATER.put(batch, part, &Key::joined(now, &organization), &record);
        }
        Ok(())
    }

    /// Replaces what is held and what the job remembers, and forgets decisions that are void. Returns what waits besides.
    fn save_approvals(&self, outdated: &[Key], replaced: &BTreeSet<Key>) -> Result<Vec<(Key, HoldReason)>, Error> {
        let Self { store, job, plan, filter, .. } = *self;
        let updates = &plan.updates;
        let mut batch = Batch::default();
        let mut state = JobState::load(store, &job.name)?;
        let mut waits = Vec::new();
        self.ask_again(&mut batch)?;
        for (key, again) in &updates.made_again {
            held::reject_again(store, &mut batch, &job.name, (key, *again))?;
        }
        let moot = self.moot_waits()?;
        // A file of changes says nothing of those who are not in it: what is held of them stays. So do the leavers that are held,
        // where the read does not prove who is absent.
        // What waits for something else than a person is found again by each run.
        let keep = |key: &Key, held: &PendingApproval| {
            let leaves = held.leaves();
            let is_decided = held.action.is_some() || !held.reason.is_found_again();
            let of_changes = job.mode == Mode::Changes;
            let is_open = (of_changes && !moot.contains(key)) || is_decided;
            (of_changes || leaves) && !self.judges(key, leaves) && is_open
        };
        if filter.is_narrow() {
            let is_replaced = |key: &Key, held: &PendingApproval| filter.has(key) && !keep(key, held);
            held::replace_some(store, &mut batch, is_replaced, (plan, job.mode), &mut state)?;
        } else {
            let kept = held::replace(store, &mut batch, (plan, job.mode), keep, &mut state)?;
            waits.extend(kept.into_iter().map(|(key, held)| (key, held.reason)));
            if updates.mapping_settled {
                state.mapping.clone_from(&updates.mapping);
            } else if state.mapping.is_empty() {
                state.mapping = UNMAPPED.to_owned();
            }
            if updates.key_settled {
                state.key.clone_from(&job.mapping.key);
            }
            state.is_rebuilt = false;
            state.unplaced.clone_from(&updates.unplaced);
            state.on_both_sides.clone_from(&updates.on_both_sides);
            updates.place.iter().for_each(|place| state.place.clone_from(place));
            state.protects.clone_from(&updates.protects);
            state.copies = updates.copies.unwrap_or(state.copies);
            state.copies_read = updates.copies_read.unwrap_or(state.copies_read);
            state.found.clone_from(&updates.file);
            state.target = Some(job.mapping.target).filter(|_| plan.blocked.is_empty()).or(state.target);
        }
        state.shown.clone_from(&updates.shown);
        state.lookups.clone_from(&updates.lookups);
        for key in updates.outdated.keys() {
            queue::DECISIONS.remove(&mut batch, &job.name, key);
        }
        for change in queue::of(store, &job.name, outdated)? {
            let key = change.key.clone();
            queue::remove(&mut batch, &job.name, &key);
            let seen = updates.outdated.get(&key).and_then(|one| one.seen.clone());
            let held = PendingApproval::again(change, HoldReason::Outdated, seen);
            held::add(&mut batch, &job.name, &key, &held, &mut state);
            waits.push((key, HoldReason::Outdated));
        }
        self.prune_decisions(&mut batch);
        self.keep_later(&mut batch, replaced)?;
        state.put(&mut batch, &job.name);
        store.commit(batch)?;
        Ok(waits)
    }

    /// Takes back that the creation of members was rejected who are named at another organization now: they are asked about again.
    fn ask_again(&self, batch: &mut Batch) -> Result<(), Error> {
        let (store, job, root) = (self.store, &self.job.name, self.job.name.root());
        if self.job.mapping.target != Target::Membership || queue::DECISIONS.is_empty(store, &root)? {
            return Ok(());
        }
        let begun = self.plan.go.iter().filter(|change| change.action == Action::Create).map(|change| &change.key);
        for pair in begun.chain(self.plan.held.iter().map(|held| &held.key)) {
            let is_known = held::HELD.get(store, job, pair)?.is_some()
                || queue::DECISIONS.get(store, job, pair)?.is_some()
                || queue::get(store, job, pair)?.is_some();
            let Some(member) = pair.member().filter(|_| !is_known) else { continue };
            let is_rejected = queue::DECISIONS.get(store, &root, &member)?.is_some_and(|one| one.is_rejected(None));
            if is_rejected && SyncedRecord::get(store, &root, &member)?.is_none() {
                queue::DECISIONS.remove(batch, &root, &member);
            }
        }
        Ok(())
    }

    /// The records of a job of changes that waited for another one, or for what no one decides, and are on their way no more: they are
    /// done, or a row that can't be used has ended what waited.
    fn moot_waits(&self) -> Result<BTreeSet<Key>, Error> {
        let mut waited = Vec::new();
        if self.job.mode == Mode::Changes {
            let is_spoilt = |key: &Key| self.plan.updates.there.get(key) == Some(&RowIs::Rejected);
            held::HELD.each(self.store, &self.job.name, |key, held| {
                let reason = &held.reason;
                let is_ended = held.action.is_none() && reason.is_found_again() && is_spoilt(&key);
                waited.extend((reason.awaits_another() || is_ended).then_some(key));
            })?;
        }
        let open = queue::of(self.store, &self.job.name, &waited)?;
        let mut moot: BTreeSet<Key> = waited.into_iter().collect();
        open.iter().for_each(|change| _ = moot.remove(&change.key));
        Ok(moot)
    }

    /// Keeps what files of changes said that counts another time.
    fn keep_later(&self, batch: &mut Batch, replaced: &BTreeSet<Key>) -> Result<(), Error> {
        let (job, updates) = (&self.job.name, &self.plan.updates);
        for key in &updates.later_ended {
            LATER.remove(batch, job, key);
        }
        let mut later = updates.later.clone();
        for key in updates.to_mend.iter().filter(|key| self.filter.has(key)) {
            if let Some(record) = KeptRecord::of(key, self.plan)? {
                let before = LATER.get(self.store, job, key)?.filter(|_| !updates.later_ended.contains(key));
                let next = later.remove(key).map(Box::new).or_else(|| before?.dated_part());
                later.insert(key.clone(), KeptRecord { then: next, ..record });
            }
        }
        for (key, record) in later.into_iter().filter(|(key, _)| !replaced.contains(key)) {
            LATER.put(batch, job, &key, &record);
        }
        Ok(())
    }

    fn prune_decisions(&self, batch: &mut Batch) {
        let updates = &self.plan.updates;
        for key in &updates.void {
            queue::DECISIONS.remove(batch, &self.job.name, key);
        }
        let held = self.plan.held.iter().filter_map(|held| held.change.as_ref());
        let planned = self.plan.go.iter().chain(held).chain(&self.plan.dropped);
        let decided = planned.filter(|change| updates.verdicts.contains_key(&change.key));
        let wanted: BTreeMap<Key, u64> = decided.map(|change| (change.key.clone(), change.wish())).collect();
        // Who it is can't be said now, so what was said of it stands.
        let unclear: BTreeSet<&Key> =
            self.plan.held.iter().filter(|held| held.change.is_none()).map(|held| &held.key).collect();
        held::prune(batch, &self.job.name, &updates.verdicts, &wanted, |key| {
            let is_said = self.filter.has(key) && updates.there.contains_key(key);
            (self.judges(key, false) || is_said) && !updates.in_force.contains(key) && !unclear.contains(key)
        });
    }
}

/// What the lists of a plan have of the record of an entry of the queue.
#[derive(Clone, Copy)]
struct Found {
    is_wanted: bool,
    is_held: bool,
    is_let_go: bool,
}

/// By entity, the records that are about to have it.
fn claims<'a>(changes: impl IntoIterator<Item = &'a Outline>) -> BTreeMap<RemoteId, &'a Key> {
    let stay = changes.into_iter().filter(|change| !change.leaves());
    stay.filter_map(|change| Some((change.id?, &change.key))).collect()
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
        from: None,
        failures: 0,
        before: None,
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
