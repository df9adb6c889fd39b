//! Messages to the service manager (sd_notify); without one they do nothing.

use std::time::{Duration, Instant};

use sd_notify::NotifyState;

/// The service manager.
pub(super) struct Manager {
    /// How often it wants a sign of life; twice as often it gets one.
    watchdog: Option<Duration>,
    fed: Instant,
    status: String,
}

impl Manager {
    pub(super) fn new() -> Self {
        Self { watchdog: sd_notify::watchdog_enabled(), fed: Instant::now(), status: String::new() }
    }

    /// The daemon serves.
    pub(super) fn ready() {
        tell(&[NotifyState::Ready]);
    }

    /// The daemon can't begin yet.
    pub(super) fn waits(why: &str) {
        tell(&[NotifyState::Status(&format!("waiting: {why}"))]);
    }

    /// The daemon looks at a new configuration; [`Manager::ready`] follows, whatever comes of it.
    pub(super) fn reloading() {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => tell(&[NotifyState::Reloading, now]),
            Err(error) => tracing::warn!(%error, "the service manager could not be notified of the reload: {error}"),
        }
    }

    /// The daemon ends.
    pub(super) fn stopping() {
        tell(&[NotifyState::Stopping, NotifyState::Status("ending")]);
    }

    /// Says what goes on, where that is something else than before.
    pub(super) fn status(&mut self, text: &str) {
        if self.status != text {
            text.clone_into(&mut self.status);
            tell(&[NotifyState::Status(text)]);
        }
    }

    /// How long until a sign of life is due; `None` where none is wanted.
    pub(super) fn watchdog_due_in(&self) -> Option<Duration> {
        self.watchdog.map(|every| (every / 2).saturating_sub(self.fed.elapsed()))
    }

    /// Gives a sign of life, where one is due.
    pub(super) fn ping(&mut self) {
        if self.watchdog_due_in() == Some(Duration::ZERO) {
            self.fed = Instant::now();
            tell(&[NotifyState::Watchdog]);
        }
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the service manager could not be notified: {error}");
    }
}
