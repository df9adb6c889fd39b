//! What runs work with, and who watches them.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::api::Client;
use crate::clock::Clock;
use crate::config::Config;
use crate::push::Outcome;
use crate::queue::Change;
use crate::record::{JobName, Key};
use crate::store::Store;

/// What runs work with.
pub struct Context<'a> {
    /// The checked configuration.
    pub config: &'a Config,
    /// The service.
    pub client: &'a Client,
    /// The state.
    pub store: &'a Store,
    /// The time.
    pub clock: &'a Clock,
    /// Receives the progress of runs.
    pub watch: &'a dyn RunObserver,
}

impl Context<'_> {
    /// The present for those who leave. The service's times are compared with each other only, save here: one of several
    /// machines whose clock is wrong must not end a grace that has hardly begun.
    pub(crate) fn now_for_leavers(&self) -> Timestamp {
        self.client.cautious_now(self.clock)
    }

    /// Since when someone is missing who is missed first now: by the service's clock where this machine's is far behind.
    pub(crate) fn missed_since(&self, now_for_leavers: Timestamp) -> Timestamp {
        self.client.late(now_for_leavers)
    }

    /// Whether a time that a machine wrote down lies within a day of the present. Where this machine's clock is far ahead, it may
    /// have written that by the same clock, or another machine by one that is right: both count.
    pub(crate) fn was_lately(&self, at: Timestamp) -> bool {
        let nows = [self.clock.now(), self.now_for_leavers()];
        nows.into_iter().any(|now| now.duration_since(at).abs() < SignedDuration::from_hours(24))
    }
}

/// Narrows a run to some records; a narrowed run has no leavers (law 7).
#[derive(Clone, Debug, Default)]
pub struct KeyFilter {
    /// The keys; empty for all.
    pub keys: BTreeSet<Key>,
}

impl KeyFilter {
    /// Whether some records only are asked for.
    pub fn is_narrow(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Whether this record is asked for.
    pub fn has(&self, key: &Key) -> bool {
        self.keys.is_empty() || self.keys.contains(key)
    }
}

/// Receives the progress of runs, for people who watch.
pub trait RunObserver: Sync {
    /// A job begins a part of its run.
    fn stage(&self, job: &JobName, stage: Stage);

    /// What a job reads now changed at this time, where the source says so.
    fn changed(&self, job: &JobName, at: Timestamp) {
        let _ = (job, at);
    }

    /// A change has come to its outcome.
    fn outcome(&self, change: &Change, outcome: &Outcome);

    /// Whether someone asked to end.
    fn interrupted(&self) -> bool;

    /// Whether a run that is interrupted is followed by another as soon as may be, so that what it leaves in the queue is
    /// no failure.
    fn will_resume(&self) -> bool {
        false
    }
}

/// An observer that ignores progress and never cancels.
pub struct NoObserver;

impl RunObserver for NoObserver {
    fn stage(&self, _: &JobName, _: Stage) {}

    fn outcome(&self, _: &Change, _: &Outcome) {}

    fn interrupted(&self) -> bool {
        false
    }
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading the service.
    Pulling,
    /// Reading the source.
    Reading,
    /// Sending so many changes, at so many requests.
    Sending {
        /// The changes.
        changes: usize,
        /// The requests that they take where nothing fails.
        requests: usize,
    },
}
