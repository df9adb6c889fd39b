//! What travels: the service's entities as read, and what is sent.
//!
//! Invariants:
//! - Reading is tolerant of form (numbers as text, 0 and 1 for flags, null for nothing, `[]` for `{}`) and strict about
//!   ids: an entity without a whole int32 id is an error, since nothing may be concluded from such an answer.
//! - What is read and what is sent are different types. A replacing PUT names every field, so an input serializes all
//!   of them, and `Staff` becomes `StaffInput` in one place.
//! - `Debug` shows ids only (law 11).
//!
//! Rejected: serde's derive for answers. One field of an unforeseen shape would lose the whole list; here it is noted
//! by name and only keeps its own record from being written.

mod element;
mod location;
mod read;
mod staff;
mod staff_input;

pub use element::{Element, ElementError, Elements, ForMembers, ForStaff};
pub use location::{Location, LocationInput};
pub use staff::Staff;
pub use staff_input::{CarryError, SetError, StaffInput};

use serde_json::{Map, Value};

use crate::record::RemoteId;

/// An entity that answers carry.
pub trait Wire: Sized + Send + 'static {
    /// Reads one JSON object; the error says what is wrong, without a value.
    fn read(object: Map<String, Value>) -> Result<Self, &'static str>;

    /// Its id.
    fn id(&self) -> RemoteId;
}
