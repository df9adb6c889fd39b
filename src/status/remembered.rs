//! What the store says of the jobs, read in one go.
//!
//! It stays true for as long as the store is not written to: a daemon that closes the store of an idle account keeps this
//! beside it, and shows how things are without opening it again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use xxhash_rust::xxh3::xxh3_64;

use crate::config::{Config, Job};
use crate::operator;
use crate::plan::{HoldReason, LeaverAction, Verdict};
use crate::queue::{self, DECISIONS, State};
use crate::reconcile::{self, JobState, RecentRuns, UnconfiguredJob};
use crate::record::{Key, redact};
use crate::snapshot::{Index, SyncedRecord};
use crate::store::{self, Store};

/// What is remembered of all jobs of a configuration.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// In the order of the configuration.
    pub(super) jobs: Vec<RememberedJob>,
    pub(super) unconfigured: Vec<UnconfiguredJob>,
}

/// What is remembered of one job.
#[derive(Clone, Debug)]
pub(super) struct RememberedJob {
    pub(super) state: JobState,
    pub(super) recent: RecentRuns,
    pub(super) known: u64,
    pub(super) held: usize,
    pub(super) undecided: usize,
    pub(super) held_set: u64,
    pub(super) held_by: Vec<(String, usize)>,
    pub(super) on_site: Vec<OnSite>,
    pub(super) queued: usize,
    pub(super) requests: u64,
    pub(super) parked: Vec<u64>,
    pub(super) oldest_leaver: Option<Timestamp>,
}

/// A leaver who is on site, identified by a digest of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnSite {
    /// The digest.
    pub mark: u64,
    /// Since when they are missing from complete reads; `None` for those whose row says that they have left.
    pub since: Option<Timestamp>,
}

impl Remembered {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// Why the state can't be read.
    pub fn read(store: &Store, config: &Config) -> Result<Self, store::Error> {
        let jobs = config.jobs.iter().map(|job| RememberedJob::read(store, job)).collect::<Result<_, _>>()?;
        Ok(Self { jobs, unconfigured: UnconfiguredJob::all(store, config)? })
    }
}

impl RememberedJob {
    fn read(store: &Store, job: &Job) -> Result<Self, store::Error> {
        let (mut queued, mut requests, mut parked) = (0, 0, Vec::new());
        let (mut held, mut by_reason, mut on_site) = (0, BTreeMap::<String, usize>::new(), Vec::new());
        let (mut undecided, mut staying) = (0, BTreeSet::new());
        for part in job.parts() {
            queue::briefs(store, &part.name, |change| match &change.state {
                State::Parked { status, words } => {
                    parked.push(mark(&[change.key.as_str(), &status.to_string(), words]));
                }
                State::Waiting | State::Sent { .. } => {
                    queued += 1;
                    requests += change.requests();
                }
            })?;
            for (key, change) in reconcile::held(store, &part.name)? {
                held += 1;
                undecided += usize::from(!change.reason.is_found_again());
                *by_reason.entry(redact(&change.reason.to_string())).or_default() += 1;
                if change.reason == HoldReason::OnSite {
                    let known = SyncedRecord::get(store, &part.name, &key)?;
                    let since = known.and_then(|known| known.gone).map(|gone| gone.since);
                    on_site.push(OnSite { mark: mark(&[part.name.as_str(), key.as_str()]), since });
                }
                if matches!(change.reason, HoldReason::Protected | HoldReason::Administrator) && part.name == job.name {
                    staying.insert(key);
                }
            }
        }
        let mut held_by: Vec<(String, usize)> = by_reason.into_iter().collect();
        held_by.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let (known, gone) = Index::counts(store, &job.name)?;
        let waits_for_grace = gone > 0 && job.leavers.action != LeaverAction::Keep;
        Ok(Self {
            state: JobState::load(store, &job.name)?,
            recent: RecentRuns::load(store, &job.name)?,
            known,
            held,
            undecided,
            held_set: operator::held_set(store, job)?,
            held_by,
            on_site,
            queued,
            requests,
            parked,
            oldest_leaver: if waits_for_grace { oldest_leaver(store, job, &staying)? } else { None },
        })
    }
}

/// Since when the leaver is missing who waits longest for their removal. Who is never removed, and whose removal a person rejected,
/// waits for nothing.
fn oldest_leaver(store: &Store, job: &Job, staying: &BTreeSet<Key>) -> Result<Option<Timestamp>, store::Error> {
    let index = Index::load(store, &job.name)?;
    let mut oldest: Option<Timestamp> = None;
    for at in (0..index.len()).filter(|at| index.entry(*at).gone) {
        let Some(key) = Key::new(index.entry(at).key).filter(|key| !staying.contains(key)) else { continue };
        let decided = DECISIONS.get(store, &job.name, &key)?;
        if decided.is_some_and(|decided| matches!(decided.verdict, Verdict::Rejected(_))) {
            continue;
        }
        let known = Some(key).map(|key| SyncedRecord::get(store, &job.name, &key)).transpose()?.flatten();
        let since = known.and_then(|known| known.gone).map(|gone| gone.since);
        oldest = [oldest, since].into_iter().flatten().min();
    }
    Ok(oldest)
}

/// A digest that tells one thing from another without saying what it is.
fn mark(parts: &[&str]) -> u64 {
    xxh3_64(parts.join("\u{1f}").as_bytes())
}
