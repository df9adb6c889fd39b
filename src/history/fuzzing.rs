//! Made-up audit lines, and what must hold of each.

use std::collections::BTreeMap;

use super::HistoryQuery;
use super::entry::AuditEvent;
use super::forget::fate;
use super::rewrite::Fate;
use crate::record::Key;

/// Lines of an audit file, one behind the other.
pub(crate) fn audit(bytes: &[u8]) {
    let key = Key::new("E7").expect("it is a key");
    let (mut past, mut open) = (HistoryQuery::default(), BTreeMap::new());
    for line in bytes.split(|byte| *byte == b'\n') {
        let entry: Option<AuditEvent> = serde_json::from_slice(line).ok();
        if let Some(entry) = &entry {
            let written = serde_json::to_string(entry).expect("plain values");
            assert!(!written.contains('\n'), "an entry is one line");
            let again: AuditEvent = serde_json::from_str(&written).expect("what was written");
            assert_eq!(again, *entry);
        }
        forgotten(line, entry.as_ref(), &key);
        entry.into_iter().for_each(|entry| past.take(entry, &mut open));
    }
}

/// A line about a person who is forgotten goes, or becomes one that doesn't (fault 114).
fn forgotten(line: &[u8], entry: Option<&AuditEvent>, key: &Key) {
    match fate(line, entry, key) {
        Fate::Goes | Fate::Stays => {}
        Fate::Becomes(other) => {
            assert_eq!(other.at(), entry.expect("it could be read").at());
            assert!(matches!(fate(line, Some(&other), key), Fate::Stays), "what was taken out once is out");
        }
    }
}
