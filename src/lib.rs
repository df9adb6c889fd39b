//! Keeps a workplace presence service in step with an organization's own directories.
//!
//! ```text
//! source ──▶ mapping ──▶ record ──▶ plan ──▶ queue ──▶ push ──▶ api ──▶ service
//!                                    ▲ ▲                 │
//!                      snapshot ─────┘ └── mirror ◀──────┴── pull       only an answer moves snapshot and mirror
//! ```
//!
//! ```text
//! clock     The only place that reads the wall clock.
//! crash     Points at which a test ends the process; nothing in a release.
//! disk      Puts files and folders on the disk.
//! fault     Errors as people read them.
//! histogram How often something took how long.
//! secret    Where secrets come from; shown nowhere.
//! tls       TLS as a client: whom it trusts.
//! record    The vocabulary: targets and their field tables, records, keys, ids; pure values, no wire format.
//! spool     Bytes that one run puts aside and looks at again.
//! source    CSV files and LDAP servers → rows, rejected rows and a proof of completeness.
//! mapping   Templates: source row → record.
//! store     sled: versioned and checksummed rows, one durable commit.
//! snapshot  Per job: what each key last was, what was confirmed, its remote id.
//! plan      (records, known) → ordered plan; pure; the safety limits.
//! queue     Changes that must survive a restart: intents, order, attempts, outcomes.
//! api       The typed client: table, resource, call, page, client, budget, transport, error, wire.
//! mirror    The local copy of what the service holds: pulls, watermarks, completeness.
//! push      Drains the queue: change → calls → answer → snapshot.
//! history   The audit file: what was done and decided.
//! sandbox   The stand-in service: its own routes, store, filters, faults; shares only the operation table's text.
//! receipt   What those who dropped a file get back: a table and a page.
//! config    File → checked options for the modules above.
//! run       One run of a job: composes the modules above.
//! status    How things are: a page, metrics, health.
//! notify    Who is told when something needs a person.
//! daemon    The loop: schedules, signals, systemd, the control socket.
//! cli       Arguments, one file per command, two renderers, failures.
//! ```
//!
//! The feature `client` builds `api` alone, with the small modules that it stands on, for other programs.
//!
//! A module imports only modules above it in this list; `tests/it/imports.rs` reads every `use` and fails on the first
//! that points down.

pub mod clock;
pub mod crash;
#[cfg(feature = "full")]
pub mod disk;
pub mod fault;
pub mod histogram;
pub mod secret;
pub mod tls;
pub mod record;
#[cfg(feature = "full")]
pub mod spool;
#[cfg(feature = "full")]
pub mod source;
#[cfg(feature = "full")]
pub mod mapping;
#[cfg(feature = "full")]
pub mod store;
#[cfg(feature = "full")]
pub mod snapshot;
#[cfg(feature = "full")]
pub mod plan;
#[cfg(feature = "full")]
pub mod queue;
pub mod api;
#[cfg(feature = "full")]
pub mod mirror;
#[cfg(feature = "full")]
pub mod push;
#[cfg(feature = "full")]
pub mod history;
#[cfg(feature = "full")]
pub mod sandbox;
#[cfg(feature = "full")]
pub mod receipt;
#[cfg(feature = "full")]
pub mod config;
#[cfg(feature = "full")]
pub mod run;
#[cfg(feature = "full")]
pub mod status;
#[cfg(feature = "full")]
pub mod notify;
#[cfg(feature = "full")]
pub mod daemon;
#[cfg(feature = "full")]
pub mod cli;
