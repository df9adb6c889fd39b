//! Interprets the name of a dropped file.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// How the time is written in front of a name.
pub(super) const TIME: &str = "%Y%m%dT%H%M%SZ";
/// How many characters the time in front of a name has.
const TIME_CHARACTERS: usize = 16;
/// The longest name under which a file is filed, in bytes, so that a time and the name of a report fit beside it.
pub(super) const FILED_BYTES_MAX: usize = 150;

/// Whether the name is that of a file that is still being written, or that an operating system keeps for itself in each folder.
pub(super) fn is_left_alone(name: &OsStr) -> bool {
    const ENDS: [&[u8]; 5] = [b".part", b".tmp", b".filepart", b".partial", b".crdownload"];
    const OF_SYSTEMS: [&[u8]; 3] = [b"thumbs.db", b"ehthumbs.db", b"desktop.ini"];
    let name = name.as_bytes().to_ascii_lowercase();
    name.starts_with(b".")
        || name.starts_with(b"~$")
        || ENDS.iter().any(|end| name.ends_with(end))
        || OF_SYSTEMS.contains(&name.as_slice())
}

/// The order of names, as people read them: numbers by their value, and a name before the same with something behind it, as
/// `staff.csv` before `staff (1).csv`.
pub(super) fn in_order(one: &OsStr, other: &OsStr) -> Ordering {
    let stem = |name| pieces(Path::new(name).file_stem().unwrap_or(name).as_bytes());
    stem(one).cmp(stem(other)).then_with(|| one.cmp(other))
}

/// The parts of a name in turn: a number, whose place among other characters is that of a zero, with its digits and how many these
/// are; or one byte of anything else.
fn pieces(mut rest: &[u8]) -> impl Iterator<Item = (u8, usize, &[u8])> {
    std::iter::from_fn(move || {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (piece, behind) = rest.split_at_checked(digits.max(1))?;
        rest = behind;
        let zeros = piece.iter().take_while(|byte| **byte == b'0').count();
        let number = &piece[zeros..];
        Some(if digits > 0 { (b'0', number.len(), number) } else { (piece[0], 0, &[][..]) })
    })
}

/// Whether a name holds what no name should: a line break or another control character, or bytes that are no text.
pub(super) fn is_odd(name: &OsStr) -> bool {
    name.to_str().is_none_or(|name| name.chars().any(char::is_control))
}

/// Whether a name fits a pattern of `*` and `?`; case does not matter.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let (mut at, mut from) = (0, 0);
    // Where the last `*` is, and how much of the name it covers so far.
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || *wanted == name[from] => (at, from) = (at + 1, from + 1),
            _ => {
                let Some((place, length)) = star else { return false };
                star = Some((place, length + 1));
                (at, from) = (place + 1, length + 1);
            }
        }
    }
    pattern[at..].iter().all(|rest| *rest == '*')
}

/// A name as messages and the filed file have it: what can't be shown becomes `_`, and it is not too long.
pub fn shown(name: &OsStr) -> String {
    let text = name.to_string_lossy();
    let tame = |c: char| {
        c.is_control()
            || matches!(c, '/' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffd}')
    };
    let text: String = text.chars().map(|c| if tame(c) { '_' } else { c }).collect();
    if text.len() <= FILED_BYTES_MAX {
        return text;
    }
    // The end tells what kind of file it is.
    let starts = || text.char_indices().map(|(at, _)| at);
    let head = starts().take_while(|at| *at < FILED_BYTES_MAX * 2 / 3).last().unwrap_or(0);
    let tail = starts().find(|at| text.len() - at <= FILED_BYTES_MAX / 3).unwrap_or(text.len());
    format!("{}_{}", &text[..head], &text[tail..])
}

/// When a file of that name was filed.
pub(super) fn filed_at(name: &str) -> Option<Timestamp> {
    let time = name.get(..TIME_CHARACTERS).filter(|_| name[TIME_CHARACTERS..].starts_with('_'))?;
    let time = DateTime::strptime(TIME, time).ok()?;
    time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp())
}

/// Whether one file was filed after another one, by what they were filed as.
pub fn is_filed_later(name: &str, than: &str) -> bool {
    in_order(name.as_ref(), than.as_ref()).is_gt()
}

/// The name under which a file came that may have been filed.
pub fn unfiled(name: &str) -> &str {
    match name.split_at_checked(TIME_CHARACTERS + 1) {
        Some((time, rest)) if filed_at(name).is_some() && time.ends_with('_') && !rest.is_empty() => rest,
        _ => name,
    }
}

/// The date in a name, written year first (20261121, 2026-11-21, 2026_11_21), with the time behind it where there is one;
/// as digits, so that a later one compares as greater.
pub fn dated(name: &str) -> Option<String> {
    // The time in front of a name in processed/ is that of this program.
    let characters: Vec<char> = unfiled(name).chars().collect();
    (0..characters.len()).find_map(|at| date_at(&characters, at))
}

