//! Inductions and communities, and who belongs to them.

use super::super::resource::FieldKind::{
    Any, Created, Date, Derived as Following, Email, Id, IdOf, Integer, List, Modified, Name, Number, Phone, Text,
    Timestamp,
};
use super::super::resource::{Derived, PLAIN, Resource, Rule};

/// Inductions. An audience is a list of ids; without one everybody belongs to it.
pub(in super::super) static INDUCTION: Resource = Resource {
    name: "induction",
    fields: fields! {
        own { id: Id, name: Text, staff_audience: Any, contractor_audience: Any, attempts_max: Integer }
    },
    first_id: 901,
    ..PLAIN
};

/// The employee or contractor member who takes an induction.
const LEARNER: &[(&str, &str)] = &[("staff_id", "staff"), ("sp_member_id", "sp.member")];

/// Holders of inductions (specification, Induction holder).
pub(in super::super) static INDUCTION_HOLDER: Resource = Resource {
    name: "induction.holder",
    fields: fields! {
        own { id: Id }
        sent { completed: Timestamp, staff_id: IdOf("staff"), sp_member_id: IdOf("sp.member") }
        own {
            learner_name: Following(Derived::Of(LEARNER, "name")),
            learner_email: Following(Derived::Of(LEARNER, "email")),
            learner_title: Following(Derived::Of(LEARNER, "title")), learner_from: Following(Derived::LearnerFrom),
            status: Text, attempts: Integer, attempts_left: Integer, renew: Date,
        }
        kept { induction_id: IdOf("induction") }
    },
    parent: Some(("induction_id", "induction")),
    rules: &[Rule::Learner],
    list_max: Some(1000),
    first_id: 9001,
    ..PLAIN
};

/// Communities.
pub(in super::super) static COMMUNITY: Resource =
    Resource { name: "community", fields: fields! { own { id: Id, name: Text } }, first_id: 951, ..PLAIN };

/// Members of communities (specification, Community member).
pub(in super::super) static COMMUNITY_MEMBER: Resource = Resource {
    name: "community.member",
    fields: fields! {
        own { id: Id, created: Created, modified: Modified }
        sent { external_id: Number }
        created { location_id: IdOf("location"), community_id: IdOf("community") }
        sent { name: Name, title: Text, email: Email, mobile: Phone }
        own { customfields: List(&[]) }
        taken_updated { year: Integer }
    },
    parent: Some(("community_id", "community")),
    first_id: 9501,
    ..PLAIN
};
