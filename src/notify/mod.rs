//! Notices to people when something needs them.
//!
//! ```text
//! Snapshot ──▶ decide ──▶ NoticeStore: what is sent, what waits  ──▶ Notifier ──┬─▶ webhook
//!               (pure)         (a small durable file)                  ├─▶ mail
//!                                                                      └─▶ heartbeat
//! ```
//!
//! Invariants:
//! - A job's change for the worse is notified once, its recovery once, and in between only what is new: another row,
//!   another set of held changes. A restart repeats nothing: notices are on disk before anything is sent.
//! - A notice that can't be delivered is tried again for a week, and delays nothing: no run waits for it.
//! - No notice names anybody, not even by key (law 11); a summary with names is one that was asked for, and is never stored.
//! - Nothing goes beyond this machine unprotected: TLS is verified against the system's roots and `notify.ca_file`, and where
//!   there is none, nothing is sent. No proxy is taken from the environment.
//!
//! What was notified lies in a file of its own next to the store: a notice that the store can't be used must not need
//! it. So a daemon that can't start sends that notice too, once however often it is started again ([`Outage`]).
//!
//! Rejected: a notice of the result at the end of each run. Overdue jobs have no run, and two failures in a row are one
//! piece of news; people want to know the difference between the last notice and the present state.

mod channel_test;
mod channel;
mod decide;
mod digest;
mod error;
mod mail;
mod notice;
mod notice_store;
mod notifier;
mod outage;
mod web;

pub use channel_test::{ChannelTest, test, trials};
pub use decide::{NotifiedState, decide};
pub use error::SetupError;
pub use notice::{Notice, NoticeKind, RowNote};
pub use notice_store::{NoticeStore, forget};
pub use notifier::Notifier;
pub use outage::{Outage, describe};
