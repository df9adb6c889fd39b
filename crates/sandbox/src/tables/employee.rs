//! Employees, their photos, movements and custom-field elements.

use super::super::resource::{Derived, Field, Kind, PLAIN, Resource, Shown};

/// The two states of anybody who comes and goes.
pub(super) const PRESENCE: Kind = Kind::Choice(&["onsite", "offsite"]);

/// Employees (specification, Employee).
pub(in super::super) static STAFF: Resource = Resource {
    name: "staff",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        Field::own("account_status", Kind::Text),
        Field::own("last_login", Kind::Timestamp),
        sent!("onsite_status", PRESENCE),
        sent!("name", Kind::Name),
        sent!("title", Kind::Text),
        sent!("altname", Kind::Name),
        sent!("email", Kind::Email),
        sent!("phone", Kind::Phone),
        sent!("mobile", Kind::Phone),
        sent!("ice", Kind::Phone),
        Field::own("setup_method", Kind::Text),
        sent!("employee_id", Kind::Number),
        sent!("location", Kind::NameOf("location")),
        Field::own("cur_location", Kind::Text),
        Field::own("department", Kind::Text),
        Field::own("roles", Kind::NestedNames),
        Field::sent_as("role_types", &["roletype"], Kind::NestedNames),
        Field::own("tokens", Kind::Tokens),
        Field::own("remote", Kind::Flag),
        Field::sent_as("customfields", &["cf", "customfields"], Kind::Custom(Some("customfield.element.staff"))),
        sent!("globalroaming", Kind::Flag),
        sent!("globalroaming_locations", Kind::IdsOf("location")).shown(Shown::Roaming),
    ],
    unique: &[&["email"], &["employee_id"]],
    defaults: &[("account_status", "new"), ("onsite_status", "offsite"), ("setup_method", "api")],
    is_partial_by_custom: true,
    first_id: 1001,
    ..PLAIN
};

/// Photos of employees; each has its employee's id.
pub(in super::super) static PHOTO: Resource = Resource {
    name: "staff.photo",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("modified", Kind::Modified),
        Field::own("media_type", Kind::Text),
        Field::own("base64", Kind::Text),
    ],
    ..PLAIN
};

/// Movements of employees (specification, Employee movement); what is only taken is the input of the PUT.
pub(in super::super) static STAFF_MOVEMENT: Resource = Resource {
    name: "staff.movement",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        sent!("location_id", Kind::IdOf("location")),
        sent!("staff_id", Kind::IdOf("staff")),
        Field::own("signed_in", Kind::Timestamp),
        Field::own("signed_out", Kind::Timestamp),
        Field::own("mode_in", Kind::Text),
        Field::own("mode_out", Kind::Text),
        Field::own("signed_in_by", Kind::Integer),
        Field::own("signed_out_by", Kind::Integer),
        Field::own("scanned_in", Kind::Text),
        Field::own("scanned_out", Kind::Text),
        Field::own("expected", Kind::Bool),
        Field::own("assistance", Kind::Bool),
        Field::own("accessdenied", Kind::Bool),
        Field::own("loneworker", Kind::Bool),
        Field::own("so_staff_id", Kind::Integer),
        sent!("zone_id", Kind::IdOf("zone")),
        Field::own("interzone", Kind::Bool),
        sent!("remote", Kind::Bool),
        of!("name", "staff_id", "staff", "name"),
        of!("title", "staff_id", "staff", "title"),
        of!("email", "staff_id", "staff", "email"),
        of!("mobile", "staff_id", "staff", "mobile"),
        of!("phone", "staff_id", "staff", "phone"),
        Field::own("lacp_in_name", Kind::Derived(Derived::AccessPointName("lacp_in_id"))),
        Field::own("lacp_out_name", Kind::Derived(Derived::AccessPointName("lacp_out_id"))),
        Field::own("signed_in_lat", Kind::Decimal),
        Field::own("signed_in_lon", Kind::Decimal),
        Field::own("signed_in_accuracy", Kind::Decimal),
        Field::own("signed_out_lat", Kind::Decimal),
        Field::own("signed_out_lon", Kind::Decimal),
        Field::own("signed_out_accuracy", Kind::Decimal),
        kept!("lacp_in_id", Kind::AccessPoint),
        kept!("lacp_out_id", Kind::AccessPoint),
        taken!("onsite_status", PRESENCE),
        taken!("location", Kind::Text),
        taken!("lacp_id", Kind::AccessPoint),
        taken!("changed_at", Kind::Timestamp),
        taken!("print_kiosk_id", Kind::Integer),
    ],
    required: &["onsite_status", "location_id", "staff_id"],
    list_max: Some(5000),
    first_id: 50_001,
    ..PLAIN
};

/// Custom-field elements of employees.
pub(in super::super) static STAFF_ELEMENT: Resource =
    Resource { name: "customfield.element.staff", fields: ELEMENT, first_id: 3, ..PLAIN };

/// What every custom-field element has (specification, Custom field element).
pub(super) const ELEMENT: &[Field] = &[
    Field::own("id", Kind::Id),
    Field::own("created", Kind::Created),
    Field::own("modified", Kind::Modified),
    Field::own("cf_tab_id", Kind::Integer),
    Field::own("is_visible", Kind::Bool),
    Field::own("is_mandatory", Kind::Bool),
    Field::own("is_unique", Kind::Bool),
    Field::own("title", Kind::Text),
    Field::own("created_by", Kind::Integer),
    Field::own("modified_by", Kind::Integer),
    Field::own("element_type", Kind::Text),
];
