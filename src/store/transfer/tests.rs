//! Moving a state between folders and databases.

use std::fs;
use std::io::Write as _;

use super::*;
use crate::store::kept::KeptForm;
use crate::store::{Batch, ErrorKind, Home, Keyspace, Log, MetaKey, Store};

const ACCOUNT: &str = "https://api.example.com/v1";
/// More rows than go in one batch, so that files are merged.
const ROWS: usize = 300;

/// A place of its own for each engine that this machine has.
fn homes() -> Vec<(tempfile::TempDir, Home)> {
    let dir = tempfile::tempdir().unwrap();
    let folder = Home::from(dir.path().join("state"));
    #[cfg(feature = "postgres")]
    if crate::store::postgres::testing::is_there() {
        return vec![(dir, folder), (tempfile::tempdir().unwrap(), crate::store::postgres::testing::home())];
    }
    vec![(dir, folder)]
}

fn file_of(store: &Store, name: &str, bytes: &[u8]) {
    let path = store.home().spill_dir().join("made");
    fs::write(&path, bytes).unwrap();
    store.take_file(name, &path).unwrap();
}

/// A state with something of each kind.
fn fill(home: &Home) -> Vec<u8> {
    let store = Store::open(home).unwrap();
    let mut batch = Batch::default();
    batch.put_meta(MetaKey::Account, &ACCOUNT);
    for number in 0..ROWS {
        let name = format!("staff{}{number:05}", Keyspace::SEPARATOR);
        batch.put_bytes(Keyspace::Synced, &name, format!("person {number}").as_bytes());
    }
    store.commit(batch).unwrap();
    home.replace("paused/all", b"{}").unwrap();
    home.replace("notices.json", b"\x00\xff").unwrap();
    store.put_document("inbox/staff/out-0000000001.order", b"{}").unwrap();
    file_of(&store, "inbox/staff/out-0000000001.file", &[7; 5000]);
    file_of(&store, "inbox/staff/waiting", b"");
    let log = Log::of(home);
    log.append("2026-10", "{\"what\":\"run\"}").unwrap();
    log.append("2026-11", "{\"what\":\"change\"}").unwrap();
    log.append("2026-11", "{\"what\":\"Zoë\"}").unwrap();
    exported(&store)
}

fn exported(store: &Store) -> Vec<u8> {
    let mut out = Vec::new();
    store.export("1.2.3", &mut out).unwrap();
    out
}

fn put(home: &Home, bytes: &[u8]) -> Result<Contents, TransferError> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    import(home, &mut file, ACCOUNT, |_| Ok(()))
}

#[test]
fn what_is_exported_is_the_same_wherever_it_is_imported() {
    for (_from, from) in homes() {
        let before = fill(&from);
        for (_to, to) in homes() {
            let contents = put(&to, &before).unwrap();
            let expected = Contents { documents: 3, lines: 3, files: 2, rows: ROWS as u64 + 1 };
            assert_eq!(contents, expected, "{from} {to}");
            let store = Store::open(&to).unwrap();
            assert!(exported(&store) == before, "{from} {to}: something is another");
            drop(store);
            assert!(matches!(put(&to, &before), Err(TransferError::NotEmpty { .. })), "{from} {to}");
        }
    }
}

#[test]
fn a_file_that_was_cut_or_changed_anywhere_changes_nothing() {
    let (dir, from) = homes().remove(0);
    let whole = fill(&from);
    let target = Home::from(dir.path().join("target"));
    let refused = |bytes: &[u8], what: &str| match put(&target, bytes) {
        Err(TransferError::Broken { .. } | TransferError::Foreign | TransferError::Form { .. }) => {}
        Err(TransferError::OtherAccount { .. }) => {}
        other => panic!("{what}: {other:?}"),
    };
    let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    for end in ends.filter(|end| *end < whole.len()) {
        refused(&whole[..end], "a line is the last");
        refused(&whole[..end - 1], "a line has no end");
    }
    for at in (0..whole.len()).step_by(97) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        refused(&changed, &format!("byte {at} is another"));
    }
    refused(&[&whole[..], b"{}\n"].concat(), "something follows");
    refused(b"", "nothing");
    refused(b"No,Name\n1,Ana\n", "a table");
    let later = String::from_utf8(whole.clone()).unwrap().replacen("\"rosterd_state\":1", "\"rosterd_state\":2", 1);
    assert!(matches!(put(&target, later.as_bytes()), Err(TransferError::Form { found: 2 })));
    assert!(!target.exists().unwrap(), "nothing was made");
    put(&target, &whole).unwrap();
}

#[test]
fn an_import_that_did_not_come_to_its_end_is_refused_by_all_and_can_be_said_again() {
    let (_dir, from) = homes().remove(0);
    let whole = fill(&from);
    for (_to, to) in homes() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&whole).unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        let cut = import(&to, &mut file, ACCOUNT, |_| Err(TransferError::Foreign));
        assert!(matches!(cut, Err(TransferError::Foreign)));
        let opened = Store::open(&to).map(drop);
        assert!(matches!(opened, Err(crate::store::Error { kind: ErrorKind::Unfinished, .. })), "{opened:?}");
        put(&to, &whole).unwrap();
        let store = Store::open(&to).unwrap();
        assert!(exported(&store) == whole, "{to}");
        assert_eq!(to.names(KeptForm::Document).unwrap().len(), 3);
    }
}

#[test]
fn a_state_of_another_account_is_refused() {
    let (dir, from) = homes().remove(0);
    let whole = fill(&from);
    let other = String::from_utf8(whole).unwrap().replacen("api.example.com", "api.example.org", 1);
    let target = Home::from(dir.path().join("target"));
    // The digest is over this too.
    assert!(matches!(put(&target, other.as_bytes()), Err(TransferError::Broken { .. })));
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&fill(&Home::from(dir.path().join("second")))).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let refused = import(&target, &mut file, "https://api.example.org/v1", |_| Ok(()));
    assert!(matches!(refused, Err(TransferError::OtherAccount { .. })), "{refused:?}");
    assert!(!target.exists().unwrap());
}
