//! Made-up files of rows, and what must hold of each.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;

use rustix::fs::MemfdFlags;
use xxhash_rust::xxh3::xxh3_64;

use super::reader::SsTable;
use super::table::{BlockPart, MAGIC, TableMeta};
use super::writer::TableWriter;
use crate::store::engine::Projection;
use crate::store::error::ErrorKind;

/// What a file says of its rows, each digest made to fit; or rows, which are written and read. The first byte says which.
pub(crate) fn sorted_file(bytes: &[u8]) {
    match bytes.split_first() {
        Some((0..128, rest)) => _ = forged(rest),
        Some((_, rest)) => written(rest),
        None => {}
    }
}

/// A file whose digests are right and whose numbers are anything: it is read to its end, or it is damaged.
fn forged(mut bytes: &[u8]) -> Option<Result<u64, ErrorKind>> {
    let (rows, size) = (number::<8>(&mut bytes)?, number::<8>(&mut bytes)?);
    let mut claims = Vec::new();
    for _ in 0..number::<1>(&mut bytes)? % 8 {
        let length = number::<1>(&mut bytes)?;
        let (first, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
        bytes = rest;
        let offset = number::<8>(&mut bytes)?;
        let mut part = || number::<4>(&mut bytes).zip(number::<4>(&mut bytes));
        claims.push((first, offset, [part()?, part()?]));
    }
    let blocks = [MAGIC.as_slice(), bytes].concat();
    let mut contents = Vec::new();
    for (first, offset, parts) in claims {
        contents.extend_from_slice(&u16::try_from(first.len()).ok()?.to_le_bytes());
        contents.extend_from_slice(first);
        contents.extend_from_slice(&offset.to_le_bytes());
        let mut from = usize::try_from(offset).unwrap_or(usize::MAX).min(blocks.len());
        for (stored, plain) in parts {
            let to = from.saturating_add(usize::try_from(stored).ok()?).min(blocks.len());
            let plain = u32::try_from(plain).ok()?;
            contents.extend_from_slice(&u32::try_from(stored).ok()?.to_le_bytes());
            contents.extend_from_slice(&plain.to_le_bytes());
            contents.extend_from_slice(&BlockPart::digest_of(plain, &blocks[from..to]).to_le_bytes());
            from = to;
        }
    }
    let digest = xxh3_64(&contents);
    let end = [blocks.len() as u64, contents.len() as u64, digest, rows, size].map(u64::to_le_bytes).concat();
    let file = in_memory(&[blocks.as_slice(), &contents, &end, MAGIC].concat());
    Some(read_whole(file, &TableMeta { generation: 1, rows, bytes: size, digest }))
}

/// Rows are read as they were written, and a byte that changes is noticed (fault 12).
fn written(mut bytes: &[u8]) {
    let Some(flipped) = number::<2>(&mut bytes) else { return };
    let mut rows = BTreeMap::new();
    while let Some((key, value)) = row(&mut bytes) {
        rows.insert(key, value);
    }
    let file = in_memory(&[]);
    let mut writer = TableWriter::begin(file.try_clone().expect("it is open"), 1).expect("there is memory");
    rows.iter().for_each(|(key, value)| writer.push(key, value).expect("there is memory"));
    let (meta, _) = writer.end_unsynced().expect("there is memory");
    let table = Arc::new(SsTable::of(file.try_clone().expect("it is open"), &meta, "rows").expect("it was written"));
    table.check().expect("it was written");
    let mut all = table.rows_from(b"", Projection::Rows);
    for (key, value) in &rows {
        let read = all.next().expect("it was written").expect("a row for each that was written");
        assert!(read == (key.as_slice(), value.as_slice()), "a row is read as it was written");
        assert!(table.get(key).expect("it was written").is_some_and(|read| read == *value), "it is found by its key");
    }
    assert!(all.next().expect("it was written").is_none(), "there is no other row");
    damaged(&file, &meta, flipped);
}

fn damaged(file: &File, meta: &TableMeta, flipped: u64) {
    use std::os::unix::fs::FileExt as _;
    let length = file.metadata().expect("it is open").len();
    let at = flipped % length;
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("it is in memory");
    file.write_all_at(&[byte[0] ^ 1 << (flipped % 8)], at).expect("it is in memory");
    let read = SsTable::of(file.try_clone().expect("it is open"), meta, "rows").and_then(|table| table.check());
    assert!(read.is_err(), "byte {at} of {length} was changed, and nothing noticed it");
}

/// A key and a value, each shorter than 256 bytes.
fn row(bytes: &mut &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut part = || {
        let length = usize::try_from(number::<1>(bytes)?).ok()?;
        let (part, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        Some(part.to_vec())
    };
    part().zip(part())
}

fn number<const BYTES: usize>(bytes: &mut &[u8]) -> Option<u64> {
    let (digits, rest) = bytes.split_first_chunk::<BYTES>()?;
    *bytes = rest;
    Some(digits.iter().rev().fold(0, |number, digit| number << 8 | u64::from(*digit)))
}

fn in_memory(bytes: &[u8]) -> File {
    let mut file = File::from(rustix::fs::memfd_create("fuzz", MemfdFlags::CLOEXEC).expect("there is memory"));
    file.write_all(bytes).expect("there is memory");
    file
}

fn read_whole(file: File, meta: &TableMeta) -> Result<u64, ErrorKind> {
    let table = Arc::new(SsTable::of(file, meta, "rows")?);
    table.check()?;
    table.get(b"b")?;
    let (mut rows, mut count) = (table.rows_from(b"", Projection::Rows), 0);
    while rows.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}
