use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use super::*;

impl Embedded {
    /// Shows the rows of a space whose names begin with `prefix`.
    pub(super) fn scan(&self, space: Keyspace, prefix: &str, mut visit: impl FnMut(&str, &[u8])) -> Result<(), Error> {
        self.walk(&space.key(prefix), Projection::Rows, &mut |key, payload| {
            visit(std::str::from_utf8(&key[1..]).unwrap(), payload);
            Ok(true)
        })
    }

    /// Those rows, of JSON.
    pub(super) fn list<T: DeserializeOwned>(&self, space: Keyspace, prefix: &str) -> Result<Vec<(String, T)>, Error> {
        let mut rows = Vec::new();
        self.scan(space, prefix, |name, payload| {
            rows.push((name.to_owned(), serde_json::from_slice(payload).unwrap()));
        })?;
        Ok(rows)
    }

    pub(super) fn get_bytes(&self, space: Keyspace, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.get(&space.key(name))
    }

    /// A row of JSON.
    pub(super) fn read<T: DeserializeOwned>(&self, space: Keyspace, name: &str) -> Result<Option<T>, Error> {
        Ok(self.get_bytes(space, name)?.map(|payload| serde_json::from_slice(&payload).unwrap()))
    }
}

fn put(store: &Embedded, name: &str, value: u32) {
    let mut batch = Batch::default();
    batch.put(Keyspace::Synced, name, &value);
    store.commit(batch).unwrap();
}

#[test]
fn what_was_committed_is_there_after_a_reopen() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(dir.path()).unwrap();
    put(&store, "a", 1);
    put(&store, "b", 2);
    drop(store);
    let store = Embedded::open(dir.path()).unwrap();
    assert_eq!(store.read::<u32>(Keyspace::Synced, "a").unwrap(), Some(1));
    assert_eq!(store.read::<u32>(Keyspace::Owner, "a").unwrap(), None);
    assert_eq!(store.list::<u32>(Keyspace::Synced, "").unwrap(), vec![("a".into(), 1), ("b".into(), 2)]);
}

#[test]
fn fault_20_a_second_opener_learns_who_holds_it() {
    let dir = tempfile::tempdir().unwrap();
    let _store = Embedded::open(dir.path()).unwrap();
    let error = Embedded::open(dir.path()).err().unwrap();
    assert!(matches!(error.kind, ErrorKind::InUse { holder: Some(pid) } if pid == std::process::id()), "{error}");
}

#[test]
fn fault_17_a_later_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(dir.path()).unwrap();
    let mut batch = Batch::default();
    batch.put_meta(MetaKey::Format, &(row::FORMAT + 1));
    store.commit(batch).unwrap();
    drop(store);
    assert!(
        matches!(Embedded::open(dir.path()).err().unwrap().kind, ErrorKind::Newer { format } if format == row::FORMAT + 1)
    );
}

#[test]
fn fault_13_a_panic_inside_the_storage_library_is_damage() {
    let result = catch_panic(|| -> sled::Result<()> { panic!("as sled does generation a torn page") });
    assert!(matches!(result, Err(ErrorKind::Damaged(_))));
}

/// A closed store whose rows lie in sled and in a file, and which sled has taken a snapshot of.
fn closed() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(dir.path()).unwrap();
    (0..100).for_each(|number| put(&store, &format!("{number:03}"), number));
    store.vacuum().unwrap();
    (100..110).for_each(|number| put(&store, &format!("{number:03}"), number));
    drop(store);
    drop(Embedded::open(dir.path()).unwrap());
    dir
}

