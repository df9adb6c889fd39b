//! (in the making)

mod options;

pub use options::{LeaverAction, Leavers, Limit, Limits, Writes};
