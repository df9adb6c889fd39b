//! Detects the encoding of a file.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::error::CsvErrorKind;
use super::options;
use super::scan::{FOUND, Survey, Utf8, setting};

/// How the bytes of a file become text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DetectedEncoding {
    /// The encoding.
    pub(super) encoding: &'static Encoding,
    /// The length of the mark at the beginning, which is no part of the text.
    pub(super) skip: u64,
    /// Where the text ends, in bytes from the beginning; a character cut at the end lies behind.
    pub(super) end: u64,
    /// Whether the bytes are known to be UTF-8 and need no decoder.
    pub(super) plain: bool,
}

impl DetectedEncoding {
    /// Whether the file ends inside a character.
    pub(super) fn cut(&self, survey: &Survey) -> bool {
        self.end < survey.size
    }
}

/// Decides on the encoding: the one that is configured, else the one found, which must be the one found before.
pub(super) fn decide(
    configured: options::Encoding,
    survey: &Survey,
    known: Option<&str>,
) -> Result<DetectedEncoding, CsvErrorKind> {
    if let Some(format) = survey.format {
        return Err(not_text(format));
    }
    let encoding = match configured {
        options::Encoding::Named(encoding) => named(encoding, survey)?,
        options::Encoding::Auto => found(survey, known)?,
    };
    let skip = match survey.mark {
        Some((mark, length)) if mark == encoding => length as u64,
        _ => 0,
    };
    let cut = match survey.utf8 {
        Utf8::Cut(bytes) if encoding == UTF_8 => bytes as u64,
        _ => 0,
    };
    let plain = encoding == UTF_8 && !matches!(survey.utf8, Utf8::Broken(_));
    Ok(DetectedEncoding { encoding, skip, end: survey.size - cut, plain })
}

fn named(encoding: &'static Encoding, survey: &Survey) -> Result<&'static Encoding, CsvErrorKind> {
    let wide = |encoding: &'static Encoding| encoding.name().starts_with("UTF-16");
    match survey.mark {
        // The label `utf-16` means one byte order only; the byte order mark is more reliable.
        Some((mark, _)) if wide(mark) && wide(encoding) => Ok(mark),
        Some((mark, _)) if mark != encoding => {
            Err(CsvErrorKind::WrongMark { mark: mark.name(), configured: encoding.name() })
        }
        _ => Ok(encoding),
    }
}

fn found(survey: &Survey, known: Option<&str>) -> Result<&'static Encoding, CsvErrorKind> {
    let known = known.and_then(|label| Encoding::for_label(label.as_bytes()));
    let found = match (survey.mark, survey.pattern, survey.utf8) {
        (Some((mark, _)), _, _) => mark,
        (None, Some(pattern), _) => pattern,
        // Pure ASCII is no evidence against what the file was before.
        (None, None, Utf8::Whole) if survey.ascii && known == Some(WINDOWS_1252) => WINDOWS_1252,
        (None, None, Utf8::Whole | Utf8::Cut(_)) => UTF_8,
        (None, None, Utf8::Broken(_)) if survey.binary => {
            return Err(not_text("it holds bytes that no text has"));
        }
        (None, None, Utf8::Broken(_)) => WINDOWS_1252,
    };
    debug_assert!(FOUND.contains(&found));
    match known {
        Some(known) if known != found => Err(CsvErrorKind::EncodingChanged {
            was: known.name().to_owned(),
            is: found.name(),
            place: match survey.utf8 {
                Utf8::Broken(line) if known == UTF_8 => format!(" (line {line} holds bytes that are not UTF-8)"),
                _ => String::new(),
            },
            setting: setting(found),
        }),
        _ => Ok(found),
    }
}

fn not_text(what: &str) -> CsvErrorKind {
    CsvErrorKind::NotText {
        what: what.to_owned(),
        hint: "save it as \"CSV UTF-8\" or as .xlsx; if it is text, set `encoding`",
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{ISO_8859_2, UTF_16BE, UTF_16LE};

    use super::*;
    use crate::source::csv::options::Encoding::{Auto, Named};

    fn survey(utf8: Utf8) -> Survey {
        Survey {
            size: 9,
            content: 0,
            mark: None,
            pattern: None,
            format: None,
            ascii: false,
            utf8,
            binary: false,
            tail: [0; 2],
        }
    }

    #[test]
    fn fault_84_the_encoding_is_found() {
        let marked = |mark, length| Survey { mark: Some((mark, length)), ..survey(Utf8::Broken(1)) };
        for (configured, survey, encoding, skip, end, plain) in [
            (Auto, survey(Utf8::Whole), UTF_8, 0, 9, true),
            (Auto, survey(Utf8::Cut(2)), UTF_8, 0, 7, true),
            (Auto, survey(Utf8::Broken(1)), WINDOWS_1252, 0, 9, false),
            (Auto, marked(UTF_8, 3), UTF_8, 3, 9, false),
            (Auto, marked(UTF_16BE, 2), UTF_16BE, 2, 9, false),
            (Auto, Survey { pattern: Some(UTF_16LE), ..survey(Utf8::Whole) }, UTF_16LE, 0, 9, false),
            (Named(UTF_16LE), marked(UTF_16BE, 2), UTF_16BE, 2, 9, false),
            (Named(ISO_8859_2), survey(Utf8::Cut(1)), ISO_8859_2, 0, 9, false),
            (Named(UTF_8), survey(Utf8::Broken(1)), UTF_8, 0, 9, false),
        ] {
            let decided = decide(configured, &survey, None).unwrap();
            assert_eq!(decided, DetectedEncoding { encoding, skip, end, plain }, "{survey:?}");
        }
    }

    #[test]
    fn fault_84_auto_never_turns_between_two_reads() {
        let ascii = Survey { ascii: true, ..survey(Utf8::Whole) };
        for (known, survey, stays) in [
            ("UTF-8", survey(Utf8::Whole), Ok(UTF_8)),
            ("UTF-8", survey(Utf8::Cut(1)), Ok(UTF_8)),
            ("windows-1252", ascii.clone(), Ok(WINDOWS_1252)),
            ("UTF-8", ascii, Ok(UTF_8)),
            (
                "UTF-8",
                survey(Utf8::Broken(7)),
                Err(
                    "it was UTF-8 until now and is windows-1252 (line 7 holds bytes that are not UTF-8); export it as \
                     UTF-8 again, or set `encoding = \"windows-1252\"` if the change is meant",
                ),
            ),
            (
                "windows-1252",
                survey(Utf8::Whole),
                Err("it was windows-1252 until now and is UTF-8; export it as windows-1252 again, or set `encoding = \
                     \"utf-8\"` if the change is meant"),
            ),
        ] {
            let decided = decide(Auto, &survey, Some(known)).map(|decision| decision.encoding);
            assert_eq!(decided.map_err(|kind| kind.to_string()), stays.map_err(str::to_owned), "{survey:?}");
        }
        assert!(decide(Named(WINDOWS_1252), &survey(Utf8::Broken(7)), Some("UTF-8")).is_ok(), "what is set is meant");
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for survey in [
            Survey { format: Some("a PDF"), ..survey(Utf8::Whole) },
            Survey { binary: true, ..survey(Utf8::Broken(1)) },
        ] {
            assert!(matches!(decide(Auto, &survey, None), Err(CsvErrorKind::NotText { .. })), "{survey:?}");
        }
        let marked = Survey { mark: Some((UTF_8, 3)), ..survey(Utf8::Whole) };
        assert!(matches!(decide(Named(ISO_8859_2), &marked, None), Err(CsvErrorKind::WrongMark { .. })));
    }
}
