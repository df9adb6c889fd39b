//! Those who look on while the daemon works: the status page, the counters, and who is told.
//!
//! Each has a task of its own and only reads; a place that does not answer holds up neither runs nor commands.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::broadcast::error::RecvError;

use super::engine::Engine;
use super::event::Event;
use crate::api::Traffic;
use crate::config::Config;
use crate::fault::chain;
use crate::notify::{SetupError, Teller};
use crate::status::{Counters, Gather, Snapshot};

/// How often it is looked how things are, where nothing happens: a job becomes overdue without a run.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The shortest wait between two tries to deliver.
const DELIVER_EVERY: Duration = Duration::from_secs(1);

/// How things are at the daemon.
pub(super) struct Seen(pub(super) Arc<Engine>);

impl Gather for Seen {
    fn snapshot(&self) -> BoxFuture<'_, Result<Snapshot, String>> {
        Box::pin(gather(&self.0))
    }

    fn traffic(&self) -> Traffic {
        self.0.setup().client.traffic()
    }
}

async fn gather(engine: &Arc<Engine>) -> Result<Snapshot, String> {
    let store = engine.store().await.map_err(|error| chain(&error))?;
    let (engine, setup) = (Arc::clone(engine), engine.setup());
    let work = tokio::task::spawn_blocking(move || {
        let (budget, now) = (setup.client.budget(), engine.clock().now());
        Snapshot::gather(&store, &setup.config, budget, now, &|job| Ok(engine.seen(&job.name)))
    });
    match work.await {
        Ok(snapshot) => snapshot.map_err(|error| chain(&error)),
        Err(_) => Err("looking at it broke off".to_owned()),
    }
}

/// Counts what runs came to, for as long as it is polled.
pub(super) async fn count(engine: Arc<Engine>) {
    let mut events = engine.events();
    loop {
        match events.recv().await {
            Ok(Event::Ended { report }) => engine.counters().ended(&report),
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// Who is told under a configuration; `None` where nobody is.
pub(super) fn teller(config: &Config, counters: &Arc<Counters>) -> Result<Option<Teller>, SetupError> {
    if config.notify.is_off() {
        return Ok(None);
    }
    let (ca_file, proxy) = (config.api.ca_file.as_deref(), config.api.proxy.as_deref());
    Teller::open(&config.state.dir, &config.notify, ca_file, proxy, counters).map(Some)
}

/// Tells people what is new, for as long as it is polled.
pub(super) async fn tell(engine: Arc<Engine>, mut teller: Option<Teller>) {
    let mut events = engine.events();
    // An earlier process may have left something untold.
    let mut look = true;
    loop {
        if let Some(teller) = &mut teller {
            if look {
                match gather(&engine).await {
                    Ok(snapshot) => teller.look(&snapshot).await,
                    Err(reason) => tracing::warn!(reason, "how things are can't be told"),
                }
            }
            teller.deliver(engine.clock().now()).await;
        }
        let now = engine.clock().now();
        let due = teller.as_ref().and_then(|teller| teller.due_in(now)).unwrap_or(LOOK_EVERY);
        look = tokio::select! {
            event = events.recv() => match event {
                Ok(Event::Reloaded) => {
                    match self::teller(&engine.setup().config, engine.counters()) {
                        Ok(next) => teller = next,
                        Err(error) => tracing::error!(error = chain(&error), "people are told as before"),
                    }
                    true
                }
                Ok(Event::Ready | Event::Ended { .. } | Event::Decided) | Err(RecvError::Lagged(_)) => true,
                Ok(_) => false,
                Err(RecvError::Closed) => return,
            },
            () = tokio::time::sleep(due.clamp(DELIVER_EVERY, LOOK_EVERY)) => due >= LOOK_EVERY,
        };
    }
}
