//! What every server of pages shares.

mod chart;
mod connections;
mod markup;
mod socket;
mod when;

pub use chart::{Bar, chart};
pub use connections::{Limits, Listener, serve};
pub use markup::{sentence, templates};
pub use socket::{Socket, SocketModes};
pub use when::{When, lasting};
