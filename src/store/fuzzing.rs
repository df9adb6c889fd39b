//! Made-up rows, and what must hold of each.

pub(crate) use super::embedded::fuzz_sorted_file as sorted_file;
use super::row::{decode, encode};
pub(crate) use super::transfer::fuzzing::transfer;

/// A stored row, below a key of a byte that comes first: it is what was written, or it is damaged.
pub(crate) fn stored_row(bytes: &[u8]) {
    let Some((key, row)) = bytes.split_at_checked(1) else { return };
    if let Ok(read) = decode(key, row) {
        let again = encode(key, read.generation, read.payload);
        assert!(decode(key, &again).is_ok_and(|again| again == read), "a row is read as it was written");
        assert!(again == row || row.first() != again.first(), "a row of this form is written in one way");
        assert!(decode(b"another key", row).is_err(), "a row is below its own key");
    }
    let generation = u32::from(key[0]);
    for payload in [Some(row), None] {
        let mut written = encode(key, generation, payload);
        let read = decode(key, &written).expect("what was written");
        assert_eq!((read.generation, read.payload), (generation, payload));
        let at = row.len() % written.len();
        written[at] ^= 1 << (key[0] % 8);
        assert!(decode(key, &written).is_err(), "byte {at} was changed, and nothing noticed it");
    }
}
