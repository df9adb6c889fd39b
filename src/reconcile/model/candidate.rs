//! Rows of a source that must be looked at.

use std::collections::BTreeSet;

use super::change_spill::ChangeSpill;
use super::context::KeyFilter;
use crate::record::{Day, Key, Record, Rejected, RowMetadata, Values};
use crate::spool::{self, SpillOffset};

/// A record that must be looked at, in 32 bytes: a first run has one for everybody. The rest of it lies in the spill of
/// its run, in the order of the rows.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) key: Key,
    /// Its entry in the spill.
    pub(crate) place: SpillOffset,
}

/// What few candidates have.
pub(crate) struct Rare {
    /// The first day on which the same row comes to something else.
    pub(crate) due: Option<Day>,
    /// Values that can't be used though the record can.
    pub(crate) bad_values: Vec<Rejected>,
}

impl Candidate {
    /// The record, and what its row says about itself.
    pub(crate) fn open(&self, spill: &ChangeSpill) -> Result<(Record, RowMetadata), spool::Error> {
        let (fields, marks) = spill.record(self.place)?;
        Ok((Record { key: self.key.clone(), fields }, marks))
    }

    /// The line of its row; of a directory, which has no lines, its number in the order of the read. 0 for a record of an earlier
    /// file.
    pub(crate) fn line(&self, spill: &ChangeSpill) -> Result<u64, spool::Error> {
        spill.line(self.place)
    }

    /// The digest of the row and of the job's mapping.
    pub(crate) fn digest(&self, spill: &ChangeSpill) -> Result<u128, spool::Error> {
        spill.digest(self.place)
    }
}

/// The lines of several.
pub(crate) fn lines_of<'c>(
    candidates: impl IntoIterator<Item = &'c Candidate>,
    spill: &ChangeSpill,
) -> Result<Vec<u64>, spool::Error> {
    candidates.into_iter().map(|candidate| candidate.line(spill)).collect()
}

/// The digests of the rows that were looked at, by key.
#[derive(Default)]
pub(crate) struct Digests {
    /// In order of key.
    rows: Vec<Candidate>,
    /// Those who are to be looked at in every run.
    always: BTreeSet<Key>,
}

impl Digests {
    /// Of the rows that were asked for.
    pub(crate) fn of(mut rows: Vec<Candidate>, narrow: &KeyFilter, always: BTreeSet<Key>) -> Self {
        rows.retain(|row| narrow.has(&row.key));
        Self { rows, always }
    }

    /// `spill` is the one in which the rows lie.
    pub(crate) fn get(&self, key: &Key, spill: &ChangeSpill) -> Result<Option<u128>, spool::Error> {
        let Some(row) = self.row(key) else { return Ok(None) };
        Ok(Some(if self.always.contains(key) { 0 } else { row.digest(spill)? }))
    }

    pub(crate) fn has(&self, key: &Key) -> bool {
        self.row(key).is_some()
    }

    /// The row of a key.
    pub(crate) fn row(&self, key: &Key) -> Option<&Candidate> {
        let at = self.rows.binary_search_by(|row| row.key.cmp(key)).ok()?;
        Some(&self.rows[at])
    }

    /// In order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.rows.iter().map(|row| &row.key)
    }
}

/// A row that says that its person is gone: `include` gives false, or their last day has passed.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    /// 0 for one of an earlier file.
    pub(crate) line: u64,
    /// Whether a last day says so, which another file may put off.
    pub(crate) is_by_day: bool,
    /// The person that the row names, if its key is known.
    pub(crate) who: Values,
}

impl Statement {
    /// What an earlier file of changes said.
    pub(crate) fn of_earlier() -> Self {
        Self { line: 0, is_by_day: false, who: Values::new() }
    }
}
