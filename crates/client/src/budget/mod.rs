//! The rate limit: at most a given number of requests in any 60 seconds, as the service counts them (law 12).
//!
//! Invariants:
//! - A request takes a slot before it is sent. The service may count it at any moment from then until its answer, so the
//!   slot is free again 60 s after the answer. A service that answers later than [`window::REACH`] is slow at work, not at
//!   receiving: a slot is never held longer than that beyond 60 s, or slow answers would waste the budget.
//! - The slots lie in a file that several processes share and that outlives them. Its times are those of the boot, so
//!   that neither a restart nor a clock that is set changes them.
//! - What can't be read counts as spent, what can't be written stops sending.
//! - A pause that the service asks for (429, 503) is stored next to the slots and blocks all of them.
//!
//! Rejected: a token bucket. A full bucket and its refill together let nearly twice the limit into one sliding minute.

mod store;
mod time;
mod window;

use std::time::Duration;

use store::BudgetStore;
pub use store::{BudgetPlace, SharedBudget};
pub(super) use time::Time;
pub(super) use window::PAUSE_MAX;
#[cfg(test)]
use window::REACH;
use window::Window;

use super::error::ErrorKind;

/// The longest sleep before the slots are looked at again: another process may have freed some.
const SLEEP_MAX: Duration = Duration::from_secs(5);

/// How much of the budget is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) used: u32,
    pub(super) limit: u32,
    pub(super) blocked: Option<Duration>,
}

/// The slots of one credential.
pub(super) struct Budget {
    limit: u32,
    time: Time,
    store: BudgetStore,
    /// Its holder is next; the others wait in order.
    turn: tokio::sync::Mutex<()>,
    /// What is not urgent waits here, so that at most one of it stands before what is.
    line: tokio::sync::Mutex<()>,
}

/// A slot that was taken for one request.
#[derive(Debug)]
#[must_use = "the request's outcome decides when the slot is free again"]
pub(super) struct Permit(u64);

impl Budget {
    pub(super) fn new(limit: u32, place: BudgetPlace, time: Time) -> Self {
        Self::over(BudgetStore::new(place), limit, time)
    }

    /// That of a credential of which nothing may be remembered: then all of it counts as spent.
    pub(super) fn spent_unless_known(limit: u32, place: BudgetPlace, time: Time) -> Self {
        Self::over(BudgetStore::spent_unless_known(place), limit, time)
    }

    fn over(store: BudgetStore, limit: u32, time: Time) -> Self {
        Self { limit: limit.max(1), time, store, turn: Default::default(), line: Default::default() }
    }

    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// Waits for a slot, as long as it takes. What is urgent goes before all that waits and is not.
    pub(super) async fn permit(&self, urgent: bool) -> Result<Permit, ErrorKind> {
        let _line = if urgent { None } else { Some(self.line.lock().await) };
        let _turn = self.turn.lock().await;
        loop {
            let (now, taken) = self.change(|window, now, limit| (now, window.take(now, limit)))?;
            match taken {
                Ok(slot) => return Ok(Permit(slot)),
                Err(until) => {
                    let wait = Duration::from_millis(until.saturating_sub(now).max(1));
                    tokio::time::sleep(wait.min(SLEEP_MAX)).await;
                }
            }
        }
    }

    /// The request of `permit` was answered just now.
    pub(super) fn answered(&self, permit: Permit) -> Result<(), ErrorKind> {
        self.change(|window, now, _| window.answered(permit.0, now))
    }

    /// The request of `permit` was never sent.
    pub(super) fn never_sent(&self, permit: Permit) -> Result<(), ErrorKind> {
        self.change(|window, _, _| window.never_sent(permit.0))
    }

    /// Nothing is sent for so long; eases the pace a little where this is news.
    pub(super) fn pause(&self, duration: Duration, ease: bool) -> Result<(), ErrorKind> {
        let millis = u64::try_from(duration.min(PAUSE_MAX).as_millis()).expect("15 minutes fit");
        self.change(|window, now, _| window.pause(now, millis, ease))
    }

    /// How long until `slots` slots are free at once, if no other process takes any meanwhile.
    pub(super) fn free_in(&self, slots: u32) -> Result<Duration, ErrorKind> {
        self.change(|window, now, limit| Duration::from_millis(window.free_in(now, limit, slots)))
    }

    pub(super) fn state(&self) -> Result<Use, ErrorKind> {
        self.change(|window, now, limit| {
            let blocked = window.blocked(now).map(Duration::from_millis);
            Use { used: window.used(now), limit, blocked }
        })
    }

    /// Changes the window while no other process or thread does. Takes microseconds, so it may block.
    fn change<T>(&self, change: impl FnOnce(&mut Window, u64, u32) -> T) -> Result<T, ErrorKind> {
        self.store.change(&self.time, self.limit, |window, now| change(window, now, self.limit))
    }
}

#[cfg(test)]
mod tests;
