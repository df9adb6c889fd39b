//! The accounts of a process that lie in one database: the process says what it could run, looks who has what, and learns what
//! its share is.
//!
//! Invariant: there is one look at a time for each database, for all of its accounts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::account::Entry;
use super::seat::{AccountKey, Done, Seat, SeatState};
use super::sharing::{OwnAccounts, Share, share};
use crate::daemon::shutdown::CancelToken;
use crate::fault::chain;
use crate::store::{AccountHolder, Membership, Workers};

/// How often it is looked.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long after the first account is known, so that the others are as well.
pub(super) const FIRST_LOOK: Duration = Duration::from_millis(300);

/// The accounts of one database.
pub(super) struct Pool {
    membership: Arc<dyn Membership>,
    /// Whether the process takes part no more; held while the database is asked.
    has_left: Arc<Mutex<bool>>,
    /// Why the workers could not be seen last.
    trouble: Option<String>,
    /// What was said of the workers last.
    said: Option<String>,
}

impl Pool {
    pub(super) fn new(membership: Arc<dyn Membership>) -> Self {
        Self { membership, has_left: Arc::default(), trouble: None, said: None }
    }

    /// Looks once, after a while.
    pub(super) fn look(
        &self,
        offers: BTreeSet<String>,
        wait: Duration,
        stopping: CancelToken,
    ) -> impl Future<Output = Done> + use<> {
        let (membership, has_left) = (Arc::clone(&self.membership), Arc::clone(&self.has_left));
        async move {
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = stopping.wait() => return Done::Other,
            }
            let place = membership.place();
            let looks = move || {
                let has_left = has_left.lock().unwrap_or_else(PoisonError::into_inner);
                let looked = (!*has_left).then(|| membership.look(&offers));
                looked.unwrap_or_else(|| Ok(Workers::default())).map_err(|error| chain(&error))
            };
            let looked = tokio::task::spawn_blocking(looks).await;
            Done::Looked(place, looked.unwrap_or_else(|error| Err(error.to_string())))
        }
    }

    /// What the process is to do with its accounts; nothing where the workers could not be seen.
    pub(super) fn judge(&mut self, looked: Result<&Workers, &String>, accounts: &OwnAccounts) -> Share {
        let workers = match looked {
            Ok(workers) => workers,
            Err(reason) => {
                if self.trouble.as_ref() != Some(reason) {
                    tracing::warn!(reason, "the other workers can't be seen: {reason}");
                    self.trouble = Some(reason.clone());
                }
                return Share::default();
            }
        };
        self.trouble = None;
        let share = share(workers, accounts);
        let (count, offers) = (workers.others.len() + 1, accounts.offers.len());
        let words = format!("{count} workers share the accounts in {}", self.membership.place());
        if self.said.as_ref() != Some(&words) {
            let has = accounts.has.len();
            tracing::info!(workers = count, accounts = offers, has, "{words}; this one has {has} of {offers}");
            self.said = Some(words);
        }
        share
    }

    /// Takes part no more, so that the others don't wait for this process.
    pub(super) fn leave(&self) -> impl Future<Output = Done> + use<> {
        let (membership, has_left) = (Arc::clone(&self.membership), Arc::clone(&self.has_left));
        async move {
            let leaves = move || {
                let mut has_left = has_left.lock().unwrap_or_else(PoisonError::into_inner);
                *has_left = true;
                if let Err(error) = membership.leave() {
                    let reason = chain(&error);
                    tracing::warn!(reason, "the other workers will miss this one only after a while: {reason}");
                }
            };
            // What broke off would have been said.
            let _ = tokio::task::spawn_blocking(leaves).await;
            Done::Other
        }
    }
}

/// The accounts of a process in one database.
pub(super) fn accounts_of(seats: &BTreeMap<AccountKey, Seat>, place: &str) -> OwnAccounts {
    let mut own = OwnAccounts::default();
    for (key, seat) in seats.iter().filter(|(_, seat)| seat.pool.as_deref() == Some(place)) {
        match &seat.state {
            SeatState::Stopped(_) | SeatState::Ends => continue,
            SeatState::StandsBy | SeatState::Begins(Entry::Offers) => {}
            SeatState::HandsOver => _ = own.ends.insert(key.clone()),
            SeatState::Begins(Entry::Claims) => {
                own.has.insert(key.clone());
                own.busy.insert(key.clone());
            }
            SeatState::Runs(engine) => {
                own.has.insert(key.clone());
                if engine.said().runs > 0 {
                    own.busy.insert(key.clone());
                }
            }
        }
        own.offers.insert(key.clone());
    }
    own
}

/// The accounts that stand by, where it is new where they run; with that.
pub(super) fn moved(
    seats: &BTreeMap<AccountKey, Seat>,
    place: &str,
    held: &BTreeMap<String, AccountHolder>,
) -> Vec<(AccountKey, Option<String>)> {
    let moved = |(key, seat): (&AccountKey, &Seat)| {
        let is_so = seat.pool.as_deref() == Some(place) && matches!(seat.state, SeatState::StandsBy);
        let holder = held.get(key);
        let own = seat.config.as_ref().map(|config| &config.digest);
        let is_other = holder.and_then(|holder| holder.config.as_ref()).is_some_and(|config| own != Some(config));
        let under = if is_other { " under another configuration than this worker has" } else { "" };
        let node = holder.map(|holder| format!("{}{under}", holder.node));
        let is_moved = is_so && seat.node != node;
        if is_moved && is_other {
            let node = holder.map_or("", |holder| &holder.node);
            tracing::warn!(account = key, node, "account {key} runs elsewhere under another configuration: {node}");
        }
        is_moved.then(|| (key.clone(), node))
    };
    seats.iter().filter_map(moved).collect()
}
