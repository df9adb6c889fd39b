//! The status page of the daemon. If its address is taken, the daemon works without the page, reports that, and tries
//! again: a program that takes a port must not stop synchronization.

use std::sync::Arc;
use std::time::Duration;

use super::event::Event;
use super::monitors::LiveView;
use super::state::DaemonState;
use crate::fault::chain;
use crate::status::{Server, Unserved};

/// How often it is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// Takes the address; `None` where the page is turned off, or can't be served for now.
pub(super) async fn bind(engine: &DaemonState) -> Option<Server> {
    let status = engine.setup().config.status.clone();
    let address = status.listen?;
    let before = engine.unserved();
    match Server::bind(address, &status.hosts).await {
        Ok(server) => {
            let address = server.address();
            tracing::info!(%address, "the status page answers at http://{address}/");
            engine.serves_page(None);
            if before.is_some() {
                engine.publish(Event::Page);
            }
            Some(server)
        }
        Err(error) => {
            let reason = chain(&error);
            if before.is_none() {
                tracing::error!(
                    reason,
                    "the daemon works without its status page, metrics and health, and tries again: {reason}; free the address, \
                     or set status.listen to another"
                );
            }
            let since = before.map_or_else(|| engine.clock().now(), |before| before.since);
            engine.serves_page(Some(Unserved { since, reason }));
            None
        }
    }
}

/// Serves the page, for as long as it is polled; as soon as its address is free.
pub(super) async fn serve(engine: Arc<DaemonState>, mut server: Option<Server>) {
    loop {
        if let Some(server) = server {
            return server.serve(Arc::new(LiveView(Arc::clone(&engine))), Arc::clone(engine.counters())).await;
        }
        tokio::time::sleep(AGAIN).await;
        server = bind(&engine).await;
    }
}
