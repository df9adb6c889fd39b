//! Dropping what is remembered, so that people are matched again (law 9).
//!
//! Kept are the audit files and pauses, which lie outside the store, and of this account's store what must not be lost by
//! it: what a person rejected, who is gone and since when, people with an update that waits, what a limit or a `revert` holds until
//! it is decided on, what may have been created, the ids of all that the service had, who was removed a short while ago, whose presence
//! is still to be verified, which plan files were applied, and the number of the last run. Approvals are dropped, since their changes are planned again. Of a damaged store the
//! same is kept as far as it can be read, and it is dropped only on request, since it is unknown what was lost.
//!
//! No later file of changes says again what an earlier one said. So of a job that reads those all of its people, what waits for them
//! and what was decided are kept: it could match no one, and approved or dated changes would be lost. An inbox keeps its memory of
//! files, and the next run reads the last file of everybody once more, since the people of it are to be matched before another comes.
//! Of a job that is not in the configuration all is kept: no run matches its people again, and it may be put back.
//! Of a job whose key is another one by now, nothing is kept of people who are there: under that key it would be another's. Who is gone
//! is kept under a key that no row has, as someone else may have theirs. Nor is anything kept of those who are asked about, where the
//! state was laid back and the service has something newer of them.
//!
//! Rejected: telling the operator to drop the last files again. Until they do, no one begins or leaves, and each run ends as done.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde_json::Value as Json;

use crate::clock::Clock;
use crate::config::{Config, Mode};
use crate::history::{self, Audit, AuditEvent, Decided};
use crate::mirror::{ENTITIES, REMOVALS};
use crate::operator::plan_file::used::USED_PLANS;
use crate::plan::Verdict;
use crate::push::ECHOES;
use crate::queue::{DECISIONS, QUEUE, State};
use crate::reconcile::approval::held::HELD;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::kept_record::LATER;
use crate::record::{Action, JobName, Key, RemoteId, Target};
use crate::snapshot::{OWNERS, Owner, SYNCED, SyncedRecord};
use crate::store::{self, Batch, MetaKey, OldStore, ResetOutcome, reset};

/// What was dropped of a store, and what was kept; of a damaged one, what of it could be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// People who were known.
    pub known: u64,
    /// Of them, those who are kept: those of jobs that read files of changes or are not configured, those who are gone from the
    /// source, those with a change that was rejected, is held or is queued, and memberships of people whose row names no organization.
    pub kept: u64,
    /// Of all of them, those who are gone from the source, who are kept.
    pub leaving: u64,
    /// Of those who are kept, those of jobs that read everyone, who are there and have a change that is not settled.
    pub unsettled: u64,
    /// Changes that waited to be sent, or were parked.
    pub queued: u64,
    /// Of them, those of jobs that read files of changes, which are kept.
    pub carried: u64,
    /// Changes that waited for a person.
    pub held: u64,
    /// Of them, those that are kept: those of jobs that read files of changes, those that a limit held, those of people who are
    /// missing since their job was changed, and those that take back a run.
    pub waiting: u64,
    /// Rejections, which are kept.
    pub rejections: u64,
    /// Approvals, which are not kept, except those of jobs that read files of changes.
    pub approvals: u64,
    /// Creates of unknown fate, which are kept to be looked up.
    pub unknown: u64,
}

/// Which store is to be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// One that is whole, since a damaged one may have lost what people decided.
    Whole,
    /// Only one that can't be used.
    Damaged,
}

/// Why a store could not be dropped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError {
    /// The state folder can't be used.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The audit file could not be written; nothing was dropped.
    #[error("the decision could not be written to the audit file; nothing was dropped")]
    Audit(#[source] io::Error),
}

/// Drops the store, where it is such a one; `None` where there is none.
pub fn rebuild(config: &Config, clock: &Clock, which: Which) -> Result<Option<ResetOutcome<Rebuilt>>, RebuildError> {
    let home = &config.state.home;
    reset(home, |old| {
        let (batch, seen) = keep(old, config)?;
        if (which == Which::Damaged) != old.damage().is_some() {
            return Ok((None, seen));
        }
        Audit::new(home).append(Decided::new(clock.now(), "rebuilt")).map_err(RebuildError::Audit)?;
        Ok((Some(batch), seen))
    })
}

/// People by the keys of their jobs.
type People = BTreeSet<(JobName, Key)>;

