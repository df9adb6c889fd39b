//! Contractors: members, organizations, what joins the two, and insurance.

use super::super::resource::{Derived, Field, Kind, PLAIN, Resource, Rule, Sent, Shown};
use super::employee::{ELEMENT, PRESENCE};

/// Contractor members (specification, Contractor member).
pub(in super::super) static MEMBER: Resource = Resource {
    name: "sp.member",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        sent!("name", Kind::Name),
        Field::own("setup_by", Kind::Integer),
        sent!("title", Kind::Text),
        sent!("service_provider_id", Kind::Text),
        sent!("email", Kind::Email),
        sent!("altemail", Kind::Email),
        sent!("phone", Kind::Phone),
        sent!("mobile", Kind::Phone),
        Field::own("status", Kind::Text),
        sent!("valid_from", Kind::Date),
        sent!("valid_to", Kind::Date),
        sent!("extension", Kind::Text),
        sent!("ice", Kind::Phone),
        sent!("onsite_status", PRESENCE),
        Field::sent_as("cur_location_id", &["cur_location"], Kind::IdOf("location")),
        Field::own("cur_sp_org_id", Kind::IdOf("sp.org")),
        of!("cur_location", "cur_location_id", "location", "name"),
        Field::own("sp_orgs", Kind::Derived(Derived::Organizations)),
        Field::own("logs", Kind::List(&["created"])).shown(Shown::Whole),
        Field::own("tokens", Kind::Tokens),
        Field::sent_as("customfields", &["cf", "customfields"], Kind::Custom(Some("customfield.element.sp-member"))),
    ],
    required: &["name"],
    defaults: &[("status", "active"), ("onsite_status", "offsite")],
    first_id: 2001,
    ..PLAIN
};

/// Custom-field elements of contractor members.
pub(in super::super) static MEMBER_ELEMENT: Resource =
    Resource { name: "customfield.element.sp-member", fields: ELEMENT, first_id: 31, ..PLAIN };

/// Contractor organizations (specification, Contractor organization), with the groups that they are in.
pub(in super::super) static ORG: Resource = Resource {
    name: "sp.org",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        sent!("name", Kind::Text),
        Field::own("setup_by", Kind::Integer),
        sent!("type", Kind::Text),
        sent!("tradingas", Kind::Text),
        sent!("legalid", Kind::Text),
        sent!("legalid_type", Kind::Text),
        sent!("address", Kind::Text),
        sent!("country", Kind::Text),
        sent!("status", Kind::Text),
        sent!("email", Kind::Email),
        sent!("phone", Kind::Phone),
        sent!("locations", Kind::Places(None)),
        Field::own("policies", Kind::Derived(Derived::Count("sp.insurance", "org_id"))),
        Field::own("members", Kind::Derived(Derived::Members)),
        sent!("organization_owner", Kind::IdOf("staff")),
        Field::own("logs", Kind::List(&["created"])).shown(Shown::Whole),
        Field::sent_as("customfields", &["cf"], Kind::Custom(None)),
        kept!("groups", Kind::IdsOf("sp.org.group")),
    ],
    defaults: &[("status", "active")],
    first_id: 401,
    ..PLAIN
};

/// Groups of organizations (specification, Contractor organization group).
pub(in super::super) static ORG_GROUP: Resource = Resource {
    name: "sp.org.group",
    fields: &[
        Field::own("id", Kind::Id),
        sent!("name", Kind::Text),
        sent!("category_id", Kind::Integer).sent_only(Sent::OnCreate),
        Field::own("created", Kind::LocalCreated),
    ],
    rules: &[Rule::Unattached],
    first_id: 501,
    ..PLAIN
};

/// Roles of contractors in organizations.
pub(in super::super) static ROLE: Resource = Resource {
    name: "sp.role",
    fields: &[Field::own("id", Kind::Id), Field::own("name", Kind::Text)],
    first_id: 61,
    ..PLAIN
};

/// Memberships (specification, Contractor membership).
pub(in super::super) static MEMBERSHIP: Resource = Resource {
    name: "sp.membership",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        sent!("org_id", Kind::IdOf("sp.org")),
        of!("org_name", "org_id", "sp.org", "name"),
        sent!("member_id", Kind::IdOf("sp.member")),
        of!("member_name", "member_id", "sp.member", "name"),
        sent!("roles", Kind::IdsOf("sp.role")),
        sent!("locations", Kind::Places(Some("org_id"))),
        Field::own("locations_same_as_org", Kind::Derived(Derived::SameAsOrganization)),
    ],
    unique: &[&["org_id", "member_id"]],
    required: &["org_id", "member_id"],
    first_id: 3001,
    ..PLAIN
};

/// Insurance policies (specification, Contractor insurance policy).
pub(in super::super) static INSURANCE: Resource = Resource {
    name: "sp.insurance",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        sent!("org_id", Kind::IdOf("sp.org")),
        of!("org_name", "org_id", "sp.org", "name"),
        sent!("type", Kind::Text),
        sent!("name", Kind::Text),
        sent!("reference", Kind::Text),
        sent!("value", Kind::Loose),
        sent!("start", Kind::Date),
        sent!("expires", Kind::Date),
        Field::own("status", Kind::Text),
        Field::own("tags", Kind::List(&[])),
        Field::own("documents", Kind::List(&["modified"])),
    ],
    defaults: &[("status", "active")],
    first_id: 701,
    ..PLAIN
};

/// Insurance types (specification, Contractor insurance type).
pub(in super::super) static INSURANCE_TYPE: Resource = Resource {
    name: "sp.insurance.type",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("name", Kind::Text),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
    ],
    first_id: 71,
    ..PLAIN
};
