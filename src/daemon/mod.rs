//! The daemon: accounts with their schedules, signals, systemd, and the sockets that the other commands come by; composes the
//! modules above.
//!
//! ```text
//! signals, watchdog ──▶ process ──▶ each account:
//!
//! events ──┐                      ┌─▶ worker: a run ─┐
//! time ────┼─▶ event loop ────────┤                  ├─▶ events: the run ended
//!          │   (scheduler)        └─▶ reload ────────┘
//!                                                        state: store, configuration, target locks, events
//! control socket ─▶ a command of a caller ────────────▶       lent to all of these
//! ```
//!
//! Invariants:
//! - One process owns the store; while the daemon runs, other commands reach it by the socket.
//! - A loop waits for nothing but the next of its inputs: runs, commands and reloads have threads of their own.
//! - One run at a time on a target ([`TargetLocks`]), from whichever source it was started.
//! - Being asked to end ends what is under way between two changes. What waits stays queued.
//! - The watchdog is fed only while every loop turns, and runs show signs of life.
//!
//! What happens is published as [`Event`]s; nothing here knows who listens.

mod accounts;
mod control;
mod decisions;
mod event;
mod event_loop;
mod folder_events;
mod inbox_watch;
mod monitors;
mod page;
mod reload;
mod runs;
mod scheduler;
mod shutdown;
mod signals;
mod state;
mod store_slot;
mod systemd;
mod target_locks;

pub use accounts::account::{StartError, client_for_command};
pub use accounts::claims::CONFLICT_HINT;
pub use accounts::folder::{Accounts, AccountsFolder, FolderError};
pub use accounts::process::serve;
pub use accounts::serve_error::ServeError;
pub use accounts::unstarted::tell_of_configuration;
#[cfg(any(test, fuzzing))]
pub(crate) use control::fuzzing;
pub use control::{
    Answer, Brought, Call, Caller, Commands, Reached, ReplyStream, Trusted, Unanswered, Unreachable, VERSION, ask,
    command_elsewhere,
};
pub use event::Event;
pub use reload::ReloadRefusal;
pub use runs::{ActiveRuns, RunProgress, TrackedRun};
pub use scheduler::{ClockReading, Ended, SLEEP_MAX, Scheduler, Timed, remember, served};
pub use shutdown::{CancelHandle, CancelToken, GRACE};
pub use state::{DaemonState, ExclusiveStore, NextRun, Setup};
pub use store_slot::StoreGuard;
pub use target_locks::{TargetGuard, TargetLocks};
