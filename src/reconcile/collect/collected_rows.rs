//! What a source holds, once rows of one key are held against each other.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use super::stray_rows::StrayRows;
use crate::plan::Present;
use crate::reconcile::model::candidate::{Candidate, Rare, Statement};
use crate::reconcile::model::change_spill::ChangeSpill;
use crate::reconcile::model::job_plan::RowCounts;
use crate::reconcile::model::kept_record::KeptRecord;
use crate::reconcile::model::spoilt_keys::SpoiltKeys;
use crate::record::{Day, Key, Rejected, RowDefect};
use crate::snapshot::Index;
use crate::source::Read;
use crate::spool::{self, SpillOffset};

/// What a source holds.
pub(crate) struct CollectedRows {
    pub(crate) read: Read,
    /// Records that are new, changed, or whose entity has changed; one a key, in order of key.
    pub(crate) candidates: Vec<Candidate>,
    /// Keys whose row says that they are gone.
    pub(crate) left: BTreeMap<Key, Statement>,
    /// The lines of those that name another person than the one of their key.
    pub(crate) misnamed: BTreeSet<u64>,
    pub(crate) rejected: Vec<Rejected>,
    /// The names and emails in rows that can't be used, by field.
    pub(crate) unusable: BTreeSet<(&'static str, String)>,
    /// How many rows say that someone, or one of their memberships, is gone.
    pub(crate) statements: u64,
    /// Which known keys are there.
    pub(crate) present: Present,
    /// Records whose rows are unchanged.
    pub(crate) unchanged: u64,
    /// Rows that may be anybody's.
    pub(crate) strays: StrayRows,
    /// For memberships: the members with a row whose organization can't be read.
    pub(crate) unplaced: BTreeSet<Key>,
    /// By position of the index: the line of the unchanged row; 0 for none.
    pub(super) lines: Vec<u32>,
    /// The rows that count from a later day on, with that day.
    pub(super) early: Vec<(u64, Key, Date)>,
    /// Whose records are those of earlier files.
    pub(crate) earlier: BTreeSet<Key>,
    /// What is kept for a later day, or no longer.
    pub(crate) later: LaterRecords,
    /// How many copies of the state were laid back so far.
    pub(crate) copies: u64,
    /// What few candidates have, by their entries in the spill.
    pub(super) rare: BTreeMap<SpillOffset, Rare>,
}

/// What a file of changes says that counts another time.
#[derive(Default)]
pub(crate) struct LaterRecords {
    /// Records of this file that count from a later day on.
    pub(crate) begun: BTreeMap<Key, KeptRecord>,
    /// Keys of which something is kept that this read took up, or this file replaced.
    pub(crate) ended: BTreeSet<Key>,
    /// Known keys whose row in this file can't be used: it may be what takes back the day that an earlier one named.
    pub(crate) undue: BTreeSet<Key>,
    /// Keys of which a row of this file can't be used.
    pub(crate) spoilt: SpoiltKeys,
    /// Memberships that waited with a record that may be about another person, and are not wanted by the row that its member has now.
    pub(crate) taken_back: BTreeSet<Key>,
    /// How many can't be used, since they were read by another mapping.
    pub(crate) unusable: usize,
}

impl CollectedRows {
    /// Every row whose key is known and that can be used, with its line, in order of line; and whether it counts.
    pub(crate) fn rows(&self, index: &Index, spill: &ChangeSpill) -> Result<Vec<(u64, Key, RowCounts)>, spool::Error> {
        let unchanged = self.unchanged_at(index).map(|(at, key)| (self.lines[at].into(), key, RowCounts::Now));
        let left = self.left.iter().map(|(key, statement)| (statement.line, key.clone(), RowCounts::Never));
        let early = self.early.iter().map(|(line, key, from)| (*line, key.clone(), RowCounts::From(*from)));
        let mut rows: Vec<_> = unchanged.chain(left).chain(early).collect();
        for one in &self.candidates {
            rows.push((one.line(spill)?, one.key.clone(), RowCounts::Now));
        }
        // What an earlier file said is in no row of this one.
        rows.retain(|(line, ..)| *line > 0);
        rows.sort();
        Ok(rows)
    }

