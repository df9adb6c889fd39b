//! Checks addresses.

use reqwest::Url;

use crate::http::is_this_machine;

const ADDRESS_HINT: &str = "write it like https://api.example.com/v1";

/// Reads the address of a service, without its final slash. Only a loopback address may go without TLS.
///
/// The error is the message and the hint; neither quotes an address that holds a password (law 11).
pub(super) fn service(text: &str) -> Result<Url, (String, &'static str)> {
    let url = plain(text)?;
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err(("plain http would send the credential unprotected".to_owned(), "use https")),
        _ => Err((format!("{text:?} is no https address"), ADDRESS_HINT)),
    }
}

/// Reads the address of a proxy.
pub(super) fn proxy(text: &str) -> Result<String, (String, &'static str)> {
    const HINT: &str = "write it like http://proxy.example.com:3128";
    let url = plain(text).map_err(|(message, hint)| (message, if hint == ADDRESS_HINT { HINT } else { hint }))?;
    if matches!(url.scheme(), "http" | "https") {
        Ok(url.to_string())
    } else {
        Err((format!("{text:?} is no address of a proxy"), HINT))
    }
}

/// The text of an address without final slashes.
pub(super) fn trimmed(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

/// Whether the path ends in a version such as `/v1`.
pub(super) fn ends_in_version(url: &Url) -> bool {
    let last = url.path().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    last.strip_prefix('v').is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
}

/// An address without user, query or fragment.
fn plain(text: &str) -> Result<Url, (String, &'static str)> {
    let Ok(url) = Url::parse(text.trim()) else {
        return Err(("is no address".to_owned(), ADDRESS_HINT));
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(("a name or password in the address is not supported".to_owned(), "leave it out"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(("an address with ? or # can't be built upon".to_owned(), "leave that part out"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err((format!("{text:?} names no host"), ADDRESS_HINT));
    }
    Ok(url)
}

/// Whether it is an address of this machine itself.
pub(super) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(is_this_machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_goes_without_tls() {
        for (text, fits) in [
            ("https://api.example.com/v1", true),
            ("http://127.0.0.1:8080/v1", true),
            ("http://127.8.9.1/v1", true),
            ("http://[::1]:8080/v1", true),
            ("http://localhost/v1", true),
            ("http://api.example.com/v1", false),
            ("http://127.0.0.1.example.com/v1", false),
            ("http://localhost.example.com/v1", false),
            ("http://10.0.0.1/v1", false),
            ("http://[::2]/v1", false),
            ("ftp://127.0.0.1/v1", false),
            ("api.example.com/v1", false),
            ("https://", false),
            ("https://user:word@example.com/v1", false),
            ("https://example.com/v1?x=1", false),
        ] {
            assert_eq!(service(text).is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn law_11_a_password_in_an_address_is_not_quoted() {
        for text in ["https://ana:hunter2@example.com/v1", "ftp://ana:hunter2@example.com", "https://ana:hunter2@"] {
            for error in [format!("{:?}", service(text).unwrap_err()), format!("{:?}", proxy(text).unwrap_err())] {
                assert!(!error.contains("hunter2"), "{error}");
            }
        }
    }

    #[test]
    fn a_version_is_the_last_segment() {
        for (text, version) in [("https://a/v1", true), ("https://a/v1/", true), ("https://a/x/v12", true)] {
            assert_eq!(ends_in_version(&Url::parse(text).unwrap()), version, "{text}");
        }
        for text in ["https://a", "https://a/v", "https://a/v1/x", "https://a/version1"] {
            assert!(!ends_in_version(&Url::parse(text).unwrap()), "{text}");
        }
    }
}
