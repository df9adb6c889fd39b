//! The rows of a lookup in a spool, found by the hashes of their keys.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::record::{Key, RowDefect};
use crate::spool::{self, SpillOffset, Spool};

/// The rows of a lookup.
pub struct LookupTable {
    /// The names of its columns in a joined row.
    pub columns: Vec<String>,
    spool: Spool,
    /// The hash of each row's key and where the row lies, in order.
    rows: Vec<(u64, SpillOffset)>,
}

/// A row of a lookup, as much of it as templates name.
#[derive(Serialize, Deserialize)]
pub struct LookupRow<'a> {
    pub(super) line: u64,
    pub(super) key: Cow<'a, str>,
    pub(super) place: Cow<'a, str>,
    pub(super) cells: Vec<Cow<'a, str>>,
    pub(super) flaws: Vec<(usize, RowDefect)>,
}

/// What a lookup has for a key.
pub enum Found {
    /// Nothing.
    Nothing,
    /// This row.
    One(LookupRow<'static>),
    /// Several rows, which stand there.
    Several(Vec<String>),
}

impl LookupTable {
    /// An empty one, which is kept in the folder `dir`.
    pub(super) fn new(columns: Vec<String>, dir: &Path) -> Self {
        Self { columns, spool: Spool::new(dir), rows: Vec::new() }
    }

    /// Adds a row.
    pub(super) fn put(&mut self, row: &LookupRow<'_>) -> Result<(), spool::Error> {
        let place = self.spool.put(&serde_json::to_vec(row).expect("plain values"))?;
        self.rows.push((xxh3_64(row.key.as_bytes()), place));
        Ok(())
    }

    /// Takes back the rows of some lines, and makes it ready to be asked.
    pub(super) fn finish(&mut self, superseded: &[u64]) -> Result<(), spool::Error> {
        if !superseded.is_empty() {
            let superseded: BTreeSet<u64> = superseded.iter().copied().collect();
            let mut kept = Vec::with_capacity(self.rows.len());
            for (hash, place) in std::mem::take(&mut self.rows) {
                if !superseded.contains(&self.row(place)?.line) {
                    kept.push((hash, place));
                }
            }
            self.rows = kept;
        }
        self.rows.sort_unstable();
        self.rows.shrink_to_fit();
        Ok(())
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What it has for a key.
    pub fn find(&self, key: &Key) -> Result<Found, spool::Error> {
        let hash = xxh3_64(key.as_str().as_bytes());
        let first = self.rows.partition_point(|(other, _)| *other < hash);
        let mut hits = Vec::new();
        for (_, place) in self.rows[first..].iter().take_while(|(other, _)| *other == hash) {
            let row = self.row(*place)?;
            if row.key == key.as_str() {
                hits.push(row);
            }
        }
        Ok(match hits.len() {
            0 => Found::Nothing,
            1 => Found::One(hits.remove(0)),
            _ => Found::Several(hits.into_iter().map(|row| row.place.into_owned()).collect()),
        })
    }

    fn row(&self, place: SpillOffset) -> Result<LookupRow<'static>, spool::Error> {
        self.spool.read(place, |bytes| serde_json::from_slice(bytes).expect("a row that was added"))
    }
}

/// Shows nothing of the rows (law 11).
impl fmt::Debug for LookupTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookupTable").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(key: &str, line: u64) -> LookupRow<'_> {
        let place = format!("line {line}").into();
        LookupRow { line, key: key.into(), place, cells: vec![line.to_string().into()], flaws: Vec::new() }
    }

    fn shown(found: Found) -> Vec<String> {
        match found {
            Found::Nothing => Vec::new(),
            Found::One(row) => vec![row.place.into_owned()],
            Found::Several(places) => places,
        }
    }

    proptest! {
        #[test]
        fn a_key_finds_just_its_rows(
            keys in prop::collection::vec("[ab]{1,3}", 0..200), superseded in prop::collection::vec(0_u64..200, 0..5),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let mut table = LookupTable::new(vec!["d.a".into()], dir.path());
            for (line, key) in keys.iter().enumerate() {
                table.put(&row(key, line as u64)).unwrap();
            }
            table.finish(&superseded).unwrap();
            for key in keys.iter().map(String::as_str).chain(["c"]) {
                let counts = |(line, other): &(usize, &String)| *other == key && !superseded.contains(&(*line as u64));
                let lines = keys.iter().enumerate().filter(counts).map(|(line, _)| format!("line {line}"));
                prop_assert_eq!(shown(table.find(&Key::new(key).unwrap()).unwrap()), lines.collect::<Vec<_>>());
            }
        }
    }
}
