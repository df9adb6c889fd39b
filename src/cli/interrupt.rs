//! SIGINT and SIGTERM: the first asks to end, and what is under way is finished; a second ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook_tokio::Signals;

use super::failure::{Exit, Failure};

/// How long what is under way may take after the first signal. Whatever is unfinished then is settled by the next run, as
/// after a power cut.
const GRACE: Duration = Duration::from_secs(10);

/// Whether someone asked to end.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt {
    asked: Arc<AtomicBool>,
}

impl Interrupt {
    pub(super) fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// Runs `work` until it ends, or until a signal and its grace have passed.
    pub(super) async fn guard<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::failed)?;
        let ends = async {
            signals.next().await;
            self.asked.store(true, Ordering::SeqCst);
            tokio::select! {
                _ = signals.next() => {}
                () = tokio::time::sleep(GRACE) => {}
            }
        };
        tokio::select! {
            result = work => result,
            () = ends => Err(Failure::new(Exit::Interrupted, "interrupted; what was not finished is settled by the next run")),
        }
    }

    /// Waits for a signal.
    pub(super) async fn wait() -> Result<(), Failure> {
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::failed)?;
        signals.next().await;
        Ok(())
    }
}
