//! Phone numbers as the world dials them.

use super::country::{COUNTRIES, Country, Trunk};

use crate::record::RowDefect;

/// How many digits a number has in all, country code included (ITU-T E.164: at most 15).
const DIGITS: std::ops::RangeInclusive<usize> = 5..=15;

/// Whether there is a country of these two letters.
pub(in crate::mapping) fn knows_country(letters: &str) -> bool {
    find(letters).is_some()
}

/// A number as it is dialled from anywhere: `+`, country code, number. What begins with `+` or a prefix for calls abroad
/// keeps its own country; anything else is a number of `country`, and loses the digit that is dialled within it only.
pub(super) fn phone(text: &str, country: &str) -> Result<String, RowDefect> {
    let country = find(country).ok_or("the template names a country that is not there")?;
    if is_date_or_fraction(text) {
        return Err(RowDefect::PhoneIsDate);
    }
    if is_two_numbers(text) {
        return Err(RowDefect::PhoneDigits);
    }
    let plus = text.starts_with(['+', '＋']);
    // The zero of `+64 (0)29` is for those who dial within the country.
    let text = if plus { text.replacen("(0)", "", 1) } else { text.to_owned() };
    let mut digits = String::with_capacity(text.len());
    for (at, c) in text.chars().enumerate() {
        match c {
            '0'..='9' => digits.push(c),
            '+' | '＋' if at == 0 => {}
            ' ' | '\u{a0}' | '\u{202f}' | '\t' | '-' | '\u{2010}'..='\u{2014}' | '.' | '/' | '(' | ')' => {}
            _ => return Err(RowDefect::PhoneSigns),
        }
    }
    let digits = match (plus, abroad(&digits, country)) {
        (true, _) => digits,
        (false, Some(abroad)) => abroad.to_owned(),
        (false, None) if has_own_code(&digits, country) => {
            return Err(RowDefect::PhoneWithoutPlus);
        }
        (false, None) => format!("{}{}", country.code, within(&digits, country)),
    };
    match without_inner_zero(&digits).filter(|digits| DIGITS.contains(&digits.len())) {
        Some(digits) => Ok(format!("+{digits}")),
        None => Err(RowDefect::PhoneDigits),
    }
}

/// Whether a stroke parts a whole number from another one, or from its last digits: `09 838 5771 / 5772`. One behind an area code
/// is a part of its number.
fn is_two_numbers(text: &str) -> bool {
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    text.split_once('/').is_some_and(|(before, behind)| digits(before) > AREA_MAX && digits(behind) > 0)
}

/// The most digits of an area code, with the zero before it.
const AREA_MAX: usize = 6;

/// A number for the world without the zero that is dialled within its country only: `+64 09 838 5771`. Where a number may begin with
/// one, as in Italy, none is dialled before it. None where another zero follows: no number begins so.
fn without_inner_zero(digits: &str) -> Option<String> {
    let drops_zero = |country: &&Country| matches!(country.trunk, Trunk::Prefix(prefixes) if prefixes.contains(&"0"));
    let of_code = |country: &&Country| digits.strip_prefix(country.code).is_some_and(|rest| rest.starts_with('0'));
    match COUNTRIES.iter().filter(of_code).find(drops_zero) {
        Some(country) => {
            let number = &digits[country.code.len() + 1..];
            (!number.starts_with('0')).then(|| format!("{}{number}", country.code))
        }
        None => Some(digits.to_owned()),
    }
}

fn find(letters: &str) -> Option<&'static Country> {
    COUNTRIES.iter().find(|country| country.letters.eq_ignore_ascii_case(letters))
}

/// The number behind the prefix for calls abroad, where it begins with one.
fn abroad<'d>(digits: &'d str, country: &Country) -> Option<&'d str> {
    let own = match country.code {
        "1" => "011",
        "61" => "0011",
        "81" => "010",
        "7" => "810",
        _ => "00",
    };
    // A Russian number may itself begin with 810 within the country only if it is no longer than one.
    let fits = own != "810" || digits.len() > 11;
    digits.strip_prefix(own).filter(|_| fits).or_else(|| digits.strip_prefix("00"))
}

/// A spreadsheet makes such values of cells that it takes for dates or numbers: `2026-01-01`, `21.5`.
fn is_date_or_fraction(text: &str) -> bool {
    let parts =
        |by: char| text.split(by).map(|part| part.bytes().all(|byte| byte.is_ascii_digit()).then_some(part.len()));
    parts('-').eq([Some(4), Some(2), Some(2)])
        || parts('.').count() == 2 && matches!(parts('.').next_back(), Some(Some(1 | 2)))
}

/// Whether digits are a whole number of the country behind its code: a spreadsheet takes the + away. What is not longer than
/// numbers within the country are may begin with the same digits by chance.
fn has_own_code(digits: &str, country: &Country) -> bool {
    let Some(rest) = digits.strip_prefix(country.code) else { return false };
    match country.trunk {
        Trunk::None => rest.len() >= 9,
        Trunk::Prefix(prefixes) => rest.len() >= 8 && !prefixes.iter().any(|prefix| digits.starts_with(prefix)),
        Trunk::OfLength(prefix, length) => prefix != country.code && digits.len() >= length,
    }
}

