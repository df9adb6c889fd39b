//! What every engine promises, tried on each.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::*;

/// Rows did not come to their end.
#[derive(Debug, PartialEq, Eq)]
enum Cut {
    Source,
    Store,
}

impl From<Error> for Cut {
    fn from(_: Error) -> Self {
        Self::Store
    }
}

/// What is done to a store and to a map that says what it should hold.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, u16, u8),
    Remove(u8, u16),
    Load(u8, u16, u16),
    Bulk(Vec<(u8, u16, Option<u8>)>, bool),
    /// Rows in any order, and rows that come in order when all is committed.
    Ordered(Vec<(u16, Option<u8>)>, BTreeMap<u16, Option<u8>>, bool),
    Compact,
    Tidy,
    Reopen,
}

const SPACES: [Keyspace; 3] = [Keyspace::Synced, Keyspace::Mirror, Keyspace::Held];

fn name(number: u16) -> String {
    format!("{}{}{number:03}", number % 2, Keyspace::SEPARATOR)
}

fn step() -> impl Strategy<Value = Step> {
    let (space, row) = (0u8..3, 0u16..120);
    prop_oneof![
        20 => (space.clone(), row.clone(), any::<u8>()).prop_map(|(space, row, value)| Step::Put(space, row, value)),
        10 => (space.clone(), row.clone()).prop_map(|(space, row)| Step::Remove(space, row)),
        2 => (space.clone(), row.clone(), 0u16..400).prop_map(|(space, row, count)| Step::Load(space, row, count)),
        2 => (proptest::collection::vec((space, row, any::<Option<u8>>()), 0..160), any::<bool>())
            .prop_map(|(rows, ends)| Step::Bulk(rows, ends)),
        2 => (
            proptest::collection::vec((0u16..120, any::<Option<u8>>()), 0..60),
            proptest::collection::btree_map(0u16..120, any::<Option<u8>>(), 0..100),
            any::<bool>(),
        )
            .prop_map(|(rows, ordered, ends)| Step::Ordered(rows, ordered, ends)),
        1 => Just(Step::Compact),
        1 => Just(Step::Tidy),
        2 => Just(Step::Reopen),
    ]
}

/// Does the steps, and compares all that the store holds with what it should hold after each.
fn follow(steps: Vec<Step>, open: impl Fn() -> Store) -> TestCaseResult {
    let mut store = open();
    let mut truth: BTreeMap<(u8, String), String> = BTreeMap::new();
    for (number, step) in steps.into_iter().enumerate() {
        let mut batch = Batch::default();
        match step {
            Step::Put(space, row, value) => {
                batch.put_bytes(SPACES[space as usize], &name(row), &[value]);
                truth.insert((space, name(row)), format!("{:?}", [value]));
                store.commit(batch).unwrap();
            }
            Step::Remove(space, row) => {
                batch.remove(SPACES[space as usize], &name(row));
                truth.remove(&(space, name(row)));
                store.commit(batch).unwrap();
            }
            Step::Load(space, from, count) => {
                for row in from..from + count {
                    batch.put_bytes(SPACES[space as usize], &name(row), &[number as u8]);
                    truth.insert((space, name(row)), format!("{:?}", [number as u8]));
                }
                store.commit(batch).unwrap();
            }
            Step::Ordered(rows, ordered, ends) => {
                let mut bulk = store.bulk_load();
                let mut ordered: Vec<(u16, Option<u8>)> = ordered.into_iter().collect();
                ordered.sort_by_key(|(row, _)| name(*row));
                for (row, value) in rows.iter().chain(&ordered).filter(|_| ends) {
                    truth.remove(&(0, name(*row)));
                    truth.extend(value.map(|value| ((0, name(*row)), format!("{:?}", [value]))));
                }
                let change = |(row, value): (u16, Option<u8>)| {
                    let mut batch = Batch::default();
                    match value {
                        Some(value) => batch.put_bytes(SPACES[0], &name(row), &[value]),
                        None => batch.remove(SPACES[0], &name(row)),
                    }
                    batch
                };
                rows.into_iter().for_each(|row| bulk.add(change(row)).unwrap());
                let failure = (!ends).then_some(Err(Cut::Source));
                let done = bulk.commit_with::<Cut>(ordered.into_iter().map(|row| Ok(change(row))).chain(failure));
                prop_assert_eq!(done.is_ok(), ends);
            }
            Step::Bulk(rows, ends) => {
                let mut bulk = store.bulk_load();
                for (space, row, value) in rows {
                    let mut batch = Batch::default();
                    match value {
                        Some(value) => batch.put_bytes(SPACES[space as usize], &name(row), &[value]),
                        None => batch.remove(SPACES[space as usize], &name(row)),
                    }
                    bulk.add(batch).unwrap();
                    if ends {
                        truth.remove(&(space, name(row)));
                        truth.extend(value.map(|value| ((space, name(row)), format!("{:?}", [value]))));
                    }
                }
                if ends {
                    bulk.commit().unwrap();
                }
            }
            Step::Compact => store.vacuum().unwrap(),
            Step::Tidy => {
                store.maybe_vacuum().unwrap();
            }
            Step::Reopen => {
                drop(store);
                store = open();
            }
        }
        let mut found = BTreeMap::new();
        for (at, space) in SPACES.into_iter().enumerate() {
            for prefix in ["0", "1"] {
                let mut names = Vec::new();
                let scanned = store.scan(space, prefix, |name, payload| {
                    names.push(name.to_owned());
                    found.insert((at as u8, name.to_owned()), format!("{payload:?}"));
                    Ok(())
                });
                scanned.unwrap();
                prop_assert!(names.is_sorted());
            }
        }
        prop_assert_eq!(&found, &truth);
        for row in [0, number as u16 % 120] {
            let stored = store.get_bytes(SPACES[0], &name(row)).unwrap().map(|payload| format!("{payload:?}"));
            prop_assert_eq!(stored.as_ref(), truth.get(&(0, name(row))));
        }
    }
    Ok(())
}

