//! One run of a job: composes the modules above.
//!
//! ```text
//! pull ─▶ settle what an earlier process left unknown ─▶ gather rows ─▶ stand and decide ─▶ leavers ─▶ guard
//!      ─▶ (sync only) commit: mirror, adoptions, held, queue ─▶ push ─▶ index
//! ```
//!
//! Invariants:
//! - `plan` and `sync` go the same way up to the guard; a plan stores nothing and sends nothing but reads.
//! - Nothing is written, here or there, before source and service were both read without a fault.
//! - One job's failure is its own: the others run.
//! - Of records and changes memory holds outlines; the rest lies in a pile until it is shown, kept or sent.
//! - A paused job's run goes the whole way but for the push: it reads, judges and remembers, and sends nothing.
//!
//! - A plan file never says what to send: it names what a person saw, and of that is sent what a run that is worked out
//!   anew wants just the same.
//!
//! Rejected: a stored plan that `sync` carries out. What was true when it was made may not be when it is sent; what a
//! person released is kept as a verdict on a wish instead, and compared with what is wanted now.

mod account;
mod adopt;
mod apply;
mod astray;
mod basis;
mod claims;
mod drift;
mod duplicates;
mod enqueue;
mod error;
mod exchange;
mod expected;
mod explain;
mod forget;
mod gather;
mod held;
mod inbox;
mod indexing;
mod leave;
mod members;
mod mirrors;
mod missing;
mod moving;
mod namesakes;
mod narrowed;
mod once;
mod origin;
mod pause;
mod people;
mod photos;
mod pile;
mod plan_file;
mod prepare;
mod rebuild;
mod report;
mod resolve;
mod retention;
mod revert;
mod rows;
mod segments;
mod session;
mod shown;
mod signs;
mod stamp;
mod stand;
mod state;
mod strays;
mod sync;
mod takeback;
#[cfg(test)]
mod tests;
mod told;
mod transfers;
mod waiting;

use std::collections::BTreeSet;

use jiff::Timestamp;

pub use apply::{Applied, Skipped, apply};
pub use error::{Error, Kind};
pub use expected::overdue;
pub use explain::{Explanation, FieldState, FieldView, Fit, Outlook, SourceRow, explain};
pub use forget::{ForgetError, Forgotten, forget};
pub use held::{DecisionError, HeldChange, approve, held, held_set, reject};
pub use inbox::{Front, Next, Poll, WaitingFiles, next};
pub use mirrors::needed;
pub use missing::{Missed, Missing};
pub use pause::{Note, Pause, Scope, pause, pauses, resume};
pub use pile::Pile;
pub use plan_file::{PlanFile, PlanFileError};
pub use prepare::{ON_SITE, Prepared};
pub use rebuild::{RebuildError, Rebuilt, Which, rebuild};
pub use report::{Counts, Details, Report, Status};
pub use revert::{Reverted, plan_revert, revert};
pub use rows::{mapping, rows};
pub use shown::believe;
pub use state::{JobState, LastRun, RejectedRow};
pub use sync::{For, Plan, plan, sync};
pub use takeback::Untouched;
pub use waiting::{Waiting, discard, retry, waiting};

use crate::api::Client;
use crate::clock::Clock;
use crate::config::{Config, Job};
use crate::fault::chain;
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
    /// Is told how runs go.
    pub watch: &'a dyn Watch,
}

impl Context<'_> {
    /// The report of a job that failed before it had anything to count; `before` is how many requests were sent before it.
    fn failed(&self, job: &Job, error: &Error, before: u64) -> Report {
        if error::is_full(error) {
            self.store.ran_full();
        }
        Report::failed(job.name.clone(), chain(error), self.client.requests() - before)
    }
}

/// Narrows a run to some records; a narrowed run has no leavers (law 7).
#[derive(Clone, Debug, Default)]
pub struct Narrow {
    /// The keys; empty for all.
    pub keys: BTreeSet<Key>,
}

impl Narrow {
    /// Whether some records only are asked for.
    pub fn is_narrow(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Whether this record is asked for.
    pub fn has(&self, key: &Key) -> bool {
        self.keys.is_empty() || self.keys.contains(key)
    }
}

/// Is told how runs go, for people who watch.
pub trait Watch: Sync {
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
    fn goes_on(&self) -> bool {
        false
    }
}

/// Nobody watches, and nobody asks to end.
pub struct Unwatched;

impl Watch for Unwatched {
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
