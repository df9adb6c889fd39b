//! Locations and their zones.

use super::super::resource::{Derived, Field, Kind, PLAIN, Resource, Shown};

/// Locations; the specification shows what is sent, not what comes back.
pub(in super::super) static LOCATION: Resource = Resource {
    name: "location",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        sent!("name", Kind::Text),
        sent!("address", Kind::Text),
        sent!("phone", Kind::Text),
        Field::own("external_id", Kind::Text),
        sent!("postcode", Kind::Text),
        sent!("country", Kind::Text),
        sent!("timezone", Kind::Text),
        sent!("date_format", Kind::Text),
        Field::own("staff_count", Kind::Derived(Derived::Count("staff", "location"))),
        Field::own("lacps", Kind::List(&[])),
    ],
    required: &["name"],
    first_id: 11,
    ..PLAIN
};

/// Zones (specification, Zone), with the access points that they are linked to.
pub(in super::super) static ZONE: Resource = Resource {
    name: "zone",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        sent!("location_id", Kind::IdOf("location")),
        Field::own("zone_group_id", Kind::Integer),
        sent!("name", Kind::Text),
        sent!("reference", Kind::Text),
        Field::own("status", Kind::Text),
        sent!("maximum_occupancy", Kind::Integer),
        sent!("spaces_enabled", Kind::Bool),
        sent!("spaces", Kind::Integer),
        sent!("spaces_title", Kind::Text),
        Field::own("zone_group_name", Kind::Text),
        Field::own("zone_fullname", Kind::Derived(Derived::Joined(&["zone_group_name", "name"]))),
        kept!("lacps", Kind::List(&[])),
    ],
    defaults: &[("status", "active")],
    first_id: 301,
    ..PLAIN
};