#[test]
fn fault_14_and_19_what_an_unfinished_step_left_beside_a_whole_store_is_removed_and_nothing_is_lost() {
    let names = |dir: &Path| {
        let mut names: Vec<String> = [dir.to_owned(), dir.join("store")]
            .iter()
            .flat_map(|folder| fs::read_dir(folder).unwrap())
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            // Every opening has another snapshot.
            .filter(|name| !name.starts_with("snap.") || name.contains("generating"))
            .collect();
        names.sort();
        names
    };
    let model = closed();
    let snapshot = fs::read_dir(model.path().join("store"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("snap."))
        .unwrap();
    let rows = lsm::compaction::files(&model.path().join("store")).unwrap().remove(0);
    let of_now = format!("store/{}.generating", snapshot.file_name().unwrap().to_str().unwrap());
    // (what is left, what it holds where it is whole)
    let left: [(&str, &Path); 8] = [
        ("store/snap.0000000000000000.generating", &snapshot),
        (&of_now, &snapshot),
        ("store/snap.FFFFFFFFFFFFFFFF.generating", &snapshot),
        ("store/rows-k-9", &rows),
        ("store/rows-m-1", &rows),
        ("store.copy/db", &model.path().join("store/db")),
        ("store.old/db", &model.path().join("store/db")),
        ("store.new/store/db", &model.path().join("store/db")),
    ];
    for (name, whole) in left {
        let whole = fs::read(whole).unwrap();
        for size in [0, 1, 12, 300, whole.len() / 2, whole.len()] {
            let dir = closed();
            let before = names(dir.path());
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &whole[..size.min(whole.len())]).unwrap();
            for _ in 0..2 {
                let store = Embedded::open(dir.path()).unwrap_or_else(|error| panic!("{name}, {size} bytes: {error}"));
                assert_eq!(store.list::<u32>(Keyspace::Synced, "").unwrap().len(), 110, "{name}, {size} bytes");
                put(&store, "109", 109);
            }
            assert_eq!(names(dir.path()), before, "{name}, {size} bytes");
        }
    }
}

#[test]
fn fault_9_a_first_start_that_failed_at_any_file_is_repeated() {
    for size in [0, 5, 20, 60] {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("store/blobs")).unwrap();
        fs::write(dir.path().join("store/conf"), vec![7; size]).unwrap();
        for name in ["commits", "reserve", "lock", "store/db"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        put(&Embedded::open(dir.path()).unwrap_or_else(|error| panic!("{size} bytes: {error}")), "a", 1);
        assert_eq!(Embedded::open(dir.path()).unwrap().read::<u32>(Keyspace::Synced, "a").unwrap(), Some(1));
    }
}

#[test]
fn a_load_of_many_rows_arrives_whole() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(dir.path()).unwrap();
    let mut batch = Batch::default();
    for number in (0..1000u32).rev() {
        batch.put(Keyspace::Mirror, &format!("{number:05}"), &number);
    }
    store.commit(batch).unwrap();
    let rows: BTreeMap<_, _> = store.list::<u32>(Keyspace::Mirror, "").unwrap().into_iter().collect();
    assert_eq!(rows.len(), 1000);
    assert!(rows.iter().all(|(name, number)| *name == format!("{number:05}")));
}

#[test]
fn law_5_a_row_that_was_merged_counts_no_more_while_a_reader_walks_over_the_file_before() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(dir.path()).unwrap();
    let load = |value: u32| {
        let mut batch = Batch::default();
        (0..=Embedded::LOGGED_ROWS_MAX).for_each(|number| batch.put(Keyspace::Synced, &format!("{number:05}"), &value));
        store.commit(batch).unwrap();
    };
    load(1);
    put(&store, "00000", 2);
    // Until it is let go, what is merged stays in sled.
    let walked = store.file_of(Keyspace::Synced);
    load(3);
    assert_eq!(store.read::<u32>(Keyspace::Synced, "00000").unwrap(), Some(3));
    assert!(store.list::<u32>(Keyspace::Synced, "").unwrap().iter().all(|(_, value)| *value == 3));
    drop(walked);
}

#[test]
fn law_5_a_row_of_sled_counts_only_where_it_was_written_over_the_file_that_counts_or_a_later_one() {
    const OF_FILE: u32 = 1;
    for (generation, counts) in [(1, false), (2, true), (3, true)] {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Embedded::open(dir.path()).unwrap();
        for _ in 0..2 {
            put(&store, "a", OF_FILE);
            store.vacuum().unwrap();
        }
        assert_eq!(store.file_of(Keyspace::Synced).meta().generation, 2);
        let key = Keyspace::Synced.key("a");
        // Where it was written before, it is counted once.
        for value in [7, OF_FILE + 1] {
            let row = row::encode(&key, generation, Some(value.to_string().as_bytes()));
            let mut writing = store.writing();
            store.apply_plain(&mut writing, vec![(key.clone(), Some(row))]).unwrap();
            store.sync(&writing).unwrap();
        }
        for _ in 0..2 {
            let value = if counts { OF_FILE + 1 } else { OF_FILE };
            assert_eq!(store.read::<u32>(Keyspace::Synced, "a").unwrap(), Some(value), "over {generation}");
            assert_eq!(store.list::<u32>(Keyspace::Synced, "").unwrap(), [("a".into(), value)], "over {generation}");
            let counted = store.writing().overlay.get(&Keyspace::Synced).copied().unwrap_or(0);
            assert_eq!(counted, u64::from(counts), "over {generation}");
            drop(store);
            store = Embedded::open(dir.path()).unwrap();
        }
        let left = store.with(|sled| sled.tree.contains_key(&key)).unwrap();
        assert_eq!(left, counts, "one that counts no more is swept");
    }
}

