//! Contractors: members, organizations, what joins the two, and insurance.

use super::super::resource::FieldKind::{
    Created, Custom, Date, Derived as Following, Email, Id, IdOf, IdsOf, Integer, List, LocalCreated, Loose, Modified,
    Name, Phone, Places, Text, Tokens,
};
use super::super::resource::{Derived, PLAIN, Resource, Rule};
use super::employee::{ELEMENT, PRESENCE};

/// Contractor members (specification, Contractor member).
pub(in super::super) static MEMBER: Resource = Resource {
    name: "sp.member",
    fields: fields! {
        own { id: Id, created: Created, modified: Modified }
        sent { name: Name }
        own { setup_by: Integer }
        sent { title: Text, service_provider_id: Text, email: Email, altemail: Email, phone: Phone, mobile: Phone }
        own { status: Text }
        sent {
            valid_from: Date, valid_to: Date, extension: Text, ice: Phone, onsite_status: PRESENCE,
            cur_location_id as "cur_location": IdOf("location"),
        }
        own {
            cur_sp_org_id: IdOf("sp.org"), cur_location: of!("cur_location_id", "location", "name"),
            sp_orgs: Following(Derived::Organizations),
        }
        whole { logs: List(&["created"]) }
        own { tokens: Tokens }
        sent { customfields as "cf" | "customfields": Custom(Some("customfield.element.sp-member")) }
    },
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
    fields: fields! {
        own { id: Id, created: Created, modified: Modified }
        sent { name: Text }
        own { setup_by: Integer }
        sent {
            type: Text, tradingas: Text, legalid: Text, legalid_type: Text, address: Text, country: Text, status: Text,
            email: Email, phone: Phone, locations: Places(None),
        }
        own { policies: Following(Derived::Count("sp.insurance", "org_id")), members: Following(Derived::Members) }
        sent { organization_owner: IdOf("staff") }
        whole { logs: List(&["created"]) }
        sent { customfields as "cf": Custom(None) }
        kept { groups: IdsOf("sp.org.group") }
    },
    defaults: &[("status", "active")],
    first_id: 401,
    ..PLAIN
};

/// Groups of organizations (specification, Contractor organization group).
pub(in super::super) static ORG_GROUP: Resource = Resource {
    name: "sp.org.group",
    fields: fields! {
        own { id: Id }
        sent { name: Text }
        created { category_id: Integer }
        own { created: LocalCreated }
    },
    rules: &[Rule::Unattached],
    first_id: 501,
    ..PLAIN
};

/// Roles of contractors in organizations.
pub(in super::super) static ROLE: Resource =
    Resource { name: "sp.role", fields: fields! { own { id: Id, name: Text } }, first_id: 61, ..PLAIN };

/// Memberships (specification, Contractor membership).
pub(in super::super) static MEMBERSHIP: Resource = Resource {
    name: "sp.membership",
    fields: fields! {
        own { id: Id, created: Created }
        sent { org_id: IdOf("sp.org") }
        own { org_name: of!("org_id", "sp.org", "name") }
        sent { member_id: IdOf("sp.member") }
        own { member_name: of!("member_id", "sp.member", "name") }
        sent { roles: IdsOf("sp.role"), locations: Places(Some("org_id")) }
        own { locations_same_as_org: Following(Derived::SameAsOrganization) }
    },
    unique: &[&["org_id", "member_id"]],
    required: &["org_id", "member_id"],
    first_id: 3001,
    ..PLAIN
};

/// Insurance policies (specification, Contractor insurance policy).
pub(in super::super) static INSURANCE: Resource = Resource {
    name: "sp.insurance",
    fields: fields! {
        own { id: Id, created: Created, modified: Modified }
        sent { org_id: IdOf("sp.org") }
        own { org_name: of!("org_id", "sp.org", "name") }
        sent { type: Text, name: Text, reference: Text, value: Loose, start: Date, expires: Date }
        own { status: Text, tags: List(&[]), documents: List(&["modified"]) }
    },
    defaults: &[("status", "active")],
    first_id: 701,
    ..PLAIN
};

/// Insurance types (specification, Contractor insurance type).
pub(in super::super) static INSURANCE_TYPE: Resource = Resource {
    name: "sp.insurance.type",
    fields: fields! {
        own { id: Id, name: Text, created: Created, modified: Modified }
    },
    first_id: 71,
    ..PLAIN
};
