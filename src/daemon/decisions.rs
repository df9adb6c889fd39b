//! The pages for decisions. If their place is taken, the daemon works without them, reports that, and tries again.
//!
//! A new configuration begins them once more, so that no session outlives the rules under which it began.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::broadcast::error::RecvError;

use super::accounts::claims::approvals_of;
use super::control;
use super::event::Event;
use super::state::DaemonState;
use crate::approvals::{AsksHolder, Engine, Server, SharedStore};
use crate::clock::Clock;
use crate::config::{Approvals, Config};
use crate::fault::chain;
use crate::record::JobName;
use crate::status::Unserved;
use crate::store::{self, Relay};

/// How often it is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// The daemon as the pages use it.
struct Lent(Arc<DaemonState>);

impl Engine for Lent {
    fn config(&self) -> Arc<Config> {
        self.0.setup().config
    }

    fn clock(&self) -> &Clock {
        self.0.clock()
    }

    fn store(&self) -> BoxFuture<'_, Result<SharedStore, store::Error>> {
        Box::pin(async { Ok(Box::new(self.0.store().await?) as SharedStore) })
    }

    fn decided(&self, wanted: Option<&JobName>) {
        self.0.publish(Event::Decided);
        if let Some(job) = wanted {
            self.0.ask([job.clone()]);
        }
    }
}

/// Serves the pages of whichever configuration is in force, for as long as it is polled.
pub(super) async fn serve(engine: Arc<DaemonState>) {
    let mut events = engine.events();
    loop {
        engine.serves_decisions(None);
        let config = engine.setup().config;
        let serves = async {
            match &config.approvals {
                Some(approvals) => serve_these(&engine, approvals).await,
                None => std::future::pending().await,
            }
        };
        let replaced = async {
            loop {
                match events.recv().await {
                    Err(RecvError::Closed) => std::future::pending().await,
                    _ if Arc::ptr_eq(&config, &engine.setup().config) => {}
                    _ => return,
                }
            }
        };
        tokio::select! {
            () = serves => {}
            () = replaced => {}
        }
    }
}

async fn serve_these(engine: &Arc<DaemonState>, approvals: &Approvals) {
    loop {
        // Until it is served no more.
        let held = engine.shared().claims.take(&engine.owner(), vec![approvals_of(&approvals.login)]);
        let bound = match &held {
            Ok(_) => Server::bind(approvals, Arc::new(Lent(Arc::clone(engine)))).await.map_err(|error| chain(&error)),
            Err(conflict) => Err(conflict.to_string()),
        };
        match bound {
            Ok(server) => {
                let (url, place) = (approvals.url.as_str(), server.place());
                tracing::info!(url, place, "people decide at {url}, which is answered on {place}");
                if engine.no_decisions().is_some() {
                    engine.serves_decisions(None);
                    engine.publish(Event::Page);
                }
                let _shown = engine.shows_pages(server.handed());
                return server.serve().await;
            }
            Err(reason) if engine.no_decisions().is_none() => {
                tracing::error!(reason, "the daemon works without the pages for decisions, and tries again: {reason}");
                engine.serves_decisions(Some(Unserved { since: engine.clock().now(), reason }));
            }
            Err(_) => {}
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Has the worker that has the account answer for a worker that stands by.
struct Handing(Arc<dyn Relay>);

impl AsksHolder for Handing {
    fn ask(&self, request: Vec<u8>) -> BoxFuture<'_, Result<Vec<u8>, String>> {
        Box::pin(async { control::ask_for_page(&self.0, request).await.map_err(|unanswered| chain(&unanswered)) })
    }
}

/// Answers at the place of the pages while another worker has the account, for as long as it is polled.
pub(super) async fn stand_by(approvals: Approvals, relay: Arc<dyn Relay>) {
    let mut is_told = false;
    loop {
        match Server::stand_by(&approvals, Box::new(Handing(Arc::clone(&relay)))).await {
            Ok(server) => return server.serve().await,
            Err(error) if !is_told => {
                let reason = chain(&error);
                tracing::error!(
                    reason,
                    "this worker stands by without the pages for decisions, and tries again: {reason}"
                );
                is_told = true;
            }
            Err(_) => {}
        }
        tokio::time::sleep(AGAIN).await;
    }
}
