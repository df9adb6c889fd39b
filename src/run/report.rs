//! What a run came to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::{Action, JobName, Key, Rejected};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All is as it should be.
    Done,
    /// Rows were rejected, changes are parked, or the read was incomplete.
    Partial,
    /// Something waits for a person.
    Held,
    /// The source or the service could not be read, or changes could not be delivered.
    Failed,
}

impl Status {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial => "partial",
            Self::Held => "held",
            Self::Failed => "failed",
        }
    }
}

/// The numbers of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Records of the source.
    pub records: u64,
    /// Rows that can't be used.
    pub rejected: u64,
    /// People made.
    pub created: u64,
    /// People changed.
    pub updated: u64,
    /// People removed.
    pub deleted: u64,
    /// Records that needed nothing.
    pub unchanged: u64,
    /// Changes that the service refused for good.
    pub parked: u64,
    /// Changes that wait for a person.
    pub held: u64,
    /// Requests sent to the service.
    pub requests: u64,
}

impl Counts {
    /// The numbers by their names.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        let json = serde_json::to_value(self).expect("plain numbers");
        serde_json::from_value(json).expect("they were written from numbers")
    }
}

/// What a run of one job came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// The job.
    pub name: JobName,
    /// How it ended.
    pub status: Status,
    /// Whether the read proved that it saw everyone.
    pub complete: bool,
    /// The numbers.
    pub counts: Counts,
    /// Why it did not end as done.
    pub reasons: Vec<String>,
    /// The rows that can't be used.
    pub rejections: Vec<Rejected>,
    /// What waits for a person, and why.
    pub held: Vec<(Key, String)>,
    /// What the service refused, and its words.
    pub parked: Vec<(Key, Action, String)>,
    /// Fields that somebody edited at the service and that stay so, where the job names them.
    pub drift: Vec<(Key, Vec<String>)>,
    /// What became of each row, for whoever dropped the file.
    pub details: Details,
}

/// What became of each row of a file that somebody dropped.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Rows that can be used, with line and key, and whether they count; in order of line.
    pub rows: Vec<(u64, Key, bool)>,
    /// What was confirmed.
    pub confirmed: Vec<(Key, Action)>,
    /// What a person rejected.
    pub dropped: Vec<Key>,
    /// Whether the source was so short that nothing was taken from it.
    pub nothing_taken: bool,
}

impl Report {
    /// Why it did not end as done, on one line.
    pub fn reason(&self) -> Option<String> {
        (!self.reasons.is_empty()).then(|| self.reasons.join("; "))
    }

    /// The report of a job that failed before it had anything to count.
    pub fn failed(name: JobName, reason: String, requests: u64) -> Self {
        Self {
            name,
            status: Status::Failed,
            complete: false,
            counts: Counts { requests, ..Counts::default() },
            reasons: vec![reason],
            rejections: Vec::new(),
            held: Vec::new(),
            parked: Vec::new(),
            drift: Vec::new(),
            details: Details::default(),
        }
    }

    /// The report of a job that had nothing to read.
    pub fn idle(name: JobName) -> Self {
        Self { status: Status::Done, reasons: Vec::new(), ..Self::failed(name, String::new(), 0) }
    }
}
