//! Notices to people when something needs them.
//!
//! ```text
//! Snapshot ──▶ decide ──▶ Book: what is sent, what waits  ──▶ Teller ──┬─▶ webhook
//!               (pure)         (a small durable file)                  ├─▶ mail
//!                                                                      └─▶ heartbeat
//! ```
//!
//! Invariants:
//! - A job's change for the worse is notified once, its recovery once, and in between only what is new: another row,
//!   another set of held changes. A restart repeats nothing: notices are on disk before anything is sent.
//! - A notice that can't be delivered is tried again for a week, and delays nothing: no run waits for it.
//! - No notice names anybody, not even by key (law 11).
//!
//! - Nothing goes beyond this machine unprotected: TLS is verified against the system's roots and `notify.ca_file`, and where
//!   there is none, nothing is sent. No proxy is taken from the environment.
//!
//! What was notified lies in a file of its own next to the store: a notice that the store can't be used must not need
//! it. So a daemon that can't start sends that notice too, once however often it is started again ([`Trouble`]).
//!
//! Rejected: a notice of the result at the end of each run. Overdue jobs have no run, and two failures in a row are one
//! piece of news; people want to know the difference between the last notice and the present state.

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
