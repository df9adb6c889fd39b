//! Numbers as a sheet shows them.

use jiff::ToSpan;
use jiff::civil::Date;

/// How a cell shows a number, as far as it matters to a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NumberFormat {
    /// As a number.
    Plain,
    /// As so many digits at least, with what stands between them: `00000`, `000-000`.
    Digits(Vec<Option<char>>),
    /// As a day, a time of day, or both.
    Moment { day: bool, time: bool },
    /// As a length of time, in hours, minutes and seconds.
    Elapsed,
}

/// From which day a workbook counts days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Epoch {
    /// 1 is the first of January 1900, and 60 the 29th of February, which that year did not have.
    Of1900,
    /// 0 is the first of January 1904.
    Of1904,
}

const DAY_SECONDS: f64 = 86_400.0;

impl NumberFormat {
    /// Of a format that every workbook has.
    pub(super) fn of_builtin(id: u32) -> Self {
        match id {
            14..=17 | 27..=31 | 34..=36 | 50..=54 | 57..=58 => Self::Moment { day: true, time: false },
            18..=21 | 32..=33 | 45 | 47 | 55..=56 => Self::Moment { day: false, time: true },
            22 => Self::Moment { day: true, time: true },
            46 => Self::Elapsed,
            _ => Self::Plain,
        }
    }

    /// Of a format of its own.
    pub(super) fn of(code: &str) -> Self {
        let tokens = tokens(code);
        if let Some(digits) = digits(&tokens) {
            return Self::Digits(digits);
        }
        let (mut day, mut time, mut month) = (false, false, false);
        for token in &tokens {
            match token {
                FormatPiece::Elapsed => return Self::Elapsed,
                FormatPiece::Plain('y' | 'Y' | 'd' | 'D') => day = true,
                FormatPiece::Plain('h' | 'H' | 's' | 'S') => time = true,
                FormatPiece::Plain('m' | 'M') => month = true,
                _ => {}
            }
        }
        // A lone `m` is a month; beside hours or seconds it is minutes.
        match (day || (month && !time), time) {
            (false, false) => Self::Plain,
            (day, time) => Self::Moment { day, time },
        }
    }

    /// Whether it fills nothing up.
    pub(super) fn is_plain(&self) -> bool {
        *self == Self::Plain
    }

    /// A number as text. `raw` is how the workbook writes it; `None` where it is no number.
    pub(super) fn show(&self, raw: &str, epoch: Epoch) -> Option<String> {
        let raw = raw.trim();
        let value: f64 = raw.parse().ok().filter(|value: &f64| value.is_finite())?;
        let special = match self {
            Self::Plain => None,
            Self::Digits(pattern) => filled(pattern, &plain(raw, value)),
            Self::Moment { day, time } => moment(value, *day, *time, epoch),
            Self::Elapsed => Some(elapsed(value)),
        };
        Some(special.unwrap_or_else(|| plain(raw, value)))
    }
}

/// A part of a format.
#[derive(Debug, PartialEq, Eq)]
enum FormatPiece {
    Plain(char),
    /// Shown as it is.
    Literal(char),
    /// `[h]`, `[mm]` and the like.
    Elapsed,
}

/// The first section of a format: that for positive numbers. Colours, conditions and languages are left out.
fn tokens(code: &str) -> Vec<FormatPiece> {
    let mut tokens = Vec::new();
    let mut characters = code.chars();
    while let Some(character) = characters.next() {
        match character {
            ';' => break,
            '"' => tokens.extend(characters.by_ref().take_while(|c| *c != '"').map(FormatPiece::Literal)),
            '\\' => tokens.extend(characters.next().map(FormatPiece::Literal)),
            // A space as wide as the next character; the next one again and again.
            '_' | '*' => _ = characters.next(),
            '[' => {
                let inner: String = characters.by_ref().take_while(|c| *c != ']').collect();
                let unit = |c: char| matches!(c, 'h' | 'H' | 'm' | 'M' | 's' | 'S');
                if !inner.is_empty() && inner.chars().all(unit) {
                    tokens.push(FormatPiece::Elapsed);
                }
            }
            ' ' | '-' | '(' | ')' | '+' | ':' => tokens.push(FormatPiece::Literal(character)),
            other => tokens.push(FormatPiece::Plain(other)),
        }
    }
    if tokens
        .iter()
        .filter_map(|token| if let FormatPiece::Plain(c) = token { Some(c) } else { None })
        .collect::<String>()
        .eq_ignore_ascii_case("general")
    {
        tokens.clear();
    }
    tokens
}

/// The places of a format of nothing but zeros and literals; `None` is a digit.
fn digits(tokens: &[FormatPiece]) -> Option<Vec<Option<char>>> {
    let places: Option<Vec<Option<char>>> = tokens
        .iter()
        .map(|token| match token {
            FormatPiece::Plain('0') => Some(None),
            FormatPiece::Literal(character) => Some(Some(*character)),
            _ => None,
        })
        .collect();
    places.filter(|places| places.iter().filter(|place| place.is_none()).count() > 1)
}

