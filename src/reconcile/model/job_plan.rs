//! What a run of one job would do.

use std::collections::BTreeMap;
use std::fmt;

use jiff::civil::Date;

use super::change_spill::ChangeSpill;
use super::error::Error;
use super::missing_people::{Missed, Missing};
use super::reason::{Reason, ReasonKind};
use super::state_updates::StateUpdates;
use super::waiting_files::WaitingFiles;
use crate::config::Job;
use crate::plan::{Held, HoldReason, Outline};
use crate::record::{Field, JobName, Key, Rejected, Target};
use crate::store::Store;
use crate::text::counted;

/// What a run of one job would do; made once, and never changed.
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
    /// Which lookups nothing was taken from, and which fields stay as they are for that.
    pub lost: Vec<String>,
    /// Whether a row comes to something else on a later day, or once something is mended that is not in the source.
    pub unfinished: bool,
    /// Records of the source.
    pub records: u64,
    /// Records that need nothing.
    pub unchanged: u64,
    /// By field: how many were found at the service by it, the first time.
    pub matched_by: BTreeMap<String, u64>,
    /// Every row that can be used, with its line, its key and whether it counts; for dropped files only.
    pub rows: Vec<(u64, Key, RowCounts)>,
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
    pub waits: BTreeMap<Key, HoldReason>,
    /// What a person rejected.
    pub dropped: Vec<Outline>,
    /// Where the rest of each change lies.
    pub spill: ChangeSpill,
    /// Leavers who are not removed because they are protected.
    pub protected: Vec<Key>,
    /// Leavers who are to appear in another job and stay until they do, and why.
    pub moving: Vec<(Key, HoldReason)>,
    /// Fields that were edited at the service and stay so, if the job names them.
    pub drift: BTreeMap<Key, Vec<String>>,
    /// Why nothing is sent, where it is so.
    pub blocked: Vec<Block>,
    /// Further things worth knowing.
    pub notes: Vec<String>,
    /// The fields that the job maps, or sets in leavers.
    pub fields: Vec<Field>,
    pub(crate) updates: StateUpdates,
}

impl JobPlan {
    /// Nothing at all: no source was read, so it says nothing about anybody.
    pub(crate) fn nothing(job: &Job, store: &Store) -> Self {
        Self {
            job: job.name.clone(),
            target: job.mapping.target,
            complete: false,
            incomplete: Vec::new(),
            doubt: None,
            lost: Vec::new(),
            unfinished: false,
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
            spill: ChangeSpill::new(store.home().spill_dir(), &job.match_on, job.source.has_lines()),
            protected: Vec::new(),
            moving: Vec::new(),
            drift: BTreeMap::new(),
            blocked: Vec::new(),
            notes: Vec::new(),
            fields: Vec::new(),
            updates: StateUpdates::default(),
        }
    }

    /// Why nothing is sent, where it is so, in words.
    pub fn blocked_by(&self) -> Option<String> {
        let reasons: Vec<String> = self.blocked.iter().map(Block::to_string).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// Whether nothing is taken from the source.
    pub(crate) fn is_nothing_taken(&self) -> bool {
        self.blocked.iter().any(Block::is_nothing_taken)
    }

    /// Whether the job is paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.blocked.iter().any(|block| matches!(block, Block::Paused(_)))
    }

    /// The same without what a run that sends chosen changes does not report: the next sync does.
    pub(crate) fn of_chosen(self) -> Self {
        Self {
            held: Vec::new(),
            protected: Vec::new(),
            moving: Vec::new(),
            drift: BTreeMap::new(),
            rejected: Vec::new(),
            incomplete: Vec::new(),
            doubt: None,
            lost: Vec::new(),
            unfinished: false,
            ..self
        }
    }
}

/// Why nothing of a plan is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Nothing is taken from a source that is too short.
    TooFewRecords {
        /// How many it holds.
        records: u64,
        /// How many are expected.
        least: u64,
    },
    /// Its people were of another kind until now.
    OfAnotherTarget {
        /// What they were.
        before: Target,
        /// What the configuration says.
        now: Target,
        /// How many they are.
        people: u64,
    },
    /// The job is paused.
    Paused(String),
}

impl Block {
    /// Whether it is that nothing is taken from the source.
    pub(crate) fn is_nothing_taken(&self) -> bool {
        matches!(self, Self::TooFewRecords { .. })
    }

    /// The same as a reason of a run.
    pub(crate) fn reason(&self) -> Reason {
        let kind = match self {
            Self::TooFewRecords { .. } | Self::OfAnotherTarget { .. } => ReasonKind::Other,
            Self::Paused(_) => ReasonKind::Paused,
        };
        kind.because(self.to_string())
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewRecords { records, least } => write!(
                f,
                "min_records: the source holds {records} records and at least {least} are expected; nothing is taken from it"
            ),
            Self::OfAnotherTarget { before, now, people } => {
                let people = counted(people, "record", "records");
                let (before, now) = (before.name(), now.name());
                write!(
                    f,
                    "target: this job was one of {before} until now, and the service holds {people} of it, which no job would know \
                     any more; give the job of {now} another name, and keep this one until they have moved there"
                )
            }
            Self::Paused(reason) => f.write_str(reason),
        }
    }
}

/// Whether a row that can be used counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowCounts {
    /// It does.
    Now,
    /// It says that its person is not to be there.
    Never,
    /// It does from this day on.
    From(Date),
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
