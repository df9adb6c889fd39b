//! Temporary file of a run: the records of the source, and the changes computed from them.
//!
//! A summary of each stays in memory; the rest is read where it is needed. Field names are written once per shape,
//! since nearly all records of a job have the same. A create whose wish equals the record shares the record's entry.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

use crate::plan::{Change, Delta, Outline, match_hash};
use crate::record::{FieldMap, RowMetadata, Value, Values};
use crate::spool::{Error, SpillOffset, Spool};

/// So long is what a record is matched by in one field, in bytes.
const MARK: usize = size_of::<u64>();
/// Most entries are no longer, in bytes.
const ENTRY: usize = 512;

/// An entry that is read.
type Entry<'e> = serde_json::Deserializer<serde_json::de::SliceRead<'e>>;

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

/// A set of fields as it is written: the number of its shape, then the value of each field.
struct Packed<I>(usize, I);

impl<T: Serialize, I: Iterator<Item = T> + Clone> Serialize for Packed<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        list.serialize_element(&self.0)?;
        self.1.clone().try_for_each(|it| list.serialize_element(&it))?;
        list.end()
    }
}

/// Reads what [`Packed`] wrote, each as `U`, straight into its place: a first run does so twice for everybody.
struct Unpack<'s, U>(&'s [Vec<SmolStr>], PhantomData<U>);

impl<'de, U: Deserialize<'de>> DeserializeSeed<'de> for Unpack<'_, U> {
    type Value = FieldMap<U>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<FieldMap<U>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, U: Deserialize<'de>> Visitor<'de> for Unpack<'_, U> {
    type Value = FieldMap<U>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a set of fields")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<FieldMap<U>, A::Error> {
        let short = || A::Error::invalid_length(0, &"a value for each field");
        let shape: usize = list.next_element()?.ok_or_else(short)?;
        let names = self.0.get(shape).ok_or_else(short)?;
        let mut entries = Vec::with_capacity(names.len());
        for name in names {
            entries.push((name.clone(), list.next_element()?.ok_or_else(short)?));
        }
        Ok(FieldMap::in_order(entries))
    }
}

impl ChangeSpill {
    /// An empty one, in the state folder once it is large; `match_on` are the fields that records are matched by,
    /// and `has_lines` says whether their source has lines.
    pub(crate) fn new(dir: &Path, match_on: &[SmolStr], has_lines: bool) -> Self {
        Self { spool: Spool::new(dir), match_on: match_on.to_vec(), has_lines, shapes: Mutex::default() }
    }

    /// Puts a record aside: its fields, what its row says about itself, and its line.
    pub(crate) fn put_record(&self, fields: &Values, marks: &RowMetadata, line: u64) -> Result<SpillOffset, Error> {
        let mut bytes = Vec::with_capacity(ENTRY);
        for field in &self.match_on {
            bytes.extend(match_hash(fields, field).unwrap_or_default().to_le_bytes());
        }
        self.pack(&mut bytes, fields.keys(), fields.values());
        add(&mut bytes, &(marks, Some(line).filter(|_| self.has_lines), false));
        self.spool.put(&bytes)
    }

    /// Reads a record back.
    pub(crate) fn record(&self, place: SpillOffset) -> Result<(Values, RowMetadata), Error> {
        self.spool.read(place, |bytes| {
            let mut entry = self.entry(bytes);
            let fields = self.unpack(&mut entry);
            let (marks, ..): (RowMetadata, Option<u64>, bool) = next(&mut entry);
            (fields, marks)
        })
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
        let Change { wish, fields, .. } = &change;
        let mut bytes = Vec::with_capacity(ENTRY);
        bytes.resize(self.marks_end(), 0);
        self.pack(&mut bytes, wish.fields.keys(), wish.fields.values());
        add(&mut bytes, &(&change.marks, change.line, !fields.is_empty()));
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
            let (marks, line, moves) = next(&mut entry);
            let moved: FieldMap<(Value, Value)> = if moves { self.unpack(&mut entry) } else { FieldMap::new() };
            let moved = moved.into_iter().map(|(field, (from, to))| (field, Delta { from, to })).collect();
            outline.with(wanted, moved, line, marks)
        })
    }

    /// Where in an entry ends what a record is matched by.
    fn marks_end(&self) -> usize {
        self.match_on.len() * MARK
    }

    fn entry<'e>(&self, bytes: &'e [u8]) -> Entry<'e> {
        serde_json::Deserializer::from_slice(&bytes[self.marks_end()..])
    }

    fn pack<'n, T: Serialize>(
        &self,
        entry: &mut Vec<u8>,
        names: impl Iterator<Item = &'n SmolStr> + Clone,
        values: impl Iterator<Item = T> + Clone,
    ) {
        add(entry, &Packed(self.shape(names), values));
    }

    fn unpack<'e, U: Deserialize<'e>>(&self, entry: &mut Entry<'e>) -> FieldMap<U> {
        Unpack(&self.shapes(), PhantomData).deserialize(entry).expect("a spill reads what it wrote")
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

/// Adds a value to an entry, which is one JSON value after another.
fn add(entry: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(entry, value).expect("plain values");
}

/// The next value of an entry.
fn next<'e, T: Deserialize<'e>>(entry: &mut Entry<'e>) -> T {
    T::deserialize(entry).expect("a spill reads what it wrote")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Deltas, Judged as _};
    use crate::record::{Action, DesiredState, Key, Number, RemoteId};

    fn values(pairs: &[(&str, Value)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).into(), value.clone())).collect()
    }

    #[test]
    fn what_was_written_to_the_temporary_file_comes_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let spill = ChangeSpill::new(dir.path(), &["name", "email"].map(SmolStr::from), true);
        let marks = RowMetadata { segment: "North".into(), preference: Number::parse("2.5") };
        let fields = values(&[
            ("name", Value::text("Ana")),
            ("mobile", Value::Empty),
            ("on", Value::Flag(true)),
            ("sites", Value::list(vec!["A".into(), "B".into()])),
            ("ids", Value::ids(vec![4, 7])),
        ]);
        let places: Vec<SpillOffset> = (0..50).map(|_| spill.put_record(&fields, &marks, 3).unwrap()).collect();
        assert_eq!(spill.record(places[7]).unwrap(), (fields.clone(), marks.clone()));
        let delta = |from: Value, to: Value| Delta { from, to };
        let bare =
            spill.put_record(&values(&[("email", Value::text("A \"B\"\n"))]), &RowMetadata::default(), 4).unwrap();
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
