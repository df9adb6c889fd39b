//! The progress of active runs, and whether they have stalled.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::reconcile::Stage;
use crate::record::JobName;
use crate::status::Running;

/// How long a run may show no sign of life before it counts as hung. A list of the service, a read of a large directory and
/// three tries of one request take less; waiting for the rate limit is no hanging, however long.
pub(crate) const QUIET_MAX: Duration = Duration::from_secs(10 * 60);

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunProgress {
    /// When it began.
    pub since: Timestamp,
    /// What it does; none before it began to read.
    pub stage: Option<Stage>,
    /// How many changes have an outcome.
    pub outcomes: usize,
    /// When it last showed a sign of life.
    alive: Instant,
}

impl RunProgress {
    /// The same for the views.
    pub(crate) fn seen(self) -> Running {
        let stage = match self.stage {
            None => String::new(),
            Some(Stage::Pulling) => "reading the service".to_owned(),
            Some(Stage::Reading) => "reading the source".to_owned(),
            Some(Stage::Sending { changes, .. }) => format!("{} of {changes} changes sent", self.outcomes),
        };
        let sent = match self.stage {
            Some(Stage::Sending { changes, .. }) if changes > 0 => Some((self.outcomes, changes)),
            _ => None,
        };
        Running { since: self.since, stage, sent }
    }
}

/// The runs under way.
#[derive(Debug, Default)]
pub struct ActiveRuns {
    going: Mutex<BTreeMap<JobName, RunProgress>>,
}

impl ActiveRuns {
    /// A run begins.
    pub(crate) fn begin(&self, job: &JobName, since: Timestamp) {
        self.lock().insert(job.clone(), RunProgress { since, stage: None, outcomes: 0, alive: Instant::now() });
    }

    /// A run has come to its end.
    pub(crate) fn end(&self, job: &JobName) {
        self.lock().remove(job);
    }

    /// A run shows a sign of life, and maybe how far it is.
    pub(crate) fn alive(&self, job: &JobName, note: impl FnOnce(&mut RunProgress)) {
        if let Some(going) = self.lock().get_mut(job) {
            going.alive = Instant::now();
            note(going);
        }
    }

    /// How far the run of a job is; `None` where none is under way.
    pub fn of(&self, job: &JobName) -> Option<RunProgress> {
        self.lock().get(job).copied()
    }

    /// The jobs that run.
    pub fn jobs(&self) -> Vec<JobName> {
        self.lock().keys().cloned().collect()
    }

    /// The runs that have shown no sign of life for too long.
    pub(crate) fn hung(&self, now: Instant) -> Vec<JobName> {
        let quiet = |going: &RunProgress| now.saturating_duration_since(going.alive) > QUIET_MAX;
        self.lock().iter().filter(|(_, going)| quiet(going)).map(|(job, _)| job.clone()).collect()
    }

    /// The runs under way in a few words; nothing where there is none.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        for (job, going) in self.lock().iter() {
            let apart = if text.is_empty() { "" } else { ", " };
            let _ = match going.stage {
                None => write!(text, "{apart}{job} begins"),
                Some(Stage::Pulling) => write!(text, "{apart}{job} reads the service"),
                Some(Stage::Reading) => write!(text, "{apart}{job} reads its source"),
                Some(Stage::Sending { changes, .. }) => {
                    write!(text, "{apart}{job} sends changes: {} of {changes}", going.outcomes)
                }
            };
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<JobName, RunProgress>> {
        self.going.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_112_a_long_run_tells_how_far_it_is_and_a_hung_one_is_found() {
        let runs = ActiveRuns::default();
        let (one, other) = (JobName::new("one").unwrap(), JobName::new("other").unwrap());
        assert_eq!(runs.describe(), "");
        let since = "2027-06-10T02:30:00Z".parse().unwrap();
        runs.begin(&one, since);
        runs.begin(&other, since);
        runs.alive(&one, |going| {
            going.stage = Some(Stage::Sending { changes: 100_000, requests: 100_000 });
            going.outcomes = 1_234;
        });
        assert_eq!(runs.describe(), "one sends changes: 1234 of 100000, other begins");
        let begun = Instant::now();
        assert!(runs.hung(begun + QUIET_MAX - Duration::from_secs(5)).is_empty());
        assert_eq!(runs.hung(begun + QUIET_MAX + Duration::from_secs(5)), [one.clone(), other.clone()]);
        runs.end(&other);
        assert_eq!(runs.jobs(), [one]);
    }
}
