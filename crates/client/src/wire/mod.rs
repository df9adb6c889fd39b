//! The wire format: the service's entities as read and as sent.
//!
//! Invariants:
//! - Reading is tolerant of form (numbers as text, 0 and 1 for flags, null for nothing, `[]` for `{}`) and strict about
//!   ids: an entity without a whole int32 id is an error, since nothing may be concluded from such an answer.
//! - What is read and what is sent are different types, made from one table of fields each. A replacing PUT names every
//!   field, so an input serializes all of them, and an answer becomes an input in one place, [`Carry`].
//! - `Debug` shows ids only (law 11).
//!
//! Rejected: serde's derive for answers. One field of an unforeseen shape would lose the whole list; here it is noted
//! by name and only keeps its own record from being written. Rejected too: parsed dates and times. What is written back
//! must be what was read, and the service writes them in several forms.

#[macro_use]
mod fields;

mod asset;
mod carry;
mod certification;
mod contractor;
mod element;
mod movement;
mod part;
mod place;
mod questionnaire;
mod reader;
mod sent;
mod staff;
mod value;
mod visitor;

pub use asset::{Asset, AssetGroup, AssetGroupInput, AssetInput, AssetMovement, Issue};
pub use carry::{Carry, CarryError, RequestInput};
pub use certification::{
    Certification, CertificationHolder, CertificationInput, Document, HolderInput, InductionHolder,
    InductionHolderCreate, InductionHolderInput, Qualification, QualificationHolder, QualificationHolderInput,
    QualificationInput,
};
pub use contractor::{
    Insurance, InsuranceInput, InsuranceType, Member, MemberInput, Membership, MembershipInput, Organization,
    OrganizationGroup, OrganizationGroupCreate, OrganizationGroupInput, OrganizationInput,
};
pub use element::{Element, ForMembers, ForStaff};
pub use movement::{MemberMovement, MemberMovementInput, StaffMovement, StaffMovementInput};
pub use part::{CardToken, GroupRef, Guest, Named, Place};
pub use place::{
    CommunityMember, CommunityMemberCreate, CommunityMemberInput, Location, LocationInput, Zone, ZoneInput,
};
pub use questionnaire::{Notification, Question};
pub(crate) use reader::List;
pub use reader::Wire;
pub use staff::{Staff, StaffInput};
pub use value::{Any, Decimal, Fields, Flag, Ids, Int, Items, Names, Text};
pub use visitor::{
    Visit, VisitInput, VisitorEvent, VisitorEventCreate, VisitorEventInput, VisitorGroup, VisitorGroupInput,
};

use crate::RemoteId;

/// Something that answers carry with an id of its own.
pub trait Entity: Wire {
    /// Its id.
    fn id(&self) -> RemoteId;
}

/// The name on the wire of a field that is called so here.
const fn wire_name(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}
