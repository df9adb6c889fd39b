//! sorted file (SSTable): rows in order of key, written once and never changed. It holds a keyspace as of the last
//! merge.
//!
//! ```text
//! magic | block … | contents | end
//! block     two parts, each packed with LZ4 where that makes it smaller:
//!           keys: key length (u16), value length (u32), key, of each row; and values: those of all rows
//! contents  per block: key length (u16), first key, offset (u64), and of each part: stored length (u32), plain length (u32),
//!           digest (u64)
//! end       offset of the contents (u64), their length (u64), their digest (u64), rows (u64), plain bytes (u64), magic
//! ```
//!
//! All numbers are little-endian, all digests xxh3.
//!
//! Invariants:
//! - A file counts only once it is whole and on disk; the store names it together with its [`TableMeta`], so that a file that is
//!   another, or shorter, is damage.
//! - Every block is held against its digest whenever it is read, and all of them when the store is opened.
//! - What a file claims of itself is held against its size before anything is asked for or computed by it.
//! - In memory there are the contents and a few blocks, however many rows there are.
//!
//! The keys lie apart, so that who asks only for them unpacks nothing else; a store with a large part of its bytes in values is
//! walked in a fraction of the time.
//!
//! Rejected: sled for everything. A million people are three million rows to it: a second to open, an index of them in
//! memory for ever, and half a minute to load. A sorted file is read in order at the speed of the disk and needs nothing
//! to be opened. Rejected too: one file a row kind and job. Whatever moves is merged by space, and there are few.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3Default;

/// What a file begins and ends with; the last byte is the version of its form.
pub(super) const MAGIC: &[u8; 8] = b"rosterd\x01";
/// The bytes behind the contents.
pub(super) const END_BYTES: usize = 5 * 8 + MAGIC.len();
/// A block is closed once it has so many plain bytes: small enough to look up one row, large enough to be packed well.
pub(super) const BLOCK_BYTES: usize = 8 * 1024;

/// What the store remembers of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::store::embedded) struct TableMeta {
    /// The number of the file in its space; each is one higher than the one before.
    pub(in crate::store::embedded) generation: u32,
    /// How many rows it has.
    pub(in crate::store::embedded) rows: u64,
    /// How many bytes its keys and values have.
    pub(in crate::store::embedded) bytes: u64,
    /// The digest of its contents, which hold the digests of all its blocks.
    pub(in crate::store::embedded) digest: u64,
}

/// Where a block lies.
#[derive(Debug)]
pub(super) struct Block {
    /// The first key, as a range of `SsTable::firsts`.
    pub(super) first: (u32, u32),
    pub(super) offset: u64,
    pub(super) keys: BlockPart,
    /// It lies behind the keys.
    pub(super) values: BlockPart,
}

/// How long a part of a block is, in the file and unpacked, and its digest.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockPart {
    pub(super) stored: u32,
    pub(super) plain: u32,
    pub(super) digest: u64,
}

impl Block {
    /// How many bytes it has in the file.
    pub(super) fn stored(&self) -> usize {
        self.keys.stored as usize + self.values.stored as usize
    }
}

impl BlockPart {
    /// The digest of what is stored; its length when unpacked is under it too.
    pub(super) fn digest_of(plain: u32, stored: &[u8]) -> u64 {
        let mut digest = Xxh3Default::new();
        digest.update(&plain.to_le_bytes());
        digest.update(stored);
        digest.digest()
    }

    /// Whether this is what was stored.
    pub(super) fn is_of(&self, stored: &[u8]) -> bool {
        Self::digest_of(self.plain, stored) == self.digest
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::FileExt as _;

    use proptest::prelude::*;

    use super::super::reader::SsTable;
    use super::super::writer::TableWriter;
    use super::*;
    use crate::store::engine::Projection;

    fn written(path: &std::path::Path, rows: &BTreeMap<Vec<u8>, Vec<u8>>) -> TableMeta {
        let mut writer = TableWriter::create(path, 1).unwrap();
        rows.iter().for_each(|(key, value)| writer.push(key, value).unwrap());
        writer.end().unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_file_holds_what_was_written(
            rows in proptest::collection::btree_map(
                proptest::collection::vec(any::<u8>(), 1..12),
                (any::<u8>(), 0usize..9000).prop_map(|(byte, length)| vec![byte; length]),
                0..60,
            ),
            asked in proptest::collection::vec(any::<u8>(), 0..12),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("rows");
            let meta = written(&path, &rows);
            let table = std::sync::Arc::new(SsTable::open(&path, &meta).unwrap());
            table.check().unwrap();
            prop_assert_eq!(meta.rows, rows.len() as u64);
            for (key, value) in &rows {
                let found = table.get(key).unwrap();
                prop_assert_eq!(found.as_deref(), Some(value.as_slice()));
            }
            prop_assert_eq!(table.get(&asked).unwrap(), rows.get(&asked).cloned());
            for shown in [Projection::Rows, Projection::Keys] {
                let mut from = table.rows_from(&asked, shown);
                let value = |value: &Vec<u8>| if shown == Projection::Keys { Vec::new() } else { value.clone() };
                let expected: Vec<_> = rows.range(asked.clone()..).map(|(k, v)| (k.clone(), value(v))).collect();
                let mut found = Vec::new();
                while let Some((key, value)) = from.next().unwrap() {
                    found.push((key.to_vec(), value.to_vec()));
                }
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn fault_12_a_changed_or_missing_byte_is_damage_wherever_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows");
        let rows = (0..3000u32).map(|n| (format!("key{n:05}").into_bytes(), n.to_le_bytes().repeat(9))).collect();
        let meta = written(&path, &rows);
        let whole = fs::read(&path).unwrap();
        let is_whole = || SsTable::open(&path, &meta).and_then(|table| table.check()).is_ok();
        assert!(is_whole());
        for at in (0..whole.len()).step_by(41).chain([whole.len() - 1]) {
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.write_all_at(&[whole[at] ^ 0x10], at as u64).unwrap();
            assert!(!is_whole(), "byte {at} of {} was another", whole.len());
            file.write_all_at(&[whole[at]], at as u64).unwrap();
        }
        for length in [0, 1, 7, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(!is_whole(), "it was cut to {length}");
        }
        fs::write(&path, [whole.as_slice(), b"x"].concat()).unwrap();
        assert!(!is_whole(), "something follows");
        let other = BTreeMap::from([(b"key00001".to_vec(), b"older".to_vec())]);
        fs::remove_file(&path).unwrap();
        written(&path, &other);
        assert!(!is_whole(), "another file under its name");
    }
}
