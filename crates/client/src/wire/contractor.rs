//! Contractors: members, their organizations, what links them, and insurance.

use super::part::{Named, Place};
use super::sent::{ids, periods, plain};
use super::value::{Any, Fields, Flag, Int, Items, Names, Text};

entity! {
    /// A contractor member as read (specification, Contractor member).
    Member
    shown {
        created: Text, modified: Text, setup_by: Int, status: Text, cur_sp_org_id: Int, cur_location: Text,
        sp_orgs: Items, logs: Items, tokens: Any,
    }
    =>
    /// A contractor member as created or replaced; `name` is required.
    MemberInput
    both {
        name: Text, title: Text, service_provider_id: Text, email: Text, altemail: Text, phone: Text, mobile: Text,
        valid_from: Text, valid_to: Text, extension: Text, ice: Text, onsite_status: Text,
    }
    renamed { cur_location_id: Int => cur_location as plain, customfields: Fields => cf as plain }
}

entity! {
    /// A contractor organization as read (specification, Contractor organization).
    Organization
    shown { created: Text, modified: Text, setup_by: Int, policies: Int, members: Vec<Named>, logs: Items }
    =>
    /// A contractor organization as created or replaced.
    OrganizationInput
    both {
        name: Text, r#type: Text, tradingas: Text, legalid: Text, legalid_type: Text, address: Text, country: Text,
        status: Text, email: Text, phone: Text, locations: Vec<Place>, organization_owner: Int,
    }
    renamed { customfields: Fields => cf as plain }
}

entity! {
    /// A group of organizations (specification, Contractor organization group); `created` has no offset.
    OrganizationGroup
    shown { created: Text, category_id: Int }
    =>
    /// A group of organizations as replaced.
    OrganizationGroupInput
    both { name: Text }
}

input! {
    /// A group of organizations as created.
    OrganizationGroupCreate { name: Text as plain, category_id: Int as plain }
}

entity! {
    /// A member's membership in an organization (specification, Contractor membership). `locations_same_as_org` is no
    /// input: a PUT may end the inheritance.
    Membership
    shown { created: Text, org_name: Text, member_name: Text, locations_same_as_org: Flag }
    =>
    /// A membership as created or replaced; roles are sent as their ids, locations without their names.
    MembershipInput
    both { org_id: Int, member_id: Int }
    renamed { roles: Vec<Named> => roles as ids, locations: Vec<Place> => locations as periods }
}

entity! {
    /// An insurance policy as read (specification, Contractor insurance policy).
    Insurance
    shown { created: Text, modified: Text, org_name: Text, status: Text, tags: Names, documents: Items }
    =>
    /// An insurance policy as created or replaced; `start` and `expires` are dates.
    InsuranceInput
    both { org_id: Int, r#type: Text, name: Text, reference: Text, value: Text, start: Text, expires: Text }
}

entity! {
    /// An insurance type (specification, Contractor insurance type).
    InsuranceType
    shown { name: Text, created: Text, modified: Text }
}