#[test]
fn fault_12_a_flipped_byte_is_an_error_and_never_another_value() {
    // sled may notice it at open, at a read, or not at all where the byte was free space; what must not happen is a row
    // that reads as something else, or a row that is silently gone.
    for offset in (0..40).map(|step| step * 97 + 13) {
        let dir = tempfile::tempdir().unwrap();
        let store = Embedded::open(dir.path()).unwrap();
        for number in 0..40 {
            put(&store, &format!("key{number:02}"), number);
        }
        drop(store);
        let mut file = OpenOptions::new().read(true).write(true).open(dir.path().join("store/db")).unwrap();
        let length = file.metadata().unwrap().len();
        let mut byte = [0];
        file.seek(SeekFrom::Start(offset % length)).unwrap();
        file.read_exact(&mut byte).unwrap();
        byte[0] ^= 0x55;
        file.seek(SeekFrom::Start(offset % length)).unwrap();
        file.write_all(&byte).unwrap();
        drop(file);
        let Ok(store) = Embedded::open(dir.path()) else { continue };
        for number in 0..40 {
            match store.read::<u32>(Keyspace::Synced, &format!("key{number:02}")) {
                Ok(Some(value)) => assert_eq!(value, number, "at byte {offset}"),
                Ok(None) => panic!("key{number:02} is silently gone, at byte {offset}"),
                Err(_) => break,
            }
        }
    }
}

#[test]
fn fault_12_a_cut_tail_is_noticed() {
    for cut in [1, 100, 3000] {
        let dir = tempfile::tempdir().unwrap();
        let store = Embedded::open(dir.path()).unwrap();
        for number in 0..200 {
            put(&store, &format!("key{number:03}"), number);
        }
        drop(store);
        let file = OpenOptions::new().write(true).open(dir.path().join("store/db")).unwrap();
        let data = fs::read(dir.path().join("store/db")).unwrap();
        let used = data.iter().rposition(|byte| *byte != 0).unwrap() as u64;
        file.set_len(used.saturating_sub(cut)).unwrap();
        assert!(Embedded::open(dir.path()).is_err(), "cut by {cut}");
    }
}

#[test]
fn a_store_thrown_away_whole_starts_empty_and_one_thrown_away_in_part_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    put(&Embedded::open(&state).unwrap(), "a", 1);
    fs::remove_dir_all(state.join("store")).unwrap();
    assert!(matches!(Embedded::open(&state).err().unwrap().kind, ErrorKind::Damaged(_)));
    fs::remove_dir_all(&state).unwrap();
    assert_eq!(Embedded::open(&state).unwrap().read::<u32>(Keyspace::Synced, "a").unwrap(), None);
}

#[test]
fn who_walks_over_rows_while_they_are_merged_sees_each_of_them_once() {
    const ROWS: u32 = 600;
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(dir.path()).unwrap();
    for number in 0..ROWS {
        put(&store, &format!("{number:04}"), 0);
    }
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::SeqCst) {
                    let mut seen = 0;
                    store
                        .scan(Keyspace::Synced, "", |name, _| {
                            assert_eq!(name, format!("{seen:04}"));
                            seen += 1;
                        })
                        .unwrap();
                    assert_eq!(seen, ROWS);
                    assert!(store.get_bytes(Keyspace::Synced, "0077").unwrap().is_some());
                }
            });
        }
        for round in 1..4 {
            for number in (0..ROWS).step_by(3) {
                put(&store, &format!("{number:04}"), round);
            }
            store.vacuum().unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    let rows = store.list::<u32>(Keyspace::Synced, "").unwrap();
    assert!(rows.iter().enumerate().all(|(number, (_, value))| *value == if number % 3 == 0 { 3 } else { 0 }));
}

