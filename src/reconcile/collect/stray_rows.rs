//! Rows that may be anybody's, since their key can't be trusted (law 1).
//!
//! A key that is mistyped leaves its person out of the read as surely as a row that is missing. So a row proves that
//! one person is present, and says nothing about others, only if its key is readable, known to the job or part of a
//! record that counts, and in no other row that differs. Any other row may be that of a person whose key is in no row:
//! then the read proves no one absent.

use std::collections::BTreeSet;

use crate::record::Key;

/// How many keys a reason names.
const NAMED_MAX: usize = 3;

/// Rows that may be anybody's.
#[derive(Clone, Debug, Default)]
pub(crate) struct StrayRows {
    /// How many rows have a key that can't be read.
    pub(crate) unreadable: u64,
    /// Keys that are in several rows that differ.
    pub(crate) shared: BTreeSet<Key>,
    /// Keys of rows that can't be used, and that the job doesn't know.
    pub(crate) unknown: BTreeSet<Key>,
}

impl StrayRows {
    /// Why the read proves no one absent; empty if it may.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        match self.unreadable {
            0 => {}
            1 => doubts.push("the key of 1 row could not be read, so it may be anybody's".to_owned()),
            many => doubts.push(format!("the keys of {many} rows could not be read, so they may be anybody's")),
        }
        match named(&self.shared) {
            None => {}
            Some((1, key)) => doubts.push(format!(
                "key {key} stands in several rows that differ, so one of them may be that of another person whose key is mistyped"
            )),
            Some((many, keys)) => doubts.push(format!(
                "{many} keys stand in several rows that differ ({keys}), so some of these rows may be those of others whose \
                 keys are mistyped"
            )),
        }
        match named(&self.unknown) {
            None => {}
            Some((1, key)) => doubts.push(format!(
                "a row that can't be used has a key that is not known here ({key}), so it may be anybody whose key is mistyped"
            )),
            Some((many, keys)) => doubts.push(format!(
                "{many} rows that can't be used have keys that are not known here ({keys}), so they may be anybody whose keys \
                 are mistyped"
            )),
        }
        doubts
    }
}

/// How many keys there are, and the first of them; none where there is none.
fn named(keys: &BTreeSet<Key>) -> Option<(usize, String)> {
    let named: Vec<String> = keys.iter().take(NAMED_MAX).map(Key::to_string).collect();
    let more = if keys.len() > NAMED_MAX { ", …" } else { "" };
    (!keys.is_empty()).then(|| (keys.len(), format!("{}{more}", named.join(", "))))
}
