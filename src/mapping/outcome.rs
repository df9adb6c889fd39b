//! The result of a template, and its conversion to a field's value.

use std::error::Error as _;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use jiff::civil::Date;
use jiff::fmt::strtime;
use minijinja::value::ValueKind;
use minijinja::{ErrorKind, Value as Given};
use smol_str::{SmolStr, ToSmolStr as _};

use super::filters::{FilterRefusal, YEAR_MIN};
use crate::record::{FieldKind, RowDefect, Target, Value, photo_mark};

/// Base64 as exports write it, with its padding or without.
const PHOTO_BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The longest mapped value, in bytes.
pub(super) const VALUE_BYTES_MAX: usize = 64 * 1024;
/// The longest photo as base64, in bytes: longer than the largest allowed photo, so that a photo that is too large gets
/// the right message.
pub(super) const PHOTO_TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most entries of a mapped list.
const LIST_MAX: usize = 1000;

/// What follows the `#` of "not available" in the languages of spreadsheets, where neither `!` nor `?` ends it.
const NOT_AVAILABLE: [&str; 12] =
    ["N/A", "NV", "N/D", "H/D", "Н/Д", "N/B", "I/T", "YOK", "PUUTTUU", "HIÁNYZIK", "NENÍ_K_DISPOZICI", "GETTING_DATA"];

/// What is wrong with a text that a spreadsheet put in the place of a value: an error such as `#N/A`, or a long number
/// cut to `4.1E+03`. It is neither a number nor a name of a person.
pub(super) fn damage(text: &str) -> Option<RowDefect> {
    // Every cell comes here, and nearly all of them begin otherwise.
    let may_be = |first: &u8| matches!(first, b'#' | b'E' | b'0'..=b'9' | b'-' | b'+' | 0x80..);
    text.trim_ascii_start().as_bytes().first().filter(|first| may_be(first))?;
    let text = text.trim();
    let is_error = || {
        let rest = &text[1..];
        let ends = rest.ends_with(['!', '?']) || NOT_AVAILABLE.contains(&rest.to_uppercase().as_str());
        (ends && rest.len() > 1 && !rest.contains(' ')) || rest.bytes().all(|byte| byte == b'#') && !rest.is_empty()
    };
    // LibreOffice numbers most of its errors, and some of its languages have a space before the colon.
    let is_numbered = || {
        let number = text.strip_prefix("Err").and_then(|rest| rest.trim_start().strip_prefix(':'));
        number.is_some_and(|number| number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    match text.bytes().next()? {
        b'#' if is_error() => Some(RowDefect::SpreadsheetError),
        b'E' if is_numbered() => Some(RowDefect::SpreadsheetError),
        b'0'..=b'9' | b'-' | b'+' if is_cut_number(text) => Some(RowDefect::ShortenedNumber),
        _ => None,
    }
}

/// Whether a text is a number as spreadsheets shorten long ones: `4.1E+03`.
fn is_cut_number(text: &str) -> bool {
    let Some(at) = text.bytes().position(|byte| byte.eq_ignore_ascii_case(&b'e')) else { return false };
    let (mantissa, exponent) = (&text[..at], &text[at + 1..]);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa = mantissa.trim_start_matches(['+', '-']);
    let (whole, rest) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, "0"));
    digits(whole) && digits(rest) && exponent.strip_prefix('+').is_some_and(digits)
}

/// The result of a template on one row.
#[derive(PartialEq, Eq)]
pub(super) enum Rendered {
    Nothing,
    /// Not empty, without outer white space.
    Text(SmolStr),
    Flag(bool),
    List(Vec<String>),
}

/// Text as an outcome.
pub(super) fn from_text(text: &str, bytes_max: usize) -> Result<Rendered, RowDefect> {
    let text = text.trim();
    match () {
        () if text.is_empty() => Ok(Rendered::Nothing),
        () if text.len() > bytes_max => Err(RowDefect::ValueTooLong { kib: bytes_max / 1024 }),
        () if text.contains('\0') => Err(RowDefect::Nul),
        () => Ok(Rendered::Text(text.into())),
    }
}

