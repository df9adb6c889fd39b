//! What a file of changes is held against: what earlier ones said, and what they keep for a later day.
//!
//! No file of changes says a thing again, so what was said counts until it is done, or a later row of its key says something else. A
//! file that may be older than the last one replaces nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::{Collector, differing};
use crate::config::Mode;
use crate::mapping::Reading;
use crate::queue::{self, Brief, Change, State};
use crate::reconcile::approval::held::HELD;
use crate::reconcile::collect::duplicates::{best, lasts};
use crate::reconcile::model::candidate::{Candidate, Rare, Statement};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::kept_record::{KeptRecord, LATER};
use crate::record::{Action, Day, Key, Record, RowMetadata, Target, Values};
use crate::snapshot::SyncedRecord;
use crate::store::Store;

/// What earlier files of changes said and what was not delivered.
#[derive(Default)]
struct Undelivered {
    /// By key, what is held or was refused.
    records: BTreeMap<Key, KeptRecord>,
    /// The members with something held or queued who belong to no organization any more.
    withdrawn: Vec<Key>,
    /// How many can't be used, since they were read by another mapping.
    unusable: usize,
    /// Keys whose record is held since it may be about another person: no one leaves by its last day before that is decided.
    doubted: BTreeSet<Key>,
    /// Memberships that waited with such a record, and whose member has another row now.
    taken_back: BTreeSet<Key>,
}

