//! People who leave one job and appear in another one's source: from staff to contractors, from one site's list to another's.
//!
//! A person who changes sides is removed here only once they are there, so that they are never missing from both; two records
//! are one person where their emails are the same. A person who comes to another job of the same side keeps their entity: this
//! job offers it, and the other one, which finds it by its `match_on`, takes it over. Until it does, the person stays this
//! job's: where the other one never does and loses them again, they leave here as anybody does.
//!
//! An error is never an absence (law 1): as long as files wait unread in the other inbox, its source is not read to its end, or
//! a row that can't be used, or that has the key of someone else, is about them, those who leave stay; so they do for as long as
//! the last file of the other inbox is one of which nothing was used, or which seems to be an older one. What an earlier file of changes said is in no source any more, so
//! what waits in the other job counts too. Where the other source can't be read at all, that alone counts, and the run says so: a
//! directory that does not answer keeps no other job from removing its own people.
//!
//! Rejected: to let go of the entity at once. The other job may hold or reject the record, and then no job would know of the
//! person.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use jiff::civil::Date;
use smol_str::SmolStr;

use crate::config::{Job, Mode};
use crate::fault::chain;
use crate::mapping::{Mapped, Reading};
use crate::mirror::Mirror;
use crate::plan::{
    Change, Decided, HoldReason, LeaverAction, Match, Matcher, Verdict, Writes, contradicted, is_another_person,
    is_named_alike, match_hash,
};
use crate::queue;
use crate::reconcile::approval::held::{self, HELD};
use crate::reconcile::collect::rows;
use crate::reconcile::dropped::last_file::{self, LatestFile};
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::Block;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::kept_record::{KeptRecord, LATER};
use crate::record::{Day, Entity, JobName, Key, Record, RemoteId, Target, Values, reveal};
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
            let Looked { waiting, unread } = match found.look(context, other) {
                Ok(looked) => looked,
                Err(error) => {
                    let note = "could not be read, so it is not known whether leavers appear there";
                    moving.notes.push(format!("the source of job {} {note}: {}", other.name, chain(&error)));
                    found.look_at_waiting(context, other)?;
                    let before = waited_for(context.store, (job, other), changes)?;
                    let reason = HoldReason::MovesUnread { job: other.name.to_string() };
                    moving.let_stay(changes, &reason, |id| found.has(id) || before.contains(&id));
                    continue;
                }
            };
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
            if waiting > 0 || unread.is_some() {
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
        for change in changes.extract_if(.., |change| is_among(there, change)).collect::<Vec<_>>() {
            let rows = &there[&change.wish.id.expect("it is among them")];
            let mut is_there = false;
            for row in rows {
                let known = SyncedRecord::get(store, &other.name, &row.key)?;
                let stays = known.is_some_and(|known| known.stays() && row.is_as_known(&known));
                is_there |= stays && !is_leaving(store, &other.name, &row.key)? && is_joined(store, other, &row.key)?;
            }
            if is_there {
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
fn entities(store: &Store, mirror: &Mirror, changes: &[Change]) -> Result<BTreeMap<RemoteId, Entity>, Error> {
    let mut leaving = BTreeMap::new();
    for id in changes.iter().filter(|change| change.wish.leaves()).filter_map(|change| change.wish.id) {
        leaving.extend(mirror.get(store, id)?.map(|entity| (id, entity)));
    }
    Ok(leaving)
}

/// A record of another job that fits a leaver.
struct Appearance {
    key: Key,
    /// The field by which it fits, and the digest of its value.
    by: SmolStr,
    mark: Option<u64>,
}

impl Appearance {
    /// Whether the other job knows the record by what it fits the leaver by. Else its row was another one before, and
    /// perhaps its key is mistyped.
    fn is_as_known(&self, known: &SyncedRecord) -> bool {
        match_hash(&known.sent, &self.by) == self.mark
    }
}

/// The row of a reading of another job, with the days on which it counts; none where it is no record. Fails where it can't be used.
fn row_of(reading: Reading) -> Result<Option<KeptRecord>, ()> {
    let from = reading.due.filter(|_| reading.later.is_some()).and_then(Day::of);
    match reading.later.map_or(reading.mapped, |later| *later) {
        Mapped::Record(Record { fields, .. }) => {
            Ok(Some(KeptRecord { mapping: String::new(), fields, marks: reading.marks, from, then: None }))
        }
        Mapped::Rejected(_) => Err(()),
        Mapped::Left(_) | Mapped::Dropped => Ok(None),
    }
}

/// What a look into another job came to.
#[derive(Default)]
struct Looked {
    /// How many files wait besides.
    waiting: usize,
    /// Why its source does not show everybody.
    unread: Option<String>,
}

/// Which of some leavers another job has.
struct Appearances<'a> {
    leaving: &'a BTreeMap<RemoteId, Entity>,
    by: &'a [SmolStr],
    matcher: Matcher,
    /// Whether the other job would take the entity over: then another person must not get it (law 6).
    takes_over: bool,
    /// By entity: the records that fit.
    records: BTreeMap<RemoteId, Vec<Appearance>>,
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

    /// Looks into the source of a job: of an inbox, into the file that is read next, or else the one that was read last.
    fn look(&mut self, context: &Context<'_>, other: &Job) -> Result<Looked, Error> {
        let LatestFile { read, waiting, doubt } = last_file::latest(other, context.store, context.clock)?;
        if other.mode == Mode::Changes || read.is_none() {
            self.look_at_waiting(context, other)?;
        }
        let Some((job, _copy)) = read else { return Ok(Looked { waiting, unread: doubt }) };
        let today = context.clock.now().to_zoned(job.time_zone.clone()).date();
        let mut records = 0;
        let read = match rows::read(context, &job, &rows::mapping(&job), None, &mut |row, bound| {
            let reading = bound.read(row, Some(today));
            // Who begins there on a later day is on their way.
            match reading.later.map_or(reading.mapped, |later| *later) {
                Mapped::Record(record) => {
                    records += 1;
                    if !reading.bad_values.is_empty() {
                        self.note_unusable(&record.fields);
                    }
                    self.note(record);
                }
                Mapped::Rejected(_) => {
                    let is_wanted = |name: &str| name == Target::NAME || self.by.iter().any(|field| field == name);
                    self.note_unusable(&bound.readable(row, is_wanted));
                }
                // That is what a file of changes is for, too.
                Mapped::Left(_) | Mapped::Dropped => records += u64::from(other.mode == Mode::Changes),
            }
            ControlFlow::Continue(())
        }) {
            // The file waits, or is in failed/ once its job read it.
            Err(error @ (Error::Source(_) | Error::Mapping(_))) if other.inbox.is_some() => {
                return Ok(Looked { waiting, unread: Some(chain(&error).to_string()) });
            }
            read => read?,
        };
        self.doubt_several(context, &job, today)?;
        // A record that lacks what a lookup says may wait for it.
        let lost =
            read.lost.first().map(|lost| format!("nothing is known of the lookup {}: {}", lost.name, lost.reason));
        let least = other.limits.min_records;
        let few = (records < least).then(|| Block::TooFewRecords { records, least }.to_string());
        Ok(Looked { waiting, unread: doubt.or_else(|| read.incomplete().first().cloned()).or(lost).or(few) })
    }

    /// Takes those out of the records whose key is in rows of which the other job uses none: those that differ, or of which one can't be
    /// used.
    fn doubt_several(&mut self, context: &Context<'_>, other: &Job, today: Date) -> Result<(), Error> {
        if self.records.is_empty() {
            return Ok(());
        }
        let fitting = self.records.values().flatten().map(|row| (row.key.clone(), Some(Vec::new())));
        let mut rows: BTreeMap<Key, Option<Vec<KeptRecord>>> = fitting.collect();
        rows::read(context, other, &rows::mapping(other), None, &mut |row, bound| {
            let reading = bound.read(row, Some(today));
            if let Some(all) = reading.key().or(reading.early.as_ref()).and_then(|key| rows.get_mut(key)) {
                match row_of(reading) {
                    Ok(row) => all.iter_mut().for_each(|all| all.extend(row.clone())),
                    Err(()) => *all = None,
                }
            }
            ControlFlow::Continue(())
        })?;
        for (id, records) in &mut self.records {
            let is_used = |all: &Option<Vec<KeptRecord>>| all.as_ref().is_some_and(|rows| !KeptRecord::compete(rows));
            let unused = records.extract_if(.., |record| !is_used(&rows[&record.key])).count();
            self.unusable.extend((unused > 0).then_some(*id));
        }
        self.records.retain(|_, records| !records.is_empty());
        Ok(())
    }

    /// Looks at what the job was to do and has not done.
    fn look_at_waiting(&mut self, context: &Context<'_>, other: &Job) -> Result<(), Error> {
        let store = context.store;
        for (key, held) in held::held(store, &other.name)? {
            match (&held.reason, held.change) {
                (HoldReason::Taken { field, id, .. }, _) => {
                    let is_them = |entity: &Entity| takes_over(other, held.record.as_ref(), entity, field);
                    if let Some(entity) = self.leaving.get(id).filter(|entity| is_them(entity)) {
                        let (by, mark) = (field.into(), match_hash(&entity.fields, field));
                        self.records.entry(*id).or_default().push(Appearance { key, by, mark });
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
            if !change.wish.leaves() {
                self.note(Record { key: change.key, fields: change.wish.fields });
            }
        })?;
        // Who was kept from changing there is in its list all the same.
        let today = Day::of(other.day(context.now_for_leavers()));
        queue::DECISIONS.each(store, &other.name, |key, decided| {
            let is_in_list = decided.is_rejected(today);
            if let Some(id) = decided.id.filter(|id| is_in_list && self.leaving.contains_key(id)) {
                let by = self.by.first().cloned().unwrap_or_default();
                self.records.entry(id).or_default().push(Appearance { key, by, mark: None });
            }
        })?;
        // Who begins there on a later day is on their way.
        LATER.each(store, &other.name, |key, record| self.note(Record { key, fields: record.fields }))?;
        Ok(())
    }

    fn note(&mut self, record: Record) {
        let Some((by, ids)) = self.fitting(&record.fields) else { return };
        let mark = match_hash(&record.fields, &by);
        for id in ids {
            if !self.takes_over || is_them(self.by, &record.fields, &self.leaving[&id], &by) {
                let row = Appearance { key: record.key.clone(), by: by.clone(), mark };
                self.records.entry(id).or_default().push(row);
            }
        }
    }

    /// Notes whose a row may be that can't be used, or not all of it. One without a name may be anybody's that it fits, and one
    /// without what people are found by may be anybody's of that name.
    fn note_unusable(&mut self, fields: &Values) {
        let has = |field: &SmolStr| fields.get(field).is_some_and(|value| !value.is_empty());
        if !self.by.iter().any(has) {
            let namesakes = self.leaving.iter().filter(|(_, entity)| is_named_alike(entity, fields));
            let namesakes: Vec<RemoteId> = namesakes.map(|(id, _)| *id).collect();
            self.unusable.extend(namesakes);
            return;
        }
        let Some((by, ids)) = self.fitting(fields) else { return };
        let has_name = fields.get(Target::NAME).is_some_and(|name| !name.is_empty());
        let may_be = |id: &RemoteId| !self.takes_over || !has_name || is_them(self.by, fields, &self.leaving[id], &by);
        let ids: Vec<RemoteId> = ids.into_iter().filter(may_be).collect();
        self.unusable.extend(ids);
    }

    /// The first field by which a record finds any leavers, and those who have its value there.
    fn fitting(&self, fields: &Values) -> Option<(SmolStr, Vec<RemoteId>)> {
        let (by, mut ids) = match self.matcher.find(fields) {
            Match::None => return None,
            Match::One { by, id } => (by, vec![id]),
            Match::Many { by, ids } => (by, ids),
        };
        ids.retain(|id| Matcher::confirmed(fields, &self.leaving[id], &by));
        Some((by, ids))
    }
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

/// Whether someone in a job has a membership, where the job has any: no one can sign in without a company (specification, movements).
fn is_joined(store: &Store, job: &Job, key: &Key) -> Result<bool, Error> {
    let Some(memberships) = job.memberships.as_deref() else { return Ok(true) };
    let mut is_joined = false;
    SYNCED.each_id(store, &memberships.name, |pair| {
        is_joined |= pair.is_about(&memberships.name, key);
        Ok(())
    })?;
    Ok(is_joined)
}

/// Whether a removal of someone waits, be it that of a run that is undone.
fn is_leaving(store: &Store, job: &JobName, key: &Key) -> Result<bool, Error> {
    let is_queued = queue::get(store, job, key)?.is_some_and(|change| change.wish.leaves());
    Ok(is_queued || HELD.get(store, job, key)?.is_some_and(|held| held.leaves()))
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
