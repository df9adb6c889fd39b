//! What was confirmed before the power failed is there after it, on a disk that forgets whatever was not synced.

use std::fs;
use std::path::Path;

use jiff::Timestamp;

use crate::clock::Clock;
use crate::disk::{self, forgetful::Forgetful};
use crate::history::{Audit, Decided, read};
use crate::reconcile::pause::{alarm, pause, pauses, resume};
use crate::record::{JobName, Key};
use crate::snapshot::SYNCED;
use crate::source::inbox::{Folder, take};
use crate::store::{Batch, Store, Table};

const NUMBERS: Table<Key, usize> = SYNCED.of();

/// Enough of them are merged into a file of rows, and some are left over.
const ROWS: usize = 100;

fn clock() -> Clock {
    Clock::fixed("2026-01-31T23:59:59Z".parse().unwrap())
}

fn job() -> JobName {
    JobName::new("employees").unwrap()
}

fn put(batch: &mut Batch, number: usize) {
    NUMBERS.put(batch, &job(), &key(number), &number);
}

fn key(number: usize) -> Key {
    Key::new(&format!("{number:05}")).unwrap()
}

fn commit(store: &Store, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let mut batch = Batch::default();
        put(&mut batch, number);
        store.commit(batch).unwrap();
    }
}

/// Whether the store opens and holds just these rows.
fn holds(dir: &Path, numbers: std::ops::Range<usize>) -> bool {
    let store = Store::open(dir).unwrap_or_else(|error| panic!("{}: {error:?}", dir.display()));
    let rows: Vec<_> = NUMBERS.list(&store, &job()).unwrap();
    rows.into_iter().map(|(_, number)| number).eq(numbers)
}

fn decide(dir: &Path, at: &str) {
    let at: Timestamp = at.parse().unwrap();
    Audit::new(dir).append(Decided::new(at, "approved")).unwrap();
}

fn recorded(dir: &Path) -> Vec<String> {
    let mut told = Vec::new();
    assert_eq!(read(&dir.into(), |entry| told.push(entry.at().to_string())).unwrap(), []);
    told
}

/// Whether there is a pause that says since when.
fn is_paused(dir: &Path) -> bool {
    pauses(&dir.into()).unwrap().iter().any(|pause| pause.note.as_ref().is_some_and(|note| note.since == clock().now()))
}

/// What is done before the disk begins to forget, what is confirmed then, and whether it is there after the power failed.
fn check(what: &str, before: impl Fn(&Path), act: impl Fn(&Path), holds: impl Fn(&Path) -> bool) {
    let dir = tempfile::tempdir().unwrap();
    before(dir.path());
    let disk = Forgetful::below(dir.path());
    act(dir.path());
    assert!(holds(disk.cut().path()), "{what}");
}

#[test]
fn law_3_what_was_committed_outlives_a_power_cut() {
    let laid_down = |dir: &Path| drop(Store::open(dir).unwrap());
    check("a batch", laid_down, |dir| commit(&Store::open(dir).unwrap(), 0..1), |dir| holds(dir, 0..1));
    check("the first batch of all", |_| (), |dir| commit(&Store::open(dir).unwrap(), 0..1), |dir| holds(dir, 0..1));
    check(
        "batches that are merged",
        laid_down,
        |dir| commit(&Store::open(dir).unwrap(), 0..ROWS),
        |dir| holds(dir, 0..ROWS),
    );
    let load = |dir: &Path, count: usize| {
        let store = Store::open(dir).unwrap();
        let mut batch = Batch::default();
        (0..count).for_each(|number| put(&mut batch, number));
        store.commit(batch).unwrap();
    };
    for count in [ROWS, 10 * ROWS] {
        check("a load", laid_down, |dir| load(dir, count), |dir| holds(dir, 0..count));
    }
    check(
        "rows in place of others",
        |dir| commit(&Store::open(dir).unwrap(), 0..ROWS),
        |dir| {
            let store = Store::open(dir).unwrap();
            let mut bulk = store.bulk_load();
            for number in 0..ROWS {
                let mut batch = Batch::default();
                NUMBERS.remove(&mut batch, &job(), &key(number));
                (number < 3).then(|| put(&mut batch, number));
                bulk.add(batch).unwrap();
            }
            bulk.commit().unwrap();
        },
        |dir| holds(dir, 0..3),
    );
}

#[test]
fn law_9_a_line_of_the_audit_file_outlives_a_power_cut() {
    let last = "2026-01-31T23:59:59Z";
    check("the first line of all", |_| (), |dir| decide(dir, last), |dir| recorded(dir) == [last]);
    check("one more", |dir| decide(dir, last), |dir| decide(dir, last), |dir| recorded(dir) == [last, last]);
    let first = "2026-02-01T00:00:00Z";
    check(
        "the first of a month",
        |dir| decide(dir, last),
        |dir| decide(dir, first),
        |dir| recorded(dir) == [last, first],
    );
}

#[test]
fn a_pause_outlives_a_power_cut() {
    let paused = |dir: &Path| assert!(pause(&dir.into(), &clock(), None).unwrap());
    check("the first one", |_| (), paused, is_paused);
    let before = |dir: &Path| {
        paused(dir);
        resume(&dir.into(), &clock(), None).unwrap();
    };
    check("a later one", before, paused, is_paused);
    let is_recorded = |dir: &Path| pauses(&dir.into()).unwrap()[0].note.as_ref().is_some_and(|note| note.recorded);
    check("that the audit file has it", |_| (), paused, is_recorded);
    check("an alarm", |_| (), |dir| alarm(&dir.into(), &clock(), "it emptied mobile").unwrap(), is_paused);
    let resumed = |dir: &Path| assert_eq!(resume(&dir.into(), &clock(), None).unwrap().len(), 1);
    check("the end of one", paused, resumed, |dir| pauses(&dir.into()).unwrap().is_empty());
}

#[test]
fn what_is_replaced_or_renamed_outlives_a_power_cut() {
    let written = |dir: &Path| fs::write(dir.join("file"), "before").unwrap();
    let replaced = |dir: &Path| disk::replace(&dir.join("file"), b"after").unwrap();
    let holds = |dir: &Path| fs::read_to_string(dir.join("file")).unwrap() == "after";
    check("a file that is new", |_| (), replaced, holds);
    check("one in the place of another", written, replaced, holds);
    let aside = |dir: &Path| {
        written(dir);
        fs::write(dir.join("aside"), "after").unwrap();
    };
    check("another name", aside, |dir| disk::rename(&dir.join("aside"), &dir.join("file")).unwrap(), holds);
}

#[test]
fn the_private_copy_of_a_dropped_file_outlives_a_power_cut() {
    let dropped = |dir: &Path| {
        fs::create_dir(dir.join("inbox")).unwrap();
        fs::write(dir.join("inbox/staff.csv"), "No,Name\n1,Ana\n").unwrap();
    };
    let act = |dir: &Path| {
        let folder = Folder::open(&dir.join("inbox")).unwrap();
        let entry = folder.list().unwrap().remove(0);
        take(&folder, &entry, 1_000, &dir.join("copy")).unwrap();
        // It is moved to where the next process looks for it; that folder is synced then.
        disk::sync_folder(dir).unwrap();
    };
    check("the copy", dropped, act, |dir| fs::read_to_string(dir.join("copy")).unwrap() == "No,Name\n1,Ana\n");
}