/// A value of the template engine as an outcome.
pub(super) fn from_value(value: &Given, bytes_max: usize) -> Result<Rendered, RowDefect> {
    match value.kind() {
        ValueKind::None | ValueKind::Undefined => Ok(Rendered::Nothing),
        ValueKind::Bool => Ok(Rendered::Flag(value.is_true())),
        ValueKind::String => from_text(value.as_str().unwrap_or_default(), bytes_max),
        ValueKind::Number => from_text(&value.to_string(), bytes_max),
        ValueKind::Seq | ValueKind::Iterable => list(value),
        _ => Err("the template gives something that is no text".into()),
    }
}

fn list(value: &Given) -> Result<Rendered, RowDefect> {
    let mut entries = Vec::new();
    for entry in value.try_iter().map_err(|error| reason(&error))?.take(LIST_MAX + 1) {
        match from_value(&entry, VALUE_BYTES_MAX)? {
            Rendered::Nothing => {}
            Rendered::Text(text) => entries.push(text.into()),
            Rendered::Flag(flag) => entries.push(flag.to_string()),
            Rendered::List(_) => return Err("the template gives lists within a list".into()),
        }
    }
    if entries.len() > LIST_MAX {
        return Err(RowDefect::ListTooLong { entries: LIST_MAX });
    }
    Ok(Rendered::List(entries))
}

/// Why a template failed on a row, without anything that the row holds.
pub(super) fn reason(error: &minijinja::Error) -> RowDefect {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = error.source();
    while let Some(inner) = cause {
        if let Some(refusal) = inner.downcast_ref::<FilterRefusal>() {
            return refusal.0.clone();
        }
        cause = inner.source();
    }
    match error.kind() {
        ErrorKind::UndefinedError => "the template uses a value that is not there".into(),
        ErrorKind::OutOfFuel => "the template takes too many steps".into(),
        kind => format!("the template does not work on this row ({kind})").into(),
    }
}

impl Rendered {
    /// Whether it is true or false.
    pub(super) fn truth(&self) -> Result<bool, RowDefect> {
        match self {
            Self::Flag(flag) => Ok(*flag),
            Self::Text(text) if text == "true" => Ok(true),
            Self::Text(text) if text == "false" => Ok(false),
            _ => Err(RowDefect::NeitherTrueNorFalse),
        }
    }

    /// The one text that it is, empty for nothing.
    pub(super) fn text(self) -> Result<SmolStr, RowDefect> {
        match self {
            Self::Nothing => Ok(SmolStr::default()),
            Self::Text(text) => Ok(text),
            Self::Flag(flag) => Ok(flag.to_smolstr()),
            Self::List(_) => Err("the template gives a list; take one of it with `first`, or `join` it".into()),
        }
    }

    /// The value of a field of some kind.
    pub(super) fn value(self, kind: FieldKind) -> Result<Value, RowDefect> {
        match (kind, self) {
            (_, Self::Nothing) => Ok(Value::Empty),
            (
                FieldKind::Text | FieldKind::PersonName | FieldKind::Phone | FieldKind::Location | FieldKind::Custom,
                Self::Text(text),
            ) => match damage(&text) {
                Some(reason) => Err(reason),
                None if kind == FieldKind::PersonName && !text.contains(char::is_alphabetic) => {
                    Err(RowDefect::NameWithoutLetter)
                }
                None if kind == FieldKind::Phone && !text.contains(|letter: char| letter.is_ascii_digit()) => {
                    Err(RowDefect::PhoneWithoutDigit)
                }
                None => Ok(Value::text(text)),
            },
            (FieldKind::Flag, outcome) => outcome.flag(),
            // It must be one: the service takes whatever it is given.
            (FieldKind::Date, outcome) => outcome.text().and_then(|text| day(&text).map(|_| Value::text(text))),
            (FieldKind::Names | FieldKind::Places, outcome) => outcome.entries().map(Value::list),
            (FieldKind::Ids, outcome) => outcome.entries().and_then(|entries| ids(&entries)).map(Value::ids),
            (FieldKind::Photo, outcome) => outcome.photo().map(|(_, mark)| Value::text(mark)),
            (FieldKind::Custom, Self::Flag(flag)) => Ok(Value::text(if flag { "1" } else { "0" })),
            (
                FieldKind::Link
                | FieldKind::Text
                | FieldKind::PersonName
                | FieldKind::Email
                | FieldKind::Phone
                | FieldKind::Location
                | FieldKind::Custom,
                outcome,
            ) => outcome.text().map(Value::text),
        }
    }

