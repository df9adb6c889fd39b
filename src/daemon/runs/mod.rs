//! Runs under way: how they are started, and how far they are.

mod places;
mod progress;
mod tracker;
pub(super) mod worker;

pub(super) use places::{AccountNumber, RunPlaces};
pub use progress::{ActiveRuns, RunProgress};
pub use tracker::TrackedRun;
