//! The time since the machine started: by it terms are counted that no one may set.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time since the machine started. It can't be set, and goes on while the machine is suspended.
pub fn uptime() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
