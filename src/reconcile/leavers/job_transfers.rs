//! People who leave one job and appear in another one's source: from staff to contractors, from one site's list to another's.
//!
//! A person who changes sides is removed here only once they are there, so that they are never missing from both; two records
//! are one person where their emails are the same. A person who comes to another job of the same side keeps their entity: this
//! job lets go of it, and the other one, which finds it by its `match_on`, takes it over.
//!
//! An error is never an absence (law 1): as long as files wait unread in the other inbox, or a row that can't be used is about
//! them, those who leave stay. What an earlier file of changes said is in no source any more, so what waits in the other job
//! counts too. Where the other source can't be read at all, that alone counts, and the run says so: a file that does not come
//! keeps no other job from removing its own people.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use smol_str::SmolStr;

use crate::config::{Job, Mode};
use crate::fault::chain;
use crate::mapping::Mapped;
use crate::mirror::Mirror;
use crate::plan::{
    Change, HoldReason, LeaverAction, Match, Matcher, Writes, contradicted, is_another_person, is_named_alike,
};
use crate::queue;
use crate::reconcile::approval::held;
use crate::reconcile::collect::rows;
use crate::reconcile::dropped::last_file::{self, LatestFile};
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::kept_record::KeptRecord;
use crate::record::{Action, Entity, Key, Record, RemoteId, Target, Values};
use crate::snapshot::{Owner, SyncedRecord};
use crate::store::Store;
use crate::text::{counted, some_of};

/// How many people a note names; the rest is counted.
const NAMED_MAX: usize = 3;

