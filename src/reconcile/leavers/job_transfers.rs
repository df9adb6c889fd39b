//! People who leave one job and appear in another one's source: from staff to contractors, from one site's list to another's.
//!
//! A person who changes sides is removed here only once they are there, so that they are never missing from both; two records
//! are one person where their emails are the same, or their key is the same UUID. A person who comes to another job of the
//! same side keeps their entity: this job offers it, and the other one, which finds it by its `match_on`, takes it over. Until
//! it does, the person stays this job's: where the other one never does and loses them again, they leave here as anybody does. A
//! record that has their key is theirs, too, whatever it is found by: it is asked about there if nothing else is the same.
//!
//! An error is never an absence (law 1): as long as files wait unread in the other inbox, its source can't be read or not to its
//! end, or a row that can't be used, or that has the key of someone else, is about them, those who leave stay; so they do for as
//! long as the last file of the other inbox is one of which nothing was used, or which seems to be an older one. What an earlier
//! file of changes said is in no source any more, so what waits in the other job counts too. Of a job of the other side whose
//! source can't be read at all, that alone counts, and the run says so: staff and contractors come from different departments, and
//! the one whose file does not come keeps no one of the other (fault 98).
//!
//! Rejected: to let go of the entity at once. The other job may hold or reject the record, and then no job would know of the
//! person. Rejected, too: to let leavers go while the source of another list of their side does not answer. That run says so, but
//! no one reads it before they are gone, and who is there a day longer is safer than who is missing.

use std::collections::{BTreeMap, BTreeSet};

use super::appearances::{Appearance, Appearances, LeavingPeople, Looked, takes_over};
use crate::config::{Job, Mode};
use crate::mirror::Mirror;
use crate::plan::{Change, Decided, HoldReason, LeaverAction, Verdict, Writes};
use crate::queue;
use crate::reconcile::approval::held::{self, HELD};
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::kept_record::LATER;
use crate::record::{Day, JobName, Key, RemoteId, Target, reveal};
use crate::snapshot::{Owner, SYNCED, SyncedRecord};
use crate::store::{self, Store};
use crate::text::{counted, some_of};

/// How many people a note names; the rest is counted.
const NAMED_MAX: usize = 3;

/// Who of the leavers of a job appears in another one.
#[derive(Default)]
pub(crate) struct JobTransfers {
    /// Those who are not there yet: they stay, and why.
    pub(crate) waits: Vec<(Key, HoldReason)>,
    /// Those whose entity another job may take over.
    pub(crate) offered: BTreeMap<Key, JobName>,
    /// Those who leave since a record of the other side has them.
    pub(crate) moved: BTreeMap<Key, Owner>,
    /// What is worth telling.
    pub(crate) notes: Vec<String>,
}

impl JobTransfers {
    /// Takes those out of the leavers of `job` who are to be found in another job, unless they are removed here since they are
    /// there by now.
    pub(crate) fn take(
        context: &Context<'_>,
        job: &Job,
        mirror: &Mirror,
        changes: &mut Vec<Change>,
    ) -> Result<Self, Error> {
        let mut moving = Self::default();
        let target = job.mapping.target;
        let has_universal = changes.iter().any(|change| change.key.is_universal());
        let may_take = |other: &&Job| {
            let same = other.mapping.target == target;
            other.name != job.name.root()
                && other.mapping.target.has_presence()
                && (other.mapping.fields.contains_key(Target::EMAIL) || same || has_universal)
        };
        let others: Vec<&Job> = context.config.jobs.iter().filter(may_take).collect();
        if !target.has_presence() || !changes.iter().any(|change| change.wish.leaves()) || others.is_empty() {
            return Ok(moving);
        }
        let leaving = entities(context.store, mirror, changes)?;
        for other in others {
            let is_same = other.mapping.target == target;
            let by = if is_same { other.match_on.clone() } else { vec![Target::EMAIL.into()] };
            let mut found = Appearances::new(&by, &leaving, is_same);
            let Looked { waiting, unread, is_failed, .. } = found.look(context, other)?;
            let mut unclear = BTreeSet::new();
            if is_same && other.writes != Writes::Off {
                unclear = moving.offer(context.store, (job, other), &found.records, changes)?;
            } else {
                moving.hold(context.store, other, &found.records, changes)?;
            }
            if other.mode == Mode::Changes {
                moving.keep_waiting(context, (job, other), changes)?;
            }
            let is_unclear = |id: RemoteId| unclear.contains(&id) || found.is_unusable(id);
            let name = other.name.to_string();
            moving.let_stay(changes, &HoldReason::MovesUnusable { job: name.clone() }, is_unclear);
            if let Some(unread) = unread.as_ref().filter(|_| is_failed && !is_same) {
                let before = waited_for(context.store, (job, other), changes)?;
                moving.let_stay(changes, &HoldReason::MovesUnread { job: name }, |id| before.contains(&id));
                let note = "could not be read, so it is not known whether leavers appear there";
                moving.notes.push(format!("the source of job {} {note}: {unread}", other.name));
            } else if waiting > 0 || unread.is_some() {
                let reason = HoldReason::MovesUnread { job: name };
                let count = moving.let_stay(changes, &reason, |id| !found.has(id));
                let people = counted(count, "person stays", "people stay");
                let until = match unread {
                    Some(unread) => format!("the source of job {} can be read to its end: {unread}", other.name),
                    None => {
                        let files = counted(waiting, "file", "files");
                        format!("job {} has read what waits in its inbox: {files}", other.name)
                    }
                };
                moving.notes.extend((count > 0).then(|| format!("{people} until {until}")));
            }
        }
        Ok(moving)
    }

