//! How a run ended, and its numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// Known people who are missing from the read.
    #[serde(default)]
    pub missing: u64,
    /// Rows that can't be used.
    pub rejected: u64,
    /// Values that can't be used, of records that count all the same.
    #[serde(default)]
    pub rejected_values: u64,
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
    /// Adds those of a part; only the job's own target counts for its records.
    pub(crate) fn add(&mut self, part: &Self, is_own: bool) {
        if is_own {
            self.records += part.records;
            self.unchanged += part.unchanged;
            self.missing += part.missing;
        }
        self.created += part.created;
        self.updated += part.updated;
        self.deleted += part.deleted;
        self.parked += part.parked;
        self.held += part.held;
    }

    /// The numbers by their names.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        let json = serde_json::to_value(self).expect("plain numbers");
        serde_json::from_value(json).expect("they were written from numbers")
    }
}
