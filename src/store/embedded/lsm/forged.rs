//! Tests with files whose digests are right and whose numbers are wrong.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::sync::Arc;

use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::reader::SsTable;
use super::table::{BlockPart, END_BYTES, MAGIC, TableMeta};
use super::writer::TableWriter;
use crate::store::engine::Projection;

/// The numbers of one block, as the contents have them.
#[derive(Clone, Debug)]
struct Claim {
    first: Vec<u8>,
    offset: u64,
    /// Stored and plain length of the keys and of the values.
    parts: [(u32, u32); 2],
}

/// A file taken apart: what lies before the contents, and what these say.
struct Parts {
    blocks: Vec<u8>,
    claims: Vec<Claim>,
    rows: u64,
    bytes: u64,
}

impl Parts {
    /// Those of a file of so many rows.
    fn of(rows: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows");
        let mut writer = TableWriter::create(&path, 1).unwrap();
        let all: BTreeMap<Vec<u8>, Vec<u8>> =
            (0..rows).map(|n| (format!("key{n:05}").into_bytes(), n.to_le_bytes().repeat(30))).collect();
        all.iter().for_each(|(key, value)| writer.push(key, value).unwrap());
        let meta = writer.end().unwrap();
        let whole = fs::read(path).unwrap();
        let end = whole.len() - END_BYTES;
        let at = u64::from_le_bytes(whole[end..end + 8].try_into().unwrap()) as usize;
        let mut claims = Vec::new();
        let mut rest = &whole[at..end];
        while !rest.is_empty() {
            let length = usize::from(u16::from_le_bytes(rest[..2].try_into().unwrap()));
            let (first, numbers) = rest[2..].split_at(length);
            let length = |at: usize| u32::from_le_bytes(numbers[at..at + 4].try_into().unwrap());
            claims.push(Claim {
                first: first.to_vec(),
                offset: u64::from_le_bytes(numbers[..8].try_into().unwrap()),
                parts: [8, 24].map(|at| (length(at), length(at + 4))),
            });
            rest = &numbers[40..];
        }
        Self { blocks: whole[..at].to_vec(), claims, rows: meta.rows, bytes: meta.bytes }
    }

    /// Puts them together and recomputes every digest to match.
    fn sealed(&self) -> (Vec<u8>, TableMeta) {
        let mut contents = Vec::new();
        for Claim { first, offset, parts } in &self.claims {
            contents.extend_from_slice(&(first.len() as u16).to_le_bytes());
            contents.extend_from_slice(first);
            contents.extend_from_slice(&offset.to_le_bytes());
            let mut from = usize::try_from(*offset).unwrap_or(usize::MAX).min(self.blocks.len());
            for (stored, plain) in parts {
                let to = from.saturating_add(*stored as usize).min(self.blocks.len());
                contents.extend_from_slice(&stored.to_le_bytes());
                contents.extend_from_slice(&plain.to_le_bytes());
                contents.extend_from_slice(&BlockPart::digest_of(*plain, &self.blocks[from..to]).to_le_bytes());
                from = to;
            }
        }
        let digest = xxh3_64(&contents);
        let numbers = [self.blocks.len() as u64, contents.len() as u64, digest, self.rows, self.bytes];
        let mut whole = [self.blocks.as_slice(), &contents].concat();
        numbers.iter().for_each(|number| whole.extend_from_slice(&number.to_le_bytes()));
        whole.extend_from_slice(MAGIC);
        (whole, TableMeta { generation: 1, rows: self.rows, bytes: self.bytes, digest })
    }

    /// Opens them and reads everything; what is damaged is an error.
    fn read(&self) -> Result<u64, String> {
        let (whole, meta) = self.sealed();
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &whole).unwrap();
        read(file, &meta)
    }
}

fn read(file: File, meta: &TableMeta) -> Result<u64, String> {
    let text = |kind: crate::store::error::ErrorKind| kind.to_string();
    let table = Arc::new(SsTable::of(file, meta, "rows").map_err(text)?);
    table.check().map_err(text)?;
    table.get(b"key00007").map_err(text)?;
    let mut rows = table.rows_from(b"", Projection::Rows);
    let mut count = 0;
    while rows.next().map_err(text)?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Numbers with which arithmetic goes wrong, and some near the right one.
fn number() -> impl Strategy<Value = (bool, u64)> {
    let edges = [0, 1, 7, 8, 0xff, 0xffff, 0x7fff_ffff, 0xffff_fff8, 0xffff_ffff, u64::MAX - 7, u64::MAX];
    let far = proptest::sample::select(edges.to_vec());
    prop_oneof![
        far.prop_map(|number| (true, number)),
        any::<u64>().prop_map(|number| (true, number)),
        (0u64..64).prop_map(|by| (false, by))
    ]
}

fn forge(right: u64, (is_all, number): (bool, u64)) -> u64 {
    if is_all { number } else { right.wrapping_add(number).wrapping_sub(32) }
}

#[test]
fn a_file_put_together_again_is_whole() {
    for rows in [0, 1, 2000] {
        assert_eq!(Parts::of(rows).read(), Ok(rows.into()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn forged_numbers_are_damage_whatever_their_digests_say(
        at in any::<proptest::sample::Index>(),
        other in any::<proptest::sample::Index>(),
        field in 0u8..7,
        part in 0usize..2,
        forged in number(),
    ) {
        let mut parts = Parts::of(2000);
        let at = at.index(parts.claims.len());
        let other = other.index(parts.claims.len());
        let before = parts.sealed().0;
        match field {
            0 => parts.claims[at].offset = forge(parts.claims[at].offset, forged),
            1 => parts.claims[at].parts[part].0 = forge(parts.claims[at].parts[part].0.into(), forged) as u32,
            2 => parts.claims[at].parts[part].1 = forge(parts.claims[at].parts[part].1.into(), forged) as u32,
            3 => parts.rows = forge(parts.rows, forged),
            4 => parts.bytes = forge(parts.bytes, forged),
            5 => parts.claims.swap(at, other),
            _ => {
                // What one part has less another has more, so that the sum is right.
                let by = (forged.1 % 4096) as u32;
                let less = &mut parts.claims[at].parts[part].1;
                *less = less.wrapping_sub(by);
                let more = &mut parts.claims[other].parts[1 - part].1;
                *more = more.wrapping_add(by);
            }
        }
        prop_assume!(parts.sealed().0 != before);
        prop_assert!(parts.read().is_err());
    }
}
