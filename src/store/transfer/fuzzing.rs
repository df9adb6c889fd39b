//! Made-up exported states, and what must hold of each.

use ring::digest::{SHA256, digest};
use serde_json::json;

use super::entry::{Contents, Entry, Header};
use super::error::TransferError;
use super::reader::{hex, read};

/// A file as it is, or all but its end, which is put there; two bytes before it say where a byte of it is changed.
pub(crate) fn transfer(bytes: &[u8]) {
    let Some((at, content)) = bytes.split_first_chunk::<2>() else { return };
    if let Ok(whole) = look(content) {
        again(&whole);
    }
    let sealed = sealed(content);
    let Ok(whole) = look(&sealed) else { return };
    again(&whole);
    let at = usize::from(u16::from_le_bytes(*at)) % sealed.len();
    let mut changed = sealed;
    changed[at] ^= 1;
    assert!(look(&changed).is_err(), "byte {at} was changed, and nothing noticed it");
    changed[at] ^= 1;
    assert!(look(&changed[..at]).is_err(), "what was cut is not whole");
}

struct Whole {
    header: Header,
    entries: Vec<Entry>,
    contents: Contents,
}

fn look(mut content: &[u8]) -> Result<Whole, TransferError> {
    let mut entries = Vec::new();
    let (header, contents) = read(&mut content, |entry| {
        assert!(!matches!(entry, Entry::End { .. }), "the end is no thing that a state holds");
        entries.push(entry);
        Ok(())
    })?;
    assert_eq!(contents, counted(&entries));
    Ok(Whole { header, entries, contents })
}

/// What was read is read again where it is written again.
fn again(whole: &Whole) {
    let line = |value: serde_json::Result<String>| value.expect("plain values") + "\n";
    let entries = whole.entries.iter().map(|entry| line(serde_json::to_string(entry)));
    let text = line(serde_json::to_string(&whole.header)) + &entries.collect::<String>();
    let read = look(&sealed(text.as_bytes())).expect("what was written");
    assert_eq!(read.contents, whole.contents);
    let lines = |entries: &[Entry]| serde_json::to_string(entries).expect("plain values");
    assert_eq!(lines(&read.entries), lines(&whole.entries));
}

/// The content with an end that fits what is in it.
fn sealed(content: &[u8]) -> Vec<u8> {
    let entries: Vec<Entry> =
        content.split(|byte| *byte == b'\n').skip(1).filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let sha256 = hex(digest(&SHA256, content).as_ref());
    let end = json!({ "end": { "contents": counted(&entries), "sha256": sha256 } });
    [content, end.to_string().as_bytes(), b"\n"].concat()
}

fn counted(entries: &[Entry]) -> Contents {
    let mut counted = Contents::default();
    for entry in entries {
        match entry {
            Entry::Document { .. } => counted.documents += 1,
            Entry::Line { .. } => counted.lines += 1,
            Entry::File { .. } => counted.files += 1,
            Entry::Row { .. } => counted.rows += 1,
            Entry::Part(_) | Entry::End { .. } => {}
        }
    }
    counted
}
