//! Dropping what is remembered, so that people are matched again (law 9).
//!
//! Kept are the audit files, pauses and used plans, which lie outside the store, and of this account's store what must
//! not be lost by it: what a person rejected, who is gone and since when, what may have been created, who was removed a
//! short while ago, whose presence is still to be verified, and the number of the last run. Approvals are dropped,
//! since their changes are planned again. Of a damaged store the same is kept as far as it can be read, and it is
//! dropped only on request, since it is unknown what was lost.

use std::collections::BTreeSet;
use std::io;

use crate::clock::Clock;
use crate::config::Config;
use crate::history::{Audit, AuditLine, acting_user};
use crate::plan::{Decided, Verdict};
use crate::queue::{Change, State};
use crate::reconcile::account::ADDRESS;
use crate::reconcile::model::job_state::RUNS;
use crate::record::{Action, JobName, Key};
use crate::snapshot::{Owner, SyncedRecord};
use crate::store::{self, Batch, Keyspace, OldStore, ResetOutcome, reset};

/// What was dropped of a store, and what was kept; of a damaged one, what of it could be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// People who were known.
    pub known: u64,
    /// Of them, those who are gone from the source, who are kept.
    pub leaving: u64,
    /// Changes that waited to be sent, or were parked.
    pub queued: u64,
    /// Changes that waited for a person.
    pub held: u64,
    /// Rejections, which are kept.
    pub rejections: u64,
    /// Approvals, which are not.
    pub approvals: u64,
    /// Creates of unknown fate, which are kept to be looked up.
    pub unknown: u64,
}

/// Which store is to be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// One that is whole, since a damaged one may have lost what people decided.
    Whole,
    /// Only one that can't be used.
    Damaged,
}

/// Why a store could not be dropped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError {
    /// The state folder can't be used.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The audit file could not be written; nothing was dropped.
    #[error("the decision could not be written to the audit file; nothing was dropped")]
    Audit(#[source] io::Error),
}

/// Drops the store, where it is such a one; `None` where there is none.
pub fn rebuild(config: &Config, clock: &Clock, which: Which) -> Result<Option<ResetOutcome<Rebuilt>>, RebuildError> {
    let dir = &config.state.dir;
    reset(dir, |old| {
        let (batch, seen) = keep(old, &config.api.base_url)?;
        if (which == Which::Damaged) != old.damage().is_some() {
            return Ok((None, seen));
        }
        let at = clock.now();
        let line = AuditLine::Decision { at, job: None, key: None, decision: "rebuilt", by: acting_user(), why: None };
        Audit::new(dir).append(at, &line).map_err(RebuildError::Audit)?;
        Ok((Some(batch), seen))
    })
}

fn keep(old: &OldStore<'_>, base_url: &str) -> Result<(Batch, Rebuilt), store::Error> {
    let mut batch = Batch::default();
    let mut seen = Rebuilt::default();
    if let Some(runs) = old.get::<u64>(Keyspace::Meta, RUNS)? {
        batch.put(Keyspace::Meta, RUNS, &runs);
    }
    let account: Option<String> = old.get(Keyspace::Meta, ADDRESS)?;
    let ours = account.is_none_or(|account| account == base_url);
    let mut carry = |space: Keyspace, kept: &mut dyn FnMut(&str, &[u8]) -> bool| -> Result<(u64, u64), store::Error> {
        let (mut all, mut carried) = (0, 0);
        old.scan(space, |name, row| {
            all += 1;
            if kept(name, row) && ours {
                carried += 1;
                batch.put_bytes(space, name, row);
            }
        })?;
        Ok((all, carried))
    };
    let mut leaving = BTreeSet::new();
    (seen.known, seen.leaving) = carry(Keyspace::Synced, &mut |name, row| {
        let is_gone =
            serde_json::from_slice(row).is_ok_and(|known: SyncedRecord| known.gone.is_some() || known.left.is_some());
        is_gone && leaving.insert(name.to_owned())
    })?;
    carry(Keyspace::Owner, &mut |_, row| {
        serde_json::from_slice(row)
            .is_ok_and(|owner: Owner| leaving.contains(&Keyspace::by_job(&owner.job, owner.key.as_str())))
    })?;
    (seen.held, _) = carry(Keyspace::Held, &mut |_, _| false)?;
    (_, seen.rejections) = carry(Keyspace::Decision, &mut |_, row| match serde_json::from_slice(row) {
        Ok(Decided { verdict: Verdict::Approved(_), .. }) => {
            seen.approvals += 1;
            false
        }
        decided => decided.is_ok(),
    })?;
    (seen.queued, seen.unknown) = carry(Keyspace::Queue, &mut |_, row| {
        serde_json::from_slice(row).is_ok_and(|change: Change| {
            change.wish.action == Action::Create && matches!(change.state, State::Sent { .. })
        })
    })?;
    carry(Keyspace::Removed, &mut |_, _| true)?;
    carry(Keyspace::Echo, &mut |_, _| true)?;
    for name in leaving.iter().filter(|_| ours) {
        if let Some((job, key)) = name.split_once(Keyspace::SEPARATOR)
            && let (Some(job), Some(key)) = (JobName::new(job), Key::new(key))
        {
            SyncedRecord::mark_dirty(&mut batch, &job, &key);
        }
    }
    Ok((batch, seen))
}
