//! Keeps a workplace presence service in step with an organization's own directories.
//!
//! Two packages beside this one are used here as modules: [`api`] is the client of the service (`rosterd-client`), with the
//! small modules that it stands on, and [`sandbox`] the stand-in of the service (`rosterd-sandbox`).
//!
//! Where this documentation says "law" or "fault" with a number, it means an entry of `docs/laws.md` or `docs/faults.md`.
//! `docs/ARCHITECTURE.md` says what lies where.
//!
//! A module imports only modules above it in the list below; `tests/it/imports.rs` reads every `use` and fails on the first
//! that points down.
#![doc = ""]
#![doc = include_str!("map.md")]

pub use rosterd_client::{clock, crash, fault, file, histogram, http, secret, tls};
pub mod admission;
pub mod disk;
pub mod record;
pub mod spool;
pub mod text;
pub mod uptime;
pub mod web;
pub mod source;
pub mod mapping;
pub mod lookup;
pub mod store;
pub mod snapshot;
pub mod plan;
pub mod queue;
pub use rosterd_client as api;
pub mod mirror;
pub mod push;
pub mod history;
pub use rosterd_sandbox as sandbox;
pub mod hr_report;
pub mod config;
pub mod reconcile;
pub mod operator;
pub mod approvals;
pub mod status;
pub mod notify;
pub mod daemon;
pub mod cli;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
