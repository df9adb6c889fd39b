//! The result of one row.

use serde::{Deserialize, Serialize};

/// What happened to one row, or to a person who is in no row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportLine {
    /// The line on which the row begins, counted from 1.
    pub row: Option<u64>,
    /// The key, where it could be read.
    pub key: Option<String>,
    /// What became of it.
    pub outcome: RowOutcome,
    /// What stands in the file and can't be used.
    pub value: Option<String>,
    /// Why; empty where there is nothing to say.
    pub reason: String,
    /// Whether the reason is in English, in a report of another language.
    pub in_english: bool,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOutcome {
    /// The row can't be used.
    NotUsed,
    /// A value of the row can't be used; the rest of the row counts.
    ValueNotUsed,
    /// The person is known and in no row.
    Missing,
    /// The service refused it.
    Refused,
    /// It waits for an approval, or for the person to leave the site.
    Waiting,
    /// A person rejected it before.
    Dropped,
    /// The person was made.
    Added,
    /// The person was changed.
    Changed,
    /// The person was removed.
    Removed,
    /// The row says that the person is not to be there.
    NotIncluded,
    /// The row counts from a later day on.
    NotYet,
    /// It waited, and the next file was read before anything was done.
    Superseded,
    /// There was nothing to do.
    Unchanged,
}
