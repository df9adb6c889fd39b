//! The lease of an account: at most one worker has it, and only who has it can commit.
//!
//! ```text
//! claim ─▶ renew every 5 s ─▶ release            holder gone, expired: the next worker may claim at once
//!               └─ lost ─▶ expired after 30 s ─▶ claim ─▶ 45 s ─▶ first write
//! ```
//!
//! Invariants:
//! - The database's clock alone decides when a lease is over. A worker counts its own deadline from the moment before it
//!   asked for a renewal, by a clock that can't be set.
//! - Holder *and* epoch name a tenure. After a failover that lost its tail an epoch can come again, with another holder.
//! - A worker steps down where the database's timeline is another than at its claim: what it committed may be lost.
//! - After [`WRITE_UNTIL`] a worker sends nothing, and a write takes [`WRITE_MAX`] at most. A successor of a tenure that was not
//!   released, or whose end a failover may hide, begins its first write [`SETTLE`] after its claim, which is later than both
//!   together. It counts that by its own clock: law 3 does not rest on the database's.
//!
//! Rejected: advisory locks. Behind a pooler they belong to the pooler's session and outlive their owner.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::connection::Value;
use crate::crash::term;
use crate::store::{ErrorKind, WRITE_MAX};
use crate::uptime::uptime;

/// How long it lasts from its claim, and from each renewal.
const LEASE: Duration = Duration::from_secs(30);
/// How often it is renewed.
pub(super) const RENEW_EVERY: Duration = Duration::from_secs(5);
/// After so long without a renewal nothing is sent.
pub(super) const WRITE_UNTIL: Duration = Duration::from_secs(25);
/// How long after its claim a successor of such a tenure writes to the service.
const SETTLE: Duration = Duration::from_secs(45);

const _: () = assert!(WRITE_UNTIL.as_secs() < LEASE.as_secs());
const _: () = assert!(WRITE_UNTIL.as_secs() + WRITE_MAX.as_secs() <= SETTLE.as_secs());

/// Which tenure of which account.
#[derive(Debug)]
pub(super) struct Tenure {
    pub(super) account: i32,
    pub(super) holder: String,
    pub(super) epoch: i64,
    pub(super) timeline: i32,
}

/// One tenure of an account.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) tenure: Tenure,
    /// When the newest renewal was asked for, by [`uptime`].
    renewed: AtomicU64,
    is_lost: AtomicBool,
    /// When the first write may begin, by [`uptime`].
    writes_from: u64,
}

impl Lease {
    /// A tenure that was claimed at `asked`, whose first write may begin `settle` later.
    pub(super) fn new(tenure: Tenure, asked: Duration, settle: Duration) -> Self {
        Self {
            tenure,
            renewed: AtomicU64::new(millis(asked)),
            is_lost: AtomicBool::new(false),
            writes_from: millis(asked + settle),
        }
    }

    /// A renewal that was asked for at `asked` was granted, under this timeline.
    pub(super) fn renewed(&self, asked: Duration, timeline: i32) {
        if timeline == self.tenure.timeline {
            self.renewed.store(millis(asked), Ordering::Relaxed);
        } else {
            self.lose();
        }
    }

    /// Another worker has the account, or may have it.
    pub(super) fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// Whether it is known to be lost.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// How long until a write to the service may begin.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Fenced`] where none may any more.
    pub(super) fn before_sending(&self) -> Result<Duration, ErrorKind> {
        let now = millis(uptime());
        let until = self.renewed.load(Ordering::Relaxed) + millis(term(WRITE_UNTIL));
        if self.is_lost() || now >= until {
            return Err(ErrorKind::Fenced);
        }
        Ok(Duration::from_millis(self.writes_from.saturating_sub(now)))
    }
}

/// The length of a lease as the statements take it, in milliseconds.
pub(super) fn lease() -> Value {
    in_statement(LEASE)
}

/// The time after a claim in which nothing is written to the service, as the statements take it, in milliseconds.
pub(super) fn settle() -> Value {
    in_statement(SETTLE)
}

fn in_statement(full: Duration) -> Value {
    Value::Big(i64::try_from(term(full).as_millis()).unwrap_or(i64::MAX))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
