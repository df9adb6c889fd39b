//! Visitors: events, visits announced beforehand, and groups.

use super::super::resource::{Derived, Field, FieldKind, PLAIN, Resource, Sent, Visibility};

/// Visitors who sign in and out (specification, Visitor event).
pub(in super::super) static EVENT: Resource = Resource {
    name: "visitor.event",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        sent!("location_id", FieldKind::IdOf("location")),
        Field::own("created_staff_id", FieldKind::Integer),
        sent!("visiting_staff_id", FieldKind::IdOf("staff")),
        sent!("signed_in", FieldKind::Timestamp),
        sent!("signed_out", FieldKind::Timestamp),
        // The specification's own name for the input.
        Field::sent_as("mode_in", &["mode_id"], FieldKind::Text).sent_only(Sent::OnUpdate),
        sent!("mode_out", FieldKind::Text).sent_only(Sent::OnUpdate),
        sent!("signed_in_by", FieldKind::IdOf("staff")).sent_only(Sent::OnUpdate),
        sent!("signed_out_by", FieldKind::IdOf("staff")).sent_only(Sent::OnUpdate),
        sent!("name", FieldKind::Name),
        sent!("email", FieldKind::Email),
        sent!("from", FieldKind::Text),
        sent!("phone", FieldKind::Phone),
        sent!("mobile", FieldKind::Phone),
        sent!("title", FieldKind::Text),
        sent!("assistance", FieldKind::Bool),
        sent!("expected", FieldKind::Bool).sent_only(Sent::OnUpdate),
        Field::own("printed", FieldKind::Bool),
        sent!("pass", FieldKind::Bool).sent_only(Sent::OnUpdate),
        sent!("purpose", FieldKind::Text),
        sent!("carpark_question", FieldKind::Bool).sent_only(Sent::OnUpdate),
        sent!("carpark_registration", FieldKind::Text),
        sent!("carpark_number", FieldKind::Text),
        sent!("cardnumber", FieldKind::Text),
        Field::own("id_verification_checked", FieldKind::Bool),
        sent!("id_verification_type", FieldKind::Text),
        sent!("accessdenied", FieldKind::Bool).sent_only(Sent::OnUpdate),
        sent!("id_verification_reference", FieldKind::Loose),
        named("visiting_staff_name", &["visiting_staff_name"], &[("visiting_staff_id", "staff")]),
        named("location_name", &[], &[("location_id", "location")]),
        Field::own("lacp_in_name", FieldKind::Derived(Derived::AccessPointName("lacp_in_id"))),
        Field::own("lacp_out_name", FieldKind::Derived(Derived::AccessPointName("lacp_out_id"))),
        named("signed_in_by_name", &["signed_in_by_name"], &[("signed_in_by", "staff")]),
        named("signed_out_by_name", &["signed_out_by_name"], &[("signed_out_by", "staff")]),
        sent!("onsite", FieldKind::Derived(Derived::Duration)).sent_only(Sent::OnUpdate),
        sent!("type", FieldKind::Text),
        sent!("lacp_in_id", FieldKind::AccessPoint),
        sent!("lacp_out_id", FieldKind::AccessPoint),
        kept!("visitor_group_id", FieldKind::IdOf("visitor.group")),
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
    Field::sent_as(name, inputs, FieldKind::Derived(Derived::Of(from, "name"))).sent_only(Sent::OnUpdate)
}

/// Visits announced beforehand (specification, Pre-registered visit); those of a group have the type `group`.
pub(in super::super) static REGISTER: Resource = Resource {
    name: "visitor.register",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        sent!("location_id", FieldKind::IdOf("location")),
        Field::sent_as("created_staff_id", &["staff_id"], FieldKind::IdOf("staff")),
        sent!("visiting_staff_id", FieldKind::IdOf("staff")),
        sent!("event_start", FieldKind::Timestamp),
        sent!("event_end", FieldKind::Timestamp),
        sent!("name", FieldKind::Name),
        of!("visiting_staff_name", "visiting_staff_id", "staff", "name"),
        of!("location_name", "location_id", "location", "name"),
        sent!("visitors", FieldKind::Parts(VISITOR)),
        sent!("type", FieldKind::Choice(&["preregister", "group"])),
    ],
    defaults: &[("type", "preregister")],
    first_id: 75_001,
    ..PLAIN
};

/// One visitor of a visit.
const VISITOR: &[Field] = &[
    Field::own("id", FieldKind::Id),
    sent!("name", FieldKind::Name),
    sent!("email", FieldKind::Email),
    sent!("from", FieldKind::Text),
    sent!("phone", FieldKind::Phone),
    sent!("mobile", FieldKind::Phone),
    sent!("title", FieldKind::Text),
    sent!("assistance", FieldKind::Bool),
    sent!("purpose", FieldKind::Text),
];

/// Visitor groups (specification, Visitor group); their members are visitor events.
pub(in super::super) static VISITOR_GROUP: Resource = Resource {
    name: "visitor.group",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        sent!("location_id", FieldKind::IdOf("location")),
        Field::own("created_staff_id", FieldKind::Integer),
        sent!("staff_id", FieldKind::IdOf("staff")),
        sent!("name", FieldKind::Text),
        sent!("description", FieldKind::Text),
        Field::own("members", FieldKind::Derived(Derived::Count("visitor.event", "visitor_group_id"))),
    ],
    first_id: 78_001,
    ..PLAIN
};
