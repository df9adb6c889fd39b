//! The client of the presence service.
//!
//! One table names every resource and what can be done with it; a call is data until `Client::send`, the only place
//! that does IO, carries it out.
//!
//! Invariants:
//! - Never more requests in any 60 seconds than the limit, as the service counts them, across restarts and processes
//!   (law 12).
//! - A success that is not JSON of the expected shape is an error, never an empty list; a list is read to its end or it
//!   is an error (law 1).
//! - A write is sent again only where it was never sent. `Error::fate` says what else may have become of it.
//! - Secrets and people's values are in no `Debug` and no error (law 11).
//!
//! "Law" in these pages is a rule that the whole program keeps: an error is never an absence (1), a write wipes nothing
//! (2), no person is created twice (3), presence is never changed by a write of something else (10), secrets and people
//! stay out of logs and errors (11), the rate limit is never overspent (12).
//!
//! "Specification" is the description of the service's interface that its vendor gives to customers; the word after it is the
//! chapter that a rule comes from.
//!
//! ```no_run
//! use rosterd_client::clock::Clock;
//! use rosterd_client::{Api, Client, Credential, Options, Query, SecretSource, Staff};
//!
//! # async fn list() -> Result<(), Box<dyn std::error::Error>> {
//! let key = Credential::ApiKey(SecretSource::File("/etc/rosterd/api_key".into()));
//! let client = Client::new(&Options::new("https://api.example.com/v1", key), &Clock::system())?;
//! let people = client.send(Api::<Staff>::root().list(&Query::default())).await?;
//! for person in &people.value {
//!     println!("{} {}", person.id.get(), person.name.as_deref().unwrap_or("(no name)"));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Rejected: a client generated from a description of the interface. The description is silent where a mistake wipes a
//! person (replacing writes, 404 lists, ids as text); those decisions have their own places here.

#![warn(missing_docs)]

pub mod clock;
#[doc(hidden)]
pub mod crash;
pub mod fault;
pub mod file;
pub mod histogram;
pub mod http;
pub mod secret;
pub mod tls;

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;

mod answer;
mod api;
mod asked;
mod budget;
mod call;
mod client;
mod credential;
mod error;
mod extra;
mod filter;
mod guarded;
mod id;
mod identity;
mod json;
mod modify;
mod operation;
mod options;
mod page;
mod pages;
mod photo;
mod query;
mod raw;
mod resource;
mod retry;
mod table;
mod token;
mod traffic;
mod transport;
mod wire;
mod words;
mod zone;

pub use answer::{Answer, Answered, Done, Received};
pub use api::Api;
pub use call::{Body, Call};
pub use client::{BudgetState, Client};
pub use error::{Error, ErrorKind, Fate, Retry};
pub use extra::{GroupFunction, Part};
pub use filter::{Filter, FilterError, Operator};
pub use id::RemoteId;
pub use operation::{Operation, Verb};
pub use options::{BudgetPlace, Credential, FurtherCredential, Options, Paths, SecretSource, SendGuard, SharedBudget};
pub use page::Page;
pub use pages::{Pages, Walked, list_all, listed, walk};
pub use photo::{PHOTO_BYTES_MAX, Photo, PhotoHead, photo_format};
pub use query::Query;
pub use raw::{Raw, RawAnswer};
pub use resource::{
    Creatable, Deletable, Deleted, Filterable, Gettable, Limited, Listable, ListableFor, Movable, Ordered, Paged,
    Placed, Replaceable, Resource, Root, Tracked, Walkable, Within,
};
pub use table::{Community, Induction, operations};
pub use token::{Grant, Token};
pub use traffic::Traffic;
pub use wire::*;
pub use zone::TimeZone;

#[cfg(test)]
mod tests;
