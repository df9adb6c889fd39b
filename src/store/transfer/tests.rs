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
fn fault_19_an_import_that_did_not_come_to_its_end_is_refused_by_all_and_can_be_said_again() {
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

#[test]
fn law_9_nothing_is_laid_over_a_state_that_holds_anything() {
    let (_dir, from) = homes().remove(0);
    let whole = fill(&from);
    type Case = (&'static str, fn(&Store));
    let cases: [Case; 4] = [
        ("a row", |store| {
            let mut batch = Batch::default();
            batch.put_bytes(Keyspace::Synced, "staff", b"{}");
            store.commit(batch).unwrap();
        }),
        ("a document", |store| store.put_document("inbox/staff/out-0000000001.order", b"{}").unwrap()),
        ("a file", |store| file_of(store, "inbox/staff/waiting", b"rows")),
        ("a line", |store| Log::of(store.home()).append("2026-10", "{}").unwrap()),
    ];
    for (what, make) in cases {
        for (_to, to) in homes() {
            make(&Store::open(&to).unwrap());
            assert!(matches!(put(&to, &whole), Err(TransferError::NotEmpty { .. })), "{what} {to}");
        }
    }
}

/// An exported state with these lines in it, which fits its own digest.
fn sealed(lines: &[serde_json::Value], contents: Contents) -> Vec<u8> {
    let mut text = serde_json::json!({"rosterd_state": 1, "program": "1.2.3", "account": ACCOUNT}).to_string();
    text.push('\n');
    for line in lines {
        text.push_str(&line.to_string());
        text.push('\n');
    }
    let digest = super::reader::hex(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref());
    let end = serde_json::json!({"end": {"contents": contents, "sha256": digest}});
    format!("{text}{end}\n").into_bytes()
}

/// Who can write such a file can seal it too.
#[test]
fn what_fits_its_digest_is_refused_where_a_state_can_have_no_such_thing() {
    use serde_json::json;
    let none = Contents::default();
    let row = |key: &[u8]| {
        let bytes = |bytes: &[u8]| serde_json::to_value(super::entry::Bytes(bytes.to_vec())).unwrap();
        json!({"row": {"key": bytes(key), "value": bytes(b"{}")}})
    };
    let known = Keyspace::Synced.key("staff");
    let cases = [
        ("nothing", vec![], none, true),
        (
            "a pause",
            vec![json!({"document": {"name": "paused/all", "content": ""}})],
            Contents { documents: 1, ..none },
            true,
        ),
        (
            "a document elsewhere",
            vec![json!({"document": {"name": "../all", "content": ""}})],
            Contents { documents: 1, ..none },
            false,
        ),
        ("a line", vec![json!({"line": {"of": "2026-10", "text": "{}"}})], Contents { lines: 1, ..none }, true),
        (
            "a line of no month",
            vec![json!({"line": {"of": "../10", "text": "{}"}})],
            Contents { lines: 1, ..none },
            false,
        ),
        ("a line of nothing", vec![json!({"line": {"of": "", "text": "{}"}})], Contents { lines: 1, ..none }, false),
        (
            "two lines in one",
            vec![json!({"line": {"of": "2026-10", "text": "{}\n{}"}})],
            Contents { lines: 1, ..none },
            false,
        ),
        (
            "a line that is cut",
            vec![json!({"line": {"of": "2026-10", "text": "{}\0"}})],
            Contents { lines: 1, ..none },
            false,
        ),
        (
            "a file",
            vec![json!({"file": {"name": "inbox/staff/waiting", "size": 0}})],
            Contents { files: 1, ..none },
            true,
        ),
        (
            "a file elsewhere",
            vec![json!({"file": {"name": "../../waiting", "size": 0}})],
            Contents { files: 1, ..none },
            false,
        ),
        ("an empty part", vec![json!({"part": ""})], none, false),
        ("a row", vec![row(&known)], Contents { rows: 1, ..none }, true),
        ("a row of no kind", vec![row(b"\x01staff")], Contents { rows: 1, ..none }, false),
        ("a row without a name", vec![row(b"")], Contents { rows: 1, ..none }, false),
        ("a row that is no text", vec![row(&[&known[..], b"\xff"].concat())], Contents { rows: 1, ..none }, false),
    ];
    for (what, lines, contents, fits) in cases {
        let (_dir, to) = homes().remove(0);
        match put(&to, &sealed(&lines, contents)) {
            Ok(found) => assert!(fits && found == contents, "{what}: {found:?}"),
            Err(error) => {
                assert!(!fits && matches!(error, TransferError::Broken { .. }), "{what}: {error}");
                assert!(!to.exists().unwrap(), "{what}: something was made");
            }
        }
    }
}
