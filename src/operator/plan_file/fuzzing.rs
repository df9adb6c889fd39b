//! Made-up plan files, and what must hold of each.

use serde_json::{Value as Json, json};

use super::file::{PlanFile, VERSION, seal};

/// A file as it is, or what it holds, which is sealed here; two bytes before it say where a byte of it is changed.
pub(crate) fn plan_file(bytes: &[u8]) {
    let Some((at, content)) = bytes.split_first_chunk::<2>() else { return };
    _ = PlanFile::decode(content);
    let Ok(plan) = serde_json::from_slice::<Json>(content) else { return };
    let sealed = json!({"version": VERSION, "seal": seal(&plan), "plan": plan}).to_string();
    let Ok(read) = PlanFile::decode(sealed.as_bytes()) else { return };
    let written = read.encode();
    let again = PlanFile::decode(written.as_bytes()).expect("what was written");
    assert_eq!(again.encode(), written);
    assert_eq!(again.counts(), read.counts());
    changed(&written, usize::from(u16::from_le_bytes(*at)));
}

/// A file that was changed in a byte is refused (fault 111).
fn changed(written: &str, at: usize) {
    let at = at % written.len();
    let mut bytes = written.as_bytes().to_vec();
    bytes[at] ^= 1;
    if let Ok(read) = PlanFile::decode(&bytes) {
        let is_space = written.as_bytes()[at].is_ascii_whitespace();
        assert!(is_space && read.encode() == written, "byte {at} was changed, and nothing noticed it");
    }
}
