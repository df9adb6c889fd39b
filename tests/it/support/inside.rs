//! The store and runs inside this process, at a time that the test chooses.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use jiff::SignedDuration;
use rosterd::api::Client;
use rosterd::clock::Clock;
use rosterd::config::{self, Needs};
use rosterd::reconcile::{self, Context, KeyFilter, NoObserver, Report};
use rosterd::store::{ErrorKind, Store};

use super::World;
use super::daemon::eventually;

/// Opens a store in this process. A child of another test, which has all files of this process open until it has begun its own
/// program, may hold the locks of one that was closed before: they are waited for.
pub(crate) fn open_store(dir: &Path) -> Store {
    let mut store = None;
    eventually("the store is let go", || match Store::open(dir) {
        Err(error) if matches!(error.kind, ErrorKind::InUse { .. }) => false,
        opened => {
            store = Some(opened.unwrap());
            true
        }
    });
    store.unwrap()
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
        let locks = ["lock", "store/db"].map(|name| store.dir().join(name));
        drop(store);
        for lock in locks {
            // Opened once, and let go explicitly: that counts for all who inherited it from this process.
            let file = File::open(lock).unwrap();
            eventually("the store is let go", || file.try_lock().is_ok());
            file.unlock().unwrap();
        }
    }
}

impl World {
    /// Its store.
    pub(crate) fn store(&self) -> Opened {
        Opened(Some(open_store(&self.state())))
    }

    /// One run of the only job, at the time of `clock`.
    pub(crate) fn sync_at(&self, clock: &Clock) -> Report {
        let config = config::load(&self.dir().join("config.toml"), std::iter::empty(), Needs::Jobs).unwrap();
        let store = self.store();
        let client = Client::new(&config.api, clock).unwrap();
        let context = Context { config: &config, client: &client, store: &store, clock, watch: &NoObserver };
        let jobs: Vec<_> = config.jobs.iter().collect();
        let reports = self.runtime.block_on(reconcile::sync(&context, &jobs, &KeyFilter::default())).unwrap();
        reports.into_iter().next().unwrap()
    }

    /// One run of the only job, that long ago.
    pub(crate) fn sync_ago(&self, ago: SignedDuration) -> Report {
        self.sync_at(&Clock::fixed(Clock::system().now() - ago))
    }
}
