//! Runs over an inbox: each dropped file is a run of its own.
//!
//! ```text
//! look ─▶ take a private copy ─▶ seen before? older? ─▶ run over the copy ─▶ lay out: file, reports, where they go ─▶ file
//! ```
//!
//! Invariants:
//! - A file moves only when each of its changes is confirmed, rejected, parked or held. While one could not be delivered
//!   it stays where it is, and the files behind it wait for it.
//! - What is laid out in the state folder is durable before anything moves in the inbox. A process that ends in between is
//!   made good by the next run: the file is known again and filed, not read again.
//! - An inbox without files says nothing about anybody. What is open of earlier files (approvals, a grace that ends) is
//!   done all the same, from the private copy of the last one; that is kept only as long as something is open.
//! - Where a whole listing of the service is due, the last file counts once more: someone may have been removed there.
//! - What can't be filed, for want of space or permission, is a warning: the run stands.
//!
//! Rejected: to remember the inbox's files by name. HR drops `employees.csv` every week.

pub(crate) mod cleanup;
pub(crate) mod earlier_files;
pub(crate) mod file_report;
pub(crate) mod merge;
pub(crate) mod peek;
pub(crate) mod pending;
pub(crate) mod poll;
pub(crate) mod process;
pub(crate) mod report_updates;
pub(crate) mod staleness;
pub(crate) mod unknown_files;
