//! Keeps a workplace presence service in step with an organization's own directories.
//!
//! The feature `client` builds [`api`] alone, with the small modules that it stands on, for other programs. Where this
//! documentation says "law" or "fault" with a number, it means an entry of `docs/laws.md` or `docs/faults.md`; the laws that
//! concern the client stand at the head of [`api`]. `docs/ARCHITECTURE.md` says what lies where.
//!
//! A module imports only modules above it in the list below; `tests/it/imports.rs` reads every `use` and fails on the first
//! that points down.
#![cfg_attr(feature = "full", doc = "")]
#![cfg_attr(feature = "full", doc = include_str!("map.md"))]

#[cfg(feature = "full")]
pub mod admission;
pub mod clock;
pub mod crash;
#[cfg(feature = "full")]
pub mod disk;
pub mod fault;
pub mod file;
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
