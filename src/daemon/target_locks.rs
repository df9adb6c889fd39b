//! Per-target locks: one run per target at a time; a command may lock all.
//!
//! Rejected: one lock for everything. The first sync of an organization takes hours within the rate limit, and another
//! target's runs would wait for its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::shutdown::{CancelHandle, CancelToken};
use crate::record::Target;

/// The turns of all targets.
#[derive(Debug)]
pub struct TargetLocks {
    targets: BTreeMap<Target, Arc<Mutex<()>>>,
    /// How many wait for running jobs to be preempted.
    wanted: CancelHandle,
}

/// A turn that was taken; it is over when this is dropped.
#[derive(Debug)]
pub struct TargetGuard(#[expect(dead_code, reason = "held until it is dropped")] Vec<OwnedMutexGuard<()>>);

impl Default for TargetLocks {
    fn default() -> Self {
        let targets = Target::ALL.iter().map(|target| (*target, Arc::default())).collect();
        Self { targets, wanted: CancelHandle::new(0) }
    }
}

impl TargetLocks {
    /// Waits for the turn of these targets, in the order of those who wait.
    pub async fn of(&self, targets: impl IntoIterator<Item = Target>) -> TargetGuard {
        let mut wanted: Vec<Target> = targets.into_iter().collect();
        // Always in the same order, so that two never wait for each other.
        wanted.sort_unstable();
        wanted.dedup();
        let mut guards = Vec::new();
        for target in wanted {
            let turn = self.targets.get(&target).expect("every target has its turn");
            guards.push(Arc::clone(turn).lock_owned().await);
        }
        TargetGuard(guards)
    }

    /// Waits until no run is under way.
    pub async fn of_all(&self) -> TargetGuard {
        self.of(self.targets.keys().copied()).await
    }

    /// Has the runs under way end between two changes, and waits for that.
    pub async fn preempt_all(&self) -> TargetGuard {
        let wish = PreemptRequest::new(&self.wanted);
        let turn = self.of_all().await;
        drop(wish);
        turn
    }

    /// Asks a run that was started by its schedule to stop.
    pub(super) fn wanted(&self) -> &CancelHandle {
        &self.wanted
    }
}

/// Counts as one who asks, until it is dropped.
struct PreemptRequest<'a>(&'a CancelHandle);

impl<'a> PreemptRequest<'a> {
    fn new(asker: &'a CancelHandle) -> Self {
        asker.send_modify(|askers| *askers += 1);
        Self(asker)
    }
}

impl Drop for PreemptRequest<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|askers| *askers = askers.saturating_sub(1));
    }
}

impl CancelToken {
    /// What ends a run that was started by its schedule: another's wish, or one of `askers`.
    pub(super) fn of_run<'a>(turns: &'a TargetLocks, askers: impl IntoIterator<Item = &'a CancelHandle>) -> Self {
        Self::by(askers.into_iter().chain([turns.wanted()]))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_target_has_one_run_at_a_time_and_a_command_for_all_preempts_it() {
        let turns = Arc::new(TargetLocks::default());
        let turn = turns.of([Target::Staff, Target::Staff]).await;
        let second = tokio::time::timeout(Duration::from_secs(5), turns.of([Target::Staff])).await;
        assert!(second.is_err(), "it is taken");
        let ending = CancelToken::of_run(&turns, []);
        assert!(!ending.asked());
        let waits = tokio::spawn({
            let turns = Arc::clone(&turns);
            async move { turns.preempt_all().await }
        });
        ending.wait().await;
        drop(turn);
        let all = waits.await.unwrap();
        assert!(!ending.asked(), "who has the turn asks no more");
        drop(all);
        turns.of_all().await;
    }
}
