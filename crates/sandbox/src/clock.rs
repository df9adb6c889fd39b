//! The machine's clock, or one that a test moves.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

/// A source of the current time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The machine's wall clock.
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    pub fn system() -> Self {
        Self::of(Timestamp::now)
    }

    /// A clock that shows what `now` returns.
    pub fn of(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