    /// Offers those who are gone here and stay at the service, where another job waits for them: `is_gone` says who, of a job that
    /// removes people whose time has come and who are protected.
    pub(crate) fn offer_staying(
        &mut self,
        context: &Context<'_>,
        job: &Job,
        mirror: &Mirror,
        is_gone: &dyn Fn(&Key) -> bool,
    ) -> Result<(), Error> {
        let now = context.now_for_leavers();
        let may_take = |other: &&Job| {
            let is_alike = other.mapping.target == job.mapping.target && other.writes != Writes::Off;
            is_alike && other.name != job.name.root()
        };
        for other in context.config.jobs.iter().filter(may_take) {
            let mut gone = Vec::new();
            for (key, held) in held::held(context.store, &other.name)? {
                let (id, field) = match (&held.reason, held.doubt) {
                    (HoldReason::Taken { field, id, .. }, _) => (*id, Some(field)),
                    (_, Some(id)) => (id, None),
                    (_, None) => continue,
                };
                let Some(owner) = Owner::of(context.store, other.mapping.target, id)? else { continue };
                let entity = mirror.get(context.store, id)?.map(|entity| (owner.key.clone(), entity));
                let row = held.record.as_ref().map(|record| (&key, record));
                let known = SyncedRecord::get(context.store, &job.name, &owner.key)?;
                let is_fit = match field {
                    Some(field) => entity.is_some_and(|leaving| takes_over(other, row, &leaving, field)),
                    // It is asked there whether they are this person: what was offered stays so until that is decided.
                    None => known.as_ref().is_some_and(|known| known.offered() == Some(&other.name)),
                };
                if !is_fit {
                    continue;
                }
                let is_over = known.is_some_and(|known| match job.leavers.action {
                    LeaverAction::Update => known.left.is_some(),
                    LeaverAction::Keep => {
                        known.gone.is_some_and(|gone| now.duration_since(gone.since) >= job.leavers.grace)
                    }
                    LeaverAction::Delete => true,
                });
                if owner.job == job.name && is_gone(&owner.key) && is_over {
                    gone.push(owner.key);
                }
            }
            self.offer_to(context.store, job, other, gone)?;
        }
        Ok(())
    }

    /// Those among the leavers whose entity `is_meant` selects stay. Returns how many they are.
    fn let_stay(
        &mut self,
        changes: &mut Vec<Change>,
        reason: &HoldReason,
        is_meant: impl Fn(RemoteId) -> bool,
    ) -> usize {
        let before = self.waits.len();
        let stays = changes.extract_if(.., |change| change.wish.leaves() && change.wish.id.is_some_and(&is_meant));
        self.waits.extend(stays.map(|change| (change.key, reason.clone())));
        self.waits.len() - before
    }

