//! SIGINT and SIGTERM: the first asks to end, and what is under way is finished; a second ends at once. A command that
//! runs in the daemon is ended by its caller, or with the daemon.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use futures_util::StreamExt as _;
use signal_hook::SigId;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::unregister;
use signal_hook_tokio::Signals;

use crate::cli::ui::{Exit, Failure};
use crate::daemon::{CancelToken, GRACE};

/// What is said of a command that did not end in its grace. Whatever is unfinished then is settled by the next run, as
/// after a power cut.
pub(crate) const INTERRUPTED: &str = "interrupted; what was not finished is settled by the next run";

/// Whether nothing hears signals yet.
static UNHEARD: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// Has the signals end process 1 as they end any other, until something hears them: the kernel keeps from the first process of a
/// container each signal that it does not handle.
pub(crate) fn end_first_process() -> io::Result<()> {
    if std::process::id() == 1 {
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&UNHEARD))?;
        }
    }
    Ok(())
}

/// From now on something hears signals.
pub(crate) fn are_heard() {
    UNHEARD.store(false, Ordering::SeqCst);
}

/// Whether someone asked to end.
#[derive(Clone, Debug)]
pub(crate) enum Interrupt {
    /// By a signal to this process.
    Signals(Arc<AtomicBool>),
    /// By a caller that may end a command in the daemon.
    Ending(CancelToken),
}

impl Interrupt {
    pub(crate) fn by_signals() -> Self {
        Self::Signals(Arc::default())
    }

    pub(crate) fn by(ending: CancelToken) -> Self {
        Self::Ending(ending)
    }

    pub(crate) fn asked(&self) -> bool {
        match self {
            Self::Signals(asked) => asked.load(Ordering::SeqCst),
            Self::Ending(ending) => ending.asked(),
        }
    }

    /// Runs `work` until it ends, or until someone asked to end and the grace has passed.
    pub(crate) async fn guard<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let interrupted = || Err(Failure::new(Exit::Interrupted, INTERRUPTED));
        let asked = match self {
            Self::Ending(ending) => return ending.guard(work).await.unwrap_or_else(interrupted),
            Self::Signals(asked) => asked,
        };
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::failed)?;
        let _flags = Flags::set(asked, &[SIGINT, SIGTERM]).map_err(Failure::failed)?;
        let ends = async {
            signals.next().await;
            tokio::select! {
                _ = signals.next() => {}
                () = tokio::time::sleep(GRACE) => {}
            }
        };
        tokio::select! {
            result = work => result,
            () = ends => interrupted(),
        }
    }

    /// Waits for a signal.
    pub(crate) async fn wait() -> Result<(), Failure> {
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::failed)?;
        are_heard();
        signals.next().await;
        Ok(())
    }
}

/// Sets a flag in the handler of the signals itself, so that the work notices it whatever it waits for. As long as
/// answers keep arriving, it commits without yielding: a task that waits for a signal would learn of it dozens of
/// writes later.
pub(crate) struct Flags(Vec<SigId>);

impl Flags {
    /// Sets the flag at these signals until this is dropped.
    pub(crate) fn set(flag: &Arc<AtomicBool>, signals: &[i32]) -> io::Result<Self> {
        let mut flags = Self(Vec::new());
        for signal in signals {
            flags.0.push(flag::register(*signal, Arc::clone(flag))?);
        }
        are_heard();
        Ok(flags)
    }
}

impl Drop for Flags {
    fn drop(&mut self) {
        for id in self.0.drain(..) {
            unregister(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use signal_hook::low_level::raise;

    use super::*;

    /// A signal reaches all that wait for it in this process, so one test at a time raises one.
    static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

    #[tokio::test(start_paused = true)]
    async fn work_that_does_not_end_is_ended_when_its_grace_has_passed() {
        let _alone = ALONE.lock().await;
        let interrupt = Interrupt::by_signals();
        let begun = tokio::time::Instant::now();
        let work = async {
            raise(SIGTERM).unwrap();
            std::future::pending::<Result<(), Failure>>().await
        };
        let ended = interrupt.guard(work).await.unwrap_err();
        assert_eq!((ended.exit(), begun.elapsed()), (Exit::Interrupted, GRACE));
    }

    #[tokio::test]
    async fn work_that_does_not_give_way_sees_at_once_that_it_is_to_end() {
        let _alone = ALONE.lock().await;
        for signal in [SIGINT, SIGTERM] {
            let interrupt = Interrupt::by_signals();
            let work = async {
                assert!(!interrupt.asked());
                raise(signal).unwrap();
                Ok(interrupt.asked())
            };
            assert!(interrupt.guard(work).await.unwrap(), "signal {signal}");
        }
    }
}
