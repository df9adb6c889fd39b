//! What people are told.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::record::JobName;

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A job fails.
    Failed,
    /// Changes wait for a person.
    Held,
    /// A job could do only a part.
    Partial,
    /// A job's source misses more of its known people than it may.
    Missing,
    /// A job, or its source, is late.
    Overdue,
    /// A leaver has been on site for too long to be only at work.
    OnSite,
    /// The disk of the state is full.
    DiskFull,
    /// The daemon refused a new configuration.
    ConfigRefused,
    /// The status page can't be served.
    NoPage,
    /// Nothing works: the daemon can't start, or can't read its state.
    Down,
    /// All is well again.
    Recovered,
    /// Somebody tries whether notices arrive.
    Test,
}

/// A notice. It names nobody (law 11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Tells it from others, also where it arrives twice.
    pub id: String,
    /// When it was noticed, by this machine's clock.
    pub at: Timestamp,
    /// What it is about.
    pub event: Kind,
    /// The job; none where it is about all of them.
    pub job: Option<JobName>,
    /// The job's last run.
    pub run: Option<u64>,
    /// What happened, in a sentence.
    pub text: String,
    /// Why, one by one.
    pub reasons: Vec<String>,
    /// Rows that could not be used and were not told before.
    pub rows: Vec<RowNote>,
    /// The number of the set of held changes, where it is about one.
    pub held_set: Option<u64>,
}

/// A row that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowNote {
    /// Its line, where the source has lines.
    pub line: Option<u64>,
    /// What is wrong, with the column or field.
    pub reason: String,
}

impl Kind {
    /// Its name in notices.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Held => "held",
            Self::Partial => "partial",
            Self::Missing => "missing",
            Self::Overdue => "overdue",
            Self::OnSite => "on_site",
            Self::DiskFull => "disk_full",
            Self::ConfigRefused => "config_refused",
            Self::NoPage => "no_page",
            Self::Down => "down",
            Self::Recovered => "recovered",
            Self::Test => "test",
        }
    }
}

impl Notice {
    /// A notice of no job in particular, with nothing but a sentence.
    pub(super) fn new(at: Timestamp, event: Kind, text: String) -> Self {
        Self {
            id: String::new(),
            at,
            event,
            job: None,
            run: None,
            text,
            reasons: Vec::new(),
            rows: Vec::new(),
            held_set: None,
        }
    }

    /// All of it in lines.
    pub fn lines(&self) -> String {
        let mut text = self.text.clone();
        for reason in &self.reasons {
            text.push_str("\n- ");
            text.push_str(reason);
        }
        for row in &self.rows {
            let line = row.line.map_or_else(|| "a row".to_owned(), |line| format!("line {line}"));
            text.push_str(&format!("\n- {line}: {}", row.reason));
        }
        text
    }

    /// The document that a webhook gets: `text` is all of it in lines, as chats show it.
    pub(super) fn document(&self, host: &str, page: Option<&str>) -> serde_json::Value {
        let mut document = serde_json::to_value(self).expect("a notice is made of types that JSON holds");
        document["version"] = 1.into();
        document["host"] = host.into();
        document["summary"] = self.text.clone().into();
        document["page"] = page.into();
        let link = page.map(|page| format!("\n{page}")).unwrap_or_default();
        document["text"] = (self.lines() + &link).into();
        document
    }
}