fn keep(old: &OldStore<'_>, config: &Config) -> Result<(Batch, Rebuilt), store::Error> {
    let mut batch = Batch::default();
    let mut seen = Rebuilt::default();
    let kept = Keeping::of(old, config)?;
    // Nothing that is sent soon has them found again, and they are to be missed where they are gone.
    let unsettled = kept.undecided(&mut batch, &mut seen)?;
    let (known, listed) = kept.people(unsettled, &mut batch, &mut seen)?;
    let waiting = kept.waiting(&known, &mut batch, &mut seen)?;
    // No later file says it again.
    old.carry(&LATER, &mut batch, |_, _, _| true)?;
    let still_keyed: BTreeSet<&JobName> =
        known.iter().filter(|one| !kept.retired.contains(one)).map(|(job, _)| job).collect();
    let with_known: BTreeSet<&JobName> = known.iter().map(|(job, _)| job).collect();
    keep_states(old, config, &waiting, (&with_known, &still_keyed), &mut batch)?;
    old.carry(&REMOVALS, &mut batch, |_, _, _| true)?;
    old.carry(&ECHOES, &mut batch, |_, _, _| true)?;
    old.carry(&USED_PLANS, &mut batch, |_, _, _| true)?;
    let is_of_account = old.meta::<String>(MetaKey::Account)?.is_none_or(|account| account == config.api.base_url);
    if is_of_account {
        keep_of_service(old, &listed, &mut batch)?;
    } else {
        batch = Batch::default();
        seen = Rebuilt {
            known: seen.known,
            queued: seen.queued,
            held: seen.held,
            approvals: seen.approvals,
            ..Rebuilt::default()
        };
    }
    if let Some(runs) = old.meta::<u64>(MetaKey::Runs)? {
        batch.put_meta(MetaKey::Runs, &runs);
    }
    Ok((batch, seen))
}

/// What decides what is kept.
struct Keeping<'a> {
    old: &'a OldStore<'a>,
    config: &'a Config,
    of_changes: BTreeSet<&'a JobName>,
    /// The jobs whose keys are made of something else by now.
    keyed_anew: BTreeSet<JobName>,
    /// Of those jobs, who is gone and may have the key of someone else by now.
    retired: People,
}

impl<'a> Keeping<'a> {
    fn of(old: &'a OldStore<'a>, config: &'a Config) -> Result<Self, store::Error> {
        let of_changes = config.parts().filter(|part| part.mode == Mode::Changes).map(|part| &part.name).collect();
        let keyed_anew = keyed_anew(old, config)?;
        let mut kept = Self { old, config, of_changes, keyed_anew, retired: People::new() };
        let mut retired = People::new();
        if !kept.keyed_anew.is_empty() {
            old.carry(&SYNCED, &mut Batch::default(), |job, key, record| {
                retired.extend((!record.stays() && kept.is_keyed_anew(job)).then(|| (job.clone(), key.clone())));
                false
            })?;
        }
        kept.retired = retired;
        Ok(kept)
    }

    /// Whether all is kept of a job.
    fn is_whole(&self, job: &JobName) -> bool {
        self.of_changes.contains(job) || is_unconfigured(self.config, job)
    }

    fn is_keyed_anew(&self, job: &JobName) -> bool {
        self.keyed_anew.contains(&job.root()) && !self.is_whole(job)
    }

    /// The key that a record has from now on.
    fn key(&self, job: &JobName, key: &Key) -> Key {
        match self.retired.contains(&(job.clone(), key.clone())) {
            true => key.retired(job),
            false => key.clone(),
        }
    }

    /// The known people with a change that waits for a decision, and those who are asked about. Which of those changes are kept
    /// depends on who is known.
    fn held(&self) -> Result<Unsettled, store::Error> {
        let (mut people, mut asked) = (People::new(), People::new());
        self.old.carry(&HELD, &mut Batch::default(), |job, key, held| {
            let is_open = held.action == Some(Action::Update) || held.reason.is_of_absent();
            let is_of_known = (is_open && !self.is_keyed_anew(job)) || held.undo.is_some();
            asked.extend(held.reason.doubts_its_key().then(|| (job.clone(), key.clone())));
            people.extend(is_of_known.then(|| (job.clone(), key.clone())));
            false
        })?;
        Ok(Unsettled { people, asked })
    }

    /// Keeps what was rejected, and what may have been sent. Returns the people with a change that is not settled.
    fn undecided(&self, batch: &mut Batch, seen: &mut Rebuilt) -> Result<Unsettled, store::Error> {
        let Unsettled { mut people, asked } = self.held()?;
        (seen.queued, _) = self.old.carry(&QUEUE, batch, |job, key, change| {
            let is_unknown = change.wish.action == Action::Create && matches!(change.state, State::Sent { .. });
            let is_carried = self.is_whole(job) && !is_unknown;
            seen.unknown += u64::from(is_unknown);
            seen.carried += u64::from(is_carried);
            let is_unsettled = change.wish.action == Action::Update && !self.is_keyed_anew(job);
            people.extend(is_unsettled.then(|| (job.clone(), key.clone())));
            is_unknown || is_carried
        })?;
        (_, seen.rejections) = self.old.carry_as(&DECISIONS, batch, |job, key, decided| {
            let is_approved = matches!(decided.verdict, Verdict::Approved(_));
            let is_dropped = is_approved && !self.is_whole(job);
            seen.approvals += u64::from(is_dropped);
            // What was answered is who had the key that there was before.
            let is_void = self.is_keyed_anew(job) && decided.question.is_some();
            people.extend((!is_approved && !self.is_keyed_anew(job)).then(|| (job.clone(), key.clone())));
            (!is_dropped && !is_void).then(|| self.key(job, &key))
        })?;
        Ok(Unsettled { people, asked })
    }

