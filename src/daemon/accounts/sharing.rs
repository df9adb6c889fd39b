//! How workers share accounts: what each of them claims and lets go, as a pure function of what all of them can see.
//!
//! ```text
//! what no one has ─▶ to the worker with the fewest accounts that could run it
//! two workers of which one has two more than the other ─▶ one lets an account go that the other could run
//! ```
//!
//! Invariants:
//! - Each worker thinks the whole plan through and does its own part of it. Those that see the same don't get in each other's
//!   way; where they see different things, the lease decides.
//! - Only a worker that could run an account gets it, however many it has.
//! - Each step makes the workers more equal, and where they are equal there is none: nothing is handed over while nothing changes.
//! - What a worker lets go never falls back to it.
//! - A worker that has only begun gets what no one has, and nothing that another one would have to let go: one that ends again and
//!   again would cost each of its accounts the time of a takeover.
//!
//! Rejected: a place for each account by a hash of its name. With few workers the shares differ widely, and an account that only
//! some workers know needs a rule of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::store::Workers;

/// Accounts that a worker hands over at the same time.
const RELEASES_MAX: usize = 4;

/// What a worker knows of its own accounts better than the database.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnAccounts {
    /// Those that it could run.
    pub(super) offers: BTreeSet<String>,
    /// Those that it runs or begins.
    pub(super) has: BTreeSet<String>,
    /// Those of them that have work under way, or have only begun.
    pub(super) busy: BTreeSet<String>,
    /// Those that it is letting go.
    pub(super) ends: BTreeSet<String>,
}

/// What a worker is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    /// What it is to claim.
    pub(super) claims: Vec<String>,
    /// What it is to let go.
    pub(super) releases: Vec<String>,
}

/// The plan while it is made.
struct Plan<'a> {
    own: &'a str,
    offers: BTreeMap<&'a str, &'a BTreeSet<String>>,
    has: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Workers to which nothing is handed over yet.
    new: BTreeSet<&'a str>,
}

/// What this worker is to do.
pub(super) fn share(workers: &Workers, accounts: &OwnAccounts) -> Share {
    let own = workers.own.as_str();
    let others = workers.others.iter().map(|(worker, other)| (worker.as_str(), &other.offers));
    let offers: BTreeMap<&str, &BTreeSet<String>> = others.chain([(own, &accounts.offers)]).collect();
    let mut has: BTreeMap<&str, BTreeSet<&str>> = offers.keys().map(|worker| (*worker, BTreeSet::new())).collect();
    has.insert(own, accounts.has.iter().map(String::as_str).collect());
    let mut elsewhere = BTreeSet::new();
    for (account, holder) in workers.held.iter().filter(|(_, holder)| holder.worker != own) {
        // What this worker begins may have become another's: the claim will tell.
        if accounts.has.contains(account) {
            continue;
        }
        elsewhere.insert(account.as_str());
        if let Some(has) = has.get_mut(holder.worker.as_str()) {
            has.insert(account);
        }
    }
    let new = workers.others.iter().filter(|(_, other)| other.is_new).map(|(worker, _)| worker.as_str()).collect();
    let mut plan = Plan { own, offers, has, new };
    let wanted: BTreeSet<&str> = plan.offers.values().flat_map(|offers| offers.iter().map(String::as_str)).collect();
    let free = |account: &&&str| !elsewhere.contains(**account) && !accounts.has.contains(**account);
    let free: Vec<&str> = wanted.iter().filter(free).copied().collect();
    Share { claims: plan.give_out(free, &accounts.ends), releases: plan.even_out(accounts) }
}

impl<'a> Plan<'a> {
    fn count(&self, worker: &str) -> usize {
        self.has.get(worker).map_or(0, BTreeSet::len)
    }

    /// Of the workers that could run an account, the one with the fewest; the first by name of several.
    fn best(&self, account: &str, is_meant: impl Fn(&str) -> bool) -> Option<&'a str> {
        let could = self.offers.iter().filter(|(worker, offers)| offers.contains(account) && is_meant(worker));
        could.map(|(worker, _)| *worker).min_by_key(|worker| (self.count(worker), *worker))
    }

    /// Gives each account to the best worker; those that few could run go first. Returns those of this worker.
    fn give_out(&mut self, mut free: Vec<&'a str>, ends: &BTreeSet<String>) -> Vec<String> {
        free.sort_by_key(|account| self.offers.values().filter(|offers| offers.contains(*account)).count());
        let mut own = Vec::new();
        for account in free {
            let Some(worker) = self.best(account, |_| true) else { continue };
            self.has.entry(worker).or_default().insert(account);
            if worker == self.own && !ends.contains(account) {
                own.push(account.to_owned());
            }
        }
        own
    }

    /// Moves accounts until no worker has two more than another that could run one of them. Returns those of this worker.
    fn even_out(&mut self, accounts: &OwnAccounts) -> Vec<String> {
        let (mut own, places) = (Vec::new(), RELEASES_MAX.saturating_sub(accounts.ends.len()));
        while own.len() < places
            && let Some((from, account, to)) = self.next_move(accounts)
        {
            self.has.entry(from).or_default().remove(account);
            self.has.entry(to).or_default().insert(account);
            if from == self.own {
                own.push(account.to_owned());
            }
        }
        own
    }

    fn next_move(&self, accounts: &OwnAccounts) -> Option<(&'a str, &'a str, &'a str)> {
        let mut workers: Vec<&str> = self.has.keys().copied().collect();
        workers.sort_by_key(|worker| std::cmp::Reverse(self.count(worker)));
        let fewest = workers.last().map_or(0, |worker| self.count(worker));
        workers.into_iter().take_while(|worker| self.count(worker) >= fewest + 2).find_map(|from| {
            // What this worker does not have yet it can't let go, and what is busy it keeps.
            let can_go = |account: &&&str| {
                from != self.own || accounts.has.contains(**account) && !accounts.busy.contains(**account)
            };
            let could = self.has[from].iter().filter(can_go);
            let moves = could.filter_map(|account| Some((*account, self.best(account, |to| !self.new.contains(to))?)));
            let (account, to) = moves.min_by_key(|(_, to)| self.count(to))?;
            (self.count(from) >= self.count(to) + 2).then_some((from, account, to))
        })
    }
}

#[cfg(test)]
mod tests;