impl Collector<'_> {
    /// The keys of which something waits: what is held, queued or kept for a later day. What another older file left may be newer, too.
    pub(super) fn waiting(&self, store: &Store) -> Result<BTreeSet<Key>, Error> {
        let job = &self.job.name;
        let mut waiting = BTreeSet::new();
        HELD.each(store, job, |key, _| _ = waiting.insert(key))?;
        queue::briefs(store, job, |change| _ = waiting.insert(change.key))?;
        LATER.each(store, job, |key, _| _ = waiting.insert(key))?;
        waiting.extend(self.dated().map(|(key, _)| key));
        Ok(waiting)
    }

    /// The known keys whose rows named a day on which they come to something else.
    fn dated(&self) -> impl Iterator<Item = (Key, Day)> {
        let entries = (0..self.index.len()).map(|at| self.index.entry(at));
        entries.filter_map(|entry| entry.due.and_then(|due| Some((Key::new(entry.key)?, due))))
    }

    /// Whether nothing of a row is used, since a newer file may have said something else: a day that it names is not decided on before
    /// it comes.
    pub(super) fn is_overtaken(&self, reading: &Reading) -> bool {
        let Some(newer) = &self.newer else { return false };
        let is_dated = reading.due.is_some() || reading.early.is_some();
        is_dated || reading.key().or(reading.early.as_ref()).is_some_and(|key| newer.contains(key))
    }

    /// Whether a person is there by what their memberships come to; none where nothing is known of any, or not of all.
    fn stands(&self, person: &Key) -> Option<bool> {
        self.pairs?.stands(person, &self.unsure)
    }

    /// Holds rows of one key that count from a later day on against each other (law 8). The preferred one counts where there is one on
    /// each day; else they count one after the other where no two of them do on one day, and equal ones are one, which counts from the
    /// first of their days to the last.
    pub(super) fn settle_begun(&mut self) {
        for (key, rows) in std::mem::take(&mut self.begun) {
            let mut records: Vec<KeptRecord> = Vec::new();
            for (_, record) in &rows {
                if !records.contains(record) {
                    records.push(record.clone());
                }
            }
            let is_preferred = best(records.iter().map(|record| record.marks.preference)).is_some();
            let turns = if is_preferred && !KeptRecord::compete(&records) {
                timeline(&records, Day::of(self.today))
            } else {
                records
            };
            if let Some(record) = KeptRecord::in_turn(turns) {
                self.later.begun.insert(key, record);
            } else if rows.windows(2).all(|pair| pair[0].1.fields == pair[1].1.fields) {
                let due = rows.iter().map(|(_, record)| record.marks.due).max_by_key(|due| lasts(*due));
                let first = rows.into_iter().map(|(_, record)| record).min_by_key(|record| record.from);
                self.later.begun.extend(first.zip(due).map(|(mut record, due)| {
                    record.marks.due = due;
                    (key, record)
                }));
            } else {
                let lines: Vec<u64> = rows.into_iter().map(|(line, _)| line).collect();
                self.early.remove(&key);
                self.early_rows.retain(|(_, early, _)| *early != key);
                let reason = differing(self.job, &lines);
                self.reject(&key, lines, &reason);
            }
        }
    }

    /// Whether this is a file of changes that replaces what earlier ones said.
    pub(super) fn replaces(&self) -> bool {
        self.job.mode == Mode::Changes && self.newer.is_none()
    }

    /// Takes back the last day that an earlier file named of a key whose rows can't be used: they may name another one.
    pub(super) fn take_day_back(&mut self, key: &Key) {
        let entry = self.index.by_key(key.as_str()).map(|at| self.index.entry(at));
        self.later.undue.extend(entry.filter(|entry| self.replaces() && entry.due.is_some()).map(|_| key.clone()));
    }

    /// Takes up what earlier files said of a key whose rows can't be used: they do not replace it.
    pub(super) fn restore(&mut self, key: &Key, kept: &mut Vec<Candidate>) -> Result<(), Error> {
        let Some(record) = self.replaced.remove(key).filter(|record| record.mapping == self.mapping) else {
            return Ok(());
        };
        let (record, today) = (record.without_last_day(), Day::of(self.today));
        let has_come = |day: Day| today.is_some_and(|today| today >= day);
        if self.stands(key) == Some(false) || !record.from.is_none_or(has_come) || record.marks.is_over(today) {
            self.later.ended.remove(key);
            return Ok(());
        }
        let (record, then) = record.counting(has_come);
        self.later.begun.extend(then.map(|then| (key.clone(), then)));
        self.earlier.insert(key.clone());
        kept.push(self.of_earlier(key.clone(), &record)?);
        Ok(())
    }

    /// A record of an earlier file, as one of this one.
    fn of_earlier(&mut self, key: Key, record: &KeptRecord) -> Result<Candidate, Error> {
        let place = self.spill.put_record(&record.fields, &record.marks, 0, 0)?;
        if record.marks.due.is_some() {
            self.rare.insert(place, Rare { due: record.marks.due, bad_values: Vec::new() });
        }
        Ok(Candidate { key, place })
    }

    /// What the rows of one key say that count today, where there are several rows of it, and no file says it again. `unchanged` is what
    /// is known of the one that is unchanged.
    pub(super) fn that_count(
        &self,
        rows: &[Candidate],
        unchanged: Option<&SyncedRecord>,
    ) -> Result<Vec<KeptRecord>, Error> {
        let says_once = self.job.mode == Mode::Changes && !self.job.has_halves();
        let is_one = |key: &Key| self.earlier.contains(key) || (rows.len() == 1 && !self.is_also_said(key));
        if !says_once || rows.iter().any(|row| is_one(&row.key)) {
            return Ok(Vec::new());
        }
        let mut all: Vec<KeptRecord> =
            unchanged.map(|known| self.kept(known.sent.clone(), known.marks.clone())).into_iter().collect();
        for row in rows {
            let (Record { fields, .. }, marks) = row.open(self.spill)?;
            all.push(self.kept(fields, marks));
        }
        Ok(all)
    }

    /// Whether an unchanged row, or one that begins later, has this key.
    fn is_also_said(&self, key: &Key) -> bool {
        self.early.contains(key) || self.is_unchanged(key)
    }

    /// Keeps what comes after the unchanged row of a key that has no other one that counts today.
    pub(super) fn keep_after_unchanged(&mut self, store: &Store) -> Result<(), Error> {
        if self.job.has_halves() {
            return Ok(());
        }
        let is_alone =
            |key: &&Key| self.is_unchanged(key) && self.candidates.binary_search_by(|one| one.key.cmp(*key)).is_err();
        let keys: Vec<Key> = self.later.begun.keys().filter(is_alone).cloned().collect();
        for key in keys {
            if let Some(known) = SyncedRecord::get(store, &self.job.name, &key)? {
                self.keep_following(&key, vec![self.kept(known.sent, known.marks)]);
            }
        }
        Ok(())
    }

    /// Keeps what `rows` of one key, all that count today, and those of the file that begin later say for later days.
    pub(super) fn keep_following(&mut self, key: &Key, mut rows: Vec<KeptRecord>) {
        if rows.is_empty() {
            return;
        }
        let mut begun = self.later.begun.remove(key);
        while let Some(mut record) = begun {
            begun = record.then.take().map(|then| *then);
            rows.push(record);
        }
        let turns = timeline(&rows, Day::of(self.today));
        self.later.begun.extend(KeptRecord::in_turn(turns).map(|record| (key.clone(), record)));
    }

    /// The creates of earlier files that are worked out once more: those that the service refused, and memberships on their way, whose
    /// member may be another entity by now, with memberships of its own.
    fn created_once(&self, store: &Store) -> Result<Vec<Change>, Error> {
        let is_of_pairs = self.job.mapping.target == Target::Membership;
        let mut keys = Vec::new();
        let mut note = |brief: Brief| {
            let is_refused = matches!(brief.state, State::Parked { status, .. } if status > 0);
            let is_open = is_refused || (is_of_pairs && brief.state == State::Waiting);
            keys.extend((is_open && brief.action == Action::Create && !brief.undoes).then_some(brief.key));
        };
        match is_of_pairs {
            true => queue::briefs(store, &self.job.name, &mut note)?,
            false => queue::briefs_but_waiting(store, &self.job.name, &mut note)?,
        }
        Ok(queue::of(store, &self.job.name, &keys)?)
    }

    /// What earlier files of changes said of keys that are `is_open`, and that is held or was refused.
    /// Memberships that wait with a doubtful row and whose member `is_said_anew` are taken back, whatever waits behind this file.
    fn undelivered(
        &self,
        store: &Store,
        is_open: &dyn Fn(&Key) -> bool,
        is_said_anew: &dyn Fn(&Key) -> bool,
    ) -> Result<Undelivered, Error> {
        let is_moot = |key: &Key| self.stands(key) == Some(false);
        let Undelivered { mut records, mut withdrawn, mut unusable, mut doubted, mut taken_back } =
            Undelivered::default();
        HELD.each(store, &self.job.name, |key, held| {
            doubted.extend(held.reason.doubts_its_key().then(|| key.clone()));
            let is_taken_back = held.reason.doubts_its_row() && held.record.is_some() && is_said_anew(&key);
            match held.record.filter(|_| is_open(&key)) {
                _ if is_taken_back => _ = taken_back.insert(key),
                Some(record) if record.mapping != self.mapping => unusable += 1,
                Some(_) if is_moot(&key) => withdrawn.push(key),
                record => records.extend(record.map(|record| (key, record))),
            }
        })?;
        for change in self.created_once(store)?.into_iter().filter(|change| is_open(&change.key)) {
            records.entry(change.key).or_insert(self.kept(change.wish.fields, change.marks));
        }
        if self.pairs.is_some() {
            queue::briefs(store, &self.job.name, |change| {
                let is_over = change.action == Action::Create && is_moot(&change.key) && is_open(&change.key);
                withdrawn.extend(is_over.then_some(change.key));
            })?;
        }
        Ok(Undelivered { records, withdrawn, unusable, doubted, taken_back })
    }

    /// Those whose memberships the rows of this read name. A row that ends one says nothing of another one.
    fn members(&self) -> BTreeSet<Key> {
        if self.job.mapping.target != Target::Membership {
            return BTreeSet::new();
        }
        let unchanged = (0..self.index.len()).filter(|at| self.lines[*at] > 0);
        let unchanged = unchanged.filter_map(|at| Key::new(self.index.entry(at).key)?.member());
        let named = self.candidates.iter().map(|one| &one.key).chain(&self.early);
        named.filter_map(Key::member).chain(unchanged).collect()
    }

    /// The keys of queued changes whose row is not over: it came after the one that named a last day.
    fn following(&self, store: &Store, today: Option<Day>) -> Result<BTreeSet<Key>, Error> {
        let mut following = BTreeSet::new();
        queue::each(store, &self.job.name, |change| {
            let stays = !change.wish.leaves() && change.undo.is_none() && !change.marks.is_over(today);
            following.extend(stays.then_some(change.key));
        })?;
        Ok(following)
    }

    /// A record that counts now, by the mapping of today.
    pub(super) fn kept(&self, fields: Values, marks: RowMetadata) -> KeptRecord {
        KeptRecord { mapping: self.mapping.clone(), fields, marks, from: None, then: None }
    }

    /// Adds what earlier files of changes said, where this one does not say something else: what could not be decided on, what
    /// counts from today on, who is gone from the service, and whose last day has passed. A record whose last day has passed says that
    /// its person is gone, as its row would.
    pub(super) fn add_earlier(&mut self, store: &Store, today: Option<Day>) -> Result<(), Error> {
        let mut said: BTreeSet<&Key> = self.candidates.iter().map(|candidate| &candidate.key).collect();
        if !self.job.has_halves() {
            said.extend(self.left.keys().chain(&self.early));
        }
        let spoilt: BTreeSet<&Key> = self.rejected.iter().filter_map(|(_, rejected)| rejected.key.as_ref()).collect();
        let has_come = |day: Day| today.is_some_and(|today| today >= day);
        let is_unchanged = |key: &Key| self.index.by_key(key.as_str()).is_some_and(|at| self.lines[at] > 0);
        let is_said = |key: &Key| said.contains(key) || is_unchanged(key);
        // What waits behind this file may say something else.
        let is_last = self.job.inbox.as_ref().is_none_or(|inbox| !inbox.others_wait);
        // A row that can't be used is about one membership of several.
        let pairs = self.pairs;
        let unsure = &self.unsure;
        let stands = |key: &Key| pairs.and_then(|pairs| pairs.stands(key, unsure));
        let is_open = |key: &Key| is_last && !is_said(key) && (stands(key) == Some(true) || !spoilt.contains(key));
        let members = self.members();
        let is_said_anew = |pair: &Key| {
            let is_new = self.index.by_key(pair.as_str()).is_none() && self.narrow.has(pair) && !is_said(pair);
            is_new && pair.member().is_some_and(|member| members.contains(&member))
        };
        let Undelivered { mut records, withdrawn, mut unusable, doubted, taken_back } =
            self.undelivered(store, &is_open, &is_said_anew)?;
        let (mut ended, mut after) = (BTreeSet::new(), Vec::new());
        LATER.each(store, &self.job.name, |key, record| {
            if !self.narrow.has(&key) {
                return;
            }
            if is_said(&key) {
                ended.insert(key.clone());
                self.replaced.insert(key, record);
            } else if is_open(&key) && stands(&key) == Some(false) && record.from.is_none() {
                // Who belongs to no organization any more has nothing to be mended.
                ended.insert(key.clone());
                after.extend(record.dated_part().map(|then| (key, *then)));
            } else if !is_open(&key) || stands(&key) == Some(false) {
                // What was not used does not replace what was.
            } else if record.mapping != self.mapping {
                unusable += 1;
            } else if record.from.is_none_or(has_come) {
                ended.insert(key.clone());
                let (record, then) = record.counting(has_come);
                after.extend(then.map(|then| (key.clone(), then)));
                // What is held, or was refused, counted until now.
                records.insert(key, record);
            }
        })?;
        for (key, known) in std::mem::take(&mut self.lost) {
            if is_open(&key) && self.narrow.has(&key) && stands(&key) != Some(false) {
                records.entry(key).or_insert(self.kept(known.sent, known.marks));
            }
        }
        let following = self.following(store, today)?;
        let mut named = Vec::new();
        for (key, _) in self.dated().filter(|(key, day)| has_come(*day) && !following.contains(key)) {
            // A run that was cut off may have confirmed what came after that day.
            let known = SyncedRecord::get(store, &self.job.name, &key)?;
            named.extend(known.is_some_and(|known| known.marks.is_over(today)).then_some(key));
        }
        // Whose last membership ends is gone, whatever their own row named last.
        let over = named.into_iter().chain(pairs.iter().flat_map(|pairs| pairs.ended.iter().cloned())).chain(withdrawn);
        let is_over = |key: &Key| is_open(key) && !records.contains_key(key) && self.narrow.has(key);
        let left: Vec<Key> = over.filter(is_over).chain(taken_back.iter().cloned()).collect();
        // Who begins later is not gone, and what the row says of days is kept with it.
        let dated = self.dated().map(|(key, _)| key);
        let counts = |key: &Key| is_unchanged(key) || self.candidates.iter().any(|candidate| candidate.key == *key);
        let is_early = |key: &Key| self.early.contains(key) && !counts(key);
        self.later.undue = dated.filter(|key| spoilt.contains(key) || is_early(key)).collect();
        self.later.begun.extend(after);
        self.later.ended = ended;
        self.later.unusable = unusable;
        self.later.taken_back = taken_back;
        self.left.extend(left.into_iter().map(|key| (key, Statement::of_earlier())));
        self.take_up(records, &doubted, today)
    }

    /// Takes up what earlier files said. A record whose last day has passed says that its person is gone.
    fn take_up(
        &mut self,
        records: BTreeMap<Key, KeptRecord>,
        doubted: &BTreeSet<Key>,
        today: Option<Day>,
    ) -> Result<(), Error> {
        for (key, record) in records {
            if record.marks.is_over(today) && self.stands(&key) != Some(true) && !doubted.contains(&key) {
                let text = |field: &'static str| Some((field.into(), record.fields.get(field)?.clone()));
                let who = Target::IDENTITY.into_iter().filter_map(text).collect();
                self.left.insert(key, Statement { who, ..Statement::of_earlier() });
                continue;
            }
            let candidate = self.of_earlier(key.clone(), &record)?;
            self.earlier.insert(key);
            self.candidates.push(candidate);
        }
        Ok(())
    }
}

