//! Visitors: events, visits announced beforehand, and groups.

use super::super::resource::{Derived, Field, Kind, PLAIN, Resource, Sent, Shown};

/// Visitors who sign in and out (specification, Visitor event).
pub(in super::super) static EVENT: Resource = Resource {
    name: "visitor.event",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        sent!("location_id", Kind::IdOf("location")),
        Field::own("created_staff_id", Kind::Integer),
        sent!("visiting_staff_id", Kind::IdOf("staff")),
        sent!("signed_in", Kind::Timestamp),
        sent!("signed_out", Kind::Timestamp),
        // The specification's own name for the input.
        Field::sent_as("mode_in", &["mode_id"], Kind::Text).sent_only(Sent::OnUpdate),
        sent!("mode_out", Kind::Text).sent_only(Sent::OnUpdate),
        sent!("signed_in_by", Kind::IdOf("staff")).sent_only(Sent::OnUpdate),
        sent!("signed_out_by", Kind::IdOf("staff")).sent_only(Sent::OnUpdate),
        sent!("name", Kind::Name),
        sent!("email", Kind::Email),
        sent!("from", Kind::Text),
        sent!("phone", Kind::Phone),
        sent!("mobile", Kind::Phone),
        sent!("title", Kind::Text),
        sent!("assistance", Kind::Bool),
        sent!("expected", Kind::Bool).sent_only(Sent::OnUpdate),
        Field::own("printed", Kind::Bool),
        sent!("pass", Kind::Bool).sent_only(Sent::OnUpdate),
        sent!("purpose", Kind::Text),
        sent!("carpark_question", Kind::Bool).sent_only(Sent::OnUpdate),
        sent!("carpark_registration", Kind::Text),
        sent!("carpark_number", Kind::Text),
        sent!("cardnumber", Kind::Text),
        Field::own("id_verification_checked", Kind::Bool),
        sent!("id_verification_type", Kind::Text),
        sent!("accessdenied", Kind::Bool).sent_only(Sent::OnUpdate),
        sent!("id_verification_reference", Kind::Loose),
        named("visiting_staff_name", &["visiting_staff_name"], &[("visiting_staff_id", "staff")]),
        named("location_name", &[], &[("location_id", "location")]),
        Field::own("lacp_in_name", Kind::Derived(Derived::AccessPointName("lacp_in_id"))),
        Field::own("lacp_out_name", Kind::Derived(Derived::AccessPointName("lacp_out_id"))),
        named("signed_in_by_name", &["signed_in_by_name"], &[("signed_in_by", "staff")]),
        named("signed_out_by_name", &["signed_out_by_name"], &[("signed_out_by", "staff")]),
        sent!("onsite", Kind::Derived(Derived::Duration)).sent_only(Sent::OnUpdate),
        sent!("type", Kind::Text),
        sent!("lacp_in_id", Kind::AccessPoint),
        sent!("lacp_out_id", Kind::AccessPoint),
        kept!("visitor_group_id", Kind::IdOf("visitor.group")),
    ],
    defaults: &[("type", "visit")],
    list_max: Some(10_000),
    first_id: 70_001,
    ..PLAIN
};

/// The name of the entity in another field, which an update may also send.
const fn named(
    name: &'static str,
    inputs: &'static [&'static str],
    from: &'static [(&'static str, &'static str)],
) -> Field {
    Field::sent_as(name, inputs, Kind::Derived(Derived::Of(from, "name"))).sent_only(Sent::OnUpdate)
}

/// Visits announced beforehand (specification, Pre-registered visit); those of a group have the type `group`.
pub(in super::super) static REGISTER: Resource = Resource {
    name: "visitor.register",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        sent!("location_id", Kind::IdOf("location")),
        Field::sent_as("created_staff_id", &["staff_id"], Kind::IdOf("staff")),
        sent!("visiting_staff_id", Kind::IdOf("staff")),
        sent!("event_start", Kind::Timestamp),
        sent!("event_end", Kind::Timestamp),
        sent!("name", Kind::Name),
        of!("visiting_staff_name", "visiting_staff_id", "staff", "name"),
        of!("location_name", "location_id", "location", "name"),
        sent!("visitors", Kind::Parts(VISITOR)),
        sent!("type", Kind::Choice(&["preregister", "group"])),
    ],
    defaults: &[("type", "preregister")],
    first_id: 75_001,
    ..PLAIN
};

/// One visitor of a visit.
const VISITOR: &[Field] = &[
    Field::own("id", Kind::Id),
    sent!("name", Kind::Name),
    sent!("email", Kind::Email),
    sent!("from", Kind::Text),
    sent!("phone", Kind::Phone),
    sent!("mobile", Kind::Phone),
    sent!("title", Kind::Text),
    sent!("assistance", Kind::Bool),
    sent!("purpose", Kind::Text),
];

/// Visitor groups (specification, Visitor group); their members are visitor events.
pub(in super::super) static VISITOR_GROUP: Resource = Resource {
    name: "visitor.group",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        sent!("location_id", Kind::IdOf("location")),
        Field::own("created_staff_id", Kind::Integer),
        sent!("staff_id", Kind::IdOf("staff")),
        sent!("name", Kind::Text),
        sent!("description", Kind::Text),
        Field::own("members", Kind::Derived(Derived::Count("visitor.event", "visitor_group_id"))),
    ],
    first_id: 78_001,
    ..PLAIN
};
