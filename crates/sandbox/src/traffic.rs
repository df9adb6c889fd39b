//! The log of requests that the sandbox received, for tests and for people.

use std::collections::VecDeque;

use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use tokio::time::Instant;

/// How many requests are remembered; the oldest is forgotten first.
const REQUESTS_MAX: usize = 200_000;

/// One API request that arrived, whatever became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it arrived: milliseconds since the start of the sandbox, by a clock that never goes back.
    pub at_millis: u64,
    /// Its HTTP method.
    pub method: String,
    /// Its path below the API root, such as `/staff/7`.
    pub path: String,
    /// Its query as sent, without the question mark.
    pub query: String,
    /// The name of its operation; empty where it meant none.
    pub operation: &'static str,
    /// Its `User-Agent`; empty where it has none.
    pub agent: String,
    /// The credential, such as `key sandbox`; empty where it was not good.
    pub credential: String,
    /// The status of its answer; 0 while there is none, and where the connection was cut instead.
    pub status: u16,
}

/// Everything that arrived, in order.
pub(crate) struct Traffic {
    start: Instant,
    forgotten: u64,
    requests: VecDeque<Request>,
    pub(crate) writes: usize,
    pub(crate) token_requests: usize,
}

impl Traffic {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), forgotten: 0, requests: VecDeque::new(), writes: 0, token_requests: 0 }
    }

    /// Remembers an arrival and gives it a number.
    pub(crate) fn arrive(&mut self, parts: &Parts, path: &str, operation: &'static str) -> u64 {
        if self.requests.len() == REQUESTS_MAX {
            self.requests.pop_front();
            self.forgotten += 1;
        }
        self.requests.push_back(Request {
            at_millis: u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX),
            method: parts.method.to_string(),
            path: path.to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            operation,
            agent: parts
                .headers
                .get(USER_AGENT)
                .map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned())
                .unwrap_or_default(),
            credential: String::new(),
            status: 0,
        });
        self.forgotten + self.requests.len() as u64 - 1
    }

    /// Notes how the request of that number was answered.
    pub(crate) fn answered(&mut self, number: u64, status: u16) {
        if let Some(request) = self.of(number) {
            request.status = status;
        }
    }

    /// Notes whose the request of that number is.
    pub(crate) fn is_of(&mut self, number: u64, credential: &str) {
        if let Some(request) = self.of(number) {
            credential.clone_into(&mut request.credential);
        }
    }

    fn of(&mut self, number: u64) -> Option<&mut Request> {
        let index = number.checked_sub(self.forgotten).and_then(|index| usize::try_from(index).ok())?;
        self.requests.get_mut(index)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.iter().cloned().collect()
    }

    /// The most requests that arrived within any 60 seconds.
    pub(crate) fn busiest_minute(&self) -> usize {
        let mut first = 0;
        let mut most = 0;
        for (last, request) in self.requests.iter().enumerate() {
            while self.requests[first].at_millis + 60_000 <= request.at_millis {
                first += 1;
            }
            most = most.max(last + 1 - first);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_minute_is_any_sixty_seconds() {
        for (arrivals, expected) in
            [(&[][..], 0), (&[0, 59_999], 2), (&[0, 60_000], 1), (&[0, 50_000, 70_000, 100_000, 109_999, 200_000], 4)]
        {
            let mut traffic = Traffic::new();
            let (parts, ()) = axum::http::Request::new(()).into_parts();
            for at in arrivals {
                traffic.arrive(&parts, "/staff", "staff.list");
                traffic.requests.back_mut().unwrap().at_millis = *at;
            }
            assert_eq!(traffic.busiest_minute(), expected, "{arrivals:?}");
        }
    }
}