fn date_at(name: &[char], start: usize) -> Option<String> {
    if start > 0 && name[start - 1].is_ascii_digit() {
        return None;
    }
    let (year, at) = digits(name, start, 4)?;
    let (month, at) = digits(name, separated(name, at), 2)?;
    let (day, mut at) = digits(name, separated(name, at), 2)?;
    jiff::civil::Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()?;
    if !(1990..2200).contains(&year.parse::<i32>().ok()?) {
        return None;
    }
    let mut found = format!("{year}{month}{day}");
    // Hours, minutes and seconds, as far as they go.
    for limit in [24, 60, 60] {
        let behind = if name.get(at).is_some_and(|c| matches!(c, '-' | '_' | '.' | 'T' | 't' | ' ' | ':' | 'h')) {
            at + 1
        } else {
            at
        };
        match digits(name, behind, 2) {
            Some((part, end)) if part.parse::<u32>().is_ok_and(|part| part < limit) => {
                found.push_str(&part);
                at = end;
            }
            _ => break,
        }
    }
    Some(format!("{found:0<14}"))
}

fn separated(name: &[char], at: usize) -> usize {
    if name.get(at).is_some_and(|c| matches!(c, '-' | '_' | '.')) { at + 1 } else { at }
}

fn digits(name: &[char], at: usize, count: usize) -> Option<(String, usize)> {
    let found = name.get(at..at + count)?;
    found.iter().all(char::is_ascii_digit).then(|| (found.iter().collect(), at + count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_names_whatever_their_case() {
        for (pattern, name, expected) in [
            ("*.csv", "staff.csv", true),
            ("*.csv", "STAFF.CSV", true),
            ("*.csv", ".csv", true),
            ("*.csv", "staff.csv.xlsx", false),
            ("*.csv", "staff.csvx", false),
            ("staff-*.csv", "staff-2026.csv", true),
            ("staff-*.csv", "contractors.csv", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("staff?.csv", "staff1.csv", true),
            ("staff?.csv", "staff.csv", false),
            ("*", "", true),
            ("", "a", false),
            ("état*.csv", "ÉTAT 1.csv", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn work_in_progress_is_left_alone() {
        for (name, expected) in [
            (".staff.csv", true),
            ("~$staff.csv", true),
            ("staff.csv.part", true),
            ("staff.TMP", true),
            ("staff.csv.filepart", true),
            ("staff.csv.crdownload", true),
            ("Thumbs.db", true),
            ("desktop.ini", true),
            ("staff Thumbs.db", false),
            ("staff.csv", false),
            ("staff~$.csv", false),
            ("part", false),
        ] {
            assert_eq!(is_left_alone(OsStr::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn names_are_ordered_as_people_read_them() {
        let ordered = [
            "001.csv",
            "2.csv",
            "02 b.csv",
            "10.csv",
            "staff.csv",
            "staff (1).csv",
            "staff (2).csv",
            "staff (10).csv",
            "staff - Copy.csv",
            "staff-2026-9-30.csv",
            "staff-2026-10-01.csv",
            "staff20261001.csv",
            "staff_1.csv",
            "staffs.csv",
            "état.csv",
        ];
        let mut names: Vec<&OsStr> = ordered.iter().rev().map(OsStr::new).collect();
        names.sort_by(|one, other| in_order(one, other));
        assert_eq!(names, ordered.map(OsStr::new));
        let equal = ["007.csv", "07.csv", "7.csv", "7.xlsx"].map(OsStr::new);
        assert!(equal.is_sorted_by(|one, other| in_order(one, other).is_lt()), "no two names are the same");
    }

    #[test]
    fn fault_92_a_name_is_tame_before_it_is_shown() {
        let long = format!("{}.csv", "é".repeat(120));
        for (name, odd, tame) in [
            (&b"staff.csv"[..], false, "staff.csv"),
            (b"a\nb.csv", true, "a_b.csv"),
            (b"a\x1b[2Jb.csv", true, "a_[2Jb.csv"),
            (b"a\xffb.csv", true, "a_b.csv"),
            ("a\u{202e}vsc.exe".as_bytes(), false, "a_vsc.exe"),
            (long.as_bytes(), false, ""),
        ] {
            let name = OsStr::from_bytes(name);
            assert_eq!(is_odd(name), odd, "{name:?}");
            if tame.is_empty() {
                assert!(shown(name).len() <= FILED_BYTES_MAX && shown(name).ends_with(".csv"), "{}", shown(name));
            } else {
                assert_eq!(shown(name), tame);
            }
        }
    }

    #[test]
    fn fault_94_a_date_is_found_in_a_name() {
        for (name, expected) in [
            // As it was filed.
            ("20261130T145235Z_staff-2026-11-25.csv", Some("20261125000000")),
            ("20261130T145235Z_staff.csv", None),
            ("staff-2026-11-21.csv", Some("20261121000000")),
            ("20261121_staff.csv", Some("20261121000000")),
            ("staff_2026_11_21_0930.csv", Some("20261121093000")),
            ("staff.20261121T093015Z.csv", Some("20261121093015")),
            ("staff 2026-11-21 09-30-15.csv", Some("20261121093015")),
            ("staff-20261321.csv", None),
            ("staff-99999999.csv", None),
            ("1202611210.csv", None),
            ("staff.csv", None),
            ("21-11-2026.csv", None),
        ] {
            assert_eq!(dated(name).as_deref(), expected, "{name}");
        }
    }
}
