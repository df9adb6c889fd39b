//! Which of some leavers another job has: in its source, or in what it was to do and has not done.
//!
//! Two records are one person where a field by which the other job finds people is the same, and nothing else speaks against it; and
//! where their key is the same UUID, which a directory gives to each entry, whatever else is another by now. What a row says that
//! can't be used, or that may be an old one, proves no absence (law 1).
//!
//! Rejected: what the other job knows. It is what its source said at its last run, and each run of it may be the one that fails.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use jiff::civil::Date;
use smol_str::SmolStr;

use crate::config::{Job, Mode};
use crate::fault::chain;
use crate::mapping::{Mapped, Reading};
use crate::plan::{
    HoldReason, Match, Matcher, contradicted, is_another_person, is_named_alike, match_hash, name_words,
};
use crate::queue;
use crate::reconcile::approval::held;
use crate::reconcile::collect::rows;
use crate::reconcile::dropped::last_file::{self, LatestFile};
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::Block;
use crate::reconcile::model::kept_record::{KeptRecord, LATER};
use crate::record::{Day, Entity, Key, Record, RemoteId, Target, Values};
use crate::snapshot::SyncedRecord;
use crate::store::Store;

/// A record of another job that fits a leaver.
pub(super) struct Appearance {
    pub(super) key: Key,
    /// The field by which it fits, and the digest of its value; none where it fits by its key.
    by: Option<(SmolStr, Option<u64>)>,
}

impl Appearance {
    /// Whether the other job knows the record by what it fits the leaver by. Else its row was another one before, and
    /// perhaps its key is mistyped.
    pub(super) fn is_as_known(&self, known: &SyncedRecord) -> bool {
        self.by.as_ref().is_none_or(|(field, mark)| match_hash(&known.sent, field) == *mark)
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
pub(super) struct Looked {
    /// How many files wait besides.
    pub(super) waiting: usize,
    /// Why its source does not show everybody.
    pub(super) unread: Option<String>,
    /// Whether it can't be read at all.
    pub(super) is_failed: bool,
    /// Whether it was read.
    is_shown: bool,
}

/// The people who leave, by entity, with their keys.
pub(super) type LeavingPeople = BTreeMap<RemoteId, (Key, Entity)>;

/// Which of some leavers another job has.
pub(super) struct Appearances<'a> {
    leaving: &'a LeavingPeople,
    /// Them by key.
    keys: BTreeMap<&'a Key, RemoteId>,
    by: &'a [SmolStr],
    matcher: Matcher,
    /// By what the service has of one person only, and the other job does not match people by.
    unique: Matcher,
    /// Whether the other job would take the entity over: then another person must not get it (law 6).
    takes_over: bool,
    /// By entity: the records that fit.
    pub(super) records: BTreeMap<RemoteId, Vec<Appearance>>,
    /// Those that a row fits that can't be used.
    unusable: BTreeSet<RemoteId>,
}

impl<'a> Appearances<'a> {
    pub(super) fn new(by: &'a [SmolStr], leaving: &'a LeavingPeople, takes_over: bool) -> Self {
        let entities = || leaving.values().map(|(_, entity)| entity);
        let matcher = Matcher::new(by, entities());
        let of_one = Target::UNIQUE.map(SmolStr::from).into_iter().filter(|field| takes_over && !by.contains(field));
        let unique = Matcher::new(&of_one.collect::<Vec<_>>(), entities());
        let keys = leaving.iter().map(|(id, (key, _))| (key, *id)).collect();
        let (records, unusable) = (BTreeMap::new(), BTreeSet::new());
        Self { leaving, keys, by, matcher, unique, takes_over, records, unusable }
    }

    pub(super) fn has(&self, id: RemoteId) -> bool {
        self.records.contains_key(&id)
    }

    pub(super) fn is_unusable(&self, id: RemoteId) -> bool {
        self.unusable.contains(&id) && !self.has(id)
    }

