//! What a run of one job would do.

use std::collections::{BTreeMap, BTreeSet};

use super::candidate::Digests;
use super::change_spill::ChangeSpill;
use super::doubtful_rows::DoubtfulRows;
use super::error::Error;
use super::missing_people::{Missed, Missing};
use super::reason::Reason;
use super::replicas::Replicas;
use super::state_updates::StateUpdates;
use super::waiting_files::WaitingFiles;
use crate::config::Job;
use crate::plan::{Base, Held, Outline};
use crate::record::{Field, JobName, Key, Rejected, Target};
use crate::store::Store;

/// Why a leaver waits who is on site (law 10).
pub const ON_SITE: &str = "on site; removed once they have left";

/// What a run of one job would do.
pub struct JobPlan {
    /// The job, or the part of it.
    pub job: JobName,
    /// What it manages.
    pub target: Target,
    /// Whether the read proved that it saw everyone.
    pub complete: bool,
    /// Why it did not.
    pub incomplete: Vec<String>,
    /// Why some who are missing stay: the server that was read may not be as far as the one that showed them.
    pub doubt: Option<String>,
    /// Records of the source.
    pub records: u64,
    /// Records that need nothing.
    pub unchanged: u64,
    /// By field: how many were found at the service by it, the first time.
    pub matched_by: BTreeMap<String, u64>,
    /// Every row that can be used, with its line, its key and whether it counts; for dropped files only.
    pub rows: Vec<(u64, Key, bool)>,
    /// What waits in the inbox, where the source is one.
    pub inbox: Option<WaitingFiles>,
    /// Rows that can't be used.
    pub rejected: Vec<Rejected>,
    /// Values that can't be used, of records that count all the same.
    pub bad_values: Vec<Rejected>,
    /// Known people who are missing from the read, in order of key.
    pub missed: Vec<Missed>,
    /// The report on them.
    pub missing: Option<Missing>,
    /// What those are called who leave or are missing.
    pub names: BTreeMap<Key, String>,
    /// What would be sent.
    pub go: Vec<Outline>,
    /// What would wait for a person.
    pub held: Vec<Held<Outline>>,
    /// Of what would be sent, what waits for something else than an approval, and why.
    pub waits: BTreeMap<Key, String>,
    /// What a person rejected.
    pub dropped: Vec<Outline>,
    /// Where the rest of each change lies.
    pub pile: ChangeSpill,
    /// Leavers who are not removed because they are protected.
    pub protected: Vec<Key>,
    /// Leavers who are to appear in another job and stay until they do, and why.
    pub moving: Vec<(Key, String)>,
    /// Fields that were edited at the service and stay so, if the job names them.
    pub drift: BTreeMap<Key, Vec<String>>,
    /// Why nothing is sent, where it is so: nothing is taken from the read, or the job is paused.
    pub hold: Option<Reason>,
    /// Further things worth knowing.
    pub notes: Vec<String>,
    /// The fields that the job maps, or sets in leavers.
    pub fields: Vec<Field>,
    pub(crate) updates: StateUpdates,
}

impl JobPlan {
    /// Nothing at all: no source was read, so it says nothing about anybody.
    pub(crate) fn nothing(job: &Job, store: &Store, note: String) -> Self {
        Self {
            job: job.name.clone(),
            target: job.mapping.target,
            complete: false,
            incomplete: Vec::new(),
            doubt: None,
            records: 0,
            unchanged: 0,
            matched_by: BTreeMap::new(),
            rows: Vec::new(),
            inbox: None,
            rejected: Vec::new(),
            bad_values: Vec::new(),
            missed: Vec::new(),
            missing: None,
            names: BTreeMap::new(),
            go: Vec::new(),
            held: Vec::new(),
            waits: BTreeMap::new(),
            dropped: Vec::new(),
            pile: ChangeSpill::new(store.dir(), &[], false),
            protected: Vec::new(),
            moving: Vec::new(),
            drift: BTreeMap::new(),
            hold: None,
            notes: vec![note],
            fields: Vec::new(),
            updates: StateUpdates {
                mapping: String::new(),
                mapping_settled: false,
                copies: None,
                file: None,
                shown: Replicas::default(),
                found: BTreeMap::new(),
                gone: None,
                content: String::new(),
                settled: Vec::new(),
                digests: Digests::default(),
                due: BTreeMap::new(),
                waiting: Vec::new(),
                forgotten: Vec::new(),
                matched: Vec::new(),
                verdicts: BTreeMap::new(),
                standing: BTreeSet::new(),
                there: BTreeSet::new(),
                remote: BTreeMap::new(),
                outdated: BTreeMap::new(),
                judged_all: false,
                unknown: BTreeSet::new(),
                base: Base::default(),
                updated: BTreeSet::new(),
                claimed: BTreeSet::new(),
                doubts: DoubtfulRows::default(),
            },
        }
    }

    /// Notes one more reason for which nothing is sent.
    pub(crate) fn block(&mut self, reason: Reason) {
        self.hold = Some(match self.hold.take() {
            Some(before) => format!("{}; {}", before.text, reason.text).into(),
            None => reason,
        });
    }

    /// Holds records of which it is not known whether an earlier request made them.
    pub(crate) fn hold_unclear(&mut self, unclear: Vec<(Key, String)>) {
        for (key, reason) in unclear {
            self.go.retain(|change| change.key != key);
            self.held.retain(|held| held.key != key);
            self.held.push(Held { key, reason: reason.into(), change: None, other: None });
        }
    }
}

/// What `sync` would do for one job.
pub struct Plan {
    /// The job.
    pub job: JobName,
    /// What it would do, for each part of the job, and how many of its own target at the service belong to no record of
    /// it; or why that can't be said.
    pub result: Result<(Vec<JobPlan>, u64), Error>,
}

/// What becomes of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// It is shown.
    Show,
    /// It is kept as a file, which says of each change what it is based on.
    File,
    /// A configuration is tried: an inbox in which no file waits is read as it was read last.
    Rehearsal,
}
