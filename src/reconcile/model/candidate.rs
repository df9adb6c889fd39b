//! Rows of a source that must be looked at.

use std::collections::BTreeSet;

use super::change_spill::ChangeSpill;
use super::context::KeyFilter;
use crate::record::{Key, Record, Rejected, RowMetadata, Values};
use crate::snapshot::Day;
use crate::spool::{self, SpillOffset};

/// A record that must be looked at, as small as it can be: a first run has one for everybody. The rest of it lies in the
/// spill of its run.
pub(crate) struct Candidate {
    pub(crate) key: Key,
    pub(crate) line: u64,
    /// Of the row and of the job's mapping.
    pub(crate) digest: u128,
    /// Its entry in the spill.
    pub(crate) place: SpillOffset,
    pub(crate) rare: Option<Box<Rare>>,
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

    /// The first day on which the same row comes to something else.
    pub(crate) fn due(&self) -> Option<Day> {
        self.rare.as_ref()?.due
    }

    /// Values that can't be used though the record can.
    pub(crate) fn bad_values(&self) -> &[Rejected] {
        self.rare.as_ref().map_or(&[], |rare| &rare.bad_values)
    }
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

    pub(crate) fn get(&self, key: &Key) -> Option<u128> {
        let at = self.rows.binary_search_by(|row| row.key.cmp(key)).ok()?;
        Some(if self.always.contains(key) { 0 } else { self.rows[at].digest })
    }

    pub(crate) fn has(&self, key: &Key) -> bool {
        self.get(key).is_some()
    }

    /// In order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.rows.iter().map(|row| &row.key)
    }
}

/// A row that says that its person is gone: `include` gives false, or their last day has passed.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) line: u64,
    /// The person that the row names, if its key is known.
    pub(crate) who: Values,
}