    /// Keeps people. Returns them, as they were called so far, and the ids of all that the service had.
    fn people(
        &self,
        unsettled: Unsettled,
        batch: &mut Batch,
        seen: &mut Rebuilt,
    ) -> Result<(People, BTreeMap<Target, BTreeSet<RemoteId>>), store::Error> {
        let old = self.old;
        let unplaced = unplaced(old, self.config)?;
        let mut known = People::new();
        (seen.known, seen.kept) = old.carry_as(&SYNCED, batch, |job, key, record| {
            let leaves = !record.stays();
            seen.leaving += u64::from(leaves);
            let is_said_once = self.is_whole(job);
            let member = key.member();
            let is_unplaced = |members: &BTreeSet<Key>| member.is_some_and(|member| members.contains(&member));
            let one = (job.clone(), key);
            let is_of_another = record.overtaken && unsettled.asked.contains(&one);
            let is_unsettled =
                (unsettled.people.contains(&one) && !is_of_another) || unplaced.get(job).is_some_and(is_unplaced);
            seen.unsettled += u64::from(is_unsettled && !leaves && !is_said_once);
            let is_kept = leaves || is_said_once || is_unsettled;
            let name = is_kept.then(|| self.key(job, &one.1));
            known.extend(is_kept.then_some(one));
            name
        })?;
        known.iter().for_each(|(job, key)| SyncedRecord::mark_dirty(batch, job, &self.key(job, key)));
        let mut listed = listed_before(old, self.config)?;
        let mut owners = Vec::new();
        old.carry(&OWNERS, batch, |target, id, owner| {
            listed.entry(*target).or_default().insert(*id);
            let one = (owner.job, owner.key);
            let is_renamed = self.retired.contains(&one);
            let is_kept = known.contains(&one);
            owners.extend(is_renamed.then(|| (*target, *id, Owner { key: self.key(&one.0, &one.1), job: one.0 })));
            is_kept && !is_renamed
        })?;
        owners.iter().for_each(|(target, id, owner)| owner.put(batch, *target, *id));
        Ok((known, listed))
    }

    /// Keeps what waits for a person. Returns the jobs of which something does.
    fn waiting(
        &self,
        known: &People,
        batch: &mut Batch,
        seen: &mut Rebuilt,
    ) -> Result<BTreeSet<JobName>, store::Error> {
        let mut jobs = BTreeSet::new();
        (seen.held, seen.waiting) = self.old.carry_as(&HELD, batch, |job, key, held| {
            // Who is to be removed is known to be gone, or the next run matches them again.
            let is_known = held.action != Some(Action::Delete) || known.contains(&(job.clone(), key.clone()));
            // So few may be left that no limit would hold them, and who is missing was so before.
            let is_asked = held.reason.is_limit() || (held.leaves() && held.reason.is_of_missing());
            let is_kept = self.is_whole(job) || (is_asked || held.undo.is_some()) && is_known;
            jobs.extend(is_kept.then(|| job.clone()));
            is_kept.then(|| self.key(job, &key))
        })?;
        Ok(jobs)
    }
}

/// Whose changes are not settled.
struct Unsettled {
    people: People,
    /// Those who are asked about: is their row about them?
    asked: People,
}

/// Keeps what is known of the service, and of how old this state is.
fn keep_of_service(
    old: &OldStore<'_>,
    listed: &BTreeMap<Target, BTreeSet<RemoteId>>,
    batch: &mut Batch,
) -> Result<(), store::Error> {
    // A field that the service shows no more may hold values all the same (law 2).
    for target in Target::ALL {
        if let Some(shown) = old.meta::<Json>(MetaKey::Shown(*target))? {
            batch.put_meta(MetaKey::Shown(*target), &shown);
        }
    }
    // What the next list leaves out is asked for before anyone is made.
    for (target, ids) in listed.iter().filter(|(_, ids)| !ids.is_empty()) {
        batch.put_meta(MetaKey::Listed(*target), ids);
    }
    // A state that was laid back is no newer for it.
    if let Some(origin) = old.meta::<Json>(MetaKey::Origin)? {
        batch.put_meta(MetaKey::Origin, &origin);
    }
    Ok(())
}

