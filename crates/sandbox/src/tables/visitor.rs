//! Visitors: events, visits announced beforehand, and groups.

use super::super::resource::FieldKind::{
    AccessPoint, Bool, Choice, Created, Derived as Following, Email, Id, IdOf, Integer, Loose, Modified, Name, Parts,
    Phone, Text, Timestamp,
};
use super::super::resource::{Derived, Field, PLAIN, Resource};

/// Visitors who sign in and out (specification, Visitor event).
pub(in super::super) static EVENT: Resource = Resource {
    name: "visitor.event",
    fields: fields! {
        own { id: Id, created: Created, modified: Modified }
        sent { location_id: IdOf("location") }
        own { created_staff_id: Integer }
        sent { visiting_staff_id: IdOf("staff"), signed_in: Timestamp, signed_out: Timestamp }
        // The specification's own name for the input.
        updated {
            mode_in as "mode_id": Text, mode_out: Text, signed_in_by: IdOf("staff"), signed_out_by: IdOf("staff"),
        }
        sent { name: Name, email: Email, from: Text, phone: Phone, mobile: Phone, title: Text, assistance: Bool }
        updated { expected: Bool }
        own { printed: Bool }
        updated { pass: Bool }
        sent { purpose: Text }
        updated { carpark_question: Bool }
        sent { carpark_registration: Text, carpark_number: Text, cardnumber: Text }
        own { id_verification_checked: Bool }
        sent { id_verification_type: Text }
        updated { accessdenied: Bool }
        sent { id_verification_reference: Loose }
        updated { visiting_staff_name: of!("visiting_staff_id", "staff", "name") }
        own {
            location_name: of!("location_id", "location", "name"),
            lacp_in_name: Following(Derived::AccessPointName("lacp_in_id")),
            lacp_out_name: Following(Derived::AccessPointName("lacp_out_id")),
        }
        updated {
            signed_in_by_name: of!("signed_in_by", "staff", "name"),
            signed_out_by_name: of!("signed_out_by", "staff", "name"), onsite: Following(Derived::Duration),
        }
        sent { type: Text, lacp_in_id: AccessPoint, lacp_out_id: AccessPoint }
        kept { visitor_group_id: IdOf("visitor.group") }
    },
    defaults: &[("type", "visit")],
    list_max: Some(10_000),
    first_id: 70_001,
    ..PLAIN
};

/// Visits announced beforehand (specification, Pre-registered visit); those of a group have the type `group`.
pub(in super::super) static REGISTER: Resource = Resource {
    name: "visitor.register",
    fields: fields! {
        own { id: Id, created: Created, modified: Modified }
        sent {
            location_id: IdOf("location"), created_staff_id as "staff_id": IdOf("staff"),
            visiting_staff_id: IdOf("staff"), event_start: Timestamp, event_end: Timestamp, name: Name,
        }
        own {
            visiting_staff_name: of!("visiting_staff_id", "staff", "name"),
            location_name: of!("location_id", "location", "name"),
        }
        sent { visitors: Parts(VISITOR), type: Choice(&["preregister", "group"]) }
    },
    defaults: &[("type", "preregister")],
    first_id: 75_001,
    ..PLAIN
};

/// One visitor of a visit.
const VISITOR: &[Field] = fields! {
    own { id: Id }
    sent {
        name: Name, email: Email, from: Text, phone: Phone, mobile: Phone, title: Text, assistance: Bool, purpose: Text,
    }
};

/// Visitor groups (specification, Visitor group); their members are visitor events.
pub(in super::super) static VISITOR_GROUP: Resource = Resource {
    name: "visitor.group",
    fields: fields! {
        own { id: Id, created: Created, modified: Modified }
        sent { location_id: IdOf("location") }
        own { created_staff_id: Integer }
        sent { staff_id: IdOf("staff"), name: Text, description: Text }
        own { members: Following(Derived::Count("visitor.event", "visitor_group_id")) }
    },
    first_id: 78_001,
    ..PLAIN
};
