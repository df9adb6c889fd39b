//! Assets, their groups, and who has them.

use super::super::resource::{Field, Kind, PLAIN, Resource, Shown};

/// Assets (specification, Asset).
pub(in super::super) static ASSET: Resource = Resource {
    name: "asset",
    fields: &[
        Field::own("id", Kind::Id),
        sent!("type_id", Kind::Integer),
        sent!("name", Kind::Text),
        sent!("tag", Kind::Text),
        sent!("reference", Kind::Text),
        sent!("department_id", Kind::Integer),
        sent!("notes", Kind::Text),
        sent!("geo_lat", Kind::Loose),
        sent!("geo_lon", Kind::Loose),
        sent!("owner_type", Kind::Text),
        sent!("owner_staff_id", Kind::IdOf("staff")),
        sent!("owner_sp_id", Kind::Integer),
        sent!("location_id", Kind::IdOf("location")),
        Field::own("status", Kind::Text),
    ],
    defaults: &[("status", "in")],
    first_id: 4001,
    ..PLAIN
};

/// Assets that went out and came back (specification, Asset movement).
pub(in super::super) static ASSET_MOVEMENT: Resource = Resource {
    name: "asset.movement",
    fields: &[
        kept!("id", Kind::Id),
        Field::own("asset_id", Kind::IdOf("asset")),
        sent!("assigned_type", Kind::Choice(&["staff", "spm", "visitor"])),
        sent!("assigned_staff_id", Kind::IdOf("staff")),
        sent!("assigned_spm_id", Kind::IdOf("sp.member")),
        sent!("assigned_visitor_id", Kind::IdOf("visitor.event")),
        Field::own("signed_out", Kind::LocalTime),
        Field::own("signed_in", Kind::LocalTime),
        sent!("dueback", Kind::LocalTime),
        Field::own("notes", Kind::Text),
        Field::own("issued_out", Kind::Text),
        Field::own("issued_in", Kind::Text),
    ],
    required: &["assigned_type"],
    first_id: 4501,
    ..PLAIN
};

/// Asset groups (specification, Asset group).
pub(in super::super) static ASSET_GROUP: Resource = Resource {
    name: "assetgroup",
    fields: &[
        Field::own("id", Kind::Id),
        sent!("name", Kind::Text),
        sent!("class", Kind::Text),
        sent!("description", Kind::Text),
    ],
    first_id: 4901,
    ..PLAIN
};
