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
//! - A write is sent again only where it was never sent. What else may have become of it is told by `Error::fate`.
//! - Secrets and people's values are in no `Debug` and no error (law 11).
//!
//! Rejected: a client generated from a description of the interface. The description is silent where a mistake wipes a
//! person (replacing writes, 404 lists, ids as text); those decisions have their own places here.

mod answer;
mod budget;
mod call;
mod client;
mod credential;
mod error;
mod json;
mod operation;
mod options;
mod page;
mod raw;
mod resource;
mod retry;
mod table;
mod transport;
mod wire;
mod words;

pub use answer::{Answer, Answered, Received};
pub use call::{Call, Query};
pub use client::{BudgetState, Client};
pub use error::{Error, Fate, Kind, Retry};
pub use operation::{Method, Operation, Verb};
pub use options::{Credential, Options, SecretSource};
pub use page::{Page, Walked, walk};
pub use raw::{Raw, RawAnswer};
pub use resource::{
    Api, Creatable, Deletable, Deleted, Gettable, Listable, ListableFor, Replaceable, Resource, Walkable,
};
pub use table::operations;
pub use wire::{
    CarryError, Element, ElementError, Elements, ForMembers, ForStaff, Location, LocationInput, SetError, Staff,
    StaffInput, Wire,
};

#[cfg(test)]
mod tests;
