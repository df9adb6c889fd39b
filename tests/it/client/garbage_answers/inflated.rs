//! A small answer that becomes a large one: gzip by hand, since no library writes what a liar would.

/// Gzip of so many spaces: a block of fixed codes that repeats one space by the longest match there is. The checksum at
/// its end is wrong, but a reader that stops at a limit does not see it.
pub(super) fn spaces(count: usize) -> Vec<u8> {
    const MATCH: usize = 258;
    let mut bits = Bits::default();
    bits.push(0b1, 1); // the last block
    bits.push(0b01, 2); // of fixed codes
    bits.push_code(0x30 + 0x20, 8); // a space
    for _ in 0..count.div_ceil(MATCH) {
        bits.push_code(0b1100_0101, 8); // a length of 258
        bits.push_code(0, 5); // at a distance of 1
    }
    bits.push_code(0, 7); // the end of the block
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    [&header[..], &bits.bytes, &[0; 8]].concat()
}

/// Bits in the order of DEFLATE: from the lowest of each byte.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    fn push(&mut self, value: u16, length: usize) {
        (0..length).for_each(|bit| self.bit(value >> bit & 1 == 1));
    }

    /// A code goes from its highest bit.
    fn push_code(&mut self, code: u16, length: usize) {
        (0..length).rev().for_each(|bit| self.bit(code >> bit & 1 == 1));
    }

    fn bit(&mut self, is_set: bool) {
        if self.count.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let (Some(last), true) = (self.bytes.last_mut(), is_set) {
            *last |= 1 << (self.count % 8);
        }
        self.count += 1;
    }
}
