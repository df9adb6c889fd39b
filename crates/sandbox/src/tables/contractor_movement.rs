//! Movements of contractor members.

use super::super::resource::FieldKind::{
    AccessPoint, Bool, Created, Decimal, Derived as Following, Id, IdOf, Integer, Minutes, Modified, Text, Timestamp,
};
use super::super::resource::{Derived, PLAIN, Resource};
use super::employee::PRESENCE;

/// Movements of contractor members (specification, Contractor member movement); what is only taken is the input of the
/// PUT.
pub(in super::super) static MEMBER_MOVEMENT: Resource = Resource {
    name: "sp.member.movement",
    fields: fields! {
        own { id: Id, created: Created, modified: Modified }
        sent { location_id: IdOf("location"), sp_member_id: IdOf("sp.member"), sp_org_id: IdOf("sp.org") }
        own { signed_in: Timestamp, signed_out: Timestamp, mode_in: Text, mode_out: Text }
        sent { zone_id: IdOf("zone"), zone_other: Text }
        own { signed_in_by: Integer, signed_out_by: Integer }
        sent {
            scanned_in: Text, scanned_out: Text, visiting_staff_id: IdOf("staff"), cardnumber: Text,
            carpark_question: Bool, carpark_registration: Text, carpark_number: Text, pass: Integer, other_pass: Text,
            sp_purpose: Text, assistance: Bool, expected: Minutes,
        }
        own { accessdenied: Bool, accessdenied_reason: Text }
        sent { loneworker: Bool, so_staff_id: IdOf("staff"), so_spm_id: IdOf("sp.member") }
        own {
            interzone: Bool, breathtest: Bool, from_zone: Integer, selected_language: Text,
            lacp_in_name: Following(Derived::AccessPointName("lacp_in_id")),
            lacp_out_name: Following(Derived::AccessPointName("lacp_out_id")),
            zone_group_name: of!("zone_id", "zone", "zone_group_name"), signed_in_by_kiosk: Bool,
            signed_out_by_kiosk: Bool, photo_url: Text, signout_photo_url: Text, signed_in_lat: Decimal,
            signed_in_lon: Decimal, signed_in_accuracy: Decimal, signed_out_lat: Decimal, signed_out_lon: Decimal,
            signed_out_accuracy: Decimal,
        }
        kept { lacp_in_id: AccessPoint, lacp_out_id: AccessPoint }
        taken { onsite_status: PRESENCE, lacp_id: AccessPoint, print_kiosk_id: Integer }
    },
    required: &["onsite_status", "location_id", "sp_member_id", "sp_org_id"],
    list_max: Some(3000),
    first_id: 60_001,
    ..PLAIN
};
