//! The only place that reads the wall clock.
//!
//! A [`Clock`] is a value that is handed down, so a test can hold time still. No decision about the service's data
//! rests on it (law 5: the service's own times do); it serves grace periods, file ages and what people read.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};

/// A source of the current time: the machine's, or one that a test moves.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    fixed: Option<Arc<AtomicI64>>,
}

impl Clock {
    /// The machine's wall clock.
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that stands at `at` until it is moved with [`Clock::advance`].
    pub fn fixed(at: Timestamp) -> Self {
        Self { fixed: Some(Arc::new(AtomicI64::new(at.as_millisecond()))) }
    }

    /// The current time, to the millisecond where the clock is fixed.
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    pub fn now(&self) -> Timestamp {
        match &self.fixed {
            None => Timestamp::now(),
            Some(at) => {
                Timestamp::from_millisecond(at.load(Ordering::SeqCst)).expect("only valid times are put into a clock")
            }
        }
    }

    /// Moves a fixed clock; the system's clock is left alone.
    pub fn advance(&self, by: SignedDuration) {
        if let Some(at) = &self.fixed {
            let millis = i64::try_from(by.as_millis()).unwrap_or(0);
            at.fetch_add(millis, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_clock_moves_only_when_it_is_set() {
        let start: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let clock = Clock::fixed(start);
        assert_eq!(clock.now(), start);
        clock.advance(SignedDuration::from_secs(61));
        assert_eq!(clock.now(), "2026-01-02T03:05:06Z".parse().unwrap());
    }
}
