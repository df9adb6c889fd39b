//! The outcome of a change.

use crate::plan::HoldReason;
use std::io;

use super::StopReason;
use crate::queue::Change;
use crate::record::{Entity, reveal};
use crate::store::Batch;

/// What became of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The service has it, and the snapshot knows.
    Confirmed,
    /// The service refused it for good; it is kept with the service's words.
    Parked,
    /// They are on site, and are removed once they have left.
    OnSite,
    /// It waits until something else is at the service.
    Waits(HoldReason),
    /// It could not be delivered and stays queued.
    Undelivered(StopReason),
}

impl Outcome {
    /// What became of it, for the log.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Confirmed => "confirmed".to_owned(),
            Self::Parked => "parked".to_owned(),
            Self::OnSite => "on site".to_owned(),
            Self::Waits(reason) => format!("waits: {}", reveal(&reason.to_string())),
            Self::Undelivered(reason) => format!("undelivered: {}", reveal(&reason.to_string())),
        }
    }
}

/// How far one attempt came.
pub(super) enum Step {
    /// It was not begun: too much is unknown already.
    Later,
    /// To an outcome.
    Done(Outcome),
    /// It may have been done.
    Unknown(String),
    /// A create that the service says exists already.
    Conflict {
        /// The answer's status.
        status: u16,
        /// What the service said.
        words: String,
    },
}

/// Receives the events of a push.
pub trait Witness: Sync {
    /// A change is about to be recorded as confirmed, by `batch`. What is returned as an error stops the push.
    fn confirmed(
        &self,
        change: &Change,
        before: Option<&Entity>,
        after: Option<&Entity>,
        batch: &mut Batch,
    ) -> io::Result<()>;

    /// A change has its outcome.
    fn outcome(&self, change: &Change, outcome: &Outcome);

    /// Why nothing more is to be begun, where it is so; requests under way are finished.
    fn halted(&self) -> Option<StopReason>;

    /// The service did what it must not: nothing is sent any more, by later runs either, before a person has seen to it.
    fn alarm(&self, reason: &str) -> io::Result<()>;
}
