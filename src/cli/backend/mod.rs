//! Where a command works: on the store in this process, or in the daemon for a caller of its socket.

pub(crate) mod access;
pub(crate) mod body;
pub(crate) mod daemon_client;
pub(crate) mod holder;
pub(crate) mod interrupt;
pub(crate) mod privileges;
pub(crate) mod progress;
pub(crate) mod session;
pub(crate) mod startup_failure;

pub(crate) use access::{Backend, DaemonBackend};
