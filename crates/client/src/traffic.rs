//! Counters of requests by result, and the durations of their answers.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::error::ErrorKind;
use crate::histogram::Histogram;
use crate::operation::Verb;
use crate::transport::Head;

/// Upper bounds of durations, in seconds: up to the longest that a request may take.
const BOUNDS: &[f64] = &[0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Counters of requests by result, and durations of their answers, since the client was made.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Requests by kind of operation and outcome: `2xx`, `304`, `404`, `4xx`, `429`, `5xx`, `timeout`, `unsent` or `broken`.
    pub outcomes: BTreeMap<(&'static str, &'static str), u64>,
    /// How long answers took, by kind of operation.
    pub durations: BTreeMap<&'static str, Histogram>,
}

/// Counts as they grow.
#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<Traffic>);

impl Meter {
    /// A request was answered, or failed, after so long.
    pub(crate) fn count(&self, verb: Verb, outcome: Result<&Head, &ErrorKind>, took: Duration) {
        let mut traffic = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (verb, outcome) = (verb.name(), named(outcome));
        *traffic.outcomes.entry((verb, outcome)).or_default() += 1;
        traffic.durations.entry(verb).or_insert_with(|| Histogram::new(BOUNDS)).observe(took);
    }

    /// What was counted so far.
    pub(crate) fn read(&self) -> Traffic {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn named(outcome: Result<&Head, &ErrorKind>) -> &'static str {
    match outcome {
        Ok(head) => match head.status {
            200..=299 => "2xx",
            304 => "304",
            404 => "404",
            429 => "429",
            400..=499 => "4xx",
            500..=599 => "5xx",
            _ => "other",
        },
        Err(ErrorKind::TimeOut { .. }) => "timeout",
        Err(kind) if kind.is_never_sent() => "unsent",
        Err(_) => "broken",
    }
}