#[test]
fn who_walks_slowly_over_rows_that_are_merged_again_and_again_sees_each_of_them() {
    const ROWS: u32 = 300;
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(dir.path()).unwrap();
    let load = |value: u32| {
        let mut batch = Batch::default();
        (0..ROWS).for_each(|number| batch.put(Keyspace::Synced, &format!("{number:04}"), &value));
        store.commit(batch).unwrap();
    };
    load(0);
    (ROWS..ROWS + 10).for_each(|number| put(&store, &format!("{number:04}"), 0));
    let in_sled = || store.with(|sled| Ok(sled.tree.scan_prefix([Keyspace::Synced as u8]).count())).unwrap();
    let (begun, goes_on) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|scope| {
        let walk = scope.spawn(|| {
            let mut seen = Vec::new();
            store
                .scan(Keyspace::Synced, "", |name, _| {
                    if seen.is_empty() {
                        begun.wait();
                        goes_on.wait();
                    }
                    seen.push(name.to_owned());
                })
                .unwrap();
            seen
        });
        begun.wait();
        for value in 1..4 {
            load(value);
        }
        assert_eq!(in_sled(), 10, "they are merged, and it still looks for them");
        goes_on.wait();
        let all: Vec<String> = (0..ROWS + 10).map(|number| format!("{number:04}")).collect();
        assert_eq!(walk.join().unwrap(), all);
    });
    load(4);
    assert_eq!(in_sled(), 0, "no reader looks for them any more");
    assert_eq!(store.list::<u32>(Keyspace::Synced, "").unwrap().len(), ROWS as usize + 10);
}

#[test]
fn fault_12_a_file_that_is_missing_another_or_changed_is_damage() {
    let filled = || {
        let dir = tempfile::tempdir().unwrap();
        let store = Embedded::open(dir.path()).unwrap();
        for number in 0..200 {
            put(&store, &format!("key{number:03}"), number);
        }
        store.vacuum().unwrap();
        drop(store);
        let files = lsm::compaction::files(&dir.path().join("store")).unwrap();
        assert_eq!(files.len(), 1, "{files:?}");
        (dir, files.into_iter().next().unwrap())
    };
    let (dir, file) = filled();
    let whole = fs::read(&file).unwrap();
    for at in (0..whole.len()).step_by(59) {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        fs::write(&file, bytes).unwrap();
        assert!(matches!(Embedded::open(dir.path()).err().unwrap().kind, ErrorKind::Damaged(_)), "byte {at}");
    }
    let (other, theirs) = filled();
    let store = Embedded::open(other.path()).unwrap();
    put(&store, "key007", 8);
    store.vacuum().unwrap();
    drop(store);
    assert!(!theirs.exists(), "the older file is gone");
    let overlay = lsm::compaction::files(&other.path().join("store")).unwrap().remove(0);
    fs::copy(overlay, &file).unwrap();
    assert!(matches!(Embedded::open(dir.path()).err().unwrap().kind, ErrorKind::Damaged(_)), "another file");
    fs::remove_file(&file).unwrap();
    assert!(matches!(Embedded::open(dir.path()).err().unwrap().kind, ErrorKind::Damaged(_)), "it is missing");
    fs::write(&file, whole).unwrap();
    fs::write(file.with_file_name("rows-k-99"), b"left by a merge that did not end").unwrap();
    let store = Embedded::open(dir.path()).unwrap();
    assert_eq!(store.list::<u32>(Keyspace::Synced, "").unwrap().len(), 200);
    assert_eq!(lsm::compaction::files(&dir.path().join("store")).unwrap(), [file]);
}

#[test]
fn fault_12_rows_that_the_storage_library_lost_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(dir.path()).unwrap();
    (0..3).for_each(|number| put(&store, &format!("key{number}"), number));
    drop(store);
    let spoil = |change: &dyn Fn(&sled::Db)| {
        let sled = Sled::open(&dir.path().join("store")).unwrap();
        change(&sled.tree);
        sled.tree.flush().unwrap();
        drop(sled);
        Embedded::open(dir.path()).err().map(|error| error.kind)
    };
    let key = Keyspace::Synced.key("key1");
    assert!(spoil(&|_| ()).is_none());
    let lost = std::cell::RefCell::new(None);
    let kind = spoil(&|tree| *lost.borrow_mut() = tree.remove(&key).unwrap());
    assert!(matches!(kind, Some(ErrorKind::Damaged(_))), "{kind:?}");
    let row = lost.into_inner().unwrap();
    assert!(spoil(&|tree| drop(tree.insert(&key, &row).unwrap())).is_none(), "it is back");
    let older = row::encode(&key, 0, Some(b"7"));
    let kind = spoil(&|tree| drop(tree.insert(&key, older.as_slice()).unwrap()));
    assert!(matches!(kind, Some(ErrorKind::Damaged(_))), "as many rows, and another one: {kind:?}");
}
