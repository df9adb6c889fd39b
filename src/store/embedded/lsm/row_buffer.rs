//! Rows of a bulk load that are in memory, in one piece.
//!
//! Invariants:
//! - In order of key, and of one key the last word only, when they are handed out.
//! - A value is as a run holds it, with its state behind it.
//!
//! Rejected: a key and a value each in an allocation of its own. There are tens of thousands of them at a time, made among
//! what else a first run makes and drops, and the allocator took longer over them than it takes to sort and write them.

use super::sorted_rows::{from_run, into_run};
use crate::store::batch::RowChange;

/// Rows in the order in which they came.
#[derive(Default)]
pub(super) struct RowBuffer {
    bytes: Vec<u8>,
    places: Vec<RowPlace>,
}

/// Where a row lies: its key, and behind that its value.
#[derive(Clone, Copy)]
struct RowPlace {
    start: usize,
    key: usize,
    end: usize,
}

impl RowBuffer {
    /// Adds a row.
    pub(super) fn push(&mut self, (key, value): &RowChange) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        into_run(&mut self.bytes, value.as_deref());
        self.places.push(RowPlace { start, key: start + key.len(), end: self.bytes.len() });
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// What keys and values take, in bytes.
    pub(super) fn row_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// What it takes in memory, in bytes.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + self.places.len() * size_of::<RowPlace>()
    }

    /// Puts the rows in order; the least key, if there is one.
    pub(super) fn sort(&mut self) -> Option<&[u8]> {
        let bytes = &self.bytes;
        // Of one key the last was said last: rows of one key stay in their order.
        self.places.sort_by(|one, other| bytes[one.start..one.key].cmp(&bytes[other.start..other.key]));
        self.places.first().map(|first| self.key(first))
    }

    /// The rows that were put in order.
    pub(super) fn sorted(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut places = self.places.iter().peekable();
        std::iter::from_fn(move || {
            loop {
                let place = places.next()?;
                let key = self.key(place);
                if places.peek().is_none_or(|next| self.key(next) != key) {
                    return Some((key, &self.bytes[place.key..place.end]));
                }
            }
        })
    }

    /// The rows as they came, each for itself.
    pub(super) fn rows(&self) -> impl Iterator<Item = RowChange> {
        self.places.iter().map(|place| (self.key(place).to_vec(), from_run(self.bytes[place.key..place.end].to_vec())))
    }

    /// Takes all rows out, and keeps the room for others.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    fn key(&self, place: &RowPlace) -> &[u8] {
        &self.bytes[place.start..place.key]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_hands_out_what_a_tree_does(rows in prop::collection::vec(("[ab]{0,2}", prop::option::of("[x]{0,2}")), 0..12)) {
            let mut buffer = RowBuffer::default();
            let rows: Vec<RowChange> =
                rows.into_iter().map(|(key, value)| (key.into_bytes(), value.map(String::into_bytes))).collect();
            for _ in 0..2 {
                rows.iter().for_each(|row| buffer.push(row));
                prop_assert!(buffer.rows().eq(rows.iter().cloned()) && buffer.len() == rows.len());
                let tree: BTreeMap<_, _> = rows.iter().cloned().collect();
                prop_assert_eq!(buffer.sort(), tree.keys().next().map(Vec::as_slice));
                let sorted = buffer.sorted().map(|(key, value)| (key.to_vec(), from_run(value.to_vec())));
                prop_assert!(sorted.eq(tree));
                buffer.clear();
                prop_assert!(buffer.size() == 0);
            }
        }
    }
}