    /// The photo that the text is as base64, with its mark. Line ends and blanks in it don't matter.
    pub(super) fn photo(self) -> Result<(Vec<u8>, String), RowDefect> {
        let mut text = String::from(self.text()?);
        text.retain(|letter| !letter.is_ascii_whitespace());
        let bytes = PHOTO_BASE64.decode(text).map_err(|_| RowDefect::PhotoNoBase64)?;
        let mark = photo_mark(&bytes).map_err(|problem| format!("the photo {problem}"))?;
        Ok((bytes, mark))
    }

    fn flag(self) -> Result<Value, RowDefect> {
        let flag = match self {
            Self::Flag(flag) => Some(flag),
            Self::Text(text) => match text.to_lowercase().as_str() {
                "1" | "true" | "yes" => Some(true),
                "0" | "false" | "no" => Some(false),
                _ => None,
            },
            _ => None,
        };
        flag.map(Value::Flag).ok_or(RowDefect::NeitherYesNorNo)
    }

    /// The entries of a list, or of a text that lists them with `,` or `;`.
    fn entries(self) -> Result<Vec<String>, RowDefect> {
        match self {
            Self::List(entries) => Ok(entries),
            outcome => {
                let text = outcome.text()?;
                let entries = text.split([',', ';']).map(str::trim).filter(|entry| !entry.is_empty());
                Ok(entries.map(str::to_owned).collect())
            }
        }
    }
}

/// A day written YYYY-MM-DD; none for an empty text.
pub(super) fn day(text: &str) -> Result<Option<Date>, RowDefect> {
    /// Longer texts have a time in them, and shorter ones are no whole date.
    const LENGTH: usize = 10;
    match text.trim() {
        "" => Ok(None),
        text if text.len() == LENGTH => match text.parse::<Date>() {
            Ok(day) if day.year() < YEAR_MIN => Err(RowDefect::DayLongAgo),
            Ok(day) => Ok(Some(day)),
            // Written as a day, and none.
            Err(_) if strtime::parse("%Y-%m-%d", text).is_ok() => Err(RowDefect::NoSuchDay),
            Err(_) => Err(RowDefect::NoDay),
        },
        _ => Err(RowDefect::NoDay),
    }
}

fn ids(entries: &[String]) -> Result<Vec<i32>, RowDefect> {
    let id = |entry: &String| entry.parse().ok().filter(|id| *id > 0);
    let ids: Option<Vec<i32>> = entries.iter().map(id).collect();
    ids.ok_or(RowDefect::NoId)
}

