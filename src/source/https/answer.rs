//! Whether an answer may be the file: its head, and the beginning of its body.

use reqwest::Url;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION, TRANSFER_ENCODING};

use super::address::origin;
use super::error::HttpsErrorKind;
use super::options::Login;

/// What servers call a CSV file or a workbook; some know neither and say that it is bytes.
const MEDIA_TYPES: [&str; 7] = [
    "text/csv",
    "text/plain",
    "text/tab-separated-values",
    "application/csv",
    "application/octet-stream",
    "application/vnd.ms-excel",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
];
/// What a page for people begins with, in lower case.
const PAGES: [&str; 2] = ["<!doctype html", "<html"];
/// How much of a file tells whether it is a page.
pub(super) const BEGINNING: usize = 256;
/// How much of a name that a server gives is shown.
const SHOWN_MAX: usize = 80;

/// What an answer says before its body.
pub(super) struct AnswerHead<'a> {
    pub(super) status: u16,
    pub(super) headers: &'a HeaderMap,
    /// The address that was asked.
    pub(super) asked: &'a Url,
}

impl AnswerHead<'_> {
    /// Whether the body may be the file.
    pub(super) fn check(&self, login: Option<&Login>) -> Result<(), HttpsErrorKind> {
        let status = self.status;
        match status {
            200 => {}
            300..=399 if self.headers.contains_key(LOCATION) => {
                return Err(HttpsErrorKind::Redirect { status, to: self.location() });
            }
            401 | 403 => return Err(HttpsErrorKind::Refused { status, check: checked(login) }),
            _ => return Err(HttpsErrorKind::Status { status, hint: hint(status) }),
        }
        let encoding = self.text(CONTENT_ENCODING).filter(|encoding| !encoding.eq_ignore_ascii_case("identity"));
        if let Some(encoding) = encoding.filter(|encoding| !encoding.is_empty()) {
            return Err(HttpsErrorKind::Encoded(plain(encoding)));
        }
        let media_type = self.media_type();
        match media_type.as_str() {
            "text/html" | "application/xhtml+xml" => Err(HttpsErrorKind::Page { status, media_type }),
            // What is not called anything is bytes.
            "" => Ok(()),
            known if MEDIA_TYPES.contains(&known) => Ok(()),
            _ => Err(HttpsErrorKind::MediaType { status, media_type }),
        }
    }

    /// Whether the body begins as a page for people does, whatever it is called.
    pub(super) fn check_beginning(&self, bytes: &[u8]) -> Result<(), HttpsErrorKind> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}').trim_start().to_lowercase();
        if PAGES.iter().any(|page| text.starts_with(page)) {
            return Err(HttpsErrorKind::Page { status: self.status, media_type: self.media_type() });
        }
        Ok(())
    }

    /// Whether the end of the body shows: by its length, or by a last chunk.
    pub(super) fn ends_visibly(&self, length: Option<u64>) -> bool {
        // Of several lines, the last coding of the last one counts.
        let coding = self.headers.get_all(TRANSFER_ENCODING).iter().next_back().and_then(|line| line.to_str().ok());
        let last = coding.and_then(|coding| coding.rsplit(',').next());
        length.is_some() || last.is_some_and(|last| last.trim().eq_ignore_ascii_case("chunked"))
    }

    /// The media type without its parameters; empty where there is none.
    fn media_type(&self) -> String {
        let text = self.text(CONTENT_TYPE).unwrap_or_default();
        plain(text.split(';').next().unwrap_or_default().trim()).to_lowercase()
    }

    /// The scheme and the host that a redirect points to.
    fn location(&self) -> String {
        let target = self.text(LOCATION).and_then(|text| self.asked.join(text).ok());
        target.filter(Url::has_host).map_or_else(|| "no address".to_owned(), |url| origin(&url))
    }

    fn text(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A name that a server gives, as far as it is one.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || "/+-._, ".contains(*c)).take(SHOWN_MAX).collect()
}