fn a_load_that_is_interrupted_says_why_and_leaves_nothing(store: &Store) {
    for count in [0, 2000] {
        let put = |number: u32| {
            let mut batch = Batch::default();
            batch.put(Keyspace::Synced, &format!("{number:06}"), &number);
            Ok(batch)
        };
        let rows = (0..count).map(put).chain([Err(Cut::Source)]);
        assert_eq!(store.bulk_load().commit_with(rows), Err(Cut::Source), "{count}");
        assert!(store.is_empty(Keyspace::Synced, "").unwrap());
    }
}

/// Two loads of one space at a time, and a commit between them: each is whole, and the last word counts, whichever began first.
fn loads_beside_each_other_are_whole(store: &Store) {
    let put = |name: &str, value: u32| {
        let mut batch = Batch::default();
        batch.put(Keyspace::Synced, name, &value);
        batch
    };
    for is_first_ended_first in [true, false] {
        let (mut one, mut other, given_up) = (store.bulk_load(), store.bulk_load(), store.bulk_load());
        for number in 0..1000 {
            one.add(put(&format!("{number:04}"), 1)).unwrap();
            other.add(put(&format!("{:04}", number + 500), 2)).unwrap();
        }
        drop(given_up);
        store.commit(put("0000", 3)).unwrap();
        store.commit(put("9999", 3)).unwrap();
        let (first, last) = if is_first_ended_first { (one, other) } else { (other, one) };
        first.commit().unwrap();
        last.commit().unwrap();
        let mut found = Vec::new();
        let scanned = store.scan(Keyspace::Synced, "", |name, value| {
            found.push((name.to_owned(), String::from_utf8(value.to_vec()).unwrap()));
            Ok(())
        });
        scanned.unwrap();
        let of_first = if is_first_ended_first { 500 } else { 1000 };
        let expected = |number: u32| (format!("{number:04}"), if number < of_first { "1" } else { "2" }.to_owned());
        let expected: Vec<_> = (0..1500).map(expected).chain([("9999".to_owned(), "3".to_owned())]).collect();
        assert_eq!(found, expected);
    }
}

mod on_embedded {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn law_5_rows_and_files_together_hold_what_was_committed(steps in proptest::collection::vec(step(), 1..160)) {
            let dir = tempfile::tempdir().unwrap();
            follow(steps, || Store::open(dir.path()).unwrap())?;
        }
    }

    #[test]
    fn loads() {
        for check in [a_load_that_is_interrupted_says_why_and_leaves_nothing, loads_beside_each_other_are_whole] {
            let dir = tempfile::tempdir().unwrap();
            check(&Store::open(dir.path()).unwrap());
        }
    }
}

#[cfg(feature = "postgres")]
mod on_postgres {
    use super::postgres::testing::{home, is_there};
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6))]

        #[test]
        fn law_5_generations_together_hold_what_was_committed(steps in proptest::collection::vec(step(), 1..80)) {
            if is_there() {
                let home = home();
                follow(steps, || Store::open(&home).unwrap())?;
            }
        }
    }

    #[test]
    fn loads() {
        if !is_there() {
            return;
        }
        for check in [a_load_that_is_interrupted_says_why_and_leaves_nothing, loads_beside_each_other_are_whole] {
            check(&Store::open(home()).unwrap());
        }
    }
}
