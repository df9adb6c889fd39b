//! Reproducible pseudo-random numbers.

/// 64 bits that depend on the seed and the number only (the finalizer of splitmix64).
pub(crate) fn bits(seed: u64, number: u64) -> u64 {
    let mut bits = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(number.wrapping_mul(0xD1B5_4A32_D192_ED03));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// A number in 0..1.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
pub(crate) fn draw(seed: u64, number: u64) -> f64 {
    (bits(seed, number) >> 11) as f64 / (1_u64 << 53) as f64
}

/// One of the items.
pub(crate) fn pick<T: Copy>(items: &[T], seed: u64, number: u64) -> T {
    let index = bits(seed, number) % items.len() as u64;
    items[usize::try_from(index).expect("it is below the length of a slice")]
}
