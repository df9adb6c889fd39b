//! Points at which a test ends or stops the process, as a kill, a power cut or a machine that stands still would; and terms that a
//! test makes shorter.
//!
//! Only the feature `crash-points` makes them do anything, and no release is built with it. `ROSTERD_CRASH_AT` is the
//! number of the point, counted from 1 over the whole process, at which it ends, `ROSTERD_STOP_AT` of the one at which it stops
//! until it is sent SIGCONT; `ROSTERD_CRASH_LOG` names a file to which each point that is passed appends its name.
//! `ROSTERD_TERMS_DIVIDED_BY` divides every [`term`] by one number, so that the relations between them stay. `ROSTERD_ROWS_MIN` has
//! the store merge as few rows as that.
//!
//! Rejected: killing from outside after a random while alone. It finds what happens often, not what can happen.

use std::time::Duration;

/// Passes a point.
#[cfg(feature = "crash-points")]
pub fn point(name: &str) {
    use std::io::Write as _;
    use std::sync::atomic::{AtomicU64, Ordering};

    static PASSED: AtomicU64 = AtomicU64::new(0);
    let number = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some(path) = std::env::var_os("ROSTERD_CRASH_LOG") {
        let file = std::fs::File::options().append(true).create(true).open(path);
        let written = file.and_then(|mut file| file.write_all(format!("{name}\n").as_bytes()));
        written.expect("the log of points can be written");
    }
    if number_in("ROSTERD_CRASH_AT") == Some(number) {
        std::process::abort();
    }
    if number_in("ROSTERD_STOP_AT") == Some(number) {
        use rustix::process::{Signal, getpid, kill_process};
        kill_process(getpid(), Signal::STOP).expect("a process can stop itself");
    }
}

#[cfg(feature = "crash-points")]
fn number_in(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|number| number.parse().ok())
}

/// How long a term lasts.
#[cfg(feature = "crash-points")]
pub fn term(full: Duration) -> Duration {
    use std::sync::LazyLock;

    static DIVISOR: LazyLock<u64> = LazyLock::new(|| number_in("ROSTERD_TERMS_DIVIDED_BY").unwrap_or(1));
    full / u32::try_from(*DIVISOR).expect("a small number")
}

/// Passes a point.
#[cfg(not(feature = "crash-points"))]
#[inline(always)]
pub const fn point(_name: &str) {}

/// How long a term lasts.
#[cfg(not(feature = "crash-points"))]
#[inline(always)]
pub const fn term(full: Duration) -> Duration {
    full
}

/// How few rows the store merges: the usual number, or that of the test.
#[cfg(feature = "crash-points")]
pub fn rows_min(usual: u64) -> u64 {
    use std::sync::LazyLock;

    static ROWS: LazyLock<Option<u64>> = LazyLock::new(|| number_in("ROSTERD_ROWS_MIN"));
    ROWS.unwrap_or(usual)
}

/// How few rows the store merges.
#[cfg(not(feature = "crash-points"))]
#[inline(always)]
pub const fn rows_min(usual: u64) -> u64 {
    usual
}

/// Whether a test knows that nothing is under way any more that an ended process sent (`ROSTERD_CRASH_ALL_ARRIVED`).
#[cfg(feature = "crash-points")]
pub fn all_arrived() -> bool {
    std::env::var_os("ROSTERD_CRASH_ALL_ARRIVED").is_some()
}

/// Whether a test knows that nothing is under way any more that an ended process sent.
#[cfg(not(feature = "crash-points"))]
#[inline(always)]
pub const fn all_arrived() -> bool {
    false
}
