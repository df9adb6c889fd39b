//! Normalizes input as the service does: phone numbers, case, outer spaces.

/// The country that a number without a country code belongs to.
const HOME: &str = "64";

/// Country codes of one and of three digits that are recognized; all others are taken to have two.
const SHORT: &[&str] = &["1", "7"];
const LONG: &[&str] =
    &["351", "352", "353", "354", "358", "420", "421", "675", "676", "677", "678", "679", "682", "685", "852"];

/// A phone number as the service keeps it: country code, space, digits, for example `64 298385771`. Text without a
/// digit stays as it is.
pub(crate) fn phone(text: &str) -> String {
    let text = text.trim();
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if digits.is_empty() {
        return text.to_owned();
    }
    let international = if text.starts_with('+') {
        digits.as_str()
    } else if let Some(rest) = digits.strip_prefix("00") {
        rest
    } else if let Some(national) = digits.strip_prefix('0') {
        let national = national.trim_start_matches('0');
        return if national.is_empty() { digits } else { format!("{HOME} {national}") };
    } else if let Some((code, rest)) = text.split_once(' ').filter(|(code, rest)| is_code(code) && is_number(rest)) {
        return format!("{code} {rest}");
    } else {
        digits.as_str()
    };
    let international = international.trim_start_matches('0');
    let code = if SHORT.iter().any(|code| international.starts_with(code)) {
        1
    } else if LONG.iter().any(|code| international.starts_with(code)) {
        3
    } else {
        2
    };
    // "(0)" after a country code is no part of the number.
    let (code, rest) = international.split_at_checked(code).unwrap_or((international, ""));
    let rest = rest.trim_start_matches('0');
    match (rest, international) {
        ("", "") => digits,
        ("", short) => short.to_owned(),
        (rest, _) => format!("{code} {rest}"),
    }
}

fn is_code(text: &str) -> bool {
    (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_rewritten_once_stays(text in "[+0-9 ()-]{0,16}") {
            prop_assert_eq!(phone(&phone(&text)), phone(&text));
        }
    }

    #[test]
    fn a_number_is_country_code_and_digits() {
        for (text, expected) in [
            ("+64 29 838-5771", "64 298385771"),
            ("+64 (0)29 8385771", "64 298385771"),
            ("0064 29 8385771", "64 298385771"),
            ("029 838 5771", "64 298385771"),
            ("64 298385771", "64 298385771"),
            ("+1 (555) 010-0199", "1 5550100199"),
            ("+353 1 5550100", "353 15550100"),
            ("+61 2 5550 0100", "61 255500100"),
            ("n/a", "n/a"),
            ("+6", "6"),
            ("", ""),
        ] {
            assert_eq!(phone(text), expected, "{text}");
            assert_eq!(phone(&phone(text)), phone(text), "{text} twice");
        }
    }
}
