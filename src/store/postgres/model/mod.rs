//! The protocol of several workers, many accounts and one PostgreSQL as a small state machine, explored to its end.
//!
//! ```text
//! claim ─▶ wait ─▶ look up what was sent ─▶ whole listing ─▶ intent ─▶ slot, deadline, first byte ─▶ outcome
//!   │                                           └────────────────┴── fenced commits ──────────────────┘
//!   └── what the row held before: the slots of a clean release, the timeline
//! ```
//!
//! What the program does is in the comments of [`actions::ModelAction`], which name its functions; what may go wrong is
//! [`rules::Fault`]; what must be true is [`state::Law`]. Every mistake of [`rules::Mutation`] breaks a law, and the explorer
//! must find it: a mistake that it misses would be a hole of the model. `tests.rs` says where and by which law.
//!
//! What the protocol needs beyond a lease and an epoch, since the explorer breaks it otherwise:
//! - No two sessions of an account have one holder. With an id of the process that is so only if a process ends one session
//!   before it claims again (`Account::take`): an old one beside the new one passes the fence once a failover repeats an epoch.
//! - The fence compares the timeline in the row with that of the log, in each commit: a promoted standby may name a holder whose
//!   lease had ended, and its clock may say that it lasts. The timeline of the last checkpoint does not do: it is the old one for
//!   minutes after a promotion.
//! - A claim takes the slots of a clean release out of the row, and returns them and the timeline as they were before.
//! - A successor that can't trust the release waits before it *looks*, not only before it writes. The wait counts from the claim
//!   by its own clock, not from the end of the lease in the row, which is long past where a failover lost a claim. Its length
//!   is what is left of a lease at most when a write begins, and the life of that write ([`rules::LATE`], [`rules::EARLY`]). Then
//!   law 3 does not rest on the clock of the database.
//! - The slots of a release count for nothing after a change of the timeline, nor does the release.
//! - A release is clean only after the takeover, with the listing on disk, and with nothing on its way.
//! - The deadline is looked at after the wait for a slot of the budget; reads have one too; its clock does not stand still.
//! - A worker's share of the accounts is no limit for accounts that no one claims.
//!
//! Abstractions: a pause is a worker that takes no step while time passes, so it is tried at every place. Times are small
//! numbers in about the proportion of the real ones. Workers that are up renew at each tick; one that was paused or cut off acts
//! with a deadline that has run down. A session works on one change at a time. A write whose connection is cut takes effect
//! before the second look, or never. States that differ in the names of the workers, in dates, or in where epochs and counters
//! begin are one.
//!
//! Not in the model: an old primary that goes on after its standby was promoted (that is for the database to prevent); a tail
//! that is lost without a change of the timeline (commits must not be asynchronous; [`rules::Mutation::TimelineStale`] shows what
//! happens); the budget where the clock of the database jumps; damage; more than one failover.
//!
//! One hole is known and has a test of its own: a whole machine that stands still between the look at the deadline and the first
//! byte. Elsewhere that moment takes no time.
//!
//! Rejected: the crate `stateright`. It has no property of the kind "the end can be reached from every state", which is what
//! progress means here, its `eventually` does not see cycles, and it brings an HTTP server along; an explorer is 200 lines.
//! Random histories alone: breaking a law takes up to twenty steps in the right order.

mod state;
mod rules;
mod session;
mod database;
mod service;
mod actions;
mod explore;
mod tests;
