//! The rows: keys in order, values that look like a person's row as JSON and are all different.

/// The key of a row.
pub(crate) fn key(number: u64) -> String {
    format!("E{number:09}")
}

/// Its value: about 400 bytes, of which some don't compress.
pub(crate) fn value(number: u64) -> Vec<u8> {
    let (one, other) = (scattered(number), scattered(number ^ 0x5555));
    format!(
        "{{\"id\":{number},\"created\":\"2026-11-24T08:00:00Z\",\"sent\":{{\"name\":\"Person {one:016x}\",\"email\":\"person{number}@example.com\",\
         \"title\":\"Clerk of department {}\",\"mobile\":\"+64 21 {:07}\",\"location\":\"Auckland Office\",\"employee_id\":\"E{number:09}\"}},\
         \"kept\":{{\"name\":\"Person {one:016x}\",\"title\":\"Clerk of department {}\"}},\"digest\":\"{one:016x}{other:016x}\"}}",
        one % 200,
        other % 10_000_000,
        one % 200,
    )
    .into_bytes()
}

/// A number that looks like chance and is the same each time (a step of SplitMix64).
pub(crate) fn scattered(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
