//! The audit file: what was done and what was decided, for people.
//!
//! Invariants:
//! - It is kept apart from the rows ([`Log`](crate::store::Log)), in a state folder as `audit/YYYY-MM.ndjson`, and is only ever
//!   appended to: it survives a store that is thrown away (law 9). People's data goes from it when it has grown too old, in
//!   one step a month.
//! - One line a confirmed change, a decision and the end of a run, as JSON. In a folder a line is on disk before what it tells of
//!   is committed; so after a crash a line may be there twice, and none is missing. In a database the line of a change is part of
//!   its commit.
//! - A key in a reason keeps the marks of [`Sensitive`](crate::record::Sensitive) around it, so that it can be found again by
//!   what it is, whatever it holds.
//! - A reader takes lines of other versions, and names by file and line what it can't read.
//! - It holds people's values, as few other files do, and only its owner may read it.
//!
//! Rejected: rows in the store. What people need to find out what went wrong must not depend on the part that may be what
//! went wrong.

mod audit;
mod entry;
mod forget;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod month;
mod query;
mod retention;
mod rewrite;
mod run_history;
mod tally;
mod user;

pub use audit::Audit;
pub use entry::{AuditEvent, Changed, Decided, Ended};
pub use forget::forget;
pub(crate) use month::read_since;
pub use month::{Damage, read};
pub use query::{Decisions, Event, HistoryQuery, PastRun};
pub use retention::Retention;
pub use run_history::RunHistory;
pub use tally::Tally;
pub use user::{acting_user, on_behalf_of, on_page_for, set_node, user_at, user_named, user_of};