fn checked(login: Option<&Login>) -> &'static str {
    match login {
        Some(Login::Basic { .. }) => "`user`, its password, and that the account may read the report",
        Some(Login::Bearer(_)) => "`token_file`, and what the token allows",
        Some(Login::Client(_)) => "`oauth`: its scopes, and what the client may read",
        None => "whether it wants one: `user` and `password_file`, `token_file` or `oauth`",
    }
}

fn hint(status: u16) -> &'static str {
    match status {
        304 => ", \"not modified\", which was not asked for; a proxy between may be broken",
        404 | 410 => "; check `url`",
        407 => "; the proxy wants a credential of its own",
        408 | 429 | 500.. => "; the next run asks again",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn head(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let named = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        headers.iter().map(named).collect()
    }

    #[test]
    fn law_1_only_a_table_with_status_200_is_taken() {
        let url = Url::parse("https://hr.example.com/report.csv?key=s3cret").unwrap();
        for (status, headers, said) in [
            (200, &[("content-type", "text/csv; charset=utf-8")][..], ""),
            (200, &[("content-type", "TEXT/CSV")], ""),
            (200, &[("content-type", "application/octet-stream")], ""),
            (200, &[("content-type", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")], ""),
            (200, &[], ""),
            (200, &[("content-encoding", "identity")], ""),
            (200, &[("content-encoding", "gzip"), ("content-type", "text/csv")], "content encoding gzip"),
            (200, &[("content-type", "text/html; charset=utf-8")], "200 with an HTML page (as text/html)"),
            (200, &[("content-type", "application/json")], "200 with application/json, and a CSV file"),
            (200, &[("content-type", "application/gzip")], "200 with application/gzip"),
            (204, &[], "it answered 204"),
            (206, &[("content-type", "text/csv")], "it answered 206"),
            (304, &[], "304, \"not modified\""),
            (304, &[("location", "/x")], "a redirect to https://hr.example.com,"),
            (
                302,
                &[("location", "https://login.example.com/in?back=s3cret")],
                "a redirect to https://login.example.com,",
            ),
            (301, &[("location", "other.csv?key=s3cret")], "a redirect to https://hr.example.com,"),
            (302, &[("location", "mailto:s3cret")], "a redirect to no address,"),
            (302, &[], "it answered 302"),
            (401, &[], "401: the credential was not taken"),
            (403, &[], "403: the credential was not taken"),
            (404, &[], "404; check `url`"),
            (500, &[], "500; the next run asks again"),
        ] {
            let headers = head(headers);
            let checked = AnswerHead { status, headers: &headers, asked: &url }.check(None);
            let found = checked.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(found.contains(said) && found.is_empty() == said.is_empty(), "{status} {headers:?}: {found}");
            assert!(!found.contains("s3cret"), "{found}");
        }
    }

    #[test]
    fn a_page_is_a_fault_whatever_it_is_called() {
        let (headers, url) = (head(&[("content-type", "text/plain")]), Url::parse("https://a.example/").unwrap());
        let head = AnswerHead { status: 200, headers: &headers, asked: &url };
        for (bytes, is_page) in [
            (&b"<!DOCTYPE html><html>"[..], true),
            (b"\xef\xbb\xbf\r\n <HTML lang=\"en\">", true),
            (b"Employee No,Name\n", false),
            (b"PK\x03\x04", false),
            (b"", false),
        ] {
            assert_eq!(head.check_beginning(bytes).is_err(), is_page, "{bytes:?}");
        }
    }

    #[test]
    fn law_1_an_end_shows_by_its_length_or_its_last_chunk() {
        let url = Url::parse("https://a.example/").unwrap();
        for (codings, length, visible) in [
            (&[][..], Some(0), true),
            (&[], None, false),
            (&["chunked"], None, true),
            (&["gzip, Chunked"], None, true),
            (&["chunked, gzip"], None, false),
            (&["identity"], None, false),
            (&["chunked", "identity"], None, false),
            (&["gzip", "chunked"], None, true),
        ] {
            let mut headers = HeaderMap::new();
            for coding in codings {
                headers.append(TRANSFER_ENCODING, HeaderValue::from_static(coding));
            }
            let head = AnswerHead { status: 200, headers: &headers, asked: &url };
            assert_eq!(head.ends_visibly(length), visible, "{codings:?} {length:?}");
        }
    }
}
