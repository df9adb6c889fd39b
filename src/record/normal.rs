//! Normalizes texts, so that two spellings count as one.

use unicode_normalization::UnicodeNormalization;

/// The form under which records are matched to entities: case, outer spaces, Unicode form (NFKC) and leading zeros don't
/// matter. Empty where nothing is left to match by.
pub fn normalize(text: &str) -> String {
    let text = text.trim();
    // ASCII has one form only.
    if text.is_ascii() {
        return without_zeros(text).to_ascii_lowercase();
    }
    let folded: String = text.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    without_zeros(folded.trim()).to_owned()
}

/// A text without leading zeros, of which one stays where there is nothing else.
fn without_zeros(text: &str) -> &str {
    let bare = text.trim_start_matches('0');
    if bare.is_empty() && !text.is_empty() { "0" } else { bare }
}

/// The ASCII digits of a phone number without leading zeros: the service drops `+`, brackets and dashes.
pub fn digits(text: &str) -> String {
    let all: String = text.chars().filter(char::is_ascii_digit).collect();
    all.trim_start_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_matter_for_a_match() {
        for (one, other) in [
            ("Ana@Example.com", " ana@example.COM "),
            ("00123", "123"),
            ("Zoe\u{308}", "zo\u{eb}"),
            ("000", "0"),
            ("ＡＢ", "ab"),
        ] {
            assert_eq!(normalize(one), normalize(other), "{one} / {other}");
        }
        assert_ne!(normalize("123"), normalize("1230"));
        assert_eq!(normalize("  "), "");
    }

    proptest::proptest! {
        #[test]
        fn ascii_folds_as_any_other_text(text in "[ -~\\t\\n]{0,12}") {
            let long: String = text.trim().nfkc().flat_map(char::to_lowercase).nfkc().collect();
            proptest::prop_assert_eq!(normalize(&text), normalize(&format!("{long}\u{a0}")));
        }
    }

    #[test]
    fn a_phone_number_is_its_digits() {
        assert_eq!(digits("+64 (29) 838-5771"), digits("64 298385771"));
        assert_ne!(digits("021 555"), digits("64 21 555"));
    }
}
