//! The address of a download.

use std::fmt;

use reqwest::Url;

use crate::http::is_this_machine;

/// An address that a credential may be sent to: https, or http to this machine. Neither `Display` nor `Debug` shows its
/// query, which may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(Url);

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as the rest of a sentence about it; quotes nothing of it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let url = Url::parse(text.trim()).map_err(|_| "is no address")?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("holds a user or a password, which belong into `user` and `password_file`");
        }
        if url.fragment().is_some() {
            return Err("holds a `#`, and no server is asked for what stands behind it");
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err("names no host");
        }
        let address = Self(url);
        match address.0.scheme() {
            "https" => Ok(address),
            "http" if address.0.host_str().is_some_and(is_this_machine) => Ok(address),
            "http" => Err("would have people sent in clear text: http is for this machine alone"),
            _ => Err("begins with neither https:// nor http://"),
        }
    }

    /// The whole address, to be sent and to be compared.
    pub(in crate::source) fn url(&self) -> &Url {
        &self.0
    }

    /// The whole address as a text that is compared and never shown.
    pub fn secret(&self) -> &str {
        self.0.as_str()
    }

    /// Whether it is asked over TLS.
    pub(in crate::source) fn is_tls(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The last part of its path, without an ending.
    pub fn stem(&self) -> &str {
        let last = self.0.path().rsplit('/').next().unwrap_or_default();
        last.split_once('.').map_or(last, |(stem, _)| stem)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", origin(&self.0), self.0.path())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Scheme, host and port of an address.
pub(super) fn origin(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_11_an_address_is_https_and_shown_without_its_query() {
        for (text, shown) in [
            ("https://hr.example.com/report.csv", Some("https://hr.example.com/report.csv")),
            (" https://hr.example.com:8443/a?token=s3cret ", Some("https://hr.example.com:8443/a")),
            ("https://hr.example.com", Some("https://hr.example.com/")),
            ("http://127.0.0.1:81/a?s3cret", Some("http://127.0.0.1:81/a")),
            ("http://[::1]/a", Some("http://[::1]/a")),
            ("http://localhost/a", Some("http://localhost/a")),
            ("http://hr.example.com/s3cret", None),
            ("http://127.0.0.1.example.com/s3cret", None),
            ("http://localhost.example.com/s3cret", None),
            ("https://ana:s3cret@hr.example.com/", None),
            ("https://ana@hr.example.com/s3cret", None),
            ("https://hr.example.com/#s3cret", None),
            ("ftp://hr.example.com/s3cret", None),
            ("s3cret", None),
            ("https://", None),
        ] {
            let parsed = Address::parse(text);
            assert_eq!(parsed.as_ref().ok().map(Address::to_string).as_deref(), shown, "{text}");
            assert!(!format!("{parsed:?}").contains("s3cret"), "{parsed:?}");
        }
    }

    #[test]
    fn the_last_part_of_the_path_names_what_it_is() {
        for (text, stem) in [
            ("https://hr.example.com/a/staff.csv?x=1", "staff"),
            ("https://hr.example.com/a/Staff_Report", "Staff_Report"),
            ("https://hr.example.com/", ""),
        ] {
            assert_eq!(Address::parse(text).unwrap().stem(), stem, "{text}");
        }
    }
}
