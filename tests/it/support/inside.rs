//! The store and runs inside this process, at a time that the test chooses.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use jiff::SignedDuration;
use rosterd::api::{Client, SharedBudget};
use rosterd::clock::Clock;
use rosterd::config::Config;
use rosterd::history::RunHistory;
use rosterd::operator;
use rosterd::reconcile::{self, Context, KeyFilter, NoObserver, Report, RunObserver};
use rosterd::store::{Error, ErrorKind, Home, Store};

use super::daemon::eventually;
use super::{Site, World};

/// Opens a store in this process, for looks and changes that send nothing.
pub(crate) fn open_store(home: impl Into<Home>) -> Store {
    let home = home.into();
    let store = let_go(|| Store::open(&home));
    pass_on(&store);
    store
}

/// Begins a tenure in this process as the program does.
pub(crate) fn begin_tenure(config: &Config) -> Store {
    let_go(|| reconcile::open_store(config))
}

/// What opens once it is free. A child of another test, which has all files of this process open until it has begun its own
/// program, may hold the locks of a store that was closed before: they are waited for.
fn let_go(open: impl Fn() -> Result<Store, Error>) -> Store {
    let mut store = None;
    eventually("the store is let go", || match open() {
        Err(error) if matches!(error.kind, ErrorKind::InUse { .. } | ErrorKind::Leased { .. }) => false,
        opened => {
            store = Some(opened.unwrap());
            true
        }
    });
    store.unwrap()
}

/// What the process before left of its budget goes on to the next one, as this one sends nothing. Where that one did not end in
/// good order, it is the next one's to find out what it left.
fn pass_on(store: &Store) {
    let left = match store.predecessor() {
        Some(before) if before.is_lost => return,
        Some(before) => before.budget.map(|(left, _)| left).unwrap_or_default(),
        None => SharedBudget::default().hand_over(),
    };
    store.hands_over(Box::new(move || left.clone()));
}

fn opened(home: impl Into<Home>) -> Opened {
    Opened(Some(open_store(home)))
}

/// A store that is open in this process. Once it is dropped, another process can open it.
pub(crate) struct Opened(Option<Store>);

impl Deref for Opened {
    type Target = Store;

    fn deref(&self) -> &Store {
        self.0.as_ref().expect("it is open until it is dropped")
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let Some(store) = self.0.take() else { return };
        let folder = store.home().folder().map(Path::to_owned);
        drop(store);
        for lock in folder.iter().flat_map(|folder| ["lock", "store/db"].map(|name| folder.join(name))) {
            // Opened once, and let go explicitly: that counts for all who inherited it from this process.
            let file = File::open(lock).unwrap();
            eventually("the store is let go", || file.try_lock().is_ok());
            file.unlock().unwrap();
        }
    }
}

impl Site {
    /// Its store.
    pub(crate) fn store(&self) -> Opened {
        self.outlast_the_dead();
        opened(self.home())
    }
}

/// One run of all jobs in this process.
pub(crate) async fn run(config: &Config, client: &Client, clock: &Clock, narrow: &KeyFilter) -> Vec<Report> {
    watched_run(config, client, clock, narrow, &NoObserver).await
}

async fn watched_run(
    config: &Config,
    client: &Client,
    clock: &Clock,
    narrow: &KeyFilter,
    watch: &dyn RunObserver,
) -> Vec<Report> {
    let store = Opened(Some(begin_tenure(config)));
    let context = Context { config, client, store: &store, clock, watch };
    let jobs: Vec<_> = config.jobs.iter().collect();
    reconcile::sync(&context, &jobs, narrow).await.unwrap()
}

/// What takes back a run of the only job, in this process.
pub(crate) async fn revert(config: &Config, client: &Client, clock: &Clock, story: &RunHistory) {
    let store = Opened(Some(begin_tenure(config)));
    let context = Context { config, client, store: &store, clock, watch: &NoObserver };
    operator::revert(&context, &config.jobs[0], story).await.unwrap();
}

impl World {
    /// One run of the only job, at the time of `clock`.
    pub(crate) fn sync_at(&self, clock: &Clock) -> Report {
        self.sync_watched(clock, &NoObserver)
    }

    /// One run of all jobs at a time.
    pub(crate) fn sync_all_at(&self, clock: &Clock) -> Vec<Report> {
        let config = self.checked();
        let client = Client::new(&config.api, clock).unwrap();
        self.runtime.block_on(watched_run(&config, &client, clock, &KeyFilter::default(), &NoObserver))
    }

    /// The same, under the eyes of an observer that may interrupt it.
    pub(crate) fn sync_watched(&self, clock: &Clock, watch: &dyn RunObserver) -> Report {
        let config = self.checked();
        let client = Client::new(&config.api, clock).unwrap();
        self.runtime.block_on(watched_run(&config, &client, clock, &KeyFilter::default(), watch)).remove(0)
    }

    /// One run of the only job, that long ago.
    pub(crate) fn sync_ago(&self, ago: SignedDuration) -> Report {
        self.sync_at(&Clock::fixed(Clock::system().now() - ago))
    }
}
