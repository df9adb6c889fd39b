//! The form of a stored row: version, checksum, payload.

use xxhash_rust::xxh3::xxh3_64;

/// The format that this program writes and reads.
pub(super) const FORMAT: u32 = 1;

const VERSION: u8 = 1;
const HEAD: usize = 9;

/// Why a row can't be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Version(u8),
    Checksum,
    Content,
}

pub(super) fn encode(key: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(HEAD + payload.len());
    row.push(VERSION);
    row.extend_from_slice(&checksum(key, payload).to_le_bytes());
    row.extend_from_slice(payload);
    row
}

pub(super) fn decode<'a>(key: &[u8], row: &'a [u8]) -> Result<&'a [u8], Fault> {
    let (head, payload) = row.split_at_checked(HEAD).ok_or(Fault::Checksum)?;
    // A later version may compute its checksum in another way, so a version that is one above is believed.
    if head[0] == VERSION + 1 {
        return Err(Fault::Version(head[0]));
    }
    if head[0] != VERSION || head[1..] != checksum(key, payload).to_le_bytes() {
        return Err(Fault::Checksum);
    }
    Ok(payload)
}

/// The checksum that a row carries, which stands for its key and content.
pub(super) fn digest(row: &[u8]) -> u64 {
    row.get(1..HEAD).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// The key is part of it: a row that turns up under another key is damage too.
fn checksum(key: &[u8], payload: &[u8]) -> u64 {
    xxh3_64(payload) ^ xxh3_64(key).rotate_left(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_flipped_bit_is_noticed(payload in proptest::collection::vec(any::<u8>(), 0..64), bit in 0usize..512) {
            let row = encode(b"k", &payload);
            prop_assert_eq!(decode(b"k", &row), Ok(payload.as_slice()));
            let mut flipped = row.clone();
            let bit = bit % (row.len() * 8);
            flipped[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(decode(b"k", &flipped).is_err());
            prop_assert!(decode(b"other", &row).is_err());
        }
    }
}
