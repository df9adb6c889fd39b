//! What `check` knows of earlier runs.

use std::collections::BTreeMap;
use std::path::Path;

use crate::config::{Config, Job};
use crate::fault::chain;
use crate::reconcile::{self, JobState, UnconfiguredJob};
use crate::record::JobName;
use crate::source::{SourceState, inbox};

/// What earlier runs left of each job.
pub(super) enum EarlierRuns {
    /// There is no state yet.
    None,
    /// Another process has the state: useful to show, but not worth waiting for.
    Unknown,
    /// What each job left.
    Left {
        jobs: BTreeMap<JobName, JobState>,
        /// Jobs that have people and are not in the configuration.
        unconfigured: Vec<UnconfiguredJob>,
        /// Why the state can't be used for the account that is configured.
        foreign: Option<String>,
    },
}

impl EarlierRuns {
    pub(super) fn of(config: &Config) -> Self {
        if !config.state.home.has_store() {
            return Self::None;
        }
        let Ok(store) = reconcile::open_store(config) else { return Self::Unknown };
        let left = |job: &Job| Some((job.name.clone(), JobState::load(&store, &job.name).ok()?));
        let foreign = reconcile::expect_account(&store, &config.api.base_url).err().map(|error| chain(&error));
        let unconfigured = UnconfiguredJob::all(&store, config).unwrap_or_default();
        Self::Left { jobs: config.jobs.iter().filter_map(left).collect(), unconfigured, foreign }
    }

    /// What the last whole read of a job found.
    pub(super) fn found(&self, job: &JobName) -> Option<&SourceState> {
        self.left(job)?.found.as_ref()
    }

    /// What runs made of the inbox of a job; none where that is not known.
    pub(super) fn inbox(&self, job: &JobName, dir: &Path) -> Option<inbox::Before> {
        match self {
            Self::None => Some(inbox::Before::Unused),
            Self::Unknown => None,
            Self::Left { .. } => Some(self.left(job).map(|state| state.inbox_before(dir)).unwrap_or_default()),
        }
    }

    /// Jobs that have people and are not in the configuration.
    pub(super) fn unconfigured(&self) -> &[UnconfiguredJob] {
        match self {
            Self::Left { unconfigured, .. } => unconfigured,
            Self::None | Self::Unknown => &[],
        }
    }

    /// Why the state can't be used for the account that is configured.
    pub(super) fn foreign(&self) -> Option<&str> {
        match self {
            Self::Left { foreign, .. } => foreign.as_deref(),
            Self::None | Self::Unknown => None,
        }
    }

    fn left(&self, job: &JobName) -> Option<&JobState> {
        match self {
            Self::Left { jobs, .. } => jobs.get(job),
            Self::None | Self::Unknown => None,
        }
    }
}
