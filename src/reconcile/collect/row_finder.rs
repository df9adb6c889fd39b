//! Finds the keys of a source's rows in the index.
//!
//! Nearly all files come in an order of their own that hardly changes, so the next row is nearly always near the last one: that takes
//! no table of digests, which would be a third more memory for a job of a million. A row that is not near has changed, or comes
//! from elsewhere: it is evaluated, and its key says which. Only where many come from elsewhere, the table is worth its making:
//! evaluating a row takes thirty times as long as looking it up.

use crate::record::Key;
use crate::snapshot::Index;

/// After so many unchanged rows that were not near the one before, digests are looked up in a table.
const ELSEWHERE_MAX: usize = 1_000;

/// Where the rows of a source are in the index.
pub(super) struct RowFinder<'i> {
    index: &'i Index,
    /// The position that the next row is expected at.
    next: usize,
    /// How many unchanged rows were found by their key.
    elsewhere: usize,
}

impl<'i> RowFinder<'i> {
    pub(super) fn new(index: &'i Index) -> Self {
        Self { index, next: 0, elsewhere: 0 }
    }

    /// The position whose settled row has this digest. None where it has changed, or has to be looked for [by its
    /// key](Self::by_key).
    pub(super) fn by_digest(&mut self, digest: u128) -> Option<usize> {
        let near = self.index.by_digest_near(digest, self.next);
        let found = near.or_else(|| self.has_table().then(|| self.index.by_digest(digest)).flatten());
        self.next = found.unwrap_or(self.next) + 1;
        found
    }

    /// The same for a row that was evaluated.
    pub(super) fn by_key(&mut self, digest: u128, key: &Key) -> Option<usize> {
        if self.has_table() {
            return None;
        }
        let at = self.index.by_key(key.as_str())?;
        let is_settled = digest != 0 && self.index.entry(at).digest == digest;
        self.elsewhere += usize::from(is_settled && self.next != at + 1);
        self.next = at + 1;
        is_settled.then_some(at)
    }

    fn has_table(&self) -> bool {
        self.elsewhere > ELSEWHERE_MAX
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::JobName;
    use crate::snapshot::IndexEntry;
    use crate::store::Store;

    /// More than twice as many as are looked for without a table.
    const PEOPLE: u32 = 2_500;

    fn digest(number: u32) -> u128 {
        u128::from(number) << 70 | 1
    }

    fn key(number: u32) -> Key {
        Key::new(&format!("E{number}")).unwrap()
    }

    fn index() -> Index {
        let job = JobName::new("employees").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let mut keys: Vec<(Key, u32)> = (0..PEOPLE).map(|number| (key(number), number)).collect();
        keys.sort();
        let entries = keys.iter().map(|(key, number)| IndexEntry {
            key: key.as_str(),
            // Each tenth has something left to do.
            digest: if number % 10 == 0 { 0 } else { digest(*number) },
            id: 1,
            gone: false,
            due: None,
        });
        Index::save(&store, &job, entries).unwrap();
        Index::load(&store, &job).unwrap()
    }

    fn orders() -> impl Strategy<Value = Vec<u32>> {
        let numbers: Vec<u32> = (0..PEOPLE + 50).collect();
        prop_oneof![Just(numbers.clone()).prop_shuffle(), Just(numbers.iter().rev().copied().collect()), Just(numbers)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn a_row_is_found_in_any_order_if_and_only_if_nothing_is_left_to_do_for_it(
            order in orders(),
            changed in proptest::collection::btree_set(0..PEOPLE, 0..300),
        ) {
            let index = index();
            let mut finder = RowFinder::new(&index);
            for number in order {
                let row = if changed.contains(&number) { digest(number + PEOPLE * 2) } else { digest(number) };
                let found = finder.by_digest(row).or_else(|| finder.by_key(row, &key(number)));
                let settled = number < PEOPLE && number % 10 != 0 && !changed.contains(&number);
                prop_assert_eq!(found, settled.then(|| index.by_key(key(number).as_str()).unwrap()), "{}", number);
            }
        }
    }
}
