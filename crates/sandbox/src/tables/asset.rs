//! Assets, their groups, and who has them.

use super::super::resource::FieldKind::{Choice, Id, IdOf, Integer, LocalTime, Loose, Text};
use super::super::resource::{PLAIN, Resource};

/// Assets (specification, Asset).
pub(in super::super) static ASSET: Resource = Resource {
    name: "asset",
    fields: fields! {
        own { id: Id }
        sent {
            type_id: Integer, name: Text, tag: Text, reference: Text, department_id: Integer, notes: Text,
            geo_lat: Loose, geo_lon: Loose, owner_type: Text, owner_staff_id: IdOf("staff"), owner_sp_id: Integer,
            location_id: IdOf("location"),
        }
        own { status: Text }
    },
    defaults: &[("status", "in")],
    first_id: 4001,
    ..PLAIN
};

/// Assets that went out and came back (specification, Asset movement).
pub(in super::super) static ASSET_MOVEMENT: Resource = Resource {
    name: "asset.movement",
    fields: fields! {
        kept { id: Id }
        own { asset_id: IdOf("asset") }
        sent {
            assigned_type: Choice(&["staff", "spm", "visitor"]), assigned_staff_id: IdOf("staff"),
            assigned_spm_id: IdOf("sp.member"), assigned_visitor_id: IdOf("visitor.event"),
        }
        own { signed_out: LocalTime, signed_in: LocalTime }
        sent { dueback: LocalTime }
        own { notes: Text, issued_out: Text, issued_in: Text }
    },
    required: &["assigned_type"],
    first_id: 4501,
    ..PLAIN
};

/// Asset groups (specification, Asset group).
pub(in super::super) static ASSET_GROUP: Resource = Resource {
    name: "assetgroup",
    fields: fields! {
        own { id: Id }
        sent { name: Text, class: Text, description: Text }
    },
    first_id: 4901,
    ..PLAIN
};