/// A number without fraction and sign in the places of a format, from the right.
fn filled(pattern: &[Option<char>], number: &str) -> Option<String> {
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut left: Vec<char> = number.chars().collect();
    let first = pattern.iter().position(Option::is_none)?;
    let mut out = Vec::new();
    for (at, place) in pattern.iter().enumerate().rev() {
        match place {
            Some(literal) => out.push(*literal),
            None => {
                out.push(left.pop().unwrap_or('0'));
                if at == first {
                    out.extend(left.drain(..).rev());
                }
            }
        }
    }
    Some(out.into_iter().rev().collect())
}

/// A number with the 15 digits that a sheet knows, without exponent. What is written as a whole number stays as it is.
fn plain(raw: &str, value: f64) -> String {
    let digits = raw.strip_prefix('-').unwrap_or(raw);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0')) {
        return raw.to_owned();
    }
    let rounded: f64 = format!("{value:.14e}").parse().unwrap_or(value);
    let text = rounded.to_string();
    if text == "-0" { "0".to_owned() } else { text }
}

/// A moment in ISO form; `None` for a number that is none.
fn moment(value: f64, day: bool, time: bool, epoch: Epoch) -> Option<String> {
    if !(0.0..2_958_466.0).contains(&value) {
        return None;
    }
    let total = (value * DAY_SECONDS).round();
    let days = if day && !time { value.floor() } else { (total / DAY_SECONDS).floor() };
    // Both are far below what these types hold.
    let (days, seconds) = (days as i64, (total - days * DAY_SECONDS) as i64);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if !day {
        return Some(clock);
    }
    let (from, days) = match epoch {
        Epoch::Of1904 => (Date::constant(1904, 1, 1), days),
        Epoch::Of1900 if days > 60 => (Date::constant(1899, 12, 30), days),
        Epoch::Of1900 if (1..60).contains(&days) => (Date::constant(1899, 12, 31), days),
        Epoch::Of1900 => return None,
    };
    let date = from.checked_add(days.days()).ok()?;
    Some(if time { format!("{date}T{clock}") } else { date.to_string() })
}

fn elapsed(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let seconds = (value.abs() * DAY_SECONDS).round() as u64;
    format!("{sign}{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_what_the_sheet_shows() {
        for (code, raw, shown) in [
            ("General", "4001", "4001"),
            ("General", "4001.0", "4001"),
            ("General", "1.2E+05", "120000"),
            ("General", "0.30000000000000004", "0.3"),
            ("General", "-12.5", "-12.5"),
            ("General", "12345678901234567", "12345678901234567"),
            ("General", "1.5E-7", "0.00000015"),
            ("0", "7", "7"),
            ("#,##0.00", "4001.5", "4001.5"),
            ("00000", "123", "00123"),
            ("00000", "1234567", "1234567"),
            ("000-000", "1234", "001-234"),
            ("000\\-00\\-0000", "12345678", "012-34-5678"),
            ("\"P\"0000", "12", "P0012"),
            ("00000", "12.5", "12.5"),
            ("00000", "-12", "-12"),
            ("[Red]0000;-0", "12", "0012"),
            ("yyyy-mm-dd", "45000", "2023-03-15"),
            ("dd/mm/yyyy", "45000.9", "2023-03-15"),
            ("[$-409]d\\-mmm\\-yy;@", "59", "1900-02-28"),
            ("m/d/yy", "61", "1900-03-01"),
            ("yyyy", "60", "60"),
            ("yyyy-mm-dd h:mm", "45000.5", "2023-03-15T12:00:00"),
            ("yyyy-mm-dd hh:mm:ss", "45000.999999", "2023-03-16T00:00:00"),
            ("h:mm", "0.354166666666667", "08:30:00"),
            ("mmm", "45000", "2023-03-15"),
            ("mm:ss", "0.5", "12:00:00"),
            ("[h]:mm", "1.5", "36:00:00"),
            ("yyyy", "-3", "-3"),
            ("yyyy", "3000000", "3000000"),
            ("@", "4001", "4001"),
            ("0.0E+00", "120000", "120000"),
            ("0%", "0.5", "0.5"),
            ("yyyy-mm-dd hh:mm:ss.000", "45000.5", "2023-03-15T12:00:00"),
        ] {
            assert_eq!(NumberFormat::of(code).show(raw, Epoch::Of1900).as_deref(), Some(shown), "{code} {raw}");
        }
        assert_eq!(NumberFormat::of("yyyy").show("0", Epoch::Of1904).as_deref(), Some("1904-01-01"));
        assert_eq!(NumberFormat::of_builtin(14).show("43538", Epoch::Of1904).as_deref(), Some("2023-03-15"));
        for raw in ["inf", "NaN", "x", ""] {
            assert_eq!(NumberFormat::Plain.show(raw, Epoch::Of1900), None, "{raw}");
        }
    }
}
