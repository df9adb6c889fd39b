//! Filters on plain text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::record::RowDefect;
use crate::source::dn;

/// The widest that `zfill` makes a text.
const WIDTH_MAX: usize = 64;

/// Zeros in front, up to a width in characters.
pub(super) fn zfill(text: &str, width: usize) -> Result<String, RowDefect> {
    if width > WIDTH_MAX {
        return Err(format!("`zfill` goes up to {WIDTH_MAX}").into());
    }
    Ok(format!("{text:0>width$}"))
}

/// The ASCII digits, leading zeros included.
pub(super) fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Each inner run of white space as one space.
pub(super) fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a whole number has any of the bits of `mask`.
pub(super) fn bit(text: &str, mask: i64) -> Result<bool, RowDefect> {
    let number: i64 = text.parse().map_err(|_| "the value is no whole number, so it has no bits")?;
    Ok(number & mask != 0)
}

/// The longest place in a directory, in bytes: it is meant for the guard's segment, which messages contain.
pub(super) const PLACE_BYTES_MAX: usize = 200;

/// Where an entry of a directory lies, by its name: `Auckland/Sales`. Of a long one the end is kept.
pub(super) fn ou(dn: &str) -> Result<String, RowDefect> {
    if !dn.contains('=') {
        return Err("the value is no name of an entry, such as `dn`".into());
    }
    let long = dn::place(dn::parent(dn));
    let mut start = long.len().saturating_sub(PLACE_BYTES_MAX);
    while !long.is_char_boundary(start) {
        start += 1;
    }
    Ok(long[start..].to_owned())
}

/// How long the base64 of 16 bytes is.
const GUID_BASE64_BYTES: usize = 24;

/// A GUID in its usual form: lower case, with dashes, without braces. Sixteen bytes as base64 are one as Active Directory
/// stores it.
pub(super) fn guid(text: &str) -> Result<String, RowDefect> {
    if text.len() == GUID_BASE64_BYTES
        && let Ok(bytes) = STANDARD.decode(text)
    {
        return guid_of_bytes(&bytes);
    }
    let bare = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
    let dashed = bare.char_indices().filter(|(_, c)| *c == '-').map(|(at, _)| at);
    let hex: String = bare.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect();
    let placed = bare.len() == 32 || dashed.eq([8, 13, 18, 23]);
    if !placed || hex.len() != 32 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("the value is no GUID".into());
    }
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

/// A GUID of 16 bytes as Active Directory stores it: the first three parts have their bytes the other way round.
pub(super) fn guid_of_bytes(bytes: &[u8]) -> Result<String, RowDefect> {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    if bytes.len() != ORDER.len() {
        return Err("the value is no GUID".into());
    }
    let hex: String = ORDER.iter().map(|at| format!("{:02x}", bytes[*at])).collect();
    guid(&hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_filters_do_what_they_say() {
        assert_eq!(zfill("42", 5).unwrap(), "00042");
        assert_eq!(zfill("123456", 5).unwrap(), "123456");
        assert!(zfill("1", 65).is_err());
        assert_eq!(digits("+64 (0)29-838"), "64029838");
        assert_eq!(squeeze("Ana\t  Maria\nB"), "Ana Maria B");
        assert_eq!((bit("514", 2), bit("512", 2), bit("x", 2).is_err()), (Ok(true), Ok(false), true));
    }

    #[test]
    fn a_place_in_a_directory_is_short_enough_for_a_segment() {
        assert_eq!(ou("CN=Ana,OU=Sales,OU=Auckland,DC=x").as_deref(), Ok("Auckland/Sales"));
        assert!(ou("Ana Lee").is_err());
        let long = |letter: char| letter.to_string().repeat(150);
        let place = ou(&format!("CN=Ana,OU={},OU={},DC=x", long('é'), long('b'))).unwrap();
        assert_eq!(place, "é".repeat(100));
    }

    #[test]
    fn a_guid_has_one_form() {
        let form = "04030201-0605-0807-090a-0b0c0d0e0fff";
        for text in [
            "04030201-0605-0807-090A-0B0C0D0E0FFF",
            "{04030201-0605-0807-090a-0b0c0d0e0fff}",
            "0403020106050807090a0b0c0d0e0fff",
            "AQIDBAUGBwgJCgsMDQ4P/w==",
        ] {
            assert_eq!(guid(text).as_deref(), Ok(form), "{text}");
        }
        assert_eq!(guid_of_bytes(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255]).as_deref(), Ok(form));
        for text in ["", "x", "0403020106050807090a0b0c0d0e0ff", "040302010-605-0807-090a-0b0c0d0e0fff", "é{}"] {
            assert!(guid(text).is_err(), "{text}");
        }
        assert!(guid_of_bytes(&[1, 2]).is_err());
    }
}
