//! The rate limit (specification, Limits): how many requests of one credential are let in.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::options::Window;

const MINUTE: Duration = Duration::from_secs(60);

/// Counts arrivals by credential. Only what was let in counts; the oldest leaves after a minute, so that a queue holds
/// at most the limit.
pub(crate) struct Rate {
    limit: u32,
    window: Window,
    start: Instant,
    let_in: BTreeMap<String, VecDeque<Instant>>,
}

impl Rate {
    pub(crate) fn new(limit: u32, window: Window) -> Self {
        Self { limit, window, start: Instant::now(), let_in: BTreeMap::new() }
    }

    pub(crate) fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// Lets a request in, or says how many seconds to wait (at least 1).
    pub(crate) fn admit(&mut self, credential: &str, now: Instant) -> Result<(), u64> {
        if self.limit == 0 {
            return Ok(());
        }
        let let_in = self.let_in.entry(credential.to_owned()).or_default();
        // A fixed minute is one that began at a multiple of 60 s after the start.
        let minute_began = self.start + MINUTE * u32::try_from((now - self.start).as_secs() / 60).unwrap_or(u32::MAX);
        let counts = |at: Instant| match self.window {
            Window::Sliding => now - at < MINUTE,
            Window::Fixed => at >= minute_began,
        };
        while let_in.front().is_some_and(|at| !counts(*at)) {
            let_in.pop_front();
        }
        let limit = self.limit as usize;
        if let_in.len() < limit {
            let_in.push_back(now);
            return Ok(());
        }
        let free_at = match self.window {
            Window::Sliding => let_in[let_in.len() - limit] + MINUTE,
            Window::Fixed => minute_began + MINUTE,
        };
        let wait = free_at.saturating_duration_since(now);
        Err((wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(window: Window, limit: u32, arrivals: &[(u64, Result<(), u64>)]) {
        let mut rate = Rate::new(limit, window);
        let start = rate.start;
        for (millis, expected) in arrivals {
            let now = start + Duration::from_millis(*millis);
            assert_eq!(rate.admit("key", now), *expected, "{window:?} at {millis} ms");
        }
    }

    #[test]
    fn a_sliding_window_looks_back_sixty_seconds() {
        check(
            Window::Sliding,
            2,
            &[(0, Ok(())), (30_000, Ok(())), (30_500, Err(30)), (59_999, Err(1)), (60_000, Ok(())), (60_001, Err(30))],
        );
    }

    #[test]
    fn a_fixed_window_starts_over_each_minute() {
        check(
            Window::Fixed,
            2,
            &[
                (59_000, Ok(())),
                (59_500, Ok(())),
                (59_600, Err(1)),
                (60_000, Ok(())),
                (60_001, Ok(())),
                (61_000, Err(59)),
            ],
        );
    }

    #[test]
    fn no_limit_lets_everything_in() {
        check(Window::Sliding, 0, &[(0, Ok(())), (0, Ok(())), (0, Ok(()))]);
    }

    #[test]
    fn each_credential_has_its_own_count() {
        let mut rate = Rate::new(1, Window::Sliding);
        let now = rate.start;
        assert_eq!(rate.admit("key", now), Ok(()));
        assert_eq!(rate.admit("client", now), Ok(()));
        assert!(rate.admit("key", now).is_err());
    }
}
