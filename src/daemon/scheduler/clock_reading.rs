//! A point in time by boot clock and wall clock.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock;
use crate::uptime::uptime;

/// What the wall clock says, and how much time has really passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The wall clock, which can be set.
    pub wall: Timestamp,
    /// The time since the machine started, suspension included; it can't be set.
    pub elapsed: Duration,
}

impl ClockReading {
    /// Now.
    pub fn now(clock: &Clock) -> Self {
        Self { wall: clock.now(), elapsed: uptime() }
    }

    /// By how much the wall clock was put forward since `earlier`; negative where it was set back.
    pub(crate) fn jump_since(self, earlier: Self) -> SignedDuration {
        let passed = self.elapsed.saturating_sub(earlier.elapsed);
        let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        self.wall.duration_since(earlier.wall).saturating_sub(passed)
    }
}
