//! The socket by which the other commands reach the daemon that owns the store.
//!
//! ```text
//! rosterd COMMAND ──call: arguments, colours, files──▶ daemon: the same command, on the daemon's store
//!        stdout, stderr, file, exit code ◀──frames──┘
//! ```
//!
//! Invariants:
//! - There is one implementation of each command. The daemon runs it with an output that leads back over the socket, so
//!   that text, `--json` and exit codes are the same with a daemon and without one.
//! - Files that a command names are read and written by the caller's process, with the caller's rights: no caller
//!   reaches a file through the daemon that they could not reach themselves. A configuration of the caller's own, which
//!   names sources and secrets that the daemon would open, is taken from root and from the daemon's user only.
//! - Where several machines share a state, the same calls and frames go by rows of the database (`elsewhere`, `remote`) to the
//!   worker that has the account; one that stands by hands on what comes by its socket.
//! - Who calls is what the kernel says (SO_PEERCRED), not what the call says. So is who answers: a caller says nothing to
//!   another user's process.
//! - A daemon that hangs, or was stopped, holds up no caller: it greets each, and a caller says nothing before; while a command
//!   runs it shows that it lives.
//! - A caller has a short time and a small frame to say what it wants; more is read only for a command that needs it. No
//!   user but root and the daemon's own can take all places.
//! - A caller that hangs up has asked to end.
//!
//! Rejected: rows for each kind of request with columns of their own. That would be a second description of the commands.
//!
//! Rejected: a protocol with a message for each command. It would be a second description of every argument and result,
//! and `--json` a third.

mod call;
mod client;
mod door;
mod elsewhere;
mod frame;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod places;
mod remote;
mod server;

pub use call::{Brought, Call, Caller, VERSION};
pub use client::{Answer, Trusted, Unreachable, ask};
pub use door::Reached;
pub(super) use door::{Behind, Door, NotEntered, Retry, Stopped};
pub(super) use elsewhere::ask_for_page;
pub use elsewhere::{Unanswered, command_elsewhere};
pub(super) use places::CallerPlaces;
pub(super) use remote::RemoteCallers;
pub(super) use server::{Callers, Listener};
pub use server::{Commands, ReplyStream};
