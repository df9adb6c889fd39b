//! The form of the index's pages in the store.
//!
//! A page ends after a key whose hash says so, not after a fixed number of keys: a key that comes or goes moves one
//! boundary at most, and every other page stays as it is and is not written again.

use xxhash_rust::xxh3::xxh3_64;

use super::entry::IndexEntry;
use crate::record::Day;

/// One key in this many ends a page, on average.
const PAGE_KEYS: u64 = 1024;
/// Flags of an entry: complete reads miss its key; a day follows on which its row has another result.
const GONE: u8 = 1;
const DUE: u8 = 2;
/// A page is never longer than this.
const PAGE_KEYS_MAX: usize = 8 * 1024;

/// Cuts entries, in order of key, into pages: (first key, bytes).
pub(super) fn encode<'a>(mut entries: impl Iterator<Item = IndexEntry<'a>>) -> impl Iterator<Item = (String, Vec<u8>)> {
    std::iter::from_fn(move || page(&mut entries))
}

fn page<'a>(entries: &mut impl Iterator<Item = IndexEntry<'a>>) -> Option<(String, Vec<u8>)> {
    let mut first = None;
    let mut bytes = Vec::new();
    for (at, entry) in entries.enumerate() {
        first.get_or_insert_with(|| entry.key.to_owned());
        let length = u16::try_from(entry.key.len()).expect("a key is at most a field long, which is 4 KiB");
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(entry.key.as_bytes());
        bytes.extend_from_slice(&entry.digest.to_le_bytes());
        bytes.extend_from_slice(&entry.id.to_le_bytes());
        bytes.push(if entry.gone { GONE } else { 0 } | if entry.due.is_some() { DUE } else { 0 });
        bytes.extend(entry.due.into_iter().flat_map(|day| day.number().to_le_bytes()));
        if xxh3_64(entry.key.as_bytes()).is_multiple_of(PAGE_KEYS) || at + 1 == PAGE_KEYS_MAX {
            break;
        }
    }
    first.map(|first| (first, bytes))
}

/// Reads a page; `None` where it is not one.
pub(super) fn decode(mut bytes: &[u8], mut visit: impl FnMut(IndexEntry<'_>)) -> Option<()> {
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let (key, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
        let (digest, rest) = rest.split_first_chunk::<16>()?;
        let (id, rest) = rest.split_first_chunk::<4>()?;
        let (flags, mut rest) = rest.split_first()?;
        let mut due = None;
        if flags & DUE != 0 {
            let (day, after) = rest.split_first_chunk::<4>()?;
            (due, rest) = (Day::from_number(u32::from_le_bytes(*day)), after);
        }
        visit(IndexEntry {
            key: std::str::from_utf8(key).ok()?,
            digest: u128::from_le_bytes(*digest),
            id: i32::from_le_bytes(*id),
            gone: flags & GONE != 0,
            due,
        });
        bytes = rest;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_it_was_written() {
        let day = Day::of(jiff::civil::date(2026, 2, 28));
        let entry = |key, gone, due| IndexEntry { key, digest: 7, id: 1, gone, due };
        let entries = [entry("a", false, None), entry("b", true, None), entry("c", false, day), entry("d", true, day)];
        let pages: Vec<_> = encode(entries.into_iter()).collect();
        let mut read = Vec::new();
        for (_, bytes) in &pages {
            decode(bytes, |entry| read.push((entry.key.to_owned(), entry.gone, entry.due))).unwrap();
        }
        let expected = entries.map(|entry| (entry.key.to_owned(), entry.gone, entry.due));
        assert_eq!(read, expected);
        assert!(decode(&pages[0].1[..pages[0].1.len() - 1], |_| {}).is_none(), "a page that was cut is none");
    }
}
