//! Dropping what is remembered, so that people are matched again (law 9).
//!
//! Kept are the audit files, pauses and used plans, which lie outside the store, and of a store that is whole and this
//! account's what must not be lost by it: what a person rejected, what may have been created, who was removed a short
//! while ago, whose presence is yet to be looked after, and the number of the last run. Approvals are dropped: what they
//! were given for is worked out anew.

use std::io;

use super::account::ADDRESS;
use super::state::RUNS;
use crate::clock::Clock;
use crate::config::Config;
use crate::history::{Audit, Line, acting_user};
use crate::plan::Verdict;
use crate::queue::{Change, State};
use crate::record::Action;
use crate::store::{self, Batch, Dropped, Space, Store, renew};

/// What was dropped of a store that was whole, and what was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// People who were known.
    pub known: u64,
    /// Changes that waited to be sent, or were parked.
    pub queued: u64,
    /// Changes that waited for a person.
    pub held: u64,
    /// Rejections, which are kept.
    pub rejections: u64,
    /// Creates of unknown fate, which are kept to be looked up.
    pub unknown: u64,
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

/// Drops the store; with `damaged`, only one that can't be used.
pub fn rebuild(config: &Config, clock: &Clock, damaged: bool) -> Result<Dropped<Rebuilt>, RebuildError> {
    let dir = &config.state.dir;
    if !damaged || matches!(Store::open(dir).map(drop).map_err(|error| error.kind), Err(store::Kind::Damaged(_))) {
        store::lay_down(dir)?;
        let at = clock.now();
        let line = Line::Decision { at, job: None, key: None, decision: "rebuilt", by: acting_user(), why: None };
        Audit::new(dir).append(at, &line).map_err(RebuildError::Audit)?;
    }
    Ok(renew(dir, |store| {
        let (batch, seen) = keep(store, &config.api.base_url)?;
        Ok(((!damaged).then_some(batch), seen))
    })?)
}

fn keep(store: &Store, base_url: &str) -> Result<(Batch, Rebuilt), store::Error> {
    let mut batch = Batch::default();
    let mut seen = Rebuilt::default();
    if let Some(runs) = store.get::<u64>(Space::Meta, RUNS)? {
        batch.put(Space::Meta, RUNS, &runs);
    }
    let account: Option<String> = store.get(Space::Meta, ADDRESS)?;
    let ours = account.is_none_or(|account| account == base_url);
    let mut carry = |space: Space, kept: &dyn Fn(&[u8]) -> bool| -> Result<(u64, u64), store::Error> {
        let (mut all, mut carried) = (0, 0);
        store.scan(space, "", |name, row| {
            all += 1;
            if ours && kept(row) {
                carried += 1;
                batch.put_bytes(space, name, row);
            }
        })?;
        Ok((all, carried))
    };
    (seen.known, _) = carry(Space::Known, &|_| false)?;
    (seen.held, _) = carry(Space::Held, &|_| false)?;
    (_, seen.rejections) =
        carry(Space::Decision, &|row| matches!(serde_json::from_slice(row), Ok(Verdict::Rejected(_))))?;
    (seen.queued, seen.unknown) = carry(Space::Queue, &|row| {
        serde_json::from_slice(row).is_ok_and(|change: Change| {
            change.wish.action == Action::Create && matches!(change.state, State::Sent { .. })
        })
    })?;
    carry(Space::Removed, &|_| true)?;
    carry(Space::Echo, &|_| true)?;
    Ok((batch, seen))
}
