//! The stand-in service: an HTTP server that behaves as the specification says, on this machine.
//!
//! It serves for rehearsing a configuration before it touches the real service, for the demonstration and for the
//! tests. A request goes through `service` (log, credential, rate, route, scope, faults), then through `engine`, which
//! carries out on `store` what `binding` says, by the description of the resource in `tables`. Every document is made as
//! JSON; `media` turns it into what the caller accepts. Beside the API lie the token endpoint, the control interface
//! (`control`) and the sandbox's description of itself (`openapi`).
//!
//! Invariants:
//! - Nothing of the client is used here: routes, types and matching are the sandbox's own, so that one misreading of
//!   the specification can't satisfy both sides. Only the text of the operation table is shared.
//! - A write is in the journal, where there is one, before its answer leaves and before anyone can read it.
//! - Once a request has been read, it is carried out even where its caller hangs up meanwhile.
//! - A cut connection never carries an answer that could be taken for a whole one.
//!
//! Rejected: one handler per operation. The operations differ by tables, not by code; a handler each would hide in
//! which of them a field, a filter or a limit was forgotten.

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;

mod answer;
mod binding;
mod chance;
mod clock;
mod control;
mod credential;
mod decode;
mod derived;
mod dispatch;
mod engine;
mod error;
mod fault;
mod fault_rules;
mod filter;
mod gate;
mod input;
mod journal;
mod list;
mod media;
mod normal;
mod openapi;
mod operation;
mod options;
mod part;
mod rate;
mod resource;
mod row;
mod rule;
mod seed;
mod sent;
mod server;
mod service;
mod store;
mod tables;
#[cfg(test)]
mod tests;
mod token;
mod traffic;
mod view;
mod wire;
mod xml;
mod zone;

pub use clock::Clock;
pub use credential::Restriction;
pub use error::Error;
pub use fault::Fault;
pub use options::{Options, Window};
pub use server::Sandbox;
pub use traffic::Request;
