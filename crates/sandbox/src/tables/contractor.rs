//! Contractors: members, organizations, what joins the two, and insurance.

use super::super::resource::{Derived, Field, FieldKind, PLAIN, Resource, Rule, Sent, Visibility};
use super::employee::{ELEMENT, PRESENCE};

/// Contractor members (specification, Contractor member).
pub(in super::super) static MEMBER: Resource = Resource {
    name: "sp.member",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        sent!("name", FieldKind::Name),
        Field::own("setup_by", FieldKind::Integer),
        sent!("title", FieldKind::Text),
        sent!("service_provider_id", FieldKind::Text),
        sent!("email", FieldKind::Email),
        sent!("altemail", FieldKind::Email),
        sent!("phone", FieldKind::Phone),
        sent!("mobile", FieldKind::Phone),
        Field::own("status", FieldKind::Text),
        sent!("valid_from", FieldKind::Date),
        sent!("valid_to", FieldKind::Date),
        sent!("extension", FieldKind::Text),
        sent!("ice", FieldKind::Phone),
        sent!("onsite_status", PRESENCE),
        Field::sent_as("cur_location_id", &["cur_location"], FieldKind::IdOf("location")),
        Field::own("cur_sp_org_id", FieldKind::IdOf("sp.org")),
        of!("cur_location", "cur_location_id", "location", "name"),
        Field::own("sp_orgs", FieldKind::Derived(Derived::Organizations)),
        Field::own("logs", FieldKind::List(&["created"])).shown(Visibility::Whole),
        Field::own("tokens", FieldKind::Tokens),
        Field::sent_as(
            "customfields",
            &["cf", "customfields"],
            FieldKind::Custom(Some("customfield.element.sp-member")),
        ),
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
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        sent!("name", FieldKind::Text),
        Field::own("setup_by", FieldKind::Integer),
        sent!("type", FieldKind::Text),
        sent!("tradingas", FieldKind::Text),
        sent!("legalid", FieldKind::Text),
        sent!("legalid_type", FieldKind::Text),
        sent!("address", FieldKind::Text),
        sent!("country", FieldKind::Text),
        sent!("status", FieldKind::Text),
        sent!("email", FieldKind::Email),
        sent!("phone", FieldKind::Phone),
        sent!("locations", FieldKind::Places(None)),
        Field::own("policies", FieldKind::Derived(Derived::Count("sp.insurance", "org_id"))),
        Field::own("members", FieldKind::Derived(Derived::Members)),
        sent!("organization_owner", FieldKind::IdOf("staff")),
        Field::own("logs", FieldKind::List(&["created"])).shown(Visibility::Whole),
        Field::sent_as("customfields", &["cf"], FieldKind::Custom(None)),
        kept!("groups", FieldKind::IdsOf("sp.org.group")),
    ],
    defaults: &[("status", "active")],
    first_id: 401,
    ..PLAIN
};

/// Groups of organizations (specification, Contractor organization group).
pub(in super::super) static ORG_GROUP: Resource = Resource {
    name: "sp.org.group",
    fields: &[
        Field::own("id", FieldKind::Id),
        sent!("name", FieldKind::Text),
        sent!("category_id", FieldKind::Integer).sent_only(Sent::OnCreate),
        Field::own("created", FieldKind::LocalCreated),
    ],
    rules: &[Rule::Unattached],
    first_id: 501,
    ..PLAIN
};

/// Roles of contractors in organizations.
pub(in super::super) static ROLE: Resource = Resource {
    name: "sp.role",
    fields: &[Field::own("id", FieldKind::Id), Field::own("name", FieldKind::Text)],
    first_id: 61,
    ..PLAIN
};

/// Memberships (specification, Contractor membership).
pub(in super::super) static MEMBERSHIP: Resource = Resource {
    name: "sp.membership",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        sent!("org_id", FieldKind::IdOf("sp.org")),
        of!("org_name", "org_id", "sp.org", "name"),
        sent!("member_id", FieldKind::IdOf("sp.member")),
        of!("member_name", "member_id", "sp.member", "name"),
        sent!("roles", FieldKind::IdsOf("sp.role")),
        sent!("locations", FieldKind::Places(Some("org_id"))),
        Field::own("locations_same_as_org", FieldKind::Derived(Derived::SameAsOrganization)),
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
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        sent!("org_id", FieldKind::IdOf("sp.org")),
        of!("org_name", "org_id", "sp.org", "name"),
        sent!("type", FieldKind::Text),
        sent!("name", FieldKind::Text),
        sent!("reference", FieldKind::Text),
        sent!("value", FieldKind::Loose),
        sent!("start", FieldKind::Date),
        sent!("expires", FieldKind::Date),
        Field::own("status", FieldKind::Text),
        Field::own("tags", FieldKind::List(&[])),
        Field::own("documents", FieldKind::List(&["modified"])),
    ],
    defaults: &[("status", "active")],
    first_id: 701,
    ..PLAIN
};

/// Insurance types (specification, Contractor insurance type).
pub(in super::super) static INSURANCE_TYPE: Resource = Resource {
    name: "sp.insurance.type",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("name", FieldKind::Text),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
    ],
    first_id: 71,
    ..PLAIN
};
