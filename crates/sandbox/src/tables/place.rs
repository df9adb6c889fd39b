//! Locations and their zones.

use super::super::resource::{Derived, Field, FieldKind, PLAIN, Resource, Visibility};

/// Locations; the specification shows what is sent, not what comes back.
pub(in super::super) static LOCATION: Resource = Resource {
    name: "location",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        sent!("name", FieldKind::Text),
        sent!("address", FieldKind::Text),
        sent!("phone", FieldKind::Text),
        Field::own("external_id", FieldKind::Text),
        sent!("postcode", FieldKind::Text),
        sent!("country", FieldKind::Text),
        sent!("timezone", FieldKind::Text),
        sent!("date_format", FieldKind::Text),
        Field::own("staff_count", FieldKind::Derived(Derived::Count("staff", "location"))),
        Field::own("lacps", FieldKind::List(&[])),
    ],
    required: &["name"],
    first_id: 11,
    ..PLAIN
};

/// Zones (specification, Zone), with the access points that they are linked to.
pub(in super::super) static ZONE: Resource = Resource {
    name: "zone",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        sent!("location_id", FieldKind::IdOf("location")),
        Field::own("zone_group_id", FieldKind::Integer),
        sent!("name", FieldKind::Text),
        sent!("reference", FieldKind::Text),
        Field::own("status", FieldKind::Text),
        sent!("maximum_occupancy", FieldKind::Integer),
        sent!("spaces_enabled", FieldKind::Bool),
        sent!("spaces", FieldKind::Integer),
        sent!("spaces_title", FieldKind::Text),
        Field::own("zone_group_name", FieldKind::Text),
        Field::own("zone_fullname", FieldKind::Derived(Derived::Joined(&["zone_group_name", "name"]))),
        kept!("lacps", FieldKind::List(&[])),
    ],
    defaults: &[("status", "active")],
    first_id: 301,
    ..PLAIN
};