    /// Looks into a job: into its source, and where that does not show everything, into what the job was to do and has not done.
    pub(super) fn look(&mut self, context: &Context<'_>, other: &Job) -> Result<Looked, Error> {
        let looked = match self.look_at_source(context, other) {
            Err(error) if !matches!(error, Error::Store(_)) => {
                Looked { waiting: 0, unread: Some(chain(&error).to_string()), is_failed: true, is_shown: false }
            }
            looked => looked?,
        };
        if !looked.is_shown || other.mode == Mode::Changes {
            self.look_at_waiting(context, other)?;
        }
        Ok(looked)
    }

    /// Looks into the source of a job: of an inbox, into the file that is read next, or else the one that was read last.
    fn look_at_source(&mut self, context: &Context<'_>, other: &Job) -> Result<Looked, Error> {
        let LatestFile { read, is_done, waiting, doubt } = last_file::latest(other, context.store, context.clock)?;
        let Some((job, _copy)) = read else {
            return Ok(Looked { waiting, unread: doubt, is_failed: false, is_shown: false });
        };
        let today = context.clock.now().to_zoned(job.time_zone.clone()).date();
        let mut records = 0;
        let read = rows::read(context, &job, &rows::mapping(&job), None, &mut |row, bound| {
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
                Mapped::Rejected(rejected) => {
                    self.unusable.extend(rejected.key.and_then(|key| self.universal(&key)));
                    let is_wanted = |name: &str| name == Target::NAME || self.by.iter().any(|field| field == name);
                    self.note_unusable(&bound.readable(row, is_wanted));
                }
                // That is what a file of changes is for, too.
                Mapped::Left(_) | Mapped::Dropped => records += u64::from(other.mode == Mode::Changes),
            }
            ControlFlow::Continue(())
        })?;
        if is_done && other.mode == Mode::Changes {
            self.leave_out_dropped(context.store, other)?;
        }
        self.doubt_several(context, &job, today)?;
        // A record that lacks what a lookup says may wait for it.
        let lost =
            read.lost.first().map(|lost| format!("nothing is known of the lookup {}: {}", lost.name, lost.reason));
        let least = other.limits.min_records;
        let few = (records < least).then(|| Block::TooFewRecords { records, least }.to_string());
        let unread = doubt.or_else(|| read.incomplete().first().cloned()).or(lost).or(few);
        Ok(Looked { waiting, unread, is_failed: false, is_shown: true })
    }

