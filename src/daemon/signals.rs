//! Signals to the daemon: stop, reload, run all jobs now.

use std::io;

use futures_util::StreamExt as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook_tokio::Signals;

/// A request to the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignalAction {
    /// SIGTERM or SIGINT: end.
    End,
    /// SIGHUP: take the new configuration.
    Reload,
    /// SIGUSR1: run all jobs now.
    RunAll,
}

/// The signals that arrive.
pub(super) struct Wishes {
    signals: Signals,
}

impl Wishes {
    /// Hears signals from now on.
    pub(super) fn hear() -> io::Result<Self> {
        Ok(Self { signals: Signals::new([SIGTERM, SIGINT, SIGHUP, SIGUSR1])? })
    }

    /// The next one. Several of a kind may come as one.
    pub(super) async fn next(&mut self) -> SignalAction {
        match self.signals.next().await {
            Some(SIGHUP) => SignalAction::Reload,
            Some(SIGUSR1) => SignalAction::RunAll,
            Some(_) => SignalAction::End,
            // The stream ends only when its handle is closed, which does not happen.
            None => std::future::pending().await,
        }
    }
}