/// Whether a part of a job is of none that the configuration has.
fn is_unconfigured(config: &Config, part: &JobName) -> bool {
    config.part(&part.root()).is_none()
}

/// The ids of all that the service had; of a damaged store, with those that the audit files tell were made or changed. Of the holders of
/// certifications none can be asked for by its id alone.
fn listed_before(old: &OldStore<'_>, config: &Config) -> Result<BTreeMap<Target, BTreeSet<RemoteId>>, store::Error> {
    let mut listed: BTreeMap<Target, BTreeSet<RemoteId>> = BTreeMap::new();
    for target in Target::ALL {
        let before = old.meta::<Vec<RemoteId>>(MetaKey::Listed(*target))?.unwrap_or_default();
        listed.entry(*target).or_default().extend(before);
    }
    old.carry(&ENTITIES, &mut Batch::default(), |target, id, _| {
        listed.entry(*target).or_default().insert(*id);
        false
    })?;
    if old.damage().is_some() {
        // As far as they can be read.
        let _ = history::read(&config.state.home, |entry| {
            let AuditEvent::Change(change) = entry else { return };
            if let (Some(part), Some(id)) = (config.part(&change.job), change.id) {
                let ids = listed.entry(part.mapping.target).or_default();
                if change.action == Action::Delete {
                    ids.remove(&id)
                } else {
                    ids.insert(id)
                };
            }
        });
    }
    listed.remove(&Target::Holder);
    Ok(listed)
}

/// The jobs with a part whose key is made of something else than when it ran last.
fn keyed_anew(old: &OldStore<'_>, config: &Config) -> Result<BTreeSet<JobName>, store::Error> {
    let mut jobs = BTreeSet::new();
    for part in config.parts() {
        let before = old.meta::<JobState>(MetaKey::Job(&part.name))?.unwrap_or_default();
        jobs.extend(before.has_other_key(part).then(|| part.name.root()));
    }
    Ok(jobs)
}

/// By the part that holds their memberships: the members with a row that named no organization. Nothing finds theirs again.
fn unplaced<'a>(old: &OldStore<'_>, config: &'a Config) -> Result<BTreeMap<&'a JobName, BTreeSet<Key>>, store::Error> {
    let mut members = BTreeMap::new();
    for part in config.parts().filter(|part| part.mapping.target == Target::Membership) {
        let state = old.meta::<JobState>(MetaKey::Job(&part.name))?;
        members.extend(state.map(|state| (&part.name, state.unplaced)));
    }
    Ok(members)
}

/// Keeps what jobs remember of their inboxes; the last file of everybody is read again. `undecided` are the jobs of which something
/// that is held stays held, `with_known` those of which people stay known, and `still_keyed` those of which some do under the keys
/// that they had. Those that are not configured keep all.
fn keep_states(
    old: &OldStore<'_>,
    config: &Config,
    undecided: &BTreeSet<JobName>,
    (with_known, still_keyed): (&BTreeSet<&JobName>, &BTreeSet<&JobName>),
    batch: &mut Batch,
) -> Result<(), store::Error> {
    let mut states: BTreeMap<&JobName, JobState> = BTreeMap::new();
    for job in undecided {
        states.entry(job).or_default().partly_decided = true;
    }
    for part in config.parts() {
        let Some(before) = old.meta::<JobState>(MetaKey::Job(&part.name))? else { continue };
        let is_found_again = before.has_other_key(part) && !still_keyed.contains(&part.name);
        let JobState {
            found,
            mut inbox,
            copies,
            copies_read,
            held_set,
            mapping,
            key,
            place,
            protects,
            unplaced,
            used,
            ..
        } = before;
        let state = states.entry(&part.name).or_default();
        state.unplaced = unplaced;
        // No set that is approved by its number is another one by then.
        (state.copies, state.copies_read, state.protects, state.held_set) = (copies, copies_read, protects, held_set);
        // What another mapping or place alters is held as before.
        (state.mapping, state.place, state.used) = (mapping, place, used);
        state.key = if is_found_again { String::new() } else { key };
        state.is_rebuilt = part.mode == Mode::Full;
        if part.inbox.is_none() {
            continue;
        }
        if let Some(last) = inbox.past.last_mut().filter(|_| part.mode == Mode::Full) {
            last.unjudged = true;
            inbox.unmatched = true;
        }
        (state.found, state.inbox) = (found, inbox);
    }
    for job in with_known.iter().copied().filter(|job| is_unconfigured(config, job)) {
        states.extend(old.meta::<JobState>(MetaKey::Job(job))?.map(|state| (job, state)));
    }
    states.iter().for_each(|(job, state)| state.put(batch, job));
    Ok(())
}
