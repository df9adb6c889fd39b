//! Temporary file of a run: the records of the source, and the changes computed from them.
//!
//! A summary of each stays in memory; the rest is read where it is needed. Field names are written once per shape,
//! since nearly all records of a job have the same. A create whose wish equals the record shares the record's entry.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use postcard::de_flavors::Slice;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::plan::{Change, Delta, Outline, match_hash};
use crate::record::{FieldMap, RowMetadata, Value, Values};
use crate::spool::{Error, SpillOffset, Spool};

/// So long is what a record is matched by in one field, in bytes.
const MARK: usize = size_of::<u64>();
/// So long is the digest of a row, in bytes; zeros where the entry is no row.
const DIGEST: usize = size_of::<u128>();
/// So long is the line of a row, in bytes; 0 for none.
const LINE: usize = size_of::<u64>();
/// Most entries are no longer, in bytes.
const ENTRY: usize = 512;

/// An entry that is read.
type Entry<'e> = postcard::Deserializer<'e, Slice<'e>>;

/// Records and changes in a temporary file.
#[derive(Debug)]
pub struct ChangeSpill {
    spool: Spool,
    match_on: Vec<SmolStr>,
    /// Whether the lines of the source are worth telling.
    has_lines: bool,
    /// Sets of fields by their names, in order; entries say by its number which one they have.
    shapes: Mutex<Vec<Vec<SmolStr>>>,
}

impl ChangeSpill {
    /// An empty one, in the state folder once it is large; `match_on` are the fields that records are matched by,
    /// and `has_lines` says whether their source has lines.
    pub(crate) fn new(dir: &Path, match_on: &[SmolStr], has_lines: bool) -> Self {
        Self { spool: Spool::new(dir), match_on: match_on.to_vec(), has_lines, shapes: Mutex::default() }
    }

    /// Puts a record aside: its fields, what its row says about itself, and the line and digest of that row.
    pub(crate) fn put_record(
        &self,
        fields: &Values,
        marks: &RowMetadata,
        line: u64,
        digest: u128,
    ) -> Result<SpillOffset, Error> {
        let mut bytes = Vec::with_capacity(ENTRY);
        for field in &self.match_on {
            bytes.extend(match_hash(fields, field).unwrap_or_default().to_le_bytes());
        }
        bytes.extend(digest.to_le_bytes());
        bytes.extend(line.to_le_bytes());
        self.pack(&mut bytes, fields.keys(), fields.values());
        add_metadata(&mut bytes, marks, false);
        self.spool.put(&bytes)
    }

    /// Reads a record back.
    pub(crate) fn record(&self, place: SpillOffset) -> Result<(Values, RowMetadata), Error> {
        self.spool.read(place, |bytes| {
            let mut entry = self.entry(bytes);
            let fields = self.unpack(&mut entry);
            (fields, next_metadata(&mut entry).0)
        })
    }

    /// Reads back the digest of a record's row.
    pub(crate) fn digest(&self, place: SpillOffset) -> Result<u128, Error> {
        let at = self.marks_end();
        self.spool.read(place, |bytes| u128::from_le_bytes(*part(bytes, at)))
    }

    /// Reads back the line of a record's row.
    pub(crate) fn line(&self, place: SpillOffset) -> Result<u64, Error> {
        self.spool.read(place, |bytes| self.line_of(bytes))
    }

    /// Reads back the values that a record is matched by.
    pub(crate) fn marks(&self, place: SpillOffset) -> Result<Vec<Option<u64>>, Error> {
        self.spool.read(place, |bytes| {
            let (marks, _) = bytes.split_at(self.marks_end());
            let mark = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            marks.chunks_exact(MARK).map(mark).map(|mark| (mark != 0).then_some(mark)).collect()
        })
    }

    /// Puts a change aside.
    pub(crate) fn put(&self, change: Change) -> Result<Outline, Error> {
        let Change { wish, fields, marks, .. } = &change;
        let mut bytes = Vec::with_capacity(ENTRY);
        bytes.resize(self.marks_end() + DIGEST, 0);
        bytes.extend(change.line.unwrap_or_default().to_le_bytes());
        self.pack(&mut bytes, wish.fields.keys(), wish.fields.values());
        add_metadata(&mut bytes, marks, !fields.is_empty());
        if !fields.is_empty() {
            self.pack(&mut bytes, fields.keys(), fields.values().map(|delta| (&delta.from, &delta.to)));
        }
        let place = self.spool.put(&bytes)?;
        Ok(Outline::of(&change, place))
    }

    /// The summary of a create that equals its record, which lies at `place`.
    pub(crate) fn made(&self, change: &Change, place: SpillOffset) -> Outline {
        let outline = Outline::of(change, place);
        debug_assert!(self.change(&outline).map_or(true, |found| found == *change), "another change than its record");
        outline
    }

    /// The whole change of an outline.
    ///
    /// # Errors
    /// Where the disk of the state folder fails.
    pub fn change(&self, outline: &Outline) -> Result<Change, Error> {
        self.spool.read(outline.place, |bytes| {
            let mut entry = self.entry(bytes);
            let wanted = self.unpack(&mut entry);
            let (marks, moves) = next_metadata(&mut entry);
            let moved: FieldMap<(Value, Value)> = if moves { self.unpack(&mut entry) } else { FieldMap::new() };
            let moved = moved.into_iter().map(|(field, (from, to))| (field, Delta { from, to })).collect();
            let line = Some(self.line_of(bytes)).filter(|line| *line > 0 && self.has_lines);
            outline.with(wanted, moved, line, marks)
        })
    }

    /// Where in an entry ends what a record is matched by.
    fn marks_end(&self) -> usize {
        self.match_on.len() * MARK
    }

