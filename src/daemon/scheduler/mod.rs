//! When jobs run.

mod clock_reading;
pub(super) mod covered;
mod due;

pub use clock_reading::ClockReading;
pub use covered::{remember, served};
pub use due::{Ended, SLEEP_MAX, Scheduler, Timed};
