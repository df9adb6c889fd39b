//! Dropping what is remembered, so that people are matched again (law 9).
//!
//! Kept are the audit files and pauses, which lie outside the store, and of this account's store what must not be lost by
//! it: what a person rejected, who is gone and since when, what a limit holds until it is decided on, what may have been
//! created, who was removed a short while ago, whose presence is still to be verified, which plan files were applied, and the
//! number of the last run. Approvals are dropped, since their changes are planned again. Of a damaged store the same is kept as far as it can be read, and it is
//! dropped only on request, since it is unknown what was lost.

use std::collections::BTreeSet;
use std::io;

use crate::clock::Clock;
use crate::config::Config;
use crate::history::{Audit, Decided};
use crate::mirror::REMOVALS;
use crate::operator::plan_file::used::USED_PLANS;
use crate::plan::Verdict;
use crate::push::ECHOES;
use crate::queue::{DECISIONS, QUEUE, State};
use crate::reconcile::approval::held::HELD;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::kept_record::LATER;
use crate::record::Action;
use crate::snapshot::{OWNERS, SYNCED, SyncedRecord};
use crate::store::{self, Batch, MetaKey, OldStore, ResetOutcome, reset};

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
    /// Of them, those that a limit held, which are kept: so few may be left that no limit would hold them.
    pub limited: u64,
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
    let home = &config.state.home;
    reset(home, |old| {
        let (batch, seen) = keep(old, &config.api.base_url)?;
        if (which == Which::Damaged) != old.damage().is_some() {
            return Ok((None, seen));
        }
        Audit::new(home).append(Decided::new(clock.now(), "rebuilt")).map_err(RebuildError::Audit)?;
        Ok((Some(batch), seen))
    })
}

fn keep(old: &OldStore<'_>, base_url: &str) -> Result<(Batch, Rebuilt), store::Error> {
    let mut batch = Batch::default();
    let mut seen = Rebuilt::default();
    let mut leaving = BTreeSet::new();
    (seen.known, seen.leaving) = old.carry(&SYNCED, &mut batch, |job, key, known| {
        (known.gone.is_some() || known.left.is_some()) && leaving.insert((job, key))
    })?;
    old.carry(&OWNERS, &mut batch, |_, _, owner| leaving.contains(&(owner.job, owner.key)))?;
    let mut undecided = BTreeSet::new();
    (seen.held, seen.limited) = old.carry(&HELD, &mut batch, |job, key, held| {
        // Who is to be removed is known to be gone, or the next run matches them again.
        let is_known = held.action != Some(Action::Delete) || leaving.contains(&(job.clone(), key));
        let is_kept = held.undo.is_none() && held.reason.is_limit() && is_known;
        undecided.extend(is_kept.then_some(job));
        is_kept
    })?;
    // No later file says it again.
    old.carry(&LATER, &mut batch, |_, _, _| true)?;
    for job in undecided {
        JobState { partly_decided: true, ..JobState::default() }.put(&mut batch, &job);
    }
    (_, seen.rejections) = old.carry(&DECISIONS, &mut batch, |_, _, decided| {
        let is_approved = matches!(decided.verdict, Verdict::Approved(_));
        seen.approvals += u64::from(is_approved);
        !is_approved
    })?;
    (seen.queued, seen.unknown) = old.carry(&QUEUE, &mut batch, |_, _, change| {
        change.wish.action == Action::Create && matches!(change.state, State::Sent { .. })
    })?;
    old.carry(&REMOVALS, &mut batch, |_, _, _| true)?;
    old.carry(&ECHOES, &mut batch, |_, _, _| true)?;
    old.carry(&USED_PLANS, &mut batch, |_, _, _| true)?;
    leaving.iter().for_each(|(job, key)| SyncedRecord::mark_dirty(&mut batch, job, key));
    if old.meta::<String>(MetaKey::Account)?.is_some_and(|account| account != base_url) {
        batch = Batch::default();
        (seen.leaving, seen.limited, seen.rejections, seen.unknown) = (0, 0, 0, 0);
    }
    if let Some(runs) = old.meta::<u64>(MetaKey::Runs)? {
        batch.put_meta(MetaKey::Runs, &runs);
    }
    Ok((batch, seen))
}
