//! A line of the audit file.
//!
//! Words and counts stay as they were written: the file outlives versions, and one that knows fewer of them must still
//! show what happened.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::user::{acting_user, acting_via};
use crate::record::{Action, JobName, Key, RemoteId, Value};

/// A line of the audit file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "what")]
pub enum AuditEvent {
    /// A change that the service confirmed.
    Change(Changed),
    /// What was decided.
    Decision(Decided),
    /// The end of a run.
    Run(Ended),
}

/// A change that the service confirmed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// When, by this machine's clock.
    pub at: Timestamp,
    /// The run that made it.
    pub run: u64,
    /// The job.
    pub job: JobName,
    /// The record.
    pub key: Key,
    /// What was done.
    pub action: Action,
    /// The entity.
    pub id: Option<RemoteId>,
    /// The owned fields that moved: before and after; none where the values were dropped when they had grown old.
    pub fields: BTreeMap<String, Option<[Value; 2]>>,
}

/// What was decided about a held change, a job, or all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// When.
    pub at: Timestamp,
    /// The job; none where it is about all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobName>,
    /// The record; none where it is about the whole job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// `approved`, `rejected`, `paused` and the like.
    pub decision: String,
    /// Who decided.
    pub by: String,
    /// By which way, where it was not the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// What it was about, or why, where that needs words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// When.
    pub at: Timestamp,
    /// The run.
    pub run: u64,
    /// The job.
    pub job: JobName,
    /// When it began.
    pub started: Timestamp,
    /// How it ended: `done`, `partial`, `held`, `failed`.
    pub status: String,
    /// Whether its read proved that it saw everyone.
    pub complete: bool,
    /// Its numbers, by name.
    pub counts: BTreeMap<String, u64>,
    /// Why it did not end as done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The run that it undid, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts: Option<u64>,
    /// Who asked for it, if that is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Shows which fields moved, and no value (law 11).
impl fmt::Debug for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changed")
            .field("run", &self.run)
            .field("key", &self.key)
            .field("fields", &self.fields.keys())
            .finish_non_exhaustive()
    }
}

impl From<Changed> for AuditEvent {
    fn from(changed: Changed) -> Self {
        Self::Change(changed)
    }
}

impl From<Decided> for AuditEvent {
    fn from(decided: Decided) -> Self {
        Self::Decision(decided)
    }
}

impl From<Ended> for AuditEvent {
    fn from(ended: Ended) -> Self {
        Self::Run(ended)
    }
}

impl Decided {
    /// A decision of the acting user about everything.
    pub fn new(at: Timestamp, decision: &str) -> Self {
        Self {
            at,
            job: None,
            key: None,
            decision: decision.to_owned(),
            by: acting_user(),
            via: acting_via(),
            why: None,
        }
    }
}

impl AuditEvent {
    /// When it was.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Change(changed) => changed.at,
            Self::Decision(decided) => decided.at,
            Self::Run(ended) => ended.at,
        }
    }
}
