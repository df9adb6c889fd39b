//! Made-up names of dropped files, and what must hold of each.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::name::{FILED_BYTES_MAX, dated, fits, is_left_alone, is_odd, shown};

/// A pattern, and the name of a file on the next line.
pub(crate) fn file_names(bytes: &[u8]) {
    let (pattern, name) = bytes.iter().position(|byte| *byte == b'\n').map_or((&b""[..], bytes), |at| {
        let (pattern, rest) = bytes.split_at(at);
        (pattern, &rest[1..])
    });
    let name = OsStr::from_bytes(name);
    let filed = shown(name);
    assert!(filed.len() <= FILED_BYTES_MAX && !filed.contains(['/', '\n']), "a file can be filed under what is shown");
    assert!(!is_odd(OsStr::new(&filed)) && shown(OsStr::new(&filed)) == filed, "what is shown can be shown");
    _ = is_left_alone(name);
    let Some(name) = name.to_str() else { return };
    assert!(fits("*", name) && fits(&format!("*{name}"), name), "a star is any text");
    if let Some(date) = dated(name) {
        assert!(date.len() == 14 && date.bytes().all(|byte| byte.is_ascii_digit()), "a date is one");
    }
    if let Ok(pattern) = std::str::from_utf8(pattern)
        && fits(pattern, name)
    {
        assert!(fits(&format!("*{pattern}*"), name), "what fits a pattern fits a wider one");
    }
}