/// The number without the digits that are dialled within the country only.
fn within<'d>(digits: &'d str, country: &Country) -> &'d str {
    match country.trunk {
        Trunk::None => digits,
        Trunk::Prefix(prefixes) => prefixes.iter().find_map(|prefix| digits.strip_prefix(prefix)).unwrap_or(digits),
        Trunk::OfLength(prefix, length) if digits.len() == length => digits.strip_prefix(prefix).unwrap_or(digits),
        Trunk::OfLength(..) => digits,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_is_dialled_from_anywhere() {
        for (text, country, number) in [
            ("029 838 5771", "NZ", "+64298385771"),
            ("29 838 5771", "nz", "+64298385771"),
            ("(09) 838-5771", "NZ", "+6498385771"),
            ("+64 (0)29 838 5771", "NZ", "+64298385771"),
            ("+64 (09) 838 5771", "NZ", "+6498385771"),
            ("+64 021 555 0100", "GB", "+64215550100"),
            ("0064 021 555 0100", "NZ", "+64215550100"),
            ("+39 06 1234 5678", "NZ", "+390612345678"),
            ("030/12345678", "DE", "+493012345678"),
            ("030 / 12345678", "DE", "+493012345678"),
            ("+44 20 7946 0000", "NZ", "+442079460000"),
            ("0044 20 7946 0000", "NZ", "+442079460000"),
            ("020 7946 0000", "GB", "+442079460000"),
            ("06 1234 5678", "IT", "+390612345678"),
            ("0549 882 000", "SM", "+3780549882000"),
            ("06 698 12345", "VA", "+390669812345"),
            ("(212) 555-0100", "US", "+12125550100"),
            ("1 212 555 0100", "CA", "+12125550100"),
            ("011 44 20 7946 0000", "US", "+442079460000"),
            ("0011 64 29 838 5771", "AU", "+64298385771"),
            ("0412 345 678", "AU", "+61412345678"),
            ("8 912 345 67 89", "RU", "+79123456789"),
            ("812 345 67 89", "RU", "+78123456789"),
            ("06 1 234 5678", "HU", "+3612345678"),
            ("0171/1234567", "DE", "+491711234567"),
            ("612 345 678", "ES", "+34612345678"),
            ("07 01 23 45 67", "CI", "+2250701234567"),
        ] {
            assert_eq!(phone(text, country).as_deref(), Ok(number), "{text} {country}");
        }
    }

    #[test]
    fn law_11_what_is_no_number_is_refused_without_being_shown() {
        let refused =
            ["n/a", "021 555 ext 4", "12", "+64 29+1", "1234567890123456", "+", "٠٢١٥٥٥١٢٣٤", "+64 0021 555 0100"];
        for text in refused {
            let refused = phone(text, "NZ").unwrap_err().to_string();
            assert!(refused.starts_with("the value is no phone number") && !refused.contains(text), "{text}");
        }
        assert!(phone("021 555 1234", "ZZ").is_err());
    }

    #[test]
    fn a_number_that_a_spreadsheet_took_for_something_else_is_refused() {
        for (text, country, fits) in [
            ("64215550104", "NZ", false),
            ("447911123456", "GB", false),
            ("34612345678", "ES", false),
            ("79123456789", "RU", false),
            ("64 401 234", "NZ", true),
            ("393 123 4567", "IT", true),
            ("7012345678", "KZ", true),
            ("12125550100", "US", true),
            ("2026-01-01", "NZ", false),
            ("21.5", "NZ", false),
            ("09.838.5771", "NZ", true),
            ("030.1234567", "DE", true),
            ("09 838 5771 / 5772", "NZ", false),
            ("021 555 0100/0101", "NZ", false),
        ] {
            assert_eq!(phone(text, country).is_ok(), fits, "{text} {country}");
        }
    }

    #[test]
    fn every_country_is_there_once() {
        assert!(COUNTRIES.is_sorted_by(|one, other| one.letters < other.letters));
        assert_eq!(COUNTRIES.len(), 250, "ISO 3166 has 249, and Kosovo");
        for country in COUNTRIES {
            assert!(country.letters.len() == 2 && (1..=3).contains(&country.code.len()), "{}", country.letters);
            assert!(country.code.bytes().all(|byte| byte.is_ascii_digit()) && !country.code.starts_with('0'));
        }
    }

    proptest! {
        #[test]
        fn a_number_that_was_dialled_from_anywhere_stays(digits in "[1-9][0-9]{5,13}", at in 0usize..250) {
            prop_assume!(without_inner_zero(&digits).as_ref() == Some(&digits));
            let number = format!("+{digits}");
            prop_assert_eq!(phone(&number, COUNTRIES[at].letters), Ok(number));
        }
    }
}
