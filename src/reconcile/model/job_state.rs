//! What is remembered of a job between its runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::counts::{Counts, Status};
use super::error::Error;
use super::inbox_state::InboxState;
use super::missing_people::Missing;
use super::read_in_place::ReadInPlace;
use super::reason::Reason;
use super::replicas::Replicas;
use crate::config::Job;
use crate::history::Audit;
use crate::plan::ProtectedPerson;
use crate::record::{JobName, Key, Rejected, Target};
use crate::source::{SourceState, inbox};
use crate::store::{self, Batch, MetaKey, Store};

/// What is remembered of a job between its runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JobState {
    /// What its people were in its last run.
    #[serde(default)]
    pub(crate) target: Option<Target>,
    /// The digest of the mapping of the last run that got as far as a plan.
    #[serde(default)]
    pub mapping: String,
    /// Whether `rebuild` dropped its people, and no run for everyone came since.
    #[serde(default)]
    pub(crate) is_rebuilt: bool,
    /// For memberships: the members with a row that named no organization in the last run for everyone.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) unplaced: BTreeSet<Key>,
    /// Its people that a job of the other side has, too: that job, and their key there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) on_both_sides: Counterparts,
    /// What gave its keys then.
    #[serde(default)]
    pub(crate) key: String,
    /// What the last read found out about its source.
    #[serde(default)]
    pub found: Option<SourceState>,
    /// Which servers showed the people of a directory.
    #[serde(default)]
    pub(crate) shown: Replicas,
    /// What is remembered of the lookups, by name.
    #[serde(default)]
    pub(crate) lookups: BTreeMap<String, LookupState>,
    /// Fingerprint of where the files of the job lay that were read.
    #[serde(default)]
    pub(crate) place: String,
    /// How many copies of the state that were laid back a run has seen and marked the people they are older than.
    #[serde(default)]
    pub(crate) copies: u64,
    /// The same for the last run that read something that is newer than that copy: what an older file says is of another time.
    #[serde(default)]
    pub(crate) copies_read: u64,
    /// The number of the current set of held changes; it grows with every other set.
    #[serde(default)]
    pub held_set: u64,
    /// Whether people decided on some of what the limits held and not on the rest, which waits for a decision of its own.
    #[serde(default)]
    pub(crate) partly_decided: bool,
    /// Who had the names in `protect` last.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) protects: BTreeMap<String, Vec<ProtectedPerson>>,
    /// The last run.
    #[serde(default)]
    pub last: Option<LastRun>,
    /// The digest of the source's content at the last run that got as far as a plan.
    #[serde(default)]
    pub content: String,
    /// The file that was read in place last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The last one that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) used: Option<ReadInPlace>,
    /// When content came that was new, or the first run began.
    #[serde(default)]
    pub fresh: Option<Timestamp>,
    /// Whether the last run could not write something for want of room.
    #[serde(default)]
    pub ran_full: bool,
    /// Why the last run did not end as done, one by one.
    #[serde(default)]
    pub reasons: Vec<Reason>,
    /// Rows that the last run that read the source could not use.
    #[serde(default)]
    pub rejected: RejectedRows,
    /// Values that it could not use, of records that count all the same.
    #[serde(default)]
    pub bad_values: RejectedRows,
    /// The known people who were missing in the last run.
    #[serde(default)]
    pub missing: Option<Missing>,
    /// What is remembered of the inbox, where the source is one.
    #[serde(default)]
    pub(crate) inbox: InboxState,
}

/// The records of a job whose people another job has, too: that job, and their key there.
pub(crate) type Counterparts = BTreeMap<Key, (JobName, Key)>;

/// What is remembered of a lookup between runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LookupState {
    /// What the last read found out about its source.
    #[serde(default)]
    pub(crate) found: Option<SourceState>,
    /// How far the server of a directory was, apart from that of the job's own source.
    #[serde(default)]
    pub(crate) shown: Replicas,
}

/// How many rejected rows are remembered.
const ROWS_MAX: usize = 200;

/// Rows, or values, that can't be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedRows {
    /// How many they are.
    pub count: u64,
    /// The first 200, in order of line.
    pub first: Vec<RejectedRow>,
}

impl RejectedRows {
    pub(crate) fn of(rows: &[Rejected]) -> Self {
        Self { count: rows.len() as u64, first: rows.iter().map(RejectedRow::of).take(ROWS_MAX).collect() }
    }
}

/// A row that can't be used, without its key: what is shown where people are not (law 11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedRow {
    /// The line on which the row begins, counted from 1; `None` for sources without lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column, or the mapped field, that the reason is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What is wrong; holds no value of the row.
    pub reason: String,
    /// Tells it from others, though lines move: a digest of key, field and reason.
    pub mark: u64,
}

impl RejectedRow {
    fn of(row: &Rejected) -> Self {
        let who = match &row.key {
            Some(key) => key.as_str().to_owned(),
            None => row.line.unwrap_or_default().to_string(),
        };
        let field = row.field.as_deref().unwrap_or_default();
        let mark = xxh3_64(format!("{who}\u{1f}{field}\u{1f}{}", row.reason).as_bytes());
        Self { line: row.line, field: row.field.clone(), reason: row.reason.to_string(), mark }
    }
}

/// The last run of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LastRun {
    /// Its number.
    pub run: u64,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// How it ended.
    pub status: Status,
    /// Whether its read proved that it saw everyone.
    pub complete: bool,
    /// Its numbers.
    pub counts: Counts,
    /// Why it did not end as done.
    pub reason: Option<String>,
}

impl JobState {
    /// Reads it; a job that never ran has an empty one.
    pub fn load(store: &Store, job: &JobName) -> Result<Self, store::Error> {
        Ok(store.meta(MetaKey::Job(job))?.unwrap_or_default())
    }

    /// Whether its keys were made of something else than those of `job`.
    pub(crate) fn has_other_key(&self, job: &Job) -> bool {
        !self.key.is_empty() && self.key != job.mapping.key
    }

    /// What earlier runs made of the inbox `dir`.
    pub fn inbox_before(&self, dir: &Path) -> inbox::Before {
        match &self.file {
            _ if self.inbox.marked => inbox::Before::Used,
            Some(file) if file == dir => inbox::Before::File,
            Some(_) | None => inbox::Before::Unused,
        }
    }

    /// Stores it alone.
    pub(crate) fn save(&self, store: &Store, job: &JobName) -> Result<(), store::Error> {
        let mut batch = Batch::default();
        self.put(&mut batch, job);
        store.commit(batch)
    }

    /// Puts it.
    pub fn put(&self, batch: &mut Batch, job: &JobName) {
        batch.put_meta(MetaKey::Job(job), self);
    }
}

/// The number of the next run, counted over all jobs. The history outlives a store, so no number of it is given again.
pub(crate) fn next_run(store: &Store) -> Result<u64, Error> {
    // Runs on two targets may begin at the same time.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let told = Audit::last_run(store.home()).map_err(Error::History)?;
    let run = store.meta::<u64>(MetaKey::Runs)?.unwrap_or(0).max(told) + 1;
    store.set_meta(MetaKey::Runs, &run)?;
    Ok(run)
}
