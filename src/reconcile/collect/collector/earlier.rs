//! What a file of changes is held against: what earlier ones said, and what they keep for a later day.
//!
//! No file of changes says a thing again, so what was said counts until it is done, or a later row of its key says something else. A
//! file that may be older than the last one replaces nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::{Collector, differing};
use crate::mapping::Reading;
use crate::queue;
use crate::reconcile::approval::held::HELD;
use crate::reconcile::collect::duplicates::{best, lasts};
use crate::reconcile::model::candidate::{Candidate, Rare, Statement};
use crate::reconcile::model::error::Error;
use crate::reconcile::model::kept_record::{KeptRecord, LATER};
use crate::record::{Day, Key, Values};
use crate::store::Store;

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

    /// Holds rows of one key that count from a later day on against each other (law 8). They count one after the other where no two
    /// of them do on one day; else equal ones are one, which counts from the first of their days to the last.
    pub(super) fn settle_begun(&mut self) {
        for (key, mut rows) in std::mem::take(&mut self.begun) {
            let preference = |(_, record): &(u64, KeptRecord)| record.marks.preference;
            let best = best(rows.iter().map(preference));
            rows.retain(|row| best.is_none() || preference(row) == best);
            if let Some(record) = KeptRecord::in_turn(rows.iter().map(|(_, record)| record.clone()).collect()) {
                self.later.begun.push((key, record));
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
        let is_said = |key: &Key| {
            let is_unchanged = |at: usize| self.lines[at] > 0;
            said.contains(key) || self.index.by_key(key.as_str()).is_some_and(is_unchanged)
        };
        // What waits behind this file may say something else.
        let is_last = self.job.inbox.as_ref().is_none_or(|inbox| !inbox.others_wait);
        let is_open = |key: &Key| is_last && !is_said(key) && !spoilt.contains(key);
        let mut records: BTreeMap<Key, KeptRecord> = BTreeMap::new();
        HELD.each(store, &self.job.name, |key, held| {
            let record = held.record.filter(|record| record.mapping == self.mapping);
            records.extend(record.filter(|_| is_open(&key)).map(|record| (key, record)));
        })?;
        let (mut ended, mut unusable, mut after) = (BTreeSet::new(), 0, Vec::new());
        LATER.each(store, &self.job.name, |key, record| {
            if !self.narrow.has(&key) {
                return;
            }
            if is_said(&key) {
                ended.insert(key);
            } else if !is_open(&key) || self.pairs.withheld.contains(&key) {
                // What was not used does not replace what was.
            } else if record.mapping != self.mapping {
                unusable += 1;
            } else if record.from.is_none_or(has_come) {
                ended.insert(key.clone());
                let (record, then) = record.counting(has_come);
                after.extend(then.map(|then| (key.clone(), then)));
                records.entry(key).or_insert(record);
            }
        })?;
        for (key, known) in std::mem::take(&mut self.lost) {
            if is_open(&key) && self.narrow.has(&key) {
                let (mapping, fields, marks) = (self.mapping.clone(), known.sent, known.marks);
                records.entry(key).or_insert(KeptRecord { mapping, fields, marks, from: None, then: None });
            }
        }
        let named = self.dated().filter(|(_, day)| has_come(*day)).map(|(key, _)| key);
        // Whose last membership ends is gone, whatever their own row named last.
        let over = named.chain(self.pairs.ended.iter().cloned());
        let is_over = |key: &Key| is_open(key) && !records.contains_key(key) && self.narrow.has(key);
        let left: Vec<Key> = over.filter(is_over).collect();
        // Who begins later is not gone, and what the row says of days is kept with it.
        let dated = self.dated().map(|(key, _)| key);
        self.later.undue = dated.filter(|key| spoilt.contains(key) || self.early.contains(key)).collect();
        self.later.begun.extend(after);
        self.later.ended = ended;
        self.later.unusable = unusable;
        self.left.extend(left.into_iter().map(|key| (key, Statement { line: 0, who: Values::new() })));
        for (key, record) in records {
            if record.marks.due.is_some_and(has_come) {
                self.left.insert(key, Statement { line: 0, who: Values::new() });
                continue;
            }
            let place = self.spill.put_record(&record.fields, &record.marks, 0, 0)?;
            if record.marks.due.is_some() {
                self.rare.insert(place, Rare { due: record.marks.due, bad_values: Vec::new() });
            }
            self.earlier.insert(key.clone());
            self.candidates.push(Candidate { key, place });
        }
        Ok(())
    }
}
