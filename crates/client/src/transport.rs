//! One exchange over HTTP: limits of time and size, no redirects, TLS with the system's roots.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url, redirect};
use rustls::ClientConfig;

use crate::error::ErrorKind;
use crate::http::{self, THIS_MACHINE, is_this_machine};
use crate::options::Options;
use crate::tls;

/// How this program is called at the service.
pub(crate) const USER_AGENT: &str = concat!("rosterd/", env!("CARGO_PKG_VERSION"));
/// The largest body of a success, in bytes after decompression.
pub(crate) const BODY_MAX: usize = 16 * 1024 * 1024;
/// How much of an error's body is read.
const ERROR_BODY_MAX: usize = 64 * 1024;
/// The longest wait for a connection.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Services close idle connections after 5 s; one that is closed while a request sets out would leave its fate unknown.
const IDLE_MAX: Duration = Duration::from_secs(4);

/// What an answer says before its body.
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    pub(crate) date: Option<Timestamp>,
    pub(crate) length: Option<u64>,
    retry_after: Option<String>,
}

/// The one HTTP client of an account.
pub(crate) fn client(options: &Options, urls: &[&Url]) -> Result<reqwest::Client, ErrorKind> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(options.ca_file.as_deref(), urls)?)
        .user_agent(USER_AGENT)
        .default_headers(headers)
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .timeout(options.timeout)
        // Ahead of the deadline of the whole request, so that what was surely never sent is known as such.
        .connect_timeout(CONNECT_MAX.min(options.timeout / 2))
        .pool_idle_timeout(IDLE_MAX)
        .no_proxy();
    if let Some(proxy) = &options.proxy {
        let proxy =
            reqwest::Proxy::all(proxy).map_err(|_| ErrorKind::Options("proxy is not a usable URL".to_owned()))?;
        // What goes to this machine itself may go in clear, so no other machine is to see it.
        builder = builder.proxy(proxy.no_proxy(reqwest::NoProxy::from_string(THIS_MACHINE)));
    }
    builder
        .build()
        .map_err(|error| ErrorKind::Options(format!("the HTTP client can't be made: {}", error.without_url())))
}

/// An address that credentials may be sent to: https, or plain http to this machine.
pub(crate) fn url(setting: &str, text: &str) -> Result<Url, ErrorKind> {
    let wrong = |problem: &str| ErrorKind::Options(format!("{setting} {problem}"));
    let url = Url::parse(text).map_err(|_| wrong("is not a URL"))?;
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("must have no user, query or fragment"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if url.host_str().is_some_and(is_this_machine) => Ok(url),
        _ => Err(wrong("must begin with https:// (plain http is for loopback addresses only)")),
    }
}

/// TLS where any of the addresses asks for it. Where only plain http is spoken the system's roots are not asked for: a
/// machine without any can still rehearse.
fn tls(ca_file: Option<&Path>, urls: &[&Url]) -> Result<ClientConfig, ErrorKind> {
    let config = if urls.iter().any(|url| url.scheme() == "https") {
        tls::verified(ca_file)
    } else {
        tls::without_roots(ca_file)
    };
    config.map_err(ErrorKind::Options)
}

/// What a failed exchange means.
pub(crate) fn failure(error: reqwest::Error, limit: Duration) -> ErrorKind {
    let error = error.without_url();
    if error.is_connect() {
        ErrorKind::Connect(error)
    } else if error.is_timeout() {
        ErrorKind::TimeOut { limit }
    } else if error.is_builder() {
        ErrorKind::Options("the request can't be built from base_url".to_owned())
    } else {
        ErrorKind::Cut(error)
    }
}

impl Head {
    pub(crate) fn of(response: &Response) -> Self {
        let text = |name: &str| {
            let value = response.headers().get(HeaderName::from_bytes(name.as_bytes()).ok()?)?;
            value.to_str().ok().map(str::to_owned)
        };
        Self {
            status: response.status().as_u16(),
            content_type: text("content-type"),
            date: text("date").as_deref().and_then(http::date),
            length: text("content-length").and_then(|text| text.parse().ok()),
            retry_after: text("retry-after"),
        }
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..=299).contains(&self.status)
    }

    /// How long the service wants to be left alone; an HTTP date counts from the answer's own.
    pub(crate) fn retry_after(&self, now: Timestamp) -> Option<Duration> {
        http::wait(self.retry_after.as_deref()?, self.date.unwrap_or(now))
    }
}

/// Reads the body of a success; more than the limit is an error.
pub(crate) async fn body(mut response: Response, limit: Duration) -> Result<Vec<u8>, ErrorKind> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failure(error, limit))? {
        if bytes.len() + chunk.len() > BODY_MAX {
            return Err(ErrorKind::TooLarge { limit: BODY_MAX });
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Reads what can be had of an error's body.
pub(crate) async fn error_body(mut response: Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = ERROR_BODY_MAX - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() >= room {
            break;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_go_over_https_or_to_this_machine() {
        let check = |text: &str, good: bool| assert_eq!(url("base_url", text).is_ok(), good, "{text}");
        check("https://api.example.com/v1", true);
        check("http://127.0.0.1:8080/v1", true);
        check("http://127.9.9.9/v1", true);
        check("http://localhost:1/v1", true);
        check("http://[::1]:8080/v1", true);
        check("http://api.example.com/v1", false);
        check("http://127.0.0.1.example.com/v1", false);
        check("http://localhost.example.com/v1", false);
        check("https://user:secret@api.example.com/v1", false);
        check("https://api.example.com/v1?x=1", false);
        check("ftp://api.example.com", false);
        check("api.example.com/v1", false);
    }

    #[test]
    fn fault_29_retry_after_is_seconds_or_a_date() {
        let date = http::date("Sun, 06 Nov 1994 08:49:37 GMT");
        let check = |text: Option<&str>, expected: Option<u64>| {
            let head =
                Head { status: 429, content_type: None, date, length: None, retry_after: text.map(str::to_owned) };
            let now = "2026-01-01T00:00:00Z".parse().unwrap();
            assert_eq!(head.retry_after(now), expected.map(Duration::from_secs), "{text:?}");
        };
        assert_eq!(date, Some("1994-11-06T08:49:37Z".parse().unwrap()));
        check(Some("7"), Some(7));
        check(Some(" 0 "), Some(0));
        check(Some("Sun, 06 Nov 1994 08:50:00 GMT"), Some(23));
        check(Some("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
        check(Some("18446744073709551615"), Some(http::WAIT_MAX.as_secs()));
        check(Some("soon"), None);
        check(None, None);
    }
}
