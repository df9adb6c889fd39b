//! What people do besides a sync: decide, look back, revert, forget.

mod approvals;
mod decisions;
mod explain;
mod forgotten;
mod history;
mod moved;
mod pauses;
mod plan_files;
mod queue;
mod rebuilt;
mod retention;
mod reverts;
