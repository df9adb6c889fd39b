//! The time source of the budget.

use rustix::time::{ClockId, clock_gettime};
use xxhash_rust::xxh3::xxh3_128;

/// A clock that can't be set, and the boot that its times belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Time {
    /// Milliseconds since the machine started, suspension included.
    Boot {
        /// Identifies the boot.
        boot: u128,
    },
    /// tokio's clock, which a test can pause.
    #[cfg(test)]
    Tokio {
        /// Time 0.
        start: tokio::time::Instant,
        /// Identifies the boot.
        boot: u128,
    },
}

impl Time {
    /// The machine's own. Where boots can't be distinguished, all boots count as one: the times of an earlier one then
    /// lie in the future, which never frees a slot too early by more than the window itself allows.
    pub(crate) fn machine() -> Self {
        let boot = std::fs::read("/proc/sys/kernel/random/boot_id").map_or(0, |id| xxh3_128(&id));
        Self::Boot { boot }
    }

    pub(super) fn now(&self) -> u64 {
        match self {
            Self::Boot { .. } => {
                let time = clock_gettime(ClockId::Boottime);
                let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
                let millis = u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000;
                seconds * 1_000 + millis
            }
            #[cfg(test)]
            Self::Tokio { start, .. } => u64::try_from(start.elapsed().as_millis()).expect("tests are short"),
        }
    }

    pub(super) fn boot(&self) -> u128 {
        match self {
            Self::Boot { boot } => *boot,
            #[cfg(test)]
            Self::Tokio { boot, .. } => *boot,
        }
    }
}