/// Who of the leavers of a job appears in another one.
#[derive(Default)]
pub(crate) struct JobTransfers {
    /// Those who are not there yet: they stay, and why.
    pub(crate) waits: Vec<(Key, HoldReason)>,
    /// Those whose entity another job takes over: nothing is left to do here.
    pub(crate) handed_over: Vec<(Key, RemoteId)>,
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
        let may_take = |other: &&Job| {
            let same = other.mapping.target == target;
            other.name != job.name.root()
                && other.mapping.target.has_presence()
                && (other.mapping.fields.contains_key(Target::EMAIL) || same)
                && (other.writes != Writes::Off || !same)
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
            let waiting = match found.look(context, other) {
                Ok(waiting) => waiting,
                Err(error) => {
                    let note = "could not be read, so it is not known whether leavers appear there";
                    moving.notes.push(format!("the source of job {} {note}: {}", other.name, chain(&error)));
                    found.look_at_waiting(context.store, other)?;
                    let reason = HoldReason::MovesUnread { job: other.name.to_string() };
                    moving.let_stay(changes, &reason, |id| found.has(id));
                    continue;
                }
            };
            if is_same {
                moving.hand_over(context.store, other, &found.records, changes)?;
            } else {
                moving.hold(context.store, other, &found.records, changes)?;
            }
            let job = other.name.to_string();
            moving.let_stay(changes, &HoldReason::MovesUnusable { job: job.clone() }, |id| found.is_unusable(id));
            if waiting > 0 {
                let count = moving.let_stay(changes, &HoldReason::MovesUnread { job }, |id| !found.has(id));
                let people = counted(count, "person stays", "people stay");
                let files = counted(waiting, "file", "files");
                let note = format!("{people} until job {} has read what waits in its inbox: {files}", other.name);
                moving.notes.extend((count > 0).then_some(note));
            }
        }
        Ok(moving)
    }

    /// Lets go of those who are gone here and stay at the service, where another job waits for them.
    pub(crate) fn let_go(
        &mut self,
        context: &Context<'_>,
        job: &Job,
        mirror: &Mirror,
        is_gone: &dyn Fn(&Key) -> bool,
    ) -> Result<(), Error> {
        if job.leavers.action == LeaverAction::Delete {
            return Ok(());
        }
        let now = context.now_for_leavers();
        let may_take = |other: &&Job| {
            let is_alike = other.mapping.target == job.mapping.target && other.writes != Writes::Off;
            is_alike && other.name != job.name.root()
        };
        for other in context.config.jobs.iter().filter(may_take) {
            let mut gone = Vec::new();
            for held in held::held(context.store, &other.name)?.into_values() {
                let HoldReason::Taken { field, id, .. } = held.reason else { continue };
                let entity = mirror.get(context.store, id)?;
                if !entity.is_some_and(|entity| takes_over(other, held.record.as_ref(), &entity, &field)) {
                    continue;
                }
                let Some(owner) = Owner::of(context.store, other.mapping.target, id)? else { continue };
                let known = SyncedRecord::get(context.store, &job.name, &owner.key)?;
                let is_over = known.is_some_and(|known| match job.leavers.action {
                    LeaverAction::Update => known.left.is_some(),
                    _ => known.gone.is_some_and(|gone| now.duration_since(gone.since) >= job.leavers.grace),
                });
                if owner.job == job.name && is_gone(&owner.key) && is_over {
                    gone.push((owner.key, id));
                }
            }
            self.note(&taken_over(other), gone.iter().map(|(key, _)| key));
            self.handed_over.extend(gone);
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

    fn hold(
        &mut self,
        store: &Store,
        other: &Job,
        there: &BTreeMap<RemoteId, Key>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let mut moved = Vec::new();
        for change in changes.extract_if(.., |change| is_among(there, change)).collect::<Vec<_>>() {
            let key = &there[&change.wish.id.expect("it is among them")];
            let known = SyncedRecord::get(store, &other.name, key)?;
            if known.is_some_and(|known| known.gone.is_none() && known.left.is_none()) {
                moved.push(change);
            } else {
                let reason = HoldReason::Moves { job: other.name.to_string(), key: key.to_string() };
                self.waits.push((change.key, reason));
            }
        }
        self.note(&format!("moved to job {} and leave here", other.name), moved.iter().map(|change| &change.key));
        changes.extend(moved);
        Ok(())
    }

    fn hand_over(
        &mut self,
        store: &Store,
        other: &Job,
        there: &BTreeMap<RemoteId, Key>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let mut wanted = BTreeMap::new();
        for (id, key) in there {
            // A record that the other job knows as another entity is of someone else, who shares an email with the leaver.
            if SyncedRecord::get(store, &other.name, key)?.is_none_or(|known| known.id == *id) {
                wanted.insert(*id, key.clone());
            }
        }
        let moved: Vec<_> = changes.extract_if(.., |change| is_among(&wanted, change)).collect();
        self.note(&taken_over(other), moved.iter().map(|change| &change.key));
        self.handed_over.extend(moved.into_iter().filter_map(|change| Some((change.key, change.wish.id?))));
        Ok(())
    }

    fn note<'k>(&mut self, what: &str, keys: impl ExactSizeIterator<Item = &'k Key>) {
        if keys.len() > 0 {
            self.notes.push(format!("{what}: {}", some_of(keys.map(|key| format!("key {key}")), NAMED_MAX)));
        }
    }
}

fn taken_over(other: &Job) -> String {
    format!("moved to the source of job {}, which takes them over with its next run", other.name)
}

fn is_among(there: &BTreeMap<RemoteId, Key>, change: &Change) -> bool {
    change.wish.leaves() && change.wish.id.is_some_and(|id| there.contains_key(&id))
}

/// The entities of those who leave.
fn entities(store: &Store, mirror: &Mirror, changes: &[Change]) -> Result<BTreeMap<RemoteId, Entity>, Error> {
    let mut leaving = BTreeMap::new();
    for id in changes.iter().filter(|change| change.wish.leaves()).filter_map(|change| change.wish.id) {
        leaving.extend(mirror.get(store, id)?.map(|entity| (id, entity)));
    }
    Ok(leaving)
}

/// Which of some leavers another job has.
struct Appearances<'a> {
    leaving: &'a BTreeMap<RemoteId, Entity>,
    by: &'a [SmolStr],
    matcher: Matcher,
    /// Whether the other job would take the entity over: then another person must not get it (law 6).
    takes_over: bool,
    /// By entity: the key of the record that fits.
    records: BTreeMap<RemoteId, Key>,
    /// Those that a row fits that can't be used.
    unusable: BTreeSet<RemoteId>,
}

