//! Assets, their groups, and who has them.

use super::super::resource::{Field, FieldKind, PLAIN, Resource, Visibility};

/// Assets (specification, Asset).
pub(in super::super) static ASSET: Resource = Resource {
    name: "asset",
    fields: &[
        Field::own("id", FieldKind::Id),
        sent!("type_id", FieldKind::Integer),
        sent!("name", FieldKind::Text),
        sent!("tag", FieldKind::Text),
        sent!("reference", FieldKind::Text),
        sent!("department_id", FieldKind::Integer),
        sent!("notes", FieldKind::Text),
        sent!("geo_lat", FieldKind::Loose),
        sent!("geo_lon", FieldKind::Loose),
        sent!("owner_type", FieldKind::Text),
        sent!("owner_staff_id", FieldKind::IdOf("staff")),
        sent!("owner_sp_id", FieldKind::Integer),
        sent!("location_id", FieldKind::IdOf("location")),
        Field::own("status", FieldKind::Text),
    ],
    defaults: &[("status", "in")],
    first_id: 4001,
    ..PLAIN
};

/// Assets that went out and came back (specification, Asset movement).
pub(in super::super) static ASSET_MOVEMENT: Resource = Resource {
    name: "asset.movement",
    fields: &[
        kept!("id", FieldKind::Id),
        Field::own("asset_id", FieldKind::IdOf("asset")),
        sent!("assigned_type", FieldKind::Choice(&["staff", "spm", "visitor"])),
        sent!("assigned_staff_id", FieldKind::IdOf("staff")),
        sent!("assigned_spm_id", FieldKind::IdOf("sp.member")),
        sent!("assigned_visitor_id", FieldKind::IdOf("visitor.event")),
        Field::own("signed_out", FieldKind::LocalTime),
        Field::own("signed_in", FieldKind::LocalTime),
        sent!("dueback", FieldKind::LocalTime),
        Field::own("notes", FieldKind::Text),
        Field::own("issued_out", FieldKind::Text),
        Field::own("issued_in", FieldKind::Text),
    ],
    required: &["assigned_type"],
    first_id: 4501,
    ..PLAIN
};

/// Asset groups (specification, Asset group).
pub(in super::super) static ASSET_GROUP: Resource = Resource {
    name: "assetgroup",
    fields: &[
        Field::own("id", FieldKind::Id),
        sent!("name", FieldKind::Text),
        sent!("class", FieldKind::Text),
        sent!("description", FieldKind::Text),
    ],
    first_id: 4901,
    ..PLAIN
};
