//! Who has left, and what becomes of them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::memberships::{Memberships, Standing};
use super::organization_transfers;
use crate::config::{Job, Mode};
use crate::mapping::LeaverSet;
use crate::mirror::{Mirror, Removal};
use crate::plan::{
    Base, Change, Delta, Deltas, Held, HoldReason, LeaverAction, Present, Protection, absent, is_another_person,
    missing,
};
use crate::queue;
use crate::reconcile::approval::held::HELD;
use crate::reconcile::correlate::fit::fit;
use crate::reconcile::model::candidate::Statement;
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::missing_people::Missed;
use crate::record::{
    Action, Day, DesiredState, Entity, Field, JobName, Key, Record, RemoteId, RowDefect, RowMetadata, Target,
};
use crate::snapshot::{Gone, Index, Left, SyncedRecord};
use crate::source::Complete;
use crate::store::{self, Store};

/// What a read says about those who are not in it.
#[derive(Default)]
pub(crate) struct Leavers {
    /// Leavers who are due.
    pub(crate) changes: Vec<Change>,
    /// Leavers whose row names another person than the one that the job knows by that key.
    pub(crate) doubtful: Vec<Change>,
    /// Leavers whose new values can't be computed.
    pub(crate) held: Vec<Held>,
    /// Those who would be removed were they not protected.
    pub(crate) protected: Vec<Key>,
    /// What is to be remembered of those whose grace runs, and of those who are as they should be.
    pub(crate) waiting: Vec<(Key, SyncedRecord)>,
    /// Those whose entity is gone already, or another job's: nothing is left to remove.
    pub(crate) forgotten: Vec<(Key, RemoteId)>,
    /// The people that a file of changes says are gone, with the day: until that is done, each run judges it again.
    pub(crate) dated: BTreeMap<Key, Day>,
    /// What those are called who leave or are missed; shown in plans alone (law 11).
    pub(crate) names: BTreeMap<Key, String>,
    /// All people who are missing from the read, due or not.
    pub(crate) missed: Vec<Missed>,
    /// People who are missing from the read, and whose entity another record of it claims under another key.
    pub(crate) claimed: BTreeSet<Key>,
    /// Memberships that stay for as long as their members do, though a row says that they are over.
    pub(crate) deferred: BTreeSet<Key>,
    /// Memberships that end for another one of the same person, with the key of that person.
    pub(crate) ended: BTreeMap<Key, Key>,
}

/// What leavers are judged by.
pub(crate) struct LeaverDetector<'a> {
    pub(crate) job: &'a Job,
    pub(crate) store: &'a Store,
    pub(crate) mirror: &'a Mirror,
    /// What the job knows.
    pub(crate) index: &'a Index,
    pub(crate) now: Timestamp,
    /// Since when someone is missing who is missed first now.
    pub(crate) first: Timestamp,
    /// How many copies of the state were laid back so far.
    pub(crate) copies: u64,
    /// Entities that a record of this read claims: none of them leaves.
    pub(crate) claimed: &'a BTreeSet<RemoteId>,
    /// Those among them whose name or email a row has that is in doubt, and what is said of it.
    pub(crate) named: &'a BTreeMap<RemoteId, HoldReason>,
    /// Entities that another record of a job of changes is to have, by what waits in the queue.
    pub(crate) taken: &'a BTreeMap<RemoteId, Key>,
    /// People that may not be removed (law 6).
    pub(crate) protection: &'a Protection,
    /// What is set in those who leave and stay at the service.
    pub(crate) set: &'a LeaverSet,
    /// For memberships: what is known of their members.
    pub(crate) members: Option<Memberships<'a>>,
}

/// A person who is gone, if something may still have to be done.
struct Leaver {
    key: Key,
    known: SyncedRecord,
    entity: Entity,
}

