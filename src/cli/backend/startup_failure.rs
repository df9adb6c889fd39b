//! Notices that the daemon could not start.
//!
//! A service manager starts it again and again: the notice is remembered next to the state, and sent once.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::access::{self, Backend};
use super::privileges::become_owner_of;
use crate::cli::ui::Failure;
use crate::clock::Clock;
use crate::config::{self, Errors, Notify};
use crate::daemon::StartError;
use crate::fault::chain;
use crate::notify::{Notifier, Outage};
use crate::status::Counters;
use crate::store::Home;

/// The longest that telling may hold up the end of the process: the next start tries again what did not arrive.
const TELLING_MAX: Duration = Duration::from_secs(20);

/// Sends a notice that the configuration can't be used. Its receivers are in the configuration; a channel with a
/// mistake in it is left out.
pub(crate) async fn tell_of_configuration(host: &Backend, failure: &Failure) {
    let Backend::Here(path) = host else { return };
    let Some(remains) = config::remains(path, access::environment()) else { return };
    if remains.notify.is_off() {
        return;
    }
    // The notice is remembered next to the state: root would leave files there that the daemon can't use.
    let prepared = become_owner_of(&remains.state)
        .and_then(|()| remains.state.home.create().map_err(Failure::from))
        .map_err(|failure| chain(failure.error()));
    if let Err(error) = prepared {
        tracing::warn!(error, "there can be no notice that the daemon did not start: {error}");
        return;
    }
    let error = failure.error();
    let reasons = match error.downcast_ref::<Errors>() {
        Some(errors) => errors.problems.iter().map(ToString::to_string).collect(),
        None => vec![chain(error)],
    };
    deliver(&remains.state.home, &remains.notify, &Outage::at_start("configuration", reasons)).await;
}

/// The daemon could not start under a configuration that is good in itself.
pub(crate) async fn tell(home: &Home, notify: &Notify, socket: Option<&Path>, error: &StartError) {
    // Who starts a second daemon sees that it is refused, and the first one works.
    if socket.is_some_and(|socket| UnixStream::connect(socket).is_ok()) {
        return;
    }
    let trouble = match error {
        StartError::Store(error) => Outage::of_store_at_start(error),
        error => Outage::at_start("start", vec![chain(error)]),
    };
    if !notify.is_off() {
        deliver(home, notify, &trouble).await;
    }
}

async fn deliver(home: &Home, notify: &Notify, trouble: &Outage) {
    let mut teller = match Notifier::open(home, notify, &Arc::new(Counters::default())) {
        Ok(teller) => teller,
        Err(error) => {
            let error = chain(&error);
            tracing::warn!(error, "there can be no notice that the daemon did not start: {error}");
            return;
        }
    };
    let now = Clock::system().now();
    teller.down(trouble, now);
    if tokio::time::timeout(TELLING_MAX, teller.deliver(now)).await.is_err() {
        tracing::warn!("telling that the daemon did not start takes too long; the next start tries again");
    }
}
