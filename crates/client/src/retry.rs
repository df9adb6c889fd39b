//! Retry policy: how often a run may retry, and how long it waits.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use jiff::SignedDuration;

/// Attempts of one request, the first included.
pub(crate) const ATTEMPTS_MAX: u32 = 3;
/// Retries that every run has, and the share of its requests that a longer one has: one in ten.
const RETRIES_MIN: u64 = 10;
const RETRIES_SHARE: u64 = 10;

/// Counts the requests of the client and the retries of the run, and what its answers say by the way.
#[derive(Debug, Default)]
pub(crate) struct Allowance {
    requests: AtomicU64,
    begun_at: AtomicU64,
    retries: AtomicU64,
    throttled: AtomicU64,
    /// Seconds by which the service's clock was ahead at its last answer.
    ahead: AtomicI64,
}

impl Allowance {
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn begin_run(&self) {
        self.begun_at.store(self.requests(), Ordering::Relaxed);
        self.retries.store(0, Ordering::Relaxed);
        self.throttled.store(0, Ordering::Relaxed);
    }

    /// How many 429 the run has met.
    pub(crate) fn throttled(&self) -> u64 {
        self.throttled.load(Ordering::Relaxed)
    }

    pub(crate) fn ahead(&self) -> SignedDuration {
        SignedDuration::from_secs(self.ahead.load(Ordering::Relaxed))
    }

    pub(crate) fn note_ahead(&self, ahead: SignedDuration) {
        self.ahead.store(ahead.as_secs(), Ordering::Relaxed);
    }

    pub(crate) fn count_throttled(&self) {
        self.throttled.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes one retry, if the run has one left.
    pub(crate) fn take(&self) -> bool {
        let requests = self.requests().saturating_sub(self.begun_at.load(Ordering::Relaxed));
        let allowed = (requests / RETRIES_SHARE).max(RETRIES_MIN);
        self.retries
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| (used < allowed).then_some(used + 1))
            .is_ok()
    }
}

/// The waits before the second and the third attempt, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff(pub(crate) [u64; 2]);

impl Backoff {
    /// Half a second, then two.
    pub(crate) const STANDARD: Self = Self([500, 2_000]);

    /// The wait before attempt `next` (2 or 3), give or take a fifth.
    pub(crate) fn before(self, next: u32) -> Duration {
        let base = self.0[usize::from(next > 2)];
        Duration::from_millis(base * 4 / 5 + jitter(base * 2 / 5))
    }
}

/// Some number below `limit` that differs from process to process and call to call.
pub(crate) fn jitter(limit: u64) -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    RandomState::new().hash_one(CALLS.fetch_add(1, Ordering::Relaxed)) % limit.max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_run_has_ten_retries_or_a_tenth_of_its_requests() {
        let check = |before: u64, requests: u64, expected: usize| {
            let allowance = Allowance::default();
            (0..before).for_each(|_| allowance.count());
            allowance.begin_run();
            (0..requests).for_each(|_| allowance.count());
            assert_eq!((0..1_000).filter(|_| allowance.take()).count(), expected, "{before} {requests}");
        };
        check(0, 0, 10);
        check(0, 99, 10);
        check(5_000, 99, 10);
        check(0, 500, 50);
    }

    #[test]
    fn two_who_failed_together_do_not_try_again_together() {
        let waits: BTreeSet<Duration> = (0..100).map(|_| Backoff::STANDARD.before(2)).collect();
        assert!(waits.len() > 1, "all wait {waits:?}");
    }

    #[test]
    fn the_waits_are_half_a_second_and_two_seconds_about() {
        for _ in 0..100 {
            assert!((400..600).contains(&Backoff::STANDARD.before(2).as_millis()));
            assert!((1_600..2_400).contains(&Backoff::STANDARD.before(3).as_millis()));
        }
    }
}
