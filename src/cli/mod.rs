//! Arguments, one file per command, two renderers, failures.
//!
//! Invariants:
//! - Data goes to stdout, everything else to stderr, and one `Ui` writes both. What it shows passes through `screen`, so
//!   that no text of others steers a terminal.
//! - `--json` renders the same data a second time: one document on one line, a version first.
//! - A failure is printed once, here, with its causes and hints; its kind alone decides the exit code.
//! - A command works on what its `Backend` gives it; so it is the same in this process and in the daemon.
//!
//! Rejected: printing where something happens. What a library prints can't be tested, quieted or turned into JSON.

mod args;
mod backend;
mod commands;
mod demo;
mod dispatch;
#[cfg(test)]
mod documented;
mod help;
mod log;
mod state_args;
mod ui;

pub use dispatch::main;