impl<'a> Appearances<'a> {
    fn new(by: &'a [SmolStr], leaving: &'a BTreeMap<RemoteId, Entity>, takes_over: bool) -> Self {
        let matcher = Matcher::new(by, leaving.values());
        Self { leaving, by, matcher, takes_over, records: BTreeMap::new(), unusable: BTreeSet::new() }
    }

    fn has(&self, id: RemoteId) -> bool {
        self.records.contains_key(&id)
    }

    fn is_unusable(&self, id: RemoteId) -> bool {
        self.unusable.contains(&id) && !self.has(id)
    }

    /// Looks into the source of a job: of an inbox, into the file that is read next, or else the one that was read last. Returns
    /// how many files wait besides.
    fn look(&mut self, context: &Context<'_>, other: &Job) -> Result<usize, Error> {
        let LatestFile { read, waiting } = last_file::latest(other, context.store, context.clock)?;
        if other.mode == Mode::Changes || read.is_none() {
            self.look_at_waiting(context.store, other)?;
        }
        let Some((job, _copy)) = read else { return Ok(waiting) };
        let today = context.clock.now().to_zoned(job.time_zone.clone()).date();
        rows::read(context, &job, &rows::mapping(&job), None, &mut |row, bound| {
            match bound.read(row, Some(today)).mapped {
                Mapped::Record(record) => self.note(record),
                Mapped::Rejected(_) => {
                    let is_wanted = |name: &str| name == Target::NAME || self.by.iter().any(|field| field == name);
                    let fields = bound.readable(row, is_wanted);
                    self.unusable.extend(self.fitting(&fields));
                }
                Mapped::Left(_) | Mapped::Dropped => {}
            }
            ControlFlow::Continue(())
        })?;
        Ok(waiting)
    }

    /// Looks at what the job was to do and has not done.
    fn look_at_waiting(&mut self, store: &Store, other: &Job) -> Result<(), Error> {
        for (key, held) in held::held(store, &other.name)? {
            match (&held.reason, held.change) {
                (HoldReason::Taken { field, id, .. }, _) => {
                    let is_them = |entity: &Entity| takes_over(other, held.record.as_ref(), entity, field);
                    if self.leaving.get(id).is_some_and(is_them) {
                        self.records.insert(*id, key);
                    }
                }
                (_, Some(wish)) if !wish.leaves() => self.note(Record { key, fields: wish.fields }),
                (_, Some(_)) => {}
                (_, None) => held.record.into_iter().for_each(|record| {
                    self.note(Record { key: key.clone(), fields: record.fields });
                }),
            }
        }
        queue::each(store, &other.name, |change| {
            if change.wish.action == Action::Create {
                self.note(Record { key: change.key, fields: change.wish.fields });
            }
        })?;
        Ok(())
    }

    fn note(&mut self, record: Record) {
        for id in self.fitting(&record.fields) {
            self.records.insert(id, record.key.clone());
        }
    }

    /// The entities that a record fits by the first field that finds any.
    fn fitting(&self, fields: &Values) -> Vec<RemoteId> {
        let (field, mut ids) = match self.matcher.find(fields) {
            Match::None => return Vec::new(),
            Match::One { by, id } => (by, vec![id]),
            Match::Many { by, ids } => (by, ids),
        };
        ids.retain(|id| {
            let entity = &self.leaving[id];
            Matcher::confirmed(fields, entity, &field) && (!self.takes_over || is_them(self.by, fields, entity, &field))
        });
        ids
    }
}

/// Whether a record that waits in another job since this one has the entity is the same person.
fn takes_over(other: &Job, record: Option<&KeptRecord>, entity: &Entity, by: &str) -> bool {
    record.is_some_and(|record| is_them(&other.match_on, &record.fields, entity, by))
}

/// Whether a record that fits an entity by a field is the same person. People share mailboxes, and each site may number its
/// people from one.
fn is_them(match_on: &[SmolStr], fields: &Values, entity: &Entity, by: &str) -> bool {
    let is_sure = by != Target::EMAIL && contradicted(match_on, by, fields, entity).is_none();
    is_named_alike(entity, fields) || (is_sure && !is_another_person(|field| entity.value(field).clone(), fields))
}