    /// Takes those out of the records that a file of changes brought and of which a person dropped what it said: the job neither knows them
    /// nor has anything of them that waits.
    fn leave_out_dropped(&mut self, store: &Store, other: &Job) -> Result<(), Error> {
        let job = &other.name;
        let mut dropped = BTreeSet::new();
        for Appearance { key, .. } in self.records.values().flatten() {
            let is_dropped = SyncedRecord::get(store, job, key)?.is_none()
                && held::HELD.get(store, job, key)?.is_none()
                && queue::get(store, job, key)?.is_none()
                && LATER.get(store, job, key)?.is_none()
                && queue::DECISIONS.get(store, job, key)?.is_none();
            dropped.extend(is_dropped.then(|| key.clone()));
        }
        self.records.values_mut().for_each(|records| records.retain(|record| !dropped.contains(&record.key)));
        self.records.retain(|_, records| !records.is_empty());
        Ok(())
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
                    let row = held.record.as_ref().map(|record| (&key, record));
                    let leaving = self.leaving.get(id).filter(|leaving| takes_over(other, row, leaving, field));
                    if let Some((_, entity)) = leaving {
                        let by = Some((field.into(), match_hash(&entity.fields, field)));
                        self.records.entry(*id).or_default().push(Appearance { key, by });
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
                let by = Some((self.by.first().cloned().unwrap_or_default(), None));
                self.records.entry(id).or_default().push(Appearance { key, by });
            }
        })?;
        // Who begins there on a later day is on their way.
        LATER.each(store, &other.name, |key, record| self.note(Record { key, fields: record.fields }))?;
        Ok(())
    }

    fn note(&mut self, record: Record) {
        if let Some(id) = self.universal(&record.key) {
            self.records.entry(id).or_default().push(Appearance { key: record.key, by: None });
            return;
        }
        if self.is_asked_about(&record) {
            return;
        }
        let Some((by, ids)) = self.fitting(&record.fields) else {
            // It takes them over by their key, or asks whether it is them.
            if let Some(id) = self.keys.get(&record.key).filter(|_| self.takes_over) {
                self.records.entry(*id).or_default().push(Appearance { key: record.key, by: None });
            }
            return;
        };
        let mark = match_hash(&record.fields, &by);
        for id in ids {
            if !self.takes_over || is_them(self.by, (&record.key, &record.fields), &self.leaving[&id], &by) {
                let row = Appearance { key: record.key.clone(), by: Some((by.clone(), mark)) };
                self.records.entry(id).or_default().push(row);
            }
        }
    }

    /// Who a key means in every job.
    fn universal(&self, key: &Key) -> Option<RemoteId> {
        self.keys.get(key).copied().filter(|_| key.is_universal())
    }

    /// Notes whose a record is that finds them by nothing, while the service refuses it for as long as they have what is theirs there. Of
    /// one with their name and their email the other job asks whether it is them, once they are offered to it: returns whether it is one.
    fn is_asked_about(&mut self, record: &Record) -> bool {
        let fields = &record.fields;
        let Match::One { by, id } = self.unique.find(fields) else { return false };
        let is_found = self.fitting(fields).is_some_and(|(_, ids)| ids.contains(&id));
        let (_, entity) = &self.leaving[&id];
        if is_found || !Matcher::confirmed(fields, entity, &by) || !is_named_alike(entity, fields) {
            return false;
        }
        let is_same = by == Target::EMAIL && name_words(fields) == name_words(&entity.fields);
        if is_same {
            self.records.entry(id).or_default().push(Appearance { key: record.key.clone(), by: None });
        } else {
            self.unusable.insert(id);
        }
        is_same
    }

    /// Notes whose a row may be that can't be used, or not all of it. One without a name may be anybody's that it fits, and one
    /// without what people are found by may be anybody's of that name.
    fn note_unusable(&mut self, fields: &Values) {
        let has = |field: &SmolStr| fields.get(field).is_some_and(|value| !value.is_empty());
        if !self.by.iter().any(has) {
            let namesakes = self.leaving.iter().filter(|(_, (_, entity))| is_named_alike(entity, fields));
            let namesakes: Vec<RemoteId> = namesakes.map(|(id, _)| *id).collect();
            self.unusable.extend(namesakes);
            return;
        }
        let Some((by, ids)) = self.fitting(fields) else { return };
        let has_name = fields.get(Target::NAME).is_some_and(|name| !name.is_empty());
        let may_be = |id: &RemoteId| {
            let (key, _) = &self.leaving[id];
            !self.takes_over || !has_name || is_them(self.by, (key, fields), &self.leaving[id], &by)
        };
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
        ids.retain(|id| Matcher::confirmed(fields, &self.leaving[id].1, &by));
        Some((by, ids))
    }
}

/// Whether a record that waits in another job, with its key, since this one has the entity is the same person.
pub(super) fn takes_over(other: &Job, row: Option<(&Key, &KeptRecord)>, leaving: &(Key, Entity), by: &str) -> bool {
    row.is_some_and(|(key, record)| is_them(&other.match_on, (key, &record.fields), leaving, by))
}

/// Whether a record that fits an entity by a field is the same person, or is to be asked about there: it has the same key, too, and
/// perhaps a name and an email that are new. People share mailboxes, and each site may number its people from one; but not both at once.
fn is_them(match_on: &[SmolStr], (key, fields): (&Key, &Values), (own, entity): &(Key, Entity), by: &str) -> bool {
    let is_shared = by == Target::EMAIL;
    let is_sure = !is_shared && contradicted(match_on, by, fields, entity).is_none();
    key == own || is_named_alike(entity, fields) || (is_sure && !is_another_person(&entity.fields, fields))
}