    fn line_of(&self, bytes: &[u8]) -> u64 {
        u64::from_le_bytes(*part(bytes, self.marks_end() + DIGEST))
    }

    fn entry<'e>(&self, bytes: &'e [u8]) -> Entry<'e> {
        Entry::from_bytes(&bytes[self.marks_end() + DIGEST + LINE..])
    }

    fn pack<'n, T: Serialize>(
        &self,
        entry: &mut Vec<u8>,
        names: impl Iterator<Item = &'n SmolStr> + Clone,
        values: impl Iterator<Item = T>,
    ) {
        add(entry, &self.shape(names));
        values.for_each(|value| add(entry, &value));
    }

    fn unpack<'e, U: Deserialize<'e>>(&self, entry: &mut Entry<'e>) -> FieldMap<U> {
        let shape: usize = next(entry);
        FieldMap::in_order(self.shapes()[shape].iter().map(|name| (name.clone(), next(entry))).collect())
    }

    /// The number of a set of fields.
    fn shape<'n>(&self, names: impl Iterator<Item = &'n SmolStr> + Clone) -> usize {
        let mut shapes = self.shapes();
        shapes.iter().position(|shape| shape.iter().eq(names.clone())).unwrap_or_else(|| {
            shapes.push(names.cloned().collect());
            shapes.len() - 1
        })
    }

    fn shapes(&self) -> MutexGuard<'_, Vec<Vec<SmolStr>>> {
        // None of them is ever half written.
        self.shapes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What stands at a place of an entry.
fn part<const N: usize>(bytes: &[u8], at: usize) -> &[u8; N] {
    bytes[at..].first_chunk().expect("a spill reads what it wrote")
}

/// Adds a value to an entry, which is one after another.
fn add(entry: &mut Vec<u8>, value: &impl Serialize) {
    *entry = postcard::to_extend(value, std::mem::take(entry)).expect("plain values");
}

/// Adds what a row says about itself, and whether the values that a change moves follow. The form that `RowMetadata` has elsewhere
/// leaves out what is usual, which this one can't.
fn add_metadata(entry: &mut Vec<u8>, metadata: &RowMetadata, moves: bool) {
    let RowMetadata { segment, preference, due, copies, included_by } = metadata;
    add(entry, &(segment, preference, due, copies, included_by, moves));
}

fn next_metadata(entry: &mut Entry<'_>) -> (RowMetadata, bool) {
    let (segment, preference, due, copies, included_by, moves) = next(entry);
    (RowMetadata { segment, preference, due, copies, included_by }, moves)
}

/// The next value of an entry.
fn next<'e, T: Deserialize<'e>>(entry: &mut Entry<'e>) -> T {
    T::deserialize(entry).expect("a spill reads what it wrote")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Deltas, Judged as _};
    use crate::record::{Action, Day, DesiredState, Key, Number, RemoteId};

    fn values(pairs: &[(&str, Value)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).into(), value.clone())).collect()
    }

    #[test]
    fn what_was_written_to_the_temporary_file_comes_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let spill = ChangeSpill::new(dir.path(), &["name", "email"].map(SmolStr::from), true);
        let marks = RowMetadata {
            segment: "North".into(),
            preference: Number::parse("2.5"),
            due: Day::of(jiff::civil::date(2026, 3, 1)),
            copies: 2,
            included_by: 1 << 63,
        };
        let fields = values(&[
            ("name", Value::text("Ana")),
            ("mobile", Value::Empty),
            ("on", Value::Flag(true)),
            ("sites", Value::list(vec!["A".into(), "B".into()])),
            ("ids", Value::ids(vec![4, 7])),
        ]);
        let places: Vec<SpillOffset> = (0..50).map(|_| spill.put_record(&fields, &marks, 3, 7).unwrap()).collect();
        assert_eq!(spill.record(places[7]).unwrap(), (fields.clone(), marks.clone()));
        assert_eq!((spill.line(places[7]).unwrap(), spill.digest(places[7]).unwrap()), (3, 7));
        let delta = |from: Value, to: Value| Delta { from, to };
        let bare =
            spill.put_record(&values(&[("email", Value::text("A \"B\"\n"))]), &RowMetadata::default(), 4, 8).unwrap();
        assert_eq!(spill.marks(places[7]).unwrap(), [match_hash(&fields, "name"), None]);
        assert_eq!(spill.marks(bare).unwrap().iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
        assert_eq!(spill.record(bare).unwrap().0["email"].shown(), "A \"B\"\n");
        for (action, moved) in [
            (Action::Create, Deltas::new()),
            (Action::Update, [("mobile".into(), delta(Value::text("21"), Value::Empty))].into()),
            (Action::Delete, Deltas::new()),
        ] {
            let id = RemoteId::new(5).filter(|_| action != Action::Create);
            let wanted = if action == Action::Delete { Values::new() } else { fields.clone() };
            let change = Change {
                key: Key::new("42").unwrap(),
                wish: DesiredState { action, id, fields: wanted, leaver: action == Action::Update },
                fields: moved,
                line: Some(3),
                known: true,
                approved: false,
                marks: marks.clone(),
            };
            let mut outline = spill.put(change.clone()).unwrap();
            assert_eq!(spill.change(&outline).unwrap(), change, "{action:?}");
            assert_eq!(
                (outline.wish(), outline.segment(), outline.leaves(), outline.is_known()),
                (change.wish(), change.segment(), change.leaves(), true)
            );
            assert_eq!(outline.blanked().collect::<Vec<_>>(), change.blanked().collect::<Vec<_>>());
            if action == Action::Create {
                assert_eq!(spill.change(&spill.made(&change, places[7])).unwrap(), change);
            }
            outline.approve();
            assert!(spill.change(&outline).unwrap().approved);
        }
    }
}
