//! Who is told when something needs a person.
//!
//! ```text
//! Snapshot ──▶ decide ──▶ Book: what was told, what waits ──▶ Teller ──┬─▶ webhook
//!               (pure)         (a small durable file)                  ├─▶ mail
//!                                                                      └─▶ heartbeat
//! ```
//!
//! Invariants:
//! - A job's change for the worse is told once, its recovery once, and in between only what was not told before: another row,
//!   another set of held changes. A restart repeats nothing: what was told is on disk before anything is sent.
//! - A notice that can't be delivered is tried again for a week, and holds up nobody: no run waits for it.
//! - No notice names anybody, not even by key (law 11).
//!
//! - Nothing goes beyond this machine unprotected: TLS is verified against the system's roots and `notify.ca_file`, and where
//!   there is none, nothing is sent. No proxy is taken from the environment.
//!
//! What was told lies in a file of its own beside the store: whoever is told that the store can't be used must not need it.
//! So a daemon that can't start tells of that too, once however often it is started again ([`Trouble`]).
//!
//! Rejected: to tell at the end of a run what that run came to. Overdue jobs have no run, and two failures in a row are one
//! piece of news; the difference between what was told and how things are is what people want to hear.

mod book;
mod decide;
mod error;
mod mail;
mod notice;
mod teller;
mod trial;
mod trouble;
mod web;

pub use book::{Book, forget};
pub use decide::{Told, decide};
pub use error::SetupError;
pub use notice::{Kind, Notice, RowNote};
pub use teller::Teller;
pub use trial::{Trial, test, trials};
pub use trouble::{Trouble, told};
