//! What every server of pages shares.

mod connections;
mod socket;

pub use connections::{Limits, Listener, serve};
pub use socket::{Socket, SocketModes};
