//! Locations and their zones.

use super::super::resource::FieldKind::{Bool, Created, Derived as Following, Id, IdOf, Integer, List, Modified, Text};
use super::super::resource::{Derived, PLAIN, Resource};

/// Locations; the specification shows what is sent, not what comes back.
pub(in super::super) static LOCATION: Resource = Resource {
    name: "location",
    fields: fields! {
        own { id: Id, created: Created, modified: Modified }
        sent { name: Text, address: Text, phone: Text }
        own { external_id: Text }
        sent { postcode: Text, country: Text, timezone: Text, date_format: Text }
        own { staff_count: Following(Derived::Count("staff", "location")), lacps: List(&[]) }
    },
    required: &["name"],
    first_id: 11,
    ..PLAIN
};

/// Zones (specification, Zone), with the access points that they are linked to.
pub(in super::super) static ZONE: Resource = Resource {
    name: "zone",
    fields: fields! {
        own { id: Id, created: Created, modified: Modified }
        sent { location_id: IdOf("location") }
        own { zone_group_id: Integer }
        sent { name: Text, reference: Text }
        own { status: Text }
        sent { maximum_occupancy: Integer, spaces_enabled: Bool, spaces: Integer, spaces_title: Text }
        own { zone_group_name: Text, zone_fullname: Following(Derived::Joined(&["zone_group_name", "name"])) }
        kept { lacps: List(&[]) }
    },
    defaults: &[("status", "active")],
    first_id: 301,
    ..PLAIN
};
