//! Employees, their photos, movements and custom-field elements.

use super::super::resource::FieldKind::{
    AccessPoint, Bool, Created, Custom, Decimal, Derived as Following, Email, Flag, Id, IdOf, IdsOf, Integer, Modified,
    Name, NameOf, NestedNames, Number, Phone, Text, Timestamp, Tokens,
};
use super::super::resource::{Derived, Field, FieldKind, PLAIN, Resource};

/// The two states of anybody who comes and goes.
pub(super) const PRESENCE: FieldKind = FieldKind::Choice(&["onsite", "offsite"]);

/// Employees (specification, Employee).
pub(in super::super) static STAFF: Resource = Resource {
    name: "staff",
    fields: fields! {
        own { id: Id, created: Created, modified: Modified, account_status: Text, last_login: Timestamp }
        sent {
            onsite_status: PRESENCE, name: Name, title: Text, altname: Name, email: Email, phone: Phone, mobile: Phone,
            ice: Phone,
        }
        own { setup_method: Text }
        sent { employee_id: Number, location: NameOf("location") }
        own { cur_location: Text, department: Text, roles: NestedNames }
        sent { role_types as "roletype": NestedNames }
        own { tokens: Tokens, remote: Flag }
        sent { customfields as "cf" | "customfields": Custom(Some("customfield.element.staff")), globalroaming: Flag }
        roaming { globalroaming_locations: IdsOf("location") }
    },
    unique: &[&["email"], &["employee_id"]],
    defaults: &[("account_status", "new"), ("onsite_status", "offsite"), ("setup_method", "api")],
    is_partial_by_custom: true,
    first_id: 1001,
    ..PLAIN
};

/// Photos of employees; each has its employee's id.
pub(in super::super) static PHOTO: Resource = Resource {
    name: "staff.photo",
    fields: fields! {
        own { id: Id, modified: Modified, media_type: Text, base64: Text }
    },
    ..PLAIN
};

/// Movements of employees (specification, Employee movement); what is only taken is the input of the PUT.
pub(in super::super) static STAFF_MOVEMENT: Resource = Resource {
    name: "staff.movement",
    fields: fields! {
        own { id: Id, created: Created, modified: Modified }
        sent { location_id: IdOf("location"), staff_id: IdOf("staff") }
        own {
            signed_in: Timestamp, signed_out: Timestamp, mode_in: Text, mode_out: Text, signed_in_by: Integer,
            signed_out_by: Integer, scanned_in: Text, scanned_out: Text, expected: Bool, assistance: Bool,
            accessdenied: Bool, loneworker: Bool, so_staff_id: Integer,
        }
        sent { zone_id: IdOf("zone") }
        own { interzone: Bool }
        sent { remote: Bool }
        own {
            name: of!("staff_id", "staff", "name"), title: of!("staff_id", "staff", "title"),
            email: of!("staff_id", "staff", "email"), mobile: of!("staff_id", "staff", "mobile"),
            phone: of!("staff_id", "staff", "phone"), lacp_in_name: Following(Derived::AccessPointName("lacp_in_id")),
            lacp_out_name: Following(Derived::AccessPointName("lacp_out_id")), signed_in_lat: Decimal,
            signed_in_lon: Decimal, signed_in_accuracy: Decimal, signed_out_lat: Decimal, signed_out_lon: Decimal,
            signed_out_accuracy: Decimal,
        }
        kept { lacp_in_id: AccessPoint, lacp_out_id: AccessPoint }
        taken {
            onsite_status: PRESENCE, location: Text, lacp_id: AccessPoint, changed_at: Timestamp,
            print_kiosk_id: Integer,
        }
    },
    required: &["onsite_status", "location_id", "staff_id"],
    list_max: Some(5000),
    first_id: 50_001,
    ..PLAIN
};

/// Custom-field elements of employees.
pub(in super::super) static STAFF_ELEMENT: Resource =
    Resource { name: "customfield.element.staff", fields: ELEMENT, first_id: 3, ..PLAIN };

/// What every custom-field element has (specification, Custom field element).
pub(super) const ELEMENT: &[Field] = fields! {
    own {
        id: Id, created: Created, modified: Modified, cf_tab_id: Integer, is_visible: Bool, is_mandatory: Bool,
        is_unique: Bool, title: Text, created_by: Integer, modified_by: Integer, element_type: Text,
    }
};
