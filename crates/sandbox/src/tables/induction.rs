//! Inductions and communities, and who belongs to them.

use super::super::resource::{Derived, Field, FieldKind, PLAIN, Resource, Rule, Sent, Visibility};

/// Inductions. An audience is a list of ids; without one everybody belongs to it.
pub(in super::super) static INDUCTION: Resource = Resource {
    name: "induction",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("name", FieldKind::Text),
        Field::own("staff_audience", FieldKind::Any),
        Field::own("contractor_audience", FieldKind::Any),
        Field::own("attempts_max", FieldKind::Integer),
    ],
    first_id: 901,
    ..PLAIN
};

/// The employee or contractor member who takes an induction.
const LEARNER: &[(&str, &str)] = &[("staff_id", "staff"), ("sp_member_id", "sp.member")];

/// Holders of inductions (specification, Induction holder).
pub(in super::super) static INDUCTION_HOLDER: Resource = Resource {
    name: "induction.holder",
    fields: &[
        Field::own("id", FieldKind::Id),
        sent!("completed", FieldKind::Timestamp),
        sent!("staff_id", FieldKind::IdOf("staff")),
        sent!("sp_member_id", FieldKind::IdOf("sp.member")),
        Field::own("learner_name", FieldKind::Derived(Derived::Of(LEARNER, "name"))),
        Field::own("learner_email", FieldKind::Derived(Derived::Of(LEARNER, "email"))),
        Field::own("learner_title", FieldKind::Derived(Derived::Of(LEARNER, "title"))),
        Field::own("learner_from", FieldKind::Derived(Derived::LearnerFrom)),
        Field::own("status", FieldKind::Text),
        Field::own("attempts", FieldKind::Integer),
        Field::own("attempts_left", FieldKind::Integer),
        Field::own("renew", FieldKind::Date),
        kept!("induction_id", FieldKind::IdOf("induction")),
    ],
    parent: Some(("induction_id", "induction")),
    rules: &[Rule::Learner],
    list_max: Some(1000),
    first_id: 9001,
    ..PLAIN
};

/// Communities.
pub(in super::super) static COMMUNITY: Resource = Resource {
    name: "community",
    fields: &[Field::own("id", FieldKind::Id), Field::own("name", FieldKind::Text)],
    first_id: 951,
    ..PLAIN
};

/// Members of communities (specification, Community member).
pub(in super::super) static COMMUNITY_MEMBER: Resource = Resource {
    name: "community.member",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        sent!("external_id", FieldKind::Number),
        sent!("location_id", FieldKind::IdOf("location")).sent_only(Sent::OnCreate),
        sent!("community_id", FieldKind::IdOf("community")).sent_only(Sent::OnCreate),
        sent!("name", FieldKind::Name),
        sent!("title", FieldKind::Text),
        sent!("email", FieldKind::Email),
        sent!("mobile", FieldKind::Phone),
        Field::own("customfields", FieldKind::List(&[])),
        taken!("year", FieldKind::Integer).sent_only(Sent::OnUpdate),
    ],
    parent: Some(("community_id", "community")),
    first_id: 9501,
    ..PLAIN
};
