//! The format of a row in sled: version, state, checksum, payload.
//!
//! A row also says over which file of its space it was written. One that is older than the file that counts now was merged
//! into it and says nothing any more, so that a file can take the place of any number of rows in a single commit.

use xxhash_rust::xxh3::xxh3_64;

/// The format of the store: its rows, and the files beside them.
pub(super) const FORMAT: u32 = 1;

const VERSION: u8 = 1;
/// Version, state, number of the file, checksum.
const HEAD: usize = 1 + 1 + 4 + 8;

const THERE: u8 = 0;
const REMOVED: u8 = 1;

/// Why a row can't be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RowFault {
    Version(u8),
    Checksum,
}

/// A row as it is stored.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StoredRow<'a> {
    /// The number of the file of its space that it was written over; 0 for none.
    pub(super) generation: u32,
    /// What it holds; `None` where it says that the row of the file is removed.
    pub(super) payload: Option<&'a [u8]>,
}

pub(super) fn encode(key: &[u8], generation: u32, payload: Option<&[u8]>) -> Vec<u8> {
    let bytes = payload.unwrap_or_default();
    let state = if payload.is_some() { THERE } else { REMOVED };
    let mut row = Vec::with_capacity(HEAD + bytes.len());
    row.extend_from_slice(&[VERSION, state]);
    row.extend_from_slice(&generation.to_le_bytes());
    row.extend_from_slice(&checksum(key, state, generation, bytes).to_le_bytes());
    row.extend_from_slice(bytes);
    row
}

pub(super) fn decode<'a>(key: &[u8], row: &'a [u8]) -> Result<StoredRow<'a>, RowFault> {
    // A later version may compute its checksum in another way, so a version that is one above is believed.
    match row.first() {
        Some(&version) if version == VERSION + 1 => Err(RowFault::Version(version)),
        Some(&VERSION) => {
            let (head, payload) = row.split_at_checked(HEAD).ok_or(RowFault::Checksum)?;
            let state = head[1];
            let generation = u32::from_le_bytes(head[2..6].try_into().expect("four bytes"));
            if state > REMOVED || head[6..] != checksum(key, state, generation, payload).to_le_bytes() {
                return Err(RowFault::Checksum);
            }
            Ok(StoredRow { generation, payload: (state == THERE).then_some(payload) })
        }
        _ => Err(RowFault::Checksum),
    }
}

/// The checksum that a row carries; it identifies its key and content.
pub(super) fn digest(row: &[u8]) -> u64 {
    row.get(6..HEAD).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// The key is part of it: a row that turns up under another key is damage too.
fn checksum(key: &[u8], state: u8, generation: u32, payload: &[u8]) -> u64 {
    let head = u64::from(generation) << 8 | u64::from(state);
    xxh3_64(payload) ^ xxh3_64(key).rotate_left(1) ^ xxh3_64(&head.to_le_bytes()).rotate_left(2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_flipped_bit_is_noticed(
            payload in proptest::collection::vec(any::<u8>(), 0..64),
            generation in any::<u32>(),
            bit in 0usize..512,
        ) {
            for payload in [Some(payload.as_slice()), None] {
                let row = encode(b"k", generation, payload);
                prop_assert_eq!(decode(b"k", &row), Ok(StoredRow { generation, payload }));
                let mut flipped = row.clone();
                let bit = bit % (row.len() * 8);
                flipped[bit / 8] ^= 1 << (bit % 8);
                prop_assert!(decode(b"k", &flipped).is_err());
                prop_assert!(decode(b"other", &row).is_err());
            }
        }
    }
}