impl LeaverDetector<'_> {
    /// Judges all people who are missing from a complete read, except those whose own row says that they are gone. Only
    /// a finished read brings a [`Complete`] value (law 1).
    pub(crate) fn absent_leavers(
        &self,
        present: &Complete<Present>,
        content: &str,
        left: &BTreeMap<Key, Statement>,
        departed: &mut Leavers,
    ) -> Result<(), Error> {
        if self.job.mode == Mode::Changes {
            return Ok(());
        }
        for at in missing(present) {
            let Some(key) = self.key(at).filter(|key| !left.contains_key(key)) else { continue };
            let Some(mut leaver) = self.leaver(&key, false, departed)? else { continue };
            let before = leaver.known.clone();
            let counted = before.gone.as_ref().filter(|gone| gone.copies == self.copies);
            let mut absence = absent(counted, &self.job.leavers, (self.now, self.first), content);
            absence.gone.copies = self.copies;
            absence.gone.successor = self.successor(&before);
            absence.gone.offered = None;
            let is_replaced = absence.gone.successor.is_some();
            if !is_replaced {
                departed.missed.push(self.missed(&leaver, absence.gone.since));
            }
            leaver.known.gone = Some(absence.gone);
            if absence.due || is_replaced {
                self.leave(&mut leaver, None, departed)?;
            }
            if leaver.known != before {
                departed.waiting.push((key, leaver.known));
            }
        }
        Ok(())
    }

    /// People whose own row says that they are gone: in any read, and without grace (law 1). A row that names another
    /// person proves nothing about the owner of its key: it waits for a person (law 6).
    pub(crate) fn stated_leavers(&self, left: &BTreeMap<Key, Statement>, departed: &mut Leavers) -> Result<(), Error> {
        if self.job.leavers.action == LeaverAction::Keep || left.is_empty() {
            return Ok(());
        }
        let questions = self.questions()?;
        // What an older file says is decided on, and not said again by each run.
        let is_said_again = self.job.mode == Mode::Changes && !self.job.reads_older_changes();
        let today = Day::of(self.job.day(self.now)).filter(|_| is_said_again);
        // A file that waits behind this one may name another last day.
        let may_be_put_off = is_said_again && self.job.inbox.as_ref().is_some_and(|inbox| inbox.others_wait);
        for (key, Statement { line, is_by_day, who }) in left {
            let today = today.filter(|_| *line > 0);
            if *is_by_day && may_be_put_off {
                self.is_gone_from(today, key, departed)?;
                continue;
            }
            let Some(mut leaver) = self.leaver(key, true, departed)? else {
                // Who is claimed by a record of this read goes once that is decided.
                let is_open = departed.claimed.contains(key) || departed.deferred.contains(key);
                self.is_gone_from(today.filter(|_| is_open), key, departed)?;
                continue;
            };
            let (before, known) = (departed.changes.len(), leaver.known.clone());
            leaver.known.gone.iter_mut().for_each(|gone| gone.offered = None);
            if self.job.leavers.action == LeaverAction::Update {
                // The day on which it was first said stays the same, whenever it is sent.
                leaver.known.gone.get_or_insert(Gone::since(self.first));
            }
            if let Some(successor) = self.successor(&known) {
                leaver.known.gone.get_or_insert(Gone::since(self.first)).successor = Some(successor);
            }
            let shown = Some(*line).filter(|line| *line > 0 && self.job.source.has_lines());
            self.leave(&mut leaver, shown, departed)?;
            let Leaver { known: mut remembered, entity, .. } = leaver;
            let is_another = is_another_person(&known.sent, who) && is_another_person(&entity.fields, who);
            if is_another || self.members.as_ref().is_some_and(|members| members.is_misnamed(*line)) {
                departed.doubtful.extend(departed.changes.drain(before..));
                continue;
            }
            if let Some((asked, _)) =
                questions.iter().find(|(asked, reason)| asked != key && reason.without(key).is_some())
            {
                let reason = HoldReason::AskedAbout { key: asked.to_string() };
                let changes = departed.changes.drain(before..);
                departed.held.extend(changes.map(|_| Held {
                    key: key.clone(),
                    reason: reason.clone(),
                    change: None,
                    other: None,
                }));
            }
            if let Some(today) = today {
                (remembered.marks.due, remembered.marks.copies) = (Some(today), self.copies);
                departed.dated.insert(key.clone(), today);
            }
            if remembered != known {
                departed.waiting.push((key.clone(), remembered));
            }
        }
        Ok(())
    }

    /// Remembers that someone is gone from a day on: until that is done, each run judges it again.
    fn is_gone_from(&self, day: Option<Day>, key: &Key, departed: &mut Leavers) -> Result<(), Error> {
        let known = day.map(|_| SyncedRecord::get(self.store, &self.job.name, key)).transpose()?.flatten();
        if let (Some(mut known), Some(day)) = (known, day) {
            (known.marks.due, known.marks.copies) = (Some(day), self.copies);
            departed.dated.insert(key.clone(), day);
            departed.waiting.push((key.clone(), known));
        }
        Ok(())
    }

    /// The questions that wait of records of files of changes, or were answered by a rejection, with their keys: what a read says itself
    /// is found in it again.
    fn questions(&self) -> Result<Vec<(Key, HoldReason)>, Error> {
        let mut questions = Vec::new();
        if self.job.mode == Mode::Changes {
            HELD.each(self.store, &self.job.name, |key, held| {
                questions.extend(held.reason.is_question().then_some((key, held.reason)));
            })?;
            // A rejection may say that they are one person.
            queue::DECISIONS.each(self.store, &self.job.name, |key, decided| {
                questions.extend(decided.question.map(|question| (key, question)));
            })?;
        }
        Ok(questions)
    }

    /// The membership that took the place of one that is gone.
    fn successor(&self, known: &SyncedRecord) -> Option<Key> {
        self.members.as_ref()?.successor(known)
    }

    fn is_protected(&self, key: &Key, known: &SyncedRecord, entity: &Entity) -> bool {
        self.protection.covers(self.job.mapping.target, key, Some(known), entity)
    }

    /// A person who is missing from the read, and the time from which they are removed.
    fn missed(&self, Leaver { key, known, entity }: &Leaver, since: Timestamp) -> Missed {
        let stays = self.job.leavers.action == LeaverAction::Delete && self.is_protected(key, known, entity);
        let due = self.job.leavers.grace_ends(since).filter(|_| !stays);
        Missed { key: key.clone(), id: known.id, since, due }
    }

    /// Those among `missed` who were also missing from an earlier complete read, for a read that proves nothing itself.
    pub(crate) fn missed_before(&self, missed: &[usize], departed: &mut Leavers) -> Result<(), Error> {
        let held = departed.held.len();
        for at in missed.iter().copied().filter(|at| self.index.entry(*at).gone) {
            let Some(key) = self.key(at) else { continue };
            let Some(leaver) = self.leaver(&key, false, departed)? else { continue };
            let since = leaver.known.gone.as_ref().map(|gone| gone.since);
            departed.missed.extend(since.map(|since| self.missed(&leaver, since)));
        }
        departed.forgotten.clear();
        departed.claimed.clear();
        departed.held.truncate(held);
        Ok(())
    }

    /// What happens to a missing person once their grace is over; `None` if nothing does.
    pub(crate) fn fate(&self, key: &Key) -> Result<Option<Change>, Error> {
        let mut departed = Leavers::default();
        let Some(mut leaver) = self.leaver(key, false, &mut departed)? else { return Ok(None) };
        // The day of leaving is the one on which they were missed first, whenever that is decided on.
        leaver.known.gone.get_or_insert(Gone::since(self.first));
        self.leave(&mut leaver, None, &mut departed)?;
        Ok(departed.changes.pop())
    }

    fn key(&self, at: usize) -> Option<Key> {
        Key::new(self.index.entry(at).key)
    }

    /// The person of this key, if something may still have to be done; `is_stated` where a row says that they are gone.
    fn leaver(&self, key: &Key, is_stated: bool, departed: &mut Leavers) -> Result<Option<Leaver>, Error> {
        let Some(known) = SyncedRecord::get(self.store, &self.job.name, key)? else { return Ok(None) };
        let done = self.job.leavers.action == LeaverAction::Update && known.left.is_some();
        let is_taken = self.taken.get(&known.id).is_some_and(|other| other != key);
        if self.claimed.contains(&known.id) || is_taken {
            departed.claimed.insert(key.clone());
            let held =
                |reason: &HoldReason| Held { key: key.clone(), reason: reason.clone(), change: None, other: None };
            departed.held.extend(self.named.get(&known.id).map(held));
            return Ok(None);
        }
        if done {
            return Ok(None);
        }
        let entity = self.mirror.person(self.store, &known)?;
        if let Some(members) = &self.members {
            match entity.as_ref().map(|entity| members.standing(&known, entity)).transpose()? {
                Some(Standing::OfAnother) => {
                    departed.forgotten.push((key.clone(), known.id));
                    return Ok(None);
                }
                Some(Standing::Open) => return Ok(None),
                Some(Standing::Own) | None => {}
            }
            if !members.may_end(&known, is_stated) {
                let is_deferred = is_stated && !members.is_of_doubtful_row(&known);
                departed.deferred.extend(is_deferred.then(|| key.clone()));
                return Ok(None);
            }
        }
        match &entity {
            None => departed.forgotten.push((key.clone(), known.id)),
            Some(entity) => {
                let name = entity.value(Target::NAME).as_text();
                departed.names.extend(name.map(|name| (key.clone(), name.to_owned())));
            }
        }
        Ok(entity.map(|entity| Leaver { key: key.clone(), known, entity }))
    }

    /// What becomes of someone who is gone, the grace being over.
    fn leave(&self, leaver: &mut Leaver, line: Option<u64>, departed: &mut Leavers) -> Result<(), Error> {
        let Leaver { key, known, entity } = leaver;
        match self.job.leavers.action {
            LeaverAction::Keep => {}
            LeaverAction::Delete if self.is_protected(key, known, entity) => departed.protected.push(key.clone()),
            LeaverAction::Delete => {
                let is_replaced = known.gone.as_ref().is_some_and(|gone| gone.successor.is_some());
                let person = is_replaced.then(|| organization_transfers::member(&known.sent)).flatten();
                departed.ended.extend(person.map(|person| (key.clone(), person)));
                departed.changes.push(removal(key.clone(), known, line));
            }
            LeaverAction::Update => match self.update(key, known, entity, line)? {
                Ok(Some(change)) => departed.changes.push(change),
                Ok(None) => known.left = Some(Left { at: self.now, approved: false }),
                Err(reason) => {
                    departed.held.push(Held { key: key.clone(), reason: reason.into(), change: None, other: None });
                }
            },
        }
        Ok(())
    }

    /// What sets the fields of someone who is gone; none where they are so already, or why they can't be set.
    fn update(
        &self,
        key: &Key,
        known: &SyncedRecord,
        entity: &Entity,
        line: Option<u64>,
    ) -> Result<Result<Option<Change>, String>, Error> {
        let since = known.gone.as_ref().map_or(self.now, |gone| gone.since);
        let fields: Vec<Field> = self.set.fields().cloned().collect();
        let values = match self.set.values(&known.sent, self.job.day(since)) {
            Ok(values) => values,
            Err(fault) => return Ok(Err(fault_text(fault))),
        };
        let mut record = Record { key: key.clone(), fields: values };
        if let Some(fault) = fit(&mut record, &fields, self.mirror)? {
            return Ok(Err(fault_text(fault)));
        }
        let moved = |field: &Field| {
            let (from, to) = (entity.value(&field.name), record.fields.get(&field.name)?);
            let delta = Delta { from: from.clone(), to: to.clone() };
            (!field.kind.same(to, from)).then(|| (field.name.clone(), delta))
        };
        let deltas: Deltas = fields.iter().filter_map(moved).collect();
        if deltas.is_empty() {
            return Ok(Ok(None));
        }
        let wish = DesiredState { action: Action::Update, id: Some(known.id), fields: record.fields, leaver: true };
        let (key, marks) = (record.key, known.marks.clone());
        Ok(Ok(Some(Change { key, wish, fields: deltas, line, known: true, approved: false, marks })))
    }
}

