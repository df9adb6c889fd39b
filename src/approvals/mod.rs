//! Decisions in the browser: people log in, see what is held, and release or drop it.
//!
//! ```text
//! browser ──▶ proxy with TLS ──▶ server ──▶ who is it?   session, or the proxy's header
//!                                   │        may they?    access
//!                                   ├─▶ view ──▶ pages    GET: shows, and changes nothing
//!                                   └─▶ decide            POST: what was shown, or nothing
//! ```
//!
//! Invariants:
//! - GET and HEAD change nothing: what fetches links before a person does (mail filters, previews) decides nothing. A notice
//!   leads to a page and carries no token.
//! - What is decided is what was shown: the form holds the number and the digest of the held set, and both are compared
//!   under the lock under which the decision is made ([`operator::approve`](crate::operator::approve), the way of the command).
//! - A POST counts only with a session, the token of that session, and a browser that says that it comes from these pages.
//! - Only the host of `url` is answered. A header says who someone is only where the kernel says that the proxy's account is
//!   at the other end of the socket; on TCP it is never read.
//! - What a person may do is asked again at each request. A job that they may not see is answered as one that is not there.
//! - Each decision, and each look at hidden values, is in the audit file under the name of the person and "via page".
//! - Nothing else can be reached from here: no sync, no `forget`, no request to the service.
//!
//! Where several workers share a state, those that stand by hand requests to the one that has the account (`handed`).
//!
//! Sessions and first consents of two are in memory: after a restart people log in and consent again. Nothing is released by
//! that, and nothing that a file could leak is on disk.
//!
//! Rejected: links in notices that act, which filters of mail follow before a person does. A login of our own, by a form and
//! a directory: passwords would pass through us. The crate `openidconnect`: it brings a second set of cryptography.

mod about;
mod access;
mod attempt;
mod consent;
mod decide;
mod engine;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod guard;
mod handed;
mod header;
mod held;
mod jwt;
mod login;
mod pages;
mod person;
mod provider;
mod random;
mod reply;
mod sealed;
mod server;
mod session;
mod site;
mod socket;
mod story;
mod trial;
mod view;
mod visitor;

pub use engine::{Engine, SharedStore};
pub use handed::{AsksHolder, HandedPages};
pub use server::{Server, StartError};
pub use trial::trials;
