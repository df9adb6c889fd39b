//! Notices that an account could not begin.
//!
//! A service manager starts a daemon again and again: the notice is remembered next to the state, and sent once.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::account::StartError;
use super::claims::Claims;
use crate::clock::Clock;
use crate::config::{self, Config, Notify, PartialConfig, environment};
use crate::fault::chain;
use crate::notify::{self, Notifier, Outage};
use crate::record::redact;
use crate::status::Counters;
use crate::store::Home;

/// The longest that telling may hold up the end of the process: the next start tries again what did not arrive.
const TELLING_MAX: Duration = Duration::from_secs(20);

/// Who hears of it, and where that is remembered.
pub(super) struct Receivers {
    home: Home,
    notify: Notify,
    socket: Option<PathBuf>,
}

impl Receivers {
    /// Those of a configuration that is good in itself.
    pub(super) fn of(config: &Config) -> Self {
        let (home, notify) = (config.state.home.clone(), config.notify.clone());
        Self { home, notify, socket: config.control.socket.clone() }
    }

    /// Those of the file at `path`, as far as nothing is wrong with that.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let PartialConfig { state, notify } = config::remains(path, environment())?;
        let socket = config::locate(path, environment()).and_then(|located| located.socket);
        Some(Self { home: state.home, notify, socket })
    }

    /// Sends a notice that an account could not begin.
    pub(super) async fn tell(&self, owner: &str, claims: &Claims, error: &StartError) {
        // What is written beside another account's state would be that account's news.
        if self.notify.is_off() || claims.is_another_s_state(owner, &self.home) {
            return;
        }
        // Who starts a second daemon sees that it is refused, and the first one works.
        let is_served = || self.socket.as_ref().is_some_and(|socket| UnixStream::connect(socket).is_ok());
        let trouble = match error {
            StartError::Config(errors) => {
                let reasons = errors.problems.iter().map(ToString::to_string).collect();
                return tell_of_configuration(&self.home, &self.notify, reasons).await;
            }
            StartError::Store(_) | StartError::Socket { .. } if is_served() => return,
            StartError::Store(error) => Outage::of_store_at_start(error),
            error => Outage::at_start("start", vec![chain(error)]),
        };
        deliver(&self.home, &self.notify, &trouble).await;
    }
}

/// Sends a notice that a configuration can't be used. Its receivers are in the configuration; a channel with a mistake in it is
/// left out.
pub async fn tell_of_configuration(home: &Home, notify: &Notify, reasons: Vec<String>) {
    if notify.is_off() {
        return;
    }
    // The notice is remembered next to the state.
    if let Err(error) = home.create() {
        let error = chain(&error);
        tracing::warn!(error, "there can be no notice that the daemon did not start: {error}");
        return;
    }
    deliver(home, notify, &Outage::at_start("configuration", reasons)).await;
}

async fn deliver(home: &Home, notify: &Notify, trouble: &Outage) {
    let mut teller = match Notifier::of_machine(home, notify, &Arc::new(Counters::default())) {
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

/// Why an account could not begin, as its people read it.
pub(super) fn words_of(error: &StartError) -> String {
    match error {
        StartError::Config(errors) => errors.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        error => chain(error),
    }
}

/// The same as a page says it, which names no person.
pub(super) fn shown_of(error: &StartError) -> String {
    match error {
        StartError::Store(error) => notify::describe(error),
        error => redact(&words_of(error)),
    }
}
