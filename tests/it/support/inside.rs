//! Runs inside this process, at a time that the test chooses.

use rosterd::api::Client;
use rosterd::clock::Clock;
use rosterd::config::{self, Needs};
use rosterd::run::{self, Context, Narrow, Report, Unwatched};
use rosterd::store::Store;

use super::World;

impl World {
    /// One run of the only job, at the time of `clock`.
    pub(crate) fn sync_at(&self, clock: &Clock) -> Report {
        let config = config::load(&self.dir().join("config.toml"), std::iter::empty(), Needs::Jobs).unwrap();
        let store = Store::open(&config.state.dir).unwrap();
        let client = Client::new(&config.api, clock).unwrap();
        let context = Context { config: &config, client: &client, store: &store, clock, watch: &Unwatched };
        let jobs: Vec<_> = config.jobs.iter().collect();
        let reports = self.runtime.block_on(run::sync(&context, &jobs, &Narrow::default())).unwrap();
        reports.into_iter().next().unwrap()
    }
}
