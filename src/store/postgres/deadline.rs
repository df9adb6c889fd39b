//! The time that a lease is counted by on this machine.

use rustix::time::{ClockId, clock_gettime};

/// Milliseconds since the machine started. It can't be set, and goes on while the machine is suspended.
pub(super) fn now() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let millis = u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000;
    seconds * 1_000 + millis
}
