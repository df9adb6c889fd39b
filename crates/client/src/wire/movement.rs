//! Movements: sign-ins and sign-outs.

use super::sent::plain;
use super::value::{Decimal, Flag, Int, Text};

entity! {
    /// A movement of an employee (specification, Employee movement). An open one has no `signed_out`; it is completed
    /// later under the same id.
    StaffMovement
    shown {
        created: Text, modified: Text, location_id: Int, staff_id: Int, signed_in: Text, signed_out: Text, mode_in: Text,
        mode_out: Text, signed_in_by: Int, signed_out_by: Int, scanned_in: Text, scanned_out: Text, expected: Flag,
        assistance: Flag, accessdenied: Flag, loneworker: Flag, so_staff_id: Int, zone_id: Int, interzone: Flag,
        remote: Flag, name: Text, title: Text, email: Text, mobile: Text, phone: Text, lacp_in_name: Text,
        lacp_out_name: Text, signed_in_lat: Decimal, signed_in_lon: Decimal, signed_in_accuracy: Decimal,
        signed_out_lat: Decimal, signed_out_lon: Decimal, signed_out_accuracy: Decimal,
    }
}

input! {
    /// An employee signs in or out: `onsite_status` (`onsite` or `offsite`), `location_id` and `staff_id` are required;
    /// `changed_at` is an ISO 8601 time.
    StaffMovementInput {
        onsite_status: Text as plain, location_id: Int as plain, location: Text as plain, staff_id: Int as plain,
        lacp_id: Int as plain, zone_id: Int as plain, remote: Flag as plain, changed_at: Text as plain,
        print_kiosk_id: Int as plain,
    }
}

entity! {
    /// A movement of a contractor member (specification, Contractor member movement).
    MemberMovement
    shown {
        created: Text, modified: Text, location_id: Int, sp_member_id: Int, sp_org_id: Int, signed_in: Text,
        signed_out: Text, mode_in: Text, mode_out: Text, zone_id: Int, zone_other: Text, signed_in_by: Int,
        signed_out_by: Int, scanned_in: Text, scanned_out: Text, visiting_staff_id: Int, cardnumber: Text,
        carpark_question: Flag, carpark_registration: Text, carpark_number: Text, pass: Int, other_pass: Text,
        sp_purpose: Text, assistance: Flag, expected: Flag, accessdenied: Flag, accessdenied_reason: Text,
        loneworker: Flag, so_staff_id: Int, so_spm_id: Int, interzone: Flag, breathtest: Flag, from_zone: Int,
        selected_language: Text, lacp_in_name: Text, lacp_out_name: Text, zone_group_name: Text,
        signed_in_by_kiosk: Flag, signed_out_by_kiosk: Flag, photo_url: Text, signout_photo_url: Text,
        signed_in_lat: Decimal, signed_in_lon: Decimal, signed_in_accuracy: Decimal, signed_out_lat: Decimal,
        signed_out_lon: Decimal, signed_out_accuracy: Decimal,
    }
}

input! {
    /// A contractor member signs in or out: `onsite_status`, `location_id`, `sp_member_id` and `sp_org_id` are required;
    /// `scanned_in` goes with `onsite` only, `scanned_out` with `offsite` only; `expected` is in minutes.
    MemberMovementInput {
        onsite_status: Text as plain, location_id: Int as plain, sp_member_id: Int as plain, sp_org_id: Int as plain,
        print_kiosk_id: Int as plain, lacp_id: Int as plain, zone_id: Int as plain, zone_other: Text as plain,
        scanned_in: Text as plain, scanned_out: Text as plain, visiting_staff_id: Int as plain,
        cardnumber: Text as plain, carpark_question: Flag as plain, carpark_registration: Text as plain,
        carpark_number: Text as plain, pass: Int as plain, other_pass: Text as plain, sp_purpose: Text as plain,
        assistance: Flag as plain, expected: Int as plain, loneworker: Flag as plain, so_staff_id: Int as plain,
        so_spm_id: Int as plain,
    }
}
