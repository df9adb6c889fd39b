//! Made-up pages of the index, and what must hold of each.

use super::IndexEntry;
use super::pages::{decode, encode};
use crate::record::Day;

/// A page: it is what was written, or none.
pub(crate) fn index_page(bytes: &[u8]) {
    let mut entries: Vec<(String, u128, i32, bool, Option<Day>)> = Vec::new();
    let read = decode(bytes, |entry| {
        entries.push((entry.key.to_owned(), entry.digest, entry.id, entry.gone, entry.due));
    });
    if read.is_none() {
        return;
    }
    let shown = entries.iter().map(|(key, digest, id, gone, due)| IndexEntry {
        key,
        digest: *digest,
        id: *id,
        gone: *gone,
        due: *due,
    });
    let mut again = Vec::new();
    for (first, page) in encode(shown) {
        let begins = again.len();
        decode(&page, |entry| again.push((entry.key.to_owned(), entry.digest, entry.id, entry.gone, entry.due)))
            .expect("what was written");
        assert!(again.get(begins).is_some_and(|entry| entry.0 == first), "a page is called by its first key");
    }
    assert_eq!(again, entries);
}
