//! What every exchange over HTTP has to do with.

use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

/// The addresses of this machine itself, which no proxy is asked for.
pub const THIS_MACHINE: &str = "localhost,127.0.0.0/8,::1";

/// The longest wait that a server is believed to want. Times far beyond it can't be reckoned with.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Whether a host is this machine itself; an IPv6 address may stand in brackets.
pub fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// How long a server wants to be left alone; an HTTP date counts from the answer's own.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok();
    wait(text(RETRY_AFTER)?, text(DATE).and_then(date).unwrap_or(now))
}

/// The wait that `Retry-After` names in seconds or by a date.
pub(crate) fn wait(text: &str, from: Timestamp) -> Option<Duration> {
    let text = text.trim();
    let wait = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => Duration::try_from(date(text)?.duration_since(from)).unwrap_or_default(),
    };
    Some(wait.min(WAIT_MAX))
}

/// A date as headers write it.
pub(crate) fn date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}
