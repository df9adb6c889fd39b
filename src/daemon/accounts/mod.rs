//! The accounts of a process: which there are, what each of them has for itself, and what they share.
//!
//! ```text
//! signals, watchdog ──▶ process ──▶ account: its loop, its runs, its socket, its notices
//!                          │   └───▶ account …
//!                          └ shared: places for runs, addresses of pages, places for callers, who has what
//! ```
//!
//! Invariants:
//! - A daemon of one account is a process with one account: there is one way.
//! - What is wrong with an account stops that account only. It is begun again when its configuration is loaded again.
//! - Accounts in a database are shared out among the processes that could run them; this one begins its share.
//! - No two accounts have the same state, socket, inbox or credential.

pub(super) mod account;
pub(super) mod claims;
pub(super) mod folder;
pub(super) mod pool;
pub(super) mod process;
pub(super) mod seat;
pub(super) mod serve_error;
pub(super) mod shared;
pub(super) mod sharing;
mod stand_by;
pub(super) mod unstarted;
