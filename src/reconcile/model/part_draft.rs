//! The plan of one part of a job before the limits on the whole job are put on it, and what it says to later parts.

use std::collections::{BTreeMap, BTreeSet};

use super::doubtful_rows::DoubtfulRows;
use super::job_plan::JobPlan;
use crate::plan::{Base, Guarded, Outline};
use crate::record::{JobName, Key, RemoteId, Target};
use crate::snapshot::Owner;

/// The plan of one part of a job before the limits on the whole job are put on it.
pub(crate) struct PartDraft {
    pub(crate) changes: Guarded<Outline>,
    /// The rest of the plan, without a change.
    pub(crate) rest: JobPlan,
    /// What the limits were measured against.
    pub(crate) base: Base,
    /// People that the part would change and that no person decided on.
    pub(crate) updated: BTreeSet<Key>,
    pub(crate) results: PartResults,
}

/// What a part found that later parts of the job refer to.
#[derive(Default)]
pub(crate) struct PartResults {
    /// Entities that were found the first time.
    pub(crate) found: BTreeMap<Key, RemoteId>,
    /// Known keys that this read says are gone; none where it can't say so of everybody.
    pub(crate) gone: Option<BTreeSet<Key>>,
    /// Keys whose rows say that they are gone.
    pub(crate) stated: BTreeSet<Key>,
    /// The lines of rows that say so and name another person than the one of their key.
    pub(crate) misnamed: BTreeSet<u64>,
    /// Known keys that the read misses and whose entities another record claims: they may not be gone.
    pub(crate) claimed: BTreeSet<Key>,
    /// People whose entities another job takes over.
    pub(crate) handed_over: BTreeSet<Key>,
    /// People who leave since a record of the other side has them.
    pub(crate) moved: BTreeMap<Key, Owner>,
    /// People whose rows can't be trusted.
    pub(crate) doubts: DoubtfulRows,
}

impl PartDraft {
    /// The draft of a plan without a change.
    pub(crate) fn without_changes(rest: JobPlan, doubts: DoubtfulRows) -> Self {
        let (changes, base) = (Guarded::default(), Base::default());
        Self {
            changes,
            rest,
            base,
            updated: BTreeSet::new(),
            results: PartResults { doubts, ..PartResults::default() },
        }
    }

    pub(crate) fn job(&self) -> &JobName {
        &self.rest.job
    }

    pub(crate) fn target(&self) -> Target {
        self.rest.target
    }
}
