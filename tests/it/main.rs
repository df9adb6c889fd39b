//! The integration tests: one binary, one file a behaviour.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod access;
mod api_command;
mod approvals;
mod budget;
mod changes;
mod clock_skew;
mod config_faults;
mod conflict;
mod decisions;
mod documents;
mod drift;
mod first_sync;
mod garbage_answers;
mod gone;
mod grace;
mod guard;
mod identity;
mod imports;
mod init;
mod kept;
mod killed;
mod leavers;
mod lenient;
mod library;
mod lying_lists;
mod narrowed;
mod oauth;
mod one_at_a_time;
mod one_of_many;
mod operations;
mod pauses;
mod plan_files;
mod queries;
mod refusals;
mod secrecy;
mod shared_mailbox;
mod source_faults;
mod source_forms;
mod support;
mod transitions;
mod unowned;
mod unsure;
mod views;
mod written_back;
