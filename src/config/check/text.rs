//! Checks that many keys share.

use jiff::SignedDuration;

use crate::config::report::Report;

/// How a duration is written.
pub(super) const DURATION_HINT: &str = "write it like \"90s\", \"15m\", \"24h\" or \"30d\"";

/// A given text with something in it.
pub(super) fn filled<'a>(place: &str, given: Option<&'a str>, report: &mut Report) -> Option<&'a str> {
    let text = given?;
    if text.trim().is_empty() {
        report.problem(place, "is empty", None);
        return None;
    }
    Some(text)
}

/// A given text, or nothing where it is empty: the way to turn something off.
pub(super) fn unless_empty(given: Option<&str>) -> Option<&str> {
    given.filter(|text| !text.trim().is_empty())
}

/// A given text, parsed; `hint` says how it is written.
pub(super) fn parsed<T>(
    place: &str,
    given: Option<&str>,
    hint: &str,
    report: &mut Report,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Option<T> {
    match parse(given?) {
        Ok(value) => Some(value),
        Err(message) => {
            report.problem(place, message, Some(hint));
            None
        }
    }
}

/// Refuses a duration of nothing.
pub(super) fn more_than_nothing(duration: SignedDuration) -> Result<SignedDuration, String> {
    if duration.is_positive() { Ok(duration) } else { Err("must be more than nothing".to_owned()) }
}

/// One of a few words.
pub(super) fn choice<T: Copy>(
    place: &str,
    given: Option<&str>,
    choices: &[(&str, T)],
    report: &mut Report,
) -> Option<T> {
    let given = given?;
    if let Some((_, value)) = choices.iter().find(|(word, _)| *word == given) {
        return Some(*value);
    }
    let words: Vec<String> = choices.iter().map(|(word, _)| format!("{word:?}")).collect();
    let message = format!("{given:?} is none of {}", words.join(", "));
    report.problem(place, message, None);
    None
}

/// A whole number between two bounds, both included.
pub(super) fn number<T: TryFrom<i64>>(
    place: &str,
    given: Option<i64>,
    (least, most): (i64, i64),
    report: &mut Report,
) -> Option<T> {
    let given = given?;
    let fits = (least..=most).contains(&given).then(|| T::try_from(given).ok()).flatten();
    if fits.is_none() {
        report.problem(place, format!("{given} is not between {least} and {most}"), None);
    }
    fits
}