/// What the rows of one key come to on later days than today: on each the preferred one counts of those that do, of equally preferred
/// ones the one that begins last, and then the one that lasts longest.
fn timeline(rows: &[KeptRecord], today: Option<Day>) -> Vec<KeptRecord> {
    let is_preferred = rows.iter().all(|row| row.marks.preference.is_some());
    let preference = |row: &KeptRecord| row.marks.preference.filter(|_| is_preferred);
    let rank = |one: &KeptRecord, other: &KeptRecord| {
        let preferred = preference(one).partial_cmp(&preference(other)).expect("finite");
        preferred.then_with(|| (one.from, lasts(one.marks.due)).cmp(&(other.from, lasts(other.marks.due))))
    };
    let counting = |day: Option<Day>| {
        let counts = |row: &&KeptRecord| {
            let has_begun = row.from.is_none_or(|from| day.is_some_and(|day| day >= from));
            has_begun && row.marks.due.is_none_or(|due| day.is_none_or(|day| day < due))
        };
        rows.iter().filter(counts).max_by(|one, other| rank(one, other))
    };
    let days: BTreeSet<Day> = rows.iter().flat_map(|row| [row.from, row.marks.due]).flatten().collect();
    let mut turns: Vec<KeptRecord> = Vec::new();
    let (mut now, mut is_open) = (counting(today), false);
    for day in days.into_iter().filter(|day| today.is_none_or(|today| *day > today)) {
        let next = counting(Some(day));
        if next.map(std::ptr::from_ref) == now.map(std::ptr::from_ref) {
            continue;
        }
        if let Some(last) = turns.last_mut().filter(|_| is_open) {
            last.marks.due = Some(day);
        }
        turns.extend(next.map(|next| KeptRecord { from: Some(day), ..next.clone() }));
        (now, is_open) = (next, next.is_some());
    }
    turns
}
