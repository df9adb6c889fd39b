//! What every server of pages shares.

mod connections;

pub use connections::{Limits, Listener, serve};
