//! What a fuzzer hands made-up requests to. It is part of builds for tests and for the fuzzer alone.

use crate::{decode, xml};

/// A body as XML; the same bytes as a path, as a query and as credentials.
///
/// # Panics
///
/// Where something does not hold that must.
pub fn sandbox(bytes: &[u8]) {
    if let Ok(value) = xml::value(bytes) {
        let json = value.to_string();
        let written = xml::document(json.as_bytes(), "staff").expect("a value is JSON");
        assert_eq!(xml::value(written.as_bytes()), Ok(value), "a value is read as it was written");
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        _ = (decode::segments(text), decode::pairs(text), decode::basic(text));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::sandbox;

    #[test]
    fn whatever_a_fuzzer_began_with_or_found_holds() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/sandbox");
        let count = fs::read_dir(seeds).unwrap().map(|seed| sandbox(&fs::read(seed.unwrap().path()).unwrap())).count();
        assert!(count > 0, "there is no seed");
    }
}
