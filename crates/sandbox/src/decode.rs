//! Percent-decoding of paths, queries and forms, and the two parts of basic credentials.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;

/// Base64 with or without padding.
pub(crate) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The decoded segments of a path that begins with a slash, empty ones too; `None` where one isn't UTF-8.
pub(crate) fn segments(path: &str) -> Option<Vec<String>> {
    path.strip_prefix('/')?.split('/').map(decoded).collect()
}

/// The names and values of a query or a form; `None` where one isn't UTF-8.
pub(crate) fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(&name.replace('+', " "))?, decoded(&value.replace('+', " "))?))
        })
        .collect()
}

/// Text without its percent-encoding; `None` where it isn't UTF-8.
pub(crate) fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// The user name and password of HTTP Basic's base64 part.
pub(crate) fn basic(encoded: &str) -> Option<(String, String)> {
    let text = String::from_utf8(BASE64.decode(encoded.trim()).ok()?).ok()?;
    text.split_once(':').map(|(user, password)| (user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_decoded_in_names_and_values() {
        let own = |pairs: &[(&str, &str)]| {
            Some(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        for (query, expected) in [
            ("", own(&[])),
            ("q=id%3E7&limit=2", own(&[("q", "id>7"), ("limit", "2")])),
            ("q=name%25Ana+B&x", own(&[("q", "name%Ana B"), ("x", "")])),
            ("q=a=b%2B", own(&[("q", "a=b+")])),
            ("q=%FF", None),
        ] {
            assert_eq!(pairs(query), expected, "{query}");
        }
    }

    #[test]
    fn basic_credentials_are_read() {
        for (encoded, expected) in [
            ("a2V5Og==", Some(("key", ""))),
            ("dXNlcjpwOnE=", Some(("user", "p:q"))),
            ("dXNlcjpwOnE", Some(("user", "p:q"))),
            ("bm9jb2xvbg==", None),
            ("!!!", None),
        ] {
            let expected = expected.map(|(user, password)| (user.to_owned(), password.to_owned()));
            assert_eq!(basic(encoded), expected, "{encoded}");
        }
    }
}