    /// Those among the leavers who were found in a job that reads files of changes stay as they were judged then, though no file
    /// of it says so a second time: until that job has them, or a row says once more that they are gone here.
    fn keep_waiting(
        &mut self,
        context: &Context<'_>,
        (job, other): (&Job, &Job),
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let (store, today) = (context.store, Day::of(other.day(context.now_for_leavers())));
        for change in std::mem::take(changes) {
            if !change.wish.leaves() || change.line.is_some() {
                changes.push(change);
                continue;
            }
            let reason = HELD.get(store, &job.name, &change.key)?.map(|held| held.reason);
            let waits = match &reason {
                // A list of everyone says each time that they are gone: for as long as rows of the other list can't be used.
                Some(HoldReason::MovesUnusable { job: of }) if of == other.name.as_str() => {
                    job.mode == Mode::Changes || JobState::load(store, &other.name)?.rejected.count > 0
                }
                _ if job.mode == Mode::Full => false,
                Some(HoldReason::Moves { job, key }) if job == other.name.as_str() => {
                    Key::new(&reveal(key)).map(|key| is_coming(store, &other.name, &key, today)).transpose()?
                        == Some(true)
                }
                _ => false,
            };
            match reason.filter(|_| waits) {
                Some(reason) => self.waits.push((change.key, reason)),
                None => changes.push(change),
            }
        }
        Ok(())
    }

    /// Those among the leavers who are in a job that does not take their entities over leave once they are there.
    fn hold(
        &mut self,
        store: &Store,
        other: &Job,
        there: &BTreeMap<RemoteId, Vec<Appearance>>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let mut moved = Vec::new();
        let among: Vec<Change> = changes.extract_if(.., |change| is_among(there, change)).collect();
        let joined = if among.is_empty() { None } else { joined(store, other)? };
        for change in among {
            let rows = &there[&change.wish.id.expect("it is among them")];
            let mut is_there = None;
            for row in rows {
                let known = SyncedRecord::get(store, &other.name, &row.key)?;
                let stays = known.is_some_and(|known| known.stays() && row.is_as_known(&known));
                let is_joined = joined.as_ref().is_none_or(|joined| joined.contains(&row.key));
                if stays && is_joined && !is_leaving(store, &other.name, &row.key)? {
                    is_there = Some(Owner { job: other.name.clone(), key: row.key.clone() });
                }
            }
            if let Some(there) = is_there {
                self.moved.insert(change.key.clone(), there);
                moved.push(change);
            } else {
                let reason = HoldReason::Moves { job: other.name.to_string(), key: rows[0].key.to_string() };
                self.waits.push((change.key, reason));
            }
        }
        self.note(&format!("moved to job {} and leave here", other.name), moved.iter().map(|change| &change.key));
        changes.extend(moved);
        Ok(())
    }

    /// Offers those among the leavers who are in another job's source to that job. Returns those who may be in it: their
    /// rows have the key of someone else.
    fn offer(
        &mut self,
        store: &Store,
        (job, other): (&Job, &Job),
        there: &BTreeMap<RemoteId, Vec<Appearance>>,
        changes: &mut Vec<Change>,
    ) -> Result<BTreeSet<RemoteId>, Error> {
        let (mut wanted, mut unclear) = (BTreeSet::new(), BTreeSet::new());
        for (id, rows) in there {
            for row in rows {
                match SyncedRecord::get(store, &other.name, &row.key)? {
                    Some(known) if known.id != *id => {
                        // Someone else who shares an email with the leaver, unless their row was another before.
                        unclear.extend((!row.is_as_known(&known)).then_some(*id));
                    }
                    None if is_someone_else(store, &other.name, &row.key, *id)? => {}
                    _ => drop(wanted.insert(*id)),
                }
            }
        }
        let is_wanted =
            |change: &mut Change| change.wish.leaves() && change.wish.id.is_some_and(|id| wanted.contains(&id));
        let moved = changes.extract_if(.., is_wanted).map(|change| change.key).collect();
        self.offer_to(store, job, other, moved)?;
        Ok(unclear)
    }

    /// Offers people of a job to another one.
    fn offer_to(&mut self, store: &Store, job: &Job, other: &Job, keys: Vec<Key>) -> Result<(), Error> {
        let (mut before, mut new) = (Vec::new(), Vec::new());
        for key in keys {
            let known = SyncedRecord::get(store, &job.name, &key)?;
            let is_before = known.is_some_and(|known| known.offered() == Some(&other.name));
            if is_before { &mut before } else { &mut new }.push(key.clone());
            self.offered.insert(key, other.name.clone());
        }
        let source = format!("moved to the source of job {}", other.name);
        self.note(&format!("{source}, which takes them over with its next run"), new.iter());
        self.note(&format!("{source}, which has not taken them over so far; its report says why"), before.iter());
        Ok(())
    }

