//! Employees, their photos, movements and custom-field elements.

use super::super::resource::{Derived, Field, FieldKind, PLAIN, Resource, Visibility};

/// The two states of anybody who comes and goes.
pub(super) const PRESENCE: FieldKind = FieldKind::Choice(&["onsite", "offsite"]);

/// Employees (specification, Employee).
pub(in super::super) static STAFF: Resource = Resource {
    name: "staff",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        Field::own("account_status", FieldKind::Text),
        Field::own("last_login", FieldKind::Timestamp),
        sent!("onsite_status", PRESENCE),
        sent!("name", FieldKind::Name),
        sent!("title", FieldKind::Text),
        sent!("altname", FieldKind::Name),
        sent!("email", FieldKind::Email),
        sent!("phone", FieldKind::Phone),
        sent!("mobile", FieldKind::Phone),
        sent!("ice", FieldKind::Phone),
        Field::own("setup_method", FieldKind::Text),
        sent!("employee_id", FieldKind::Number),
        sent!("location", FieldKind::NameOf("location")),
        Field::own("cur_location", FieldKind::Text),
        Field::own("department", FieldKind::Text),
        Field::own("roles", FieldKind::NestedNames),
        Field::sent_as("role_types", &["roletype"], FieldKind::NestedNames),
        Field::own("tokens", FieldKind::Tokens),
        Field::own("remote", FieldKind::Flag),
        Field::sent_as("customfields", &["cf", "customfields"], FieldKind::Custom(Some("customfield.element.staff"))),
        sent!("globalroaming", FieldKind::Flag),
        sent!("globalroaming_locations", FieldKind::IdsOf("location")).shown(Visibility::Roaming),
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
        Field::own("id", FieldKind::Id),
        Field::own("modified", FieldKind::Modified),
        Field::own("media_type", FieldKind::Text),
        Field::own("base64", FieldKind::Text),
    ],
    ..PLAIN
};

/// Movements of employees (specification, Employee movement); what is only taken is the input of the PUT.
pub(in super::super) static STAFF_MOVEMENT: Resource = Resource {
    name: "staff.movement",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        sent!("location_id", FieldKind::IdOf("location")),
        sent!("staff_id", FieldKind::IdOf("staff")),
        Field::own("signed_in", FieldKind::Timestamp),
        Field::own("signed_out", FieldKind::Timestamp),
        Field::own("mode_in", FieldKind::Text),
        Field::own("mode_out", FieldKind::Text),
        Field::own("signed_in_by", FieldKind::Integer),
        Field::own("signed_out_by", FieldKind::Integer),
        Field::own("scanned_in", FieldKind::Text),
        Field::own("scanned_out", FieldKind::Text),
        Field::own("expected", FieldKind::Bool),
        Field::own("assistance", FieldKind::Bool),
        Field::own("accessdenied", FieldKind::Bool),
        Field::own("loneworker", FieldKind::Bool),
        Field::own("so_staff_id", FieldKind::Integer),
        sent!("zone_id", FieldKind::IdOf("zone")),
        Field::own("interzone", FieldKind::Bool),
        sent!("remote", FieldKind::Bool),
        of!("name", "staff_id", "staff", "name"),
        of!("title", "staff_id", "staff", "title"),
        of!("email", "staff_id", "staff", "email"),
        of!("mobile", "staff_id", "staff", "mobile"),
        of!("phone", "staff_id", "staff", "phone"),
        Field::own("lacp_in_name", FieldKind::Derived(Derived::AccessPointName("lacp_in_id"))),
        Field::own("lacp_out_name", FieldKind::Derived(Derived::AccessPointName("lacp_out_id"))),
        Field::own("signed_in_lat", FieldKind::Decimal),
        Field::own("signed_in_lon", FieldKind::Decimal),
        Field::own("signed_in_accuracy", FieldKind::Decimal),
        Field::own("signed_out_lat", FieldKind::Decimal),
        Field::own("signed_out_lon", FieldKind::Decimal),
        Field::own("signed_out_accuracy", FieldKind::Decimal),
        kept!("lacp_in_id", FieldKind::AccessPoint),
        kept!("lacp_out_id", FieldKind::AccessPoint),
        taken!("onsite_status", PRESENCE),
        taken!("location", FieldKind::Text),
        taken!("lacp_id", FieldKind::AccessPoint),
        taken!("changed_at", FieldKind::Timestamp),
        taken!("print_kiosk_id", FieldKind::Integer),
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
    Field::own("id", FieldKind::Id),
    Field::own("created", FieldKind::Created),
    Field::own("modified", FieldKind::Modified),
    Field::own("cf_tab_id", FieldKind::Integer),
    Field::own("is_visible", FieldKind::Bool),
    Field::own("is_mandatory", FieldKind::Bool),
    Field::own("is_unique", FieldKind::Bool),
    Field::own("title", FieldKind::Text),
    Field::own("created_by", FieldKind::Integer),
    Field::own("modified_by", FieldKind::Integer),
    Field::own("element_type", FieldKind::Text),
];
