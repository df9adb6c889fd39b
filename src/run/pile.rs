//! What a run works out, put aside: the records of the source, and the changes that they come to.
//!
//! In memory stays an outline of each; the rest is unpacked where it is looked at. Which fields there are is written once a
//! pile: nearly all records of a job have the same.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::plan::{Change, Delta, Outline, mark};
use crate::record::{ByField, Marks, Values};
use crate::spool::{Error, Place, Spool};

/// So long is what a record is matched by in one field, in bytes.
const MARK: usize = size_of::<u64>();
/// Most entries are no longer, in bytes.
const ENTRY: usize = 512;

/// Records and changes put aside.
#[derive(Debug)]
pub struct Pile {
    spool: Spool,
    match_on: Vec<SmolStr>,
    /// Sets of fields by their names, in order; entries say by its number which one they have.
    shapes: Mutex<Vec<Vec<SmolStr>>>,
}

/// A record as it is written.
#[derive(Serialize, Deserialize)]
struct PackedRecord<V>(usize, Vec<V>, Marks);

/// The rest of a change as it is written: what is wanted, what moves, line and marks.
#[derive(Serialize, Deserialize)]
struct PackedChange<V>((usize, Vec<V>), (usize, Vec<(V, V)>), Option<u64>, Marks);

impl Pile {
    /// An empty one, in the state folder once it is large; `match_on` are the fields that records are matched by.
    pub(super) fn new(dir: &Path, match_on: &[SmolStr]) -> Self {
        Self { spool: Spool::new(dir), match_on: match_on.to_vec(), shapes: Mutex::default() }
    }

    /// Puts a record aside: its fields, and what its row says about itself.
    pub(super) fn put_record(&self, fields: &Values, marks: Marks) -> Result<Place, Error> {
        let mut bytes = Vec::with_capacity(ENTRY);
        for field in &self.match_on {
            bytes.extend(mark(fields, field).unwrap_or_default().to_le_bytes());
        }
        let packed = PackedRecord(self.shape(fields.keys()), fields.values().collect(), marks);
        serde_json::to_writer(&mut bytes, &packed).expect("plain values");
        self.spool.put(&bytes)
    }

    /// A record that was put aside.
    pub(super) fn record(&self, place: Place) -> Result<(Values, Marks), Error> {
        let skip = self.match_on.len() * MARK;
        let read = |bytes: &[u8]| serde_json::from_slice(&bytes[skip..]).expect("it was written from a record");
        let PackedRecord(shape, values, marks) = self.spool.read(place, read)?;
        Ok((self.named(shape, values), marks))
    }

    /// What a record that was put aside is matched by.
    pub(super) fn marks(&self, place: Place) -> Result<Vec<Option<u64>>, Error> {
        self.spool.read(place, |bytes| {
            let (marks, _) = bytes.split_at(self.match_on.len() * MARK);
            let mark = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            marks.chunks_exact(MARK).map(mark).map(|mark| (mark != 0).then_some(mark)).collect()
        })
    }

    /// Puts a change aside.
    pub(super) fn put(&self, change: Change) -> Result<Outline, Error> {
        let Change { wish, fields, .. } = &change;
        let wanted = (self.shape(wish.fields.keys()), wish.fields.values().collect());
        let moved = (self.shape(fields.keys()), fields.values().map(|delta| (&delta.from, &delta.to)).collect());
        let packed = PackedChange(wanted, moved, change.line, change.marks.clone());
        let mut bytes = Vec::with_capacity(ENTRY);
        serde_json::to_writer(&mut bytes, &packed).expect("plain values");
        let place = self.spool.put(&bytes)?;
        Ok(Outline::of(&change, place))
    }

    /// The whole change of an outline.
    ///
    /// # Errors
    /// Where the disk of the state folder fails.
    pub fn change(&self, outline: &Outline) -> Result<Change, Error> {
        let read = |bytes: &[u8]| serde_json::from_slice(bytes).expect("it was written from a change");
        let PackedChange(wanted, moved, line, marks) = self.spool.read(outline.place, read)?;
        let moved = (moved.0, moved.1.into_iter().map(|(from, to)| Delta { from, to }).collect());
        Ok(outline.with(self.named(wanted.0, wanted.1), self.named(moved.0, moved.1), line, marks))
    }

    /// The number of a set of fields.
    fn shape<'n>(&self, names: impl Iterator<Item = &'n SmolStr> + Clone) -> usize {
        let mut shapes = self.shapes();
        shapes.iter().position(|shape| shape.iter().eq(names.clone())).unwrap_or_else(|| {
            shapes.push(names.cloned().collect());
            shapes.len() - 1
        })
    }

    /// What stands under each name of a set of fields.
    fn named<T>(&self, shape: usize, values: Vec<T>) -> ByField<T> {
        ByField::in_order(&self.shapes()[shape], values)
    }

    fn shapes(&self) -> MutexGuard<'_, Vec<Vec<SmolStr>>> {
        // None of them is ever half written.
        self.shapes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Deltas, Judged as _};
    use crate::record::{Action, Key, Number, RemoteId, Value, Wish};

    fn values(pairs: &[(&str, Value)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).into(), value.clone())).collect()
    }

    #[test]
    fn what_was_put_aside_comes_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let pile = Pile::new(dir.path(), &["name", "email"].map(SmolStr::from));
        let marks = Marks { segment: "North".into(), preference: Number::parse("2.5") };
        let fields = values(&[
            ("name", Value::text("Ana")),
            ("mobile", Value::Empty),
            ("on", Value::Flag(true)),
            ("sites", Value::list(vec!["A".into(), "B".into()])),
            ("ids", Value::ids(vec![4, 7])),
        ]);
        let places: Vec<Place> = (0..50).map(|_| pile.put_record(&fields, marks.clone()).unwrap()).collect();
        assert_eq!(pile.record(places[7]).unwrap(), (fields.clone(), marks.clone()));
        let delta = |from: Value, to: Value| Delta { from, to };
        let bare = pile.put_record(&values(&[("email", Value::text("A \"B\"\n"))]), Marks::default()).unwrap();
        assert_eq!(pile.marks(places[7]).unwrap(), [mark(&fields, "name"), None]);
        assert_eq!(pile.marks(bare).unwrap().iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
        assert_eq!(pile.record(bare).unwrap().0["email"].shown(), "A \"B\"\n");
        for (action, moved) in [
            (Action::Create, Deltas::new()),
            (Action::Update, [("mobile".into(), delta(Value::text("21"), Value::Empty))].into()),
            (Action::Delete, Deltas::new()),
        ] {
            let id = RemoteId::new(5).filter(|_| action != Action::Create);
            let wanted = if action == Action::Delete { Values::new() } else { fields.clone() };
            let change = Change {
                key: Key::new("42").unwrap(),
                wish: Wish { action, id, fields: wanted, leaver: action == Action::Update },
                fields: moved,
                line: Some(3),
                known: true,
                approved: false,
                marks: marks.clone(),
            };
            let mut outline = pile.put(change.clone()).unwrap();
            assert_eq!(pile.change(&outline).unwrap(), change, "{action:?}");
            assert_eq!(
                (outline.wish(), outline.segment(), outline.leaves(), outline.is_known()),
                (change.wish(), change.segment(), change.leaves(), true)
            );
            assert_eq!(outline.blanked().collect::<Vec<_>>(), change.blanked().collect::<Vec<_>>());
            outline.approve();
            assert!(pile.change(&outline).unwrap().approved);
        }
    }
}
