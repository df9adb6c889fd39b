//! Keeps a workplace presence service in step with an organization's own directories.
//!
//! ```text
//! source ──▶ mapping ──▶ record ──▶ plan ──▶ queue ──▶ push ──▶ api ──▶ service
//!                                    ▲ ▲                 │
//!                      snapshot ─────┘ └── mirror ◀──────┴── pull       only an answer moves snapshot and mirror
//! ```
//!
//! A module imports only modules above it in this list; `tests/it/imports.rs` reads every `use` and fails on the first
//! that points down.

/// The only place that reads the wall clock.
pub mod clock;

/// The vocabulary: targets and their field tables, records, keys, ids; pure values, no wire format.
pub mod record;

/// CSV files → rows, rejected rows and a proof of completeness.
pub mod source;

/// Templates: source row → record.
pub mod mapping;

/// sled: versioned and checksummed rows, one durable commit.
pub mod store;

/// Per job: what each key last was, what was confirmed, its remote id.
pub mod snapshot;

/// (records, known) → ordered plan; pure; the safety limits.
pub mod plan;

/// Changes that must survive a restart: intents, order, attempts, outcomes.
pub mod queue;

/// The typed client: table, resource, call, page, client, budget, transport, error, wire.
pub mod api;

/// The local copy of what the service holds: pulls, watermarks, completeness.
pub mod mirror;

/// Drains the queue: change → calls → answer → snapshot.
pub mod push;

/// The audit file: what was done and decided.
pub mod history;

/// The stand-in service: its own routes, store, filters, faults; shares only the operation table's text.
pub mod sandbox;

/// File → checked options for the modules above.
pub mod config;

/// One run of a job: composes the modules above.
pub mod run;

/// Arguments, one file per command, two renderers, failures.
pub mod cli;