/// How a field's template is called in messages.
pub(super) fn place_of(field: &str) -> String {
    if field.starts_with(Target::CUSTOM) || field.contains('.') {
        format!("map.{field:?}")
    } else {
        format!("map.{field}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Rendered {
        from_text(text, VALUE_BYTES_MAX).unwrap()
    }

    #[test]
    fn only_a_whole_day_that_there_is_is_one() {
        let is = |text: &str| Ok(Some(text.parse::<Date>().unwrap()));
        for (text, expected) in [
            ("2026-02-28", is("2026-02-28")),
            (" 2024-02-29 ", is("2024-02-29")),
            ("", Ok(None)),
            ("2026-02-29", Err(RowDefect::NoSuchDay)),
            ("28/02/2026", Err(RowDefect::NoDay)),
            ("2026-02-28T10:00", Err(RowDefect::NoDay)),
            ("2026-2-28", Err(RowDefect::NoDay)),
            ("soon", Err(RowDefect::NoDay)),
            ("0027-12-31", Err(RowDefect::DayLongAgo)),
            ("1000-01-01", is("1000-01-01")),
        ] {
            assert_eq!(day(text), expected, "{text}");
        }
    }

    #[test]
    fn a_field_makes_a_value_of_what_it_is_given() {
        let list = |names: &[&str]| Rendered::List(names.iter().map(|name| (*name).to_owned()).collect());
        let names = |names: &[&str]| Value::list(names.iter().map(|name| (*name).to_owned()).collect());
        for (kind, given, value) in [
            (FieldKind::Text, text(" Ana  B\n"), Some(Value::text("Ana  B"))),
            (FieldKind::Text, text("  "), Some(Value::Empty)),
            (FieldKind::Text, Rendered::Flag(true), Some(Value::text("true"))),
            (FieldKind::Text, list(&["a"]), None),
            (FieldKind::PersonName, text("李 雷"), Some(Value::text("李 雷"))),
            (FieldKind::PersonName, text("Ana 2"), Some(Value::text("Ana 2"))),
            (FieldKind::PersonName, text("1,060"), None),
            (FieldKind::PersonName, Rendered::Nothing, Some(Value::Empty)),
            (FieldKind::Custom, Rendered::Flag(false), Some(Value::text("0"))),
            (FieldKind::Flag, Rendered::Flag(false), Some(Value::Flag(false))),
            (FieldKind::Flag, text("Yes"), Some(Value::Flag(true))),
            (FieldKind::Flag, text("0"), Some(Value::Flag(false))),
            (FieldKind::Flag, text("perhaps"), None),
            (FieldKind::Flag, text(""), Some(Value::Empty)),
            (FieldKind::Names, text("a; b,,c "), Some(names(&["a", "b", "c"]))),
            (FieldKind::Names, list(&["a, b"]), Some(names(&["a, b"]))),
            (FieldKind::Names, text(";"), Some(Value::Empty)),
            (FieldKind::Phone, text("ext. 4711"), Some(Value::text("ext. 4711"))),
            (FieldKind::Phone, text("ask reception"), None),
            (FieldKind::Date, text("2026-02-28"), Some(Value::text("2026-02-28"))),
            (FieldKind::Date, text("2026-02-30"), None),
            (FieldKind::Date, text("28/02/2026"), None),
            (FieldKind::Date, text(""), Some(Value::Empty)),
            (FieldKind::Places, text("a; b"), Some(names(&["a", "b"]))),
            (FieldKind::Ids, text("4;7"), Some(Value::ids(vec![4, 7]))),
            (FieldKind::Ids, text("4;x"), None),
            (FieldKind::Ids, text("0"), None),
        ] {
            assert!(given.value(kind).ok() == value, "{kind:?} {value:?}");
        }
    }

    #[test]
    fn what_a_spreadsheet_puts_in_the_place_of_a_value_is_none() {
        for damaged in [
            "#N/A",
            "#n/a",
            " #REF! ",
            "\u{a0}#REF!",
            "#DIV/0!",
            "#NAME?",
            "#NV",
            "####",
            "#N/B",
            "#i/t",
            "#Н/Д",
            "Err:502",
            "Err :504",
            "4.1E+03",
            "4,12E+10",
            "1E+5",
            "-4.1e+03",
        ] {
            assert!(damage(damaged).is_some(), "{damaged}");
            assert!(text(damaged).value(FieldKind::Text).is_err(), "{damaged}");
        }
        for sound in [
            "", "#", "#12", "# 1!", "#4711", "1E05", "E+1", "4.1E", "P+1", "12", "1.5", "Ana!", "1E+x", "Erik",
            "Err:50", "Err: no",
        ] {
            assert!(damage(sound).is_none(), "{sound}");
        }
    }

    #[test]
    fn only_true_and_false_are_a_truth() {
        for (given, truth) in [
            (Rendered::Flag(true), Ok(true)),
            (text("false"), Ok(false)),
            (text("yes"), Err(())),
            (Rendered::Nothing, Err(())),
        ] {
            assert_eq!(given.truth().map_err(|_| ()), truth);
        }
    }

    #[test]
    fn fault_85_a_nul_is_no_text() {
        assert!(from_text("a\0b", VALUE_BYTES_MAX).is_err());
        assert!(from_text(&"a".repeat(VALUE_BYTES_MAX + 1), VALUE_BYTES_MAX).is_err());
    }
}
