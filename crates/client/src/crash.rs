//! Points at which a test ends the process, as a kill or a power cut would.
//!
//! Only the feature `crash-points` makes them do anything, and no release is built with it. `ROSTERD_CRASH_AT` is the
//! number of the point, counted from 1 over the whole process, at which it ends; `ROSTERD_CRASH_LOG` names a file to which
//! each point that is passed appends its name.
//!
//! Rejected: killing from outside after a random while. It finds what happens often, not what can happen.

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
    let at = std::env::var("ROSTERD_CRASH_AT").ok().and_then(|at| at.parse::<u64>().ok());
    if at == Some(number) {
        std::process::abort();
    }
}

/// Passes a point.
#[cfg(not(feature = "crash-points"))]
#[inline(always)]
pub const fn point(_name: &str) {}