    fn note<'k>(&mut self, what: &str, keys: impl ExactSizeIterator<Item = &'k Key>) {
        if keys.len() > 0 {
            self.notes.push(format!("{what}: {}", some_of(keys.map(|key| format!("key {key}")), NAMED_MAX)));
        }
    }
}

/// Those among the leavers of a job who stayed in the last run since another one may have them: a read that fails says nothing else.
fn waited_for(
    store: &Store,
    (job, other): (&Job, &Job),
    changes: &[Change],
) -> Result<BTreeSet<RemoteId>, store::Error> {
    let mut waited = BTreeSet::new();
    for change in changes.iter().filter(|change| change.wish.leaves()) {
        let held = HELD.get(store, &job.name, &change.key)?;
        let is_move = held.is_some_and(|held| match &held.reason {
            HoldReason::Moves { job, .. } | HoldReason::MovesUnread { job } | HoldReason::MovesUnusable { job } => {
                job == other.name.as_str()
            }
            _ => false,
        });
        waited.extend(change.wish.id.filter(|_| is_move));
    }
    Ok(waited)
}

fn is_among(there: &BTreeMap<RemoteId, Vec<Appearance>>, change: &Change) -> bool {
    change.wish.leaves() && change.wish.id.is_some_and(|id| there.contains_key(&id))
}

/// The entities of those who leave.
fn entities(store: &Store, mirror: &Mirror, changes: &[Change]) -> Result<LeavingPeople, Error> {
    let mut leaving = BTreeMap::new();
    for change in changes.iter().filter(|change| change.wish.leaves()) {
        let Some(id) = change.wish.id else { continue };
        leaving.extend(mirror.get(store, id)?.map(|entity| (id, (change.key.clone(), entity))));
    }
    Ok(leaving)
}

/// Whether a job that does not know someone yet has something about them that waits, or that a person decided on, of a row that counts
/// today.
fn is_coming(store: &Store, job: &JobName, key: &Key, today: Option<Day>) -> Result<bool, Error> {
    if SyncedRecord::get(store, job, key)?.is_some_and(|there| there.stays()) {
        return Ok(false);
    }
    let waits = HELD.get(store, job, key)?.is_some() || queue::get(store, job, key)?.is_some();
    let is_open = waits || LATER.get(store, job, key)?.is_some();
    let is_decided = |decided: Decided| decided.is_rejected(today) || matches!(decided.verdict, Verdict::Approved(_));
    Ok(is_open || queue::DECISIONS.get(store, job, key)?.is_some_and(is_decided))
}

/// Whether a person said of a record that a job does not know yet that it is not about this entity.
fn is_someone_else(store: &Store, job: &JobName, key: &Key, id: RemoteId) -> Result<bool, store::Error> {
    let decided = queue::DECISIONS.get(store, job, key)?;
    Ok(decided.is_some_and(|decided| match decided.verdict {
        Verdict::Rejected(_) => decided.question.is_some() && decided.id == Some(id),
        Verdict::Approved(_) => decided.is_answer && decided.id.is_none() && decided.doubt == Some(id),
    }))
}

/// Who of a job has a membership, where the job has any: no one can sign in without a company (specification, movements).
fn joined(store: &Store, job: &Job) -> Result<Option<BTreeSet<Key>>, Error> {
    let Some(memberships) = job.memberships.as_deref() else { return Ok(None) };
    let mut joined = BTreeSet::new();
    SYNCED.each_id(store, &memberships.name, |pair| {
        joined.extend(pair.member());
        Ok(())
    })?;
    Ok(Some(joined))
}

/// Whether a removal of someone waits, be it that of a run that is undone.
fn is_leaving(store: &Store, job: &JobName, key: &Key) -> Result<bool, Error> {
    let is_queued = queue::get(store, job, key)?.is_some_and(|change| change.wish.leaves());
    Ok(is_queued || HELD.get(store, job, key)?.is_some_and(|held| held.leaves()))
}
