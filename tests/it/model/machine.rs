//! A service, and the machine on which the engine runs; all of it in this process.

use std::time::Duration;

use rosterd::api::{BudgetPlace, Client};
use rosterd::clock::Clock;
use rosterd::config::{self, Job};
use rosterd::history::RunHistory;
use rosterd::operator::{self, Chosen, ChosenKey, HeldSet};
use rosterd::reconcile::{KeyFilter, Report};
use rosterd::record::Key;
use rosterd::sandbox::{Options, Sandbox};
use rosterd::store::Store;

use super::history::Moment;
use crate::support::inside::{self, begin_tenure};
use crate::support::site::memory;
use crate::support::{Config, Site, shown};

/// A service, a state folder, and the configuration of one job.
pub(super) struct Machine {
    // Its connections end before the site leaves the database to others.
    pub(super) config: config::Config,
    pub(super) clock: Clock,
    pub(super) site: Site,
}

pub(super) type Decide = fn(&Store, &Clock, &Job, &Chosen<'_>) -> Result<Vec<Key>, operator::DecisionError>;

impl Machine {
    /// A machine with this configuration, whose requests are not limited.
    pub(super) async fn new(config: Config) -> Self {
        let clock = Clock::fixed("2026-03-02T08:00:00Z".parse().unwrap());
        let options = Options { accept_duplicates: true, clock: shown(&clock), ..Options::default() };
        let config = Config { api: "requests_per_minute = 1000000\ntimeout = \"20s\"\n".into(), ..config };
        let site = Site::start(memory(), options, config).await;
        site.settle_at_once();
        Self { config: site.checked(), site, clock }
    }

    pub(super) fn service(&self) -> &Sandbox {
        self.site.service()
    }

    pub(super) fn job(&self) -> &Job {
        &self.config.jobs[0]
    }

    pub(super) fn store(&self) -> Store {
        begin_tenure(&self.config)
    }

    /// The engine's way to the service; of a run of its own. Where workers take turns, a budget of its own too: after a takeover
    /// all of it counts as spent for a minute, by the clock of the machine.
    pub(super) fn client(&self) -> Client {
        let mut options = self.config.api.clone();
        if matches!(options.budget, BudgetPlace::Shared(_)) {
            options.budget = BudgetPlace::Own;
        }
        Client::new(&options, &self.clock).unwrap()
    }

    /// One run of the engine; `None` where the process died.
    pub(super) async fn run(&self, client: &Client, narrow: &KeyFilter, killed: Option<Moment>) -> Option<Report> {
        let death = async {
            match killed {
                Some(moment) => {
                    moment.comes(client, || false).await;
                    self.site.lose_holder();
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            mut reports = inside::run(&self.config, client, &self.clock, narrow) => reports.pop(),
            () = death => None,
        }
    }

    /// What a killed process left in flight arrives, and no fault strikes any more.
    pub(super) async fn arrived(&self, was_killed: bool) {
        tokio::time::sleep(Duration::from_millis(if was_killed { 200 } else { 0 })).await;
        self.service().set_faults(Vec::new());
    }

    /// Takes back what a run did; tells whether that run changed anything.
    pub(super) async fn revert(&self, run: u64) -> bool {
        let story = RunHistory::read(&self.config.state.home, run).unwrap();
        let Some(story) = story.filter(|story| !story.changes.is_empty()) else { return false };
        inside::revert(&self.config, &self.client(), &self.clock, &story).await;
        true
    }

    /// Has everybody matched again.
    pub(super) fn rebuild(&self) {
        drop(self.store());
        operator::rebuild(&self.config, &self.clock, operator::Which::Whole).unwrap();
    }

    /// Takes a decision about one held change, or about all; returns whose.
    pub(super) fn decide(&self, decide: Decide, which: Option<u8>) -> Vec<Key> {
        let store = self.store();
        let held = HeldSet::load(&store, self.job()).unwrap().changes.into_iter();
        let mut chosen: Vec<ChosenKey> = held
            .filter(|held| held.action.is_some())
            .map(|held| ChosenKey { part: Some(held.part), key: held.key })
            .collect();
        if let Some(which) = which.filter(|_| !chosen.is_empty()) {
            chosen = vec![chosen.swap_remove(usize::from(which) % chosen.len())];
        }
        let keys = chosen.iter().map(|chosen| chosen.key.clone()).collect();
        if !chosen.is_empty() {
            let chosen = chosen.into_iter().collect();
            decide(&store, &self.clock, self.job(), &Chosen { keys: Some(&chosen), ..Chosen::default() }).unwrap();
        }
        keys
    }
}

impl Moment {
    /// Returns when it comes, or when it can't come any more.
    pub(super) async fn comes(self, client: &Client, is_over: impl Fn() -> bool) {
        while client.requests() < u64::from(self.requests) && !is_over() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(u64::from(self.millis))).await;
    }
}
