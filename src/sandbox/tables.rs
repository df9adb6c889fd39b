//! The resources, and which operation does what to which of them.

use super::resource::{Field, Kind, Resource};

/// What an operation does to its resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    List,
    Create,
    Get,
    Replace,
    Delete,
}

/// A field that is sent under the name that it has in answers.
macro_rules! sent {
    ($name:literal, $kind:expr) => {
        Field::sent_as($name, &[$name], $kind)
    };
}

/// Employees (specification, Employee).
pub(super) static STAFF: Resource = Resource {
    name: "staff",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        Field::own("account_status", Kind::Text),
        Field::own("last_login", Kind::Timestamp),
        sent!("onsite_status", Kind::Choice(&["onsite", "offsite"])),
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
        Field::sent_as("customfields", &["cf", "customfields"], Kind::Custom("customfield.element.staff")),
        sent!("globalroaming", Kind::Flag),
        sent!("globalroaming_locations", Kind::IdsOf("location")),
    ],
    unique: &["email", "employee_id"],
    required: &[],
    defaults: &[("account_status", "new"), ("onsite_status", "offsite"), ("setup_method", "api")],
    first_id: 1001,
};

/// Locations; the specification shows what is sent, not what comes back.
pub(super) static LOCATION: Resource = Resource {
    name: "location",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        sent!("name", Kind::Text),
        sent!("address", Kind::Text),
        sent!("phone", Kind::Text),
        Field::own("external_id", Kind::Text),
        sent!("postcode", Kind::Text),
        sent!("country", Kind::Text),
        sent!("timezone", Kind::Text),
        sent!("date_format", Kind::Text),
        Field::own("staff_count", Kind::CountOf("staff", "location")),
        Field::own("lacps", Kind::List),
    ],
    unique: &[],
    required: &["name"],
    defaults: &[],
    first_id: 11,
};

/// Custom-field elements of employees (specification, Custom field element).
pub(super) static STAFF_ELEMENT: Resource = Resource {
    name: "customfield.element.staff",
    fields: &[
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
    ],
    unique: &[],
    required: &[],
    defaults: &[],
    first_id: 3,
};

/// All resources.
pub(super) static RESOURCES: &[&Resource] = &[&STAFF, &LOCATION, &STAFF_ELEMENT];

/// Which operation does what; one that is not here is answered with 501.
static BINDINGS: &[(&str, Action, &Resource)] = &[
    ("staff.list", Action::List, &STAFF),
    ("staff.create", Action::Create, &STAFF),
    ("staff.get", Action::Get, &STAFF),
    ("staff.update", Action::Replace, &STAFF),
    ("staff.delete", Action::Delete, &STAFF),
    ("customfield.element.list-staff", Action::List, &STAFF_ELEMENT),
    ("location.list", Action::List, &LOCATION),
    ("location.create", Action::Create, &LOCATION),
];

/// Finds a resource by its name.
pub(super) fn resource(name: &str) -> Option<&'static Resource> {
    RESOURCES.iter().copied().find(|resource| resource.name == name)
}

/// What an operation does to which resource.
pub(super) fn binding(operation: &str) -> Option<(Action, &'static Resource)> {
    BINDINGS.iter().find(|(name, ..)| *name == operation).map(|&(_, action, resource)| (action, resource))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::operation::operations;
    use super::*;

    #[test]
    fn every_binding_is_an_operation_of_the_table() {
        for (name, ..) in BINDINGS {
            assert!(operations().iter().any(|operation| operation.name == *name), "{name}");
        }
    }

    #[test]
    fn a_resource_names_only_fields_and_resources_that_exist() {
        for own in RESOURCES {
            let names: BTreeSet<_> = own.fields.iter().map(|field| field.name).collect();
            assert_eq!(names.len(), own.fields.len(), "{}", own.name);
            for name in own.unique.iter().chain(own.required).chain(own.defaults.iter().map(|(name, _)| name)) {
                assert!(names.contains(name), "{}: {name}", own.name);
            }
            for field in own.fields {
                match field.kind {
                    Kind::NameOf(other) | Kind::IdsOf(other) | Kind::Custom(other) => {
                        assert!(resource(other).is_some(), "{other}");
                    }
                    Kind::CountOf(other, by) => assert!(resource(other).unwrap().position(by).is_some()),
                    _ => {}
                }
            }
        }
    }
}
