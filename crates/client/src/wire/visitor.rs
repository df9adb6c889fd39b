//! Visitors: sign-ins, pre-registered visits, groups.

use super::part::Guest;
use super::sent::{guests, plain};
use super::value::{Flag, Int, Text};

entity! {
    /// A visitor's sign-in and sign-out as read (specification, Visitor event). `onsite` is a duration in words.
    VisitorEvent
    shown {
        created: Text, modified: Text, created_staff_id: Int, printed: Flag, id_verification_checked: Flag,
        location_name: Text, lacp_in_name: Text, lacp_out_name: Text,
    }
    =>
    /// A visitor's sign-in and sign-out as replaced. `mode_id` is the specification's name for what answers call
    /// `mode_in`.
    VisitorEventInput
    both {
        location_id: Int, visiting_staff_id: Int, signed_in: Text, signed_out: Text, mode_out: Text, signed_in_by: Int,
        signed_out_by: Int, name: Text, email: Text, from: Text, phone: Text, mobile: Text, title: Text,
        assistance: Flag, expected: Flag, pass: Flag, purpose: Text, carpark_question: Flag,
        carpark_registration: Text, carpark_number: Text, cardnumber: Text, id_verification_type: Text,
        accessdenied: Flag, id_verification_reference: Text, visiting_staff_name: Text, signed_in_by_name: Text,
        signed_out_by_name: Text, onsite: Text, r#type: Text, lacp_in_id: Int, lacp_out_id: Int,
    }
    renamed { mode_in: Text => mode_id as plain }
}

input! {
    /// A visitor's sign-in as created.
    VisitorEventCreate {
        name: Text as plain, r#type: Text as plain, location_id: Int as plain, visiting_staff_id: Int as plain,
        signed_in: Text as plain, signed_out: Text as plain, email: Text as plain, from: Text as plain,
        phone: Text as plain, mobile: Text as plain, title: Text as plain, assistance: Flag as plain,
        purpose: Text as plain, carpark_registration: Text as plain, carpark_number: Text as plain,
        cardnumber: Text as plain, id_verification_reference: Text as plain, id_verification_type: Text as plain,
        lacp_in_id: Int as plain, lacp_out_id: Int as plain,
    }
}

entity! {
    /// A pre-registered visit as read (specification, Pre-registered visit); the list mixes visits and groups, and
    /// `type` says which is which.
    Visit
    shown { created: Text, modified: Text, created_staff_id: Int, visiting_staff_name: Text, location_name: Text }
    =>
    /// A pre-registered visit as created or replaced. No answer shows `staff_id`, and visitors are sent without their
    /// ids: a PUT may create new ones.
    VisitInput
    both {
        name: Text, r#type: Text, location_id: Int, visiting_staff_id: Int, event_start: Text, event_end: Text,
    }
    renamed { visitors: Vec<Guest> => visitors as guests }
    hidden { staff_id: Int }
}

entity! {
    /// A group of visitors as read (specification, Visitor group).
    VisitorGroup
    shown { created: Text, modified: Text, created_staff_id: Int, members: Int }
    =>
    /// A group of visitors as created or replaced.
    VisitorGroupInput
    both { location_id: Int, staff_id: Int, name: Text, description: Text }
}
