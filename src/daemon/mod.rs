//! The loop: schedules, signals, systemd, and the socket that the other commands come by; composes the modules above.
//!
//! ```text
//! signals ─┐                      ┌─▶ worker: a run ─┐
//! inputs ──┼─▶ service: the loop ─┤                  ├─▶ inputs: the run ended
//! time ────┘    (scheduler)       └─▶ reload ────────┘
//!                                                        engine: store, configuration, turns, events
//! control socket ─▶ a command of a caller ────────────▶       lent to all of these
//! ```
//!
//! Invariants:
//! - One process owns the store; while the daemon runs, other commands reach it by the socket.
//! - The loop itself waits for nothing but the next of its inputs: runs, commands and reloads have threads of their own.
//! - One run at a time on a target ([`Turns`]), from whichever source it was started.
//! - Being asked to end ends what is under way between two changes. What waits stays queued.
//! - The watchdog is fed only while every run shows signs of life.
//!
//! What happens is published as [`Event`]s; nothing here knows who listens.

mod attended;
mod control;
mod ending;
mod engine;
mod event;
mod going;
mod inboxes;
mod manager;
mod moment;
mod onlookers;
mod page;
mod reload;
mod scheduler;
mod served;
mod service;
mod signals;
mod turns;
mod worker;

pub use attended::Attended;
pub use control::{Answer, Back, Brought, Call, Caller, Commands, Trusted, Unreachable, VERSION, ask};
pub use ending::{Asker, Ending, GRACE};
pub use engine::{Alone, Engine, Outlook, Setup, Shared};
pub use event::Event;
pub use going::{Going, Runs};
pub use moment::Moment;
pub use reload::Refusal;
pub use scheduler::{Ended, SLEEP_MAX, Scheduler, Timed};
pub use served::{remember, served};
pub use service::{StartError, serve};
pub use turns::{Turn, Turns};
