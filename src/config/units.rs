//! Durations, sizes and limits as people write them.

use config::ValueKind;
use jiff::{SignedDuration, Span, SpanRelativeTo};

use crate::plan::Limit;

/// Reads a duration such as `90s`, `15m`, `24h` or `30d`; a day is 24 hours, and nothing is negative.
pub(super) fn duration(text: &str) -> Result<SignedDuration, String> {
    let wrong = || format!("{text:?} is not a duration");
    let span: Span = text.trim().parse().map_err(|_| wrong())?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    if duration.is_negative() { Err(format!("{text:?} is negative")) } else { Ok(duration) }
}

/// Reads a size in bytes such as `512MB` (1000²) or `1GiB` (1024³).
pub(super) fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: Option<u64> = match unit.trim().to_ascii_lowercase().as_str() {
        "b" => Some(1),
        "kb" => Some(1000),
        "mb" => Some(1000 * 1000),
        "gb" => Some(1000 * 1000 * 1000),
        "kib" => Some(1024),
        "mib" => Some(1024 * 1024),
        "gib" => Some(1024 * 1024 * 1024),
        _ => None,
    };
    let bytes = factor.and_then(|factor| number.parse::<u64>().ok()?.checked_mul(factor));
    match bytes {
        None => Err(format!("{text:?} is not a size")),
        Some(0) => Err("must be more than nothing".to_owned()),
        Some(bytes) => Ok(bytes),
    }
}

/// Reads a limit of the guard: a percentage from 0 to 100, a plain count, or `off`.
pub(super) fn limit(given: &ValueKind) -> Result<Limit, String> {
    if let ValueKind::I64(count) = given {
        return u64::try_from(*count).map(Limit::Count).map_err(|_| format!("{count} is negative"));
    }
    let written = given.to_string();
    let text = written.trim();
    if text.eq_ignore_ascii_case("off") {
        return Ok(Limit::Off);
    }
    let (number, percent) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (text, false),
    };
    if number.starts_with('-') {
        return Err(format!("{text:?} is negative"));
    }
    let wrong = || format!("{text:?} is not a limit");
    if number.is_empty() || !number.chars().all(|c| c.is_ascii_digit() || (percent && c == '.')) {
        return Err(wrong());
    }
    if !percent {
        return number.parse().map(Limit::Count).map_err(|_| wrong());
    }
    let share: f64 = number.parse().map_err(|_| wrong())?;
    if share > 100.0 { Err(format!("{text:?} is above 100%")) } else { Ok(Limit::Percent(share)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_24_hours() {
        for (text, hours) in [("24h", 24), ("30d", 720), ("1d 2h", 26), ("2w", 336), ("0s", 0)] {
            assert_eq!(duration(text), Ok(SignedDuration::from_hours(hours)), "{text}");
        }
        for text in ["", "5", "5 parsecs", "1 month", "-5m", "5m ago", "h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_has_a_unit() {
        for (text, bytes) in [("512MB", 512_000_000), ("1 GiB", 1 << 30), ("7b", 7), ("3kib", 3072)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "512", "MB", "0MB", "-1MB", "1.5GB", "99999999999999GB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fault_103_a_limit_is_a_share_a_count_or_off() {
        let text = |text: &str| ValueKind::String(text.to_owned());
        for (given, expected) in [
            (text("2%"), Limit::Percent(2.0)),
            (text("2.5 %"), Limit::Percent(2.5)),
            (text("100%"), Limit::Percent(100.0)),
            (text("0%"), Limit::Percent(0.0)),
            (text("40"), Limit::Count(40)),
            (ValueKind::I64(40), Limit::Count(40)),
            (ValueKind::I64(0), Limit::Count(0)),
            (text("Off"), Limit::Off),
        ] {
            assert_eq!(limit(&given), Ok(expected));
        }
        for given in ["", "%", "-2%", "-2", "101%", "100.1%", "NaN%", "inf%", "1e1%", "2,5%", "2.5", "some", "1.2.3%"] {
            assert!(limit(&text(given)).is_err(), "{given}");
        }
        assert!(limit(&ValueKind::I64(-1)).is_err());
    }
}
