//! A service, and the machine on which the engine runs; all of it in this process.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use rosterd::api::Client;
use rosterd::clock::Clock;
use rosterd::config::{self, Config, Job, Needs};
use rosterd::operator;
use rosterd::reconcile::{self, Context, KeyFilter, NoObserver, Report};
use rosterd::record::Key;
use rosterd::sandbox::{Options, Sandbox};
use rosterd::store::Store;
use tempfile::TempDir;

use super::history::Moment;
use crate::support::inside::open_store;
use crate::support::shown;

/// A service, a state folder, and the configuration of one job.
pub(super) struct Machine {
    dir: TempDir,
    pub(super) sandbox: Sandbox,
    pub(super) config: Config,
    pub(super) clock: Clock,
}

pub(super) type Decide = fn(&Store, &Clock, &Job, &BTreeSet<Key>) -> Result<Vec<Key>, operator::DecisionError>;

impl Machine {
    /// A machine with this configuration, in which `URL` is replaced by the service's, and these files next to it.
    pub(super) async fn new(config: &str, files: &[(&str, &str)]) -> Self {
        let shared_memory = Path::new("/dev/shm");
        let dir = if shared_memory.is_dir() { TempDir::new_in(shared_memory) } else { TempDir::new() }.unwrap();
        let clock = Clock::fixed("2026-03-02T08:00:00Z".parse().unwrap());
        let options = Options { accept_duplicates: true, rate: 0, clock: shown(&clock), ..Options::default() };
        let sandbox = Sandbox::start(options).await.unwrap();
        let put = |name: &str, text: &str| {
            fs::write(dir.path().join(name), text).unwrap();
            fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(0o600)).unwrap();
        };
        files.iter().for_each(|(name, text)| put(name, text));
        put("key", &sandbox.options().api_key);
        put("config.toml", &config.replace("URL", &sandbox.url()));
        let config = config::load(&dir.path().join("config.toml"), std::iter::empty(), Needs::Jobs).unwrap();
        Self { dir, sandbox, config, clock }
    }

    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn job(&self) -> &Job {
        &self.config.jobs[0]
    }

    pub(super) fn store(&self) -> Store {
        open_store(&self.config.state.dir)
    }

    /// The engine's way to the service; of a run of its own.
    pub(super) fn client(&self) -> Client {
        Client::new(&self.config.api, &self.clock).unwrap()
    }

    /// One run of the engine; `None` where the process died.
    pub(super) async fn run(&self, client: &Client, narrow: &KeyFilter, killed: Option<Moment>) -> Option<Report> {
        let store = self.store();
        let context = Context { config: &self.config, client, store: &store, clock: &self.clock, watch: &NoObserver };
        let jobs: Vec<_> = self.config.jobs.iter().collect();
        let death = async {
            match killed {
                Some(moment) => moment.comes(client, || false).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            reports = reconcile::sync(&context, &jobs, narrow) => reports.unwrap().pop(),
            () = death => None,
        }
    }

    /// Takes a decision about one held change, or about all; returns whose.
    pub(super) fn decide(&self, decide: Decide, which: Option<u8>) -> Vec<Key> {
        let store = self.store();
        let held = reconcile::held(&store, &self.job().name).unwrap();
        let mut keys: Vec<Key> =
            held.into_iter().filter(|(_, held)| held.action.is_some()).map(|(key, _)| key).collect();
        if let Some(which) = which.filter(|_| !keys.is_empty()) {
            keys = vec![keys.swap_remove(usize::from(which) % keys.len())];
        }
        if !keys.is_empty() {
            decide(&store, &self.clock, self.job(), &keys.iter().cloned().collect()).unwrap();
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
