//! A push must not change anyone's presence (law 10).

mod watch;
mod write;

pub use watch::Presence;
pub(crate) use write::ECHOES;
pub use write::astray;