    /// Takes back what rows of a file of changes said of the memberships of `unusable` people: a row is used as a whole or not at all.
    /// Nor does a membership end that a row may be about that can't be used: `of_line` is the member of a line.
    pub(crate) fn drop_halves(
        &mut self,
        unusable: &BTreeSet<Key>,
        of_line: impl Fn(u64) -> Option<Key>,
        index: &Index,
        spill: &ChangeSpill,
    ) -> Result<(), spool::Error> {
        let is_unusable = |pair: &Key| pair.member().is_some_and(|member| unusable.contains(&member));
        let mut unsure = unusable.clone();
        unsure.extend(self.rejected.iter().filter_map(|rejected| match &rejected.key {
            Some(pair) => pair.member(),
            None => rejected.line.and_then(&of_line),
        }));
        if unsure.is_empty() {
            return Ok(());
        }
        let is_unsure = |pair: &Key| pair.member().is_some_and(|member| unsure.contains(&member));
        let mut dropped: Vec<(u64, Key)> = Vec::new();
        let mut kept = Vec::new();
        for one in std::mem::take(&mut self.candidates) {
            let is_dated = || index.by_key(one.key.as_str()).is_some() && self.due(&one).is_some();
            let is_dropped = is_unusable(&one.key) || (is_unsure(&one.key) && is_dated());
            match one.line(spill)? {
                line if is_dropped && line > 0 => dropped.push((line, one.key)),
                _ => kept.push(one),
            }
        }
        self.candidates = kept;
        let (left, stated) = std::mem::take(&mut self.left).into_iter().partition(|(pair, _)| is_unsure(pair));
        self.left = stated;
        dropped.extend(left.into_iter().map(|(pair, statement): (Key, Statement)| (statement.line, pair)));
        let begun = &self.later.begun;
        let ends_later = |pair: &Key| {
            let is_dated = begun.get(pair).is_some_and(|record| record.marks.due.is_some());
            is_dated && index.by_key(pair.as_str()).is_some()
        };
        let is_dropped = |pair: &Key| is_unusable(pair) || (is_unsure(pair) && ends_later(pair));
        let early: Vec<_> = self.early.extract_if(.., |(_, pair, _)| is_dropped(pair)).collect();
        dropped.extend(early.into_iter().map(|(line, pair, _)| (line, pair)));
        for (line, pair) in dropped {
            self.later.begun.remove(&pair);
            // What earlier files keep of it still counts.
            self.later.ended.remove(&pair);
            // Rows of those who are unusable are rejected already.
            if line > 0 && !is_unusable(&pair) {
                self.rejected.push(Rejected::whole(pair, Some(line), RowDefect::OtherRowUnusable));
            }
        }
        let dated = (0..index.len()).map(|at| index.entry(at)).filter(|entry| entry.due.is_some());
        self.later.undue.extend(dated.filter_map(|entry| Key::new(entry.key)).filter(|pair| is_unsure(pair)));
        self.later.spoilt.extend(unsure);
        Ok(())
    }

    fn unchanged_at(&self, index: &Index) -> impl Iterator<Item = (usize, Key)> {
        let unchanged = (0..index.len()).filter(|at| self.lines[*at] > 0);
        unchanged.filter_map(|at| Some((at, Key::new(index.entry(at).key)?)))
    }

    /// The keys whose rows are unchanged.
    pub(crate) fn unchanged_keys(&self, index: &Index) -> impl Iterator<Item = Key> {
        self.unchanged_at(index).map(|(_, key)| key)
    }

    /// The keys whose rows do not count yet.
    pub(crate) fn early_days(&self) -> impl Iterator<Item = (&Key, Date)> {
        self.early.iter().map(|(_, key, day)| (key, *day))
    }

    /// The same without the days.
    pub(crate) fn early_keys(&self) -> impl Iterator<Item = &Key> {
        self.early.iter().map(|(_, key, _)| key)
    }

    /// The first day on which the row of a candidate comes to something else.
    pub(crate) fn due(&self, candidate: &Candidate) -> Option<Day> {
        self.rare.get(&candidate.place)?.due
    }

    /// Values of a candidate that can't be used though its record can.
    pub(crate) fn bad_values(&self, candidate: &Candidate) -> &[Rejected] {
        self.rare.get(&candidate.place).map_or(&[], |rare| &rare.bad_values)
    }
}
