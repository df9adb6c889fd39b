//! Runs under way: how they are started, and how far they are.

mod progress;
mod tracker;
pub(super) mod worker;

pub use progress::{ActiveRuns, RunProgress};
pub use tracker::TrackedRun;
