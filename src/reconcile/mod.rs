//! One sync of a job: from what a source holds to what the service is to hold, and what became of it.
//!
//! ```text
//! pull ─▶ look up what an earlier process left unknown ─▶ collect ─▶ correlate ─▶ leavers ─▶ plan
//!      ─▶ (sync only) commit: mirror, adoptions, held, queue ─▶ push ─▶ index ─▶ report
//! ```
//!
//! The folders in their order; a file uses files of its own folder and of those above it only, which `tests/it/imports.rs`
//! checks:
//!
//! ```text
//! model        The types that the steps hand on; they import nothing of the steps.
//! collect      Source → candidates: rows that are new or changed, and which keys are there.
//! dropped      What is kept of the files of an inbox.
//! approval     What waits for a person, and what was decided.
//! report       What a run came to.
//! commit       Plan → disk: queue, adoptions, index.
//! correlate    Candidate → which entity it is, and what it needs.
//! leavers      Who is gone, and what becomes of them.
//! plan         All together: the plan of one part of a job.
//! started_run  What a run counts from, and how its end is remembered.
//! run_job      One job from end to end.
//! inbox        A run for each dropped file.
//! jobs         The entry points: sync and plan of several jobs.
//! ```
//!
//! Invariants:
//! - `plan` and `sync` go the same way up to the guard; a plan stores nothing and sends nothing but reads.
//! - No change of a plan is queued or sent before source and service were both read without a fault. Before that, a run
//!   stores what it pulled, settles what an earlier process left unknown, and restores presence.
//! - One job's failure is its own: the others run.
//! - Memory holds summaries of records and changes; the rest lies in a spill file until it is shown, kept or sent.
//! - A paused job's run goes the whole way except for the push: it reads, plans and remembers, and sends nothing.
//!
//! Rejected: a stored plan that `sync` carries out. What was true when it was made may not be when it is sent; what a
//! person released is kept as a decision on a wanted change instead, and compared with what is wanted now.

pub(crate) mod account;
pub(crate) mod approval;
pub(crate) mod collect;
pub(crate) mod commit;
pub(crate) mod dropped;
pub(crate) mod correlate;
pub(crate) mod freshness;
pub(crate) mod inbox;
pub(crate) mod jobs;
pub(crate) mod leavers;
pub(crate) mod mirrors;
pub(crate) mod model;
pub(crate) mod pause;
pub(crate) mod photos;
pub(crate) mod plan;
pub(crate) mod push_session;
pub(crate) mod report;
pub(crate) mod restored_state;
pub(crate) mod retention;
pub(crate) mod run_job;
pub(crate) mod started_run;
pub(crate) mod tenure;
mod unconfigured;

pub use account::expect_account;
pub use approval::held::{PendingApproval, held};
pub use collect::rows::{mapping, rows};
pub use freshness::overdue;
pub use inbox::peek::{Peeked, peek};
pub use inbox::poll::{Front, Poll};
pub use jobs::{plan, sync};
pub use mirrors::needed;
pub use model::change_spill::ChangeSpill;
pub use model::context::{Context, KeyFilter, NoObserver, RunObserver, Stage};
pub use model::counts::{Counts, Status};
pub use model::error::{Error, Kind};
pub use model::job_plan::{Block, For, JobPlan, Plan};
pub use model::job_state::{JobState, LastRun, RejectedRow, RejectedRows};
pub use model::missing_people::{Missed, Missing};
pub use model::plan_file_error::PlanFileError;
pub use model::reason::{Reason, ReasonKind};
pub use model::recent_runs::{RecentRun, RecentRuns};
pub use model::waiting_files::WaitingFiles;
pub use pause::{Note, Pause, PauseScope, pause, pauses, resume};
pub use report::job_report::{Details, Report};
pub use report::log::TARGET as REPORT_LOG;
pub use tenure::open_store;
pub use unconfigured::UnconfiguredJob;
