//! Inductions and communities, and who belongs to them.

use super::super::resource::{Derived, Field, Kind, PLAIN, Resource, Rule, Sent, Shown};

/// Inductions. An audience is a list of ids; without one everybody belongs to it.
pub(in super::super) static INDUCTION: Resource = Resource {
    name: "induction",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("name", Kind::Text),
        Field::own("staff_audience", Kind::Any),
        Field::own("contractor_audience", Kind::Any),
        Field::own("attempts_max", Kind::Integer),
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
        Field::own("id", Kind::Id),
        sent!("completed", Kind::Timestamp),
        sent!("staff_id", Kind::IdOf("staff")),
        sent!("sp_member_id", Kind::IdOf("sp.member")),
        Field::own("learner_name", Kind::Derived(Derived::Of(LEARNER, "name"))),
        Field::own("learner_email", Kind::Derived(Derived::Of(LEARNER, "email"))),
        Field::own("learner_title", Kind::Derived(Derived::Of(LEARNER, "title"))),
        Field::own("learner_from", Kind::Derived(Derived::LearnerFrom)),
        Field::own("status", Kind::Text),
        Field::own("attempts", Kind::Integer),
        Field::own("attempts_left", Kind::Integer),
        Field::own("renew", Kind::Date),
        kept!("induction_id", Kind::IdOf("induction")),
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
    fields: &[Field::own("id", Kind::Id), Field::own("name", Kind::Text)],
    first_id: 951,
    ..PLAIN
};

/// Members of communities (specification, Community member).
pub(in super::super) static COMMUNITY_MEMBER: Resource = Resource {
    name: "community.member",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        sent!("external_id", Kind::Number),
        sent!("location_id", Kind::IdOf("location")).sent_only(Sent::OnCreate),
        sent!("community_id", Kind::IdOf("community")).sent_only(Sent::OnCreate),
        sent!("name", Kind::Name),
        sent!("title", Kind::Text),
        sent!("email", Kind::Email),
        sent!("mobile", Kind::Phone),
        Field::own("customfields", Kind::List(&[])),
        taken!("year", Kind::Integer).sent_only(Sent::OnUpdate),
    ],
    parent: Some(("community_id", "community")),
    first_id: 9501,
    ..PLAIN
};
