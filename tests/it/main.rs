//! The integration tests: one binary, one folder a theme, one file a behaviour.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

/// The program ends at no point that a test names.
const ENDS_AT_POINTS: bool = false;

mod accounts;
mod approvals;
mod book;
mod cli;
mod client;
mod contractors;
mod daemon;
mod days;
mod disk;
mod entra;
mod faults;
mod guard;
mod https;
mod identity;
mod imports;
mod inbox;
mod ldap;
mod leavers;
mod lookup;
mod model;
mod monitoring;
mod operator;
mod presence;
mod push;
mod source;
mod support;
mod workbooks;
mod workers;