/// What the limits of a job are measured against, without those who have left and stay at the service; and by segment,
/// the people who left without an approval in the last 24 hours.
pub(crate) fn left_lately(
    context: &Context<'_>,
    target: Target,
    job: &JobName,
    index: &Index,
) -> Result<(Base, Vec<RowMetadata>), store::Error> {
    let store = context.store;
    let lately = |at: Timestamp, approved: bool| !approved && context.was_lately(at);
    let mut marks = Vec::new();
    for (_, removal) in Removal::list(store, target)? {
        if removal.job == *job && lately(removal.at, !removal.counts) {
            marks.push(RowMetadata { segment: removal.segment, ..RowMetadata::default() });
        }
    }
    let mut staying = 0;
    for at in (0..index.len()).filter(|at| index.entry(*at).gone) {
        let known = Key::new(index.entry(at).key).map(|key| SyncedRecord::get(store, job, &key)).transpose()?.flatten();
        let Some((left, known)) = known.and_then(|known| Some((known.left.clone()?, known))) else { continue };
        staying += 1;
        if lately(left.at, left.approved) {
            marks.push(known.marks);
        }
    }
    let base = Base { known: index.len() as u64 - staying, matched: 0, removed: marks.len() as u64 };
    Ok((base, marks))
}

/// Why a field of leavers can't be set.
pub(crate) fn fault_text((field, reason): (String, RowDefect)) -> String {
    format!("leavers.set.{field}: {reason}")
}

fn removal(key: Key, known: &SyncedRecord, line: Option<u64>) -> Change {
    let wish = DesiredState::removal(known.id);
    Change { key, wish, fields: Deltas::new(), line, known: true, approved: false, marks: known.marks.clone() }
}
