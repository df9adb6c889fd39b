//! One run of a job: composes the modules above.
//!
//! ```text
//! pull ─▶ settle what an earlier process left unknown ─▶ gather rows ─▶ stand and decide ─▶ leavers ─▶ guard
//!      ─▶ (sync only) commit: mirror, adoptions, held, queue ─▶ push ─▶ index
//! ```
//!
//! Invariants:
//! - `plan` and `sync` go the same way up to the guard; a plan stores nothing and sends nothing but reads.
//! - Nothing is written, here or there, before source and service were both read without a fault.
//! - One job's failure is its own: the others run.
//! - Of records and changes memory holds outlines; the rest lies in a pile until it is shown, kept or sent.
//! - A paused job's run goes the whole way but for the push: it reads, judges and remembers, and sends nothing.
//!
//! - A plan file never says what to send: it names what a person saw, and of that is sent what a run that is worked out
//!   anew wants just the same.
//!
//! Rejected: a stored plan that `sync` carries out. What was true when it was made may not be when it is sent; what a
//! person released is kept as a verdict on a wish instead, and compared with what is wanted now.

mod account;
mod adopt;
mod apply;
mod approvals;
mod astray;
mod basis;
mod candidate;
mod claims;
mod context;
mod counts;
mod doubts;
mod drift;
mod duplicates;
mod enqueue;
mod error;
mod exchange;
mod expected;
mod explain;
mod fit;
mod forget;
mod forget_error;
mod gather;
mod held;
mod inbox;
mod inbox_state;
mod indexing;
mod job_fields;
mod job_plan;
mod leave;
mod members;
mod mirrors;
mod missed;
mod missing;
mod moving;
mod namesakes;
mod narrowed;
mod once;
mod origin;
mod outdated;
mod pause;
mod people;
mod photos;
mod pile;
mod plan_file;
mod plan_file_error;
mod prepare;
mod rebuild;
mod remote_digest;
mod replicas;
mod report;
mod resolve;
mod retention;
mod revert;
mod rows;
mod run_job;
mod segments;
mod session;
mod shown;
mod signs;
mod stamp;
mod stand;
mod state;
mod state_updates;
mod stop_reason;
mod strays;
mod sync;
mod takeback;
mod told;
mod transfers;
mod waiting;
mod waiting_files;
#[cfg(test)]
mod tests;

pub use apply::{Applied, Skipped, apply};
pub use approvals::{DecisionError, approve, believe, held_set, reject};
pub use context::{Context, Narrow, Stage, Unwatched, Watch};
pub use counts::{Counts, Status};
pub use error::{Error, Kind};
pub use expected::overdue;
pub use explain::{Explanation, FieldState, FieldView, Fit, Outlook, SourceRow, explain};
pub use forget::{Forgotten, forget};
pub use forget_error::ForgetError;
pub use held::{HeldChange, held};
pub use inbox::{Front, Next, Poll, next};
pub use job_plan::{For, ON_SITE, Plan, Prepared};
pub use mirrors::needed;
pub use missed::{Missed, Missing};
pub use pause::{Note, Pause, Scope, pause, pauses, resume};
pub use pile::Pile;
pub use plan_file::PlanFile;
pub use plan_file_error::PlanFileError;
pub use rebuild::{RebuildError, Rebuilt, Which, rebuild};
pub use report::{Details, Report};
pub use revert::{Reverted, plan_revert, revert};
pub use rows::{mapping, rows};
pub use state::{JobState, LastRun, RejectedRow};
pub use sync::{plan, sync};
pub use takeback::Untouched;
pub use waiting::{Waiting, discard, retry, waiting};
pub use waiting_files::WaitingFiles;
