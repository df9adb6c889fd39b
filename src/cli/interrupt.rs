//! SIGINT and SIGTERM: the first asks to end, and what is under way is finished; a second ends at once. A command that
//! runs in the daemon is ended by its caller, or with the daemon.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt as _;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook_tokio::Signals;

use super::failure::{Exit, Failure};
use crate::daemon::{Ending, GRACE};

/// What is said of a command that did not end in its grace. Whatever is unfinished then is settled by the next run, as
/// after a power cut.
pub(super) const INTERRUPTED: &str = "interrupted; what was not finished is settled by the next run";

/// Whether someone asked to end.
#[derive(Clone, Debug)]
pub(super) enum Interrupt {
    /// By a signal to this process.
    Signals(Arc<AtomicBool>),
    /// By whoever may end a command in the daemon.
    Ending(Ending),
}

impl Interrupt {
    pub(super) fn by_signals() -> Self {
        Self::Signals(Arc::default())
    }

    pub(super) fn by(ending: Ending) -> Self {
        Self::Ending(ending)
    }

    pub(super) fn asked(&self) -> bool {
        match self {
            Self::Signals(asked) => asked.load(Ordering::SeqCst),
            Self::Ending(ending) => ending.asked(),
        }
    }

    /// Runs `work` until it ends, or until someone asked to end and the grace has passed.
    pub(super) async fn guard<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let interrupted = || Err(Failure::new(Exit::Interrupted, INTERRUPTED));
        let asked = match self {
            Self::Ending(ending) => return ending.guard(work).await.unwrap_or_else(interrupted),
            Self::Signals(asked) => asked,
        };
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::failed)?;
        let asked = Arc::clone(asked);
        // Apart from the work, which is told even while it waits for a disk or for another server.
        let mut ends = Listening(tokio::spawn(async move {
            signals.next().await;
            asked.store(true, Ordering::SeqCst);
            tokio::select! {
                _ = signals.next() => {}
                () = tokio::time::sleep(GRACE) => {}
            }
        }));
        tokio::select! {
            result = work => result,
            _ = &mut ends.0 => interrupted(),
        }
    }

    /// Waits for a signal.
    pub(super) async fn wait() -> Result<(), Failure> {
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::failed)?;
        signals.next().await;
        Ok(())
    }
}

/// Listens for signals until it is dropped.
struct Listening(tokio::task::JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}
