//! Binds each operation to a resource and an action.
//!
//! Most are named after both: `staff.create` makes an entity of `staff`. The table has the others.

use crate::resource::Resource;
use crate::tables::{
    self, ASSET_MOVEMENT, INDUCTION_HOLDER, MEMBER_ELEMENT, MEMBER_MOVEMENT, ORG, PHOTO, QUALIFICATION, STAFF,
    STAFF_ELEMENT, STAFF_MOVEMENT, ZONE,
};

/// What an operation does to its resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    List,
    Create,
    Get,
    Replace,
    Delete,
    /// Takes a whole roster: adds, updates and removes.
    Upload,
    ShowPhoto,
    PutPhoto,
    /// Signs a person in or out.
    Move,
    /// Makes an association, or renews the one that there is.
    Associate,
    ListGroups,
    AddGroups,
    Link,
    Unlink,
    Issue,
    Return,
}

/// What one operation does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    pub(crate) action: Action,
    pub(crate) resource: &'static Resource,
    /// The fields in answers, where they are not all.
    pub(crate) only: Option<&'static [&'static str]>,
}

/// What the last word of a name means.
const VERBS: &[(&str, Action)] = &[
    ("list", Action::List),
    ("create", Action::Create),
    ("get", Action::Get),
    ("update", Action::Replace),
    ("delete", Action::Delete),
];

/// The operations that do something else to an entity, or are named otherwise.
static OTHERS: &[(&str, Action, &Resource)] = &[
    ("staff.bulk", Action::Upload, &STAFF),
    ("staff.photo.get", Action::ShowPhoto, &PHOTO),
    ("staff.photo.put", Action::PutPhoto, &PHOTO),
    ("staff.photo.head", Action::ShowPhoto, &PHOTO),
    ("staff.movement.put", Action::Move, &STAFF_MOVEMENT),
    ("customfield.element.list-staff", Action::List, &STAFF_ELEMENT),
    ("customfield.element.list-sp-member", Action::List, &MEMBER_ELEMENT),
    ("sp.member.movement.put", Action::Move, &MEMBER_MOVEMENT),
    ("sp.org.groups.get", Action::ListGroups, &ORG),
    ("sp.org.groups.update", Action::AddGroups, &ORG),
    ("induction.holder.create", Action::Associate, &INDUCTION_HOLDER),
    ("zone.link", Action::Link, &ZONE),
    ("zone.unlink", Action::Unlink, &ZONE),
    ("asset.issue", Action::Issue, &ASSET_MOVEMENT),
    ("asset.return", Action::Return, &ASSET_MOVEMENT),
];

/// What an operation does. Token requests are no concern of it.
pub(crate) fn binding(operation: &str) -> Binding {
    found(operation).expect("a test checks that every operation but those for tokens is bound")
}

fn found(operation: &str) -> Option<Binding> {
    if let Some((_, action, resource)) = OTHERS.iter().find(|(name, ..)| *name == operation) {
        return Some(Binding { action: *action, resource, only: None });
    }
    let (stem, verb) = operation.rsplit_once('.')?;
    let action = VERBS.iter().find(|(own, _)| *own == verb)?.1;
    // Qualifications are another view of certifications; a replaced one is answered as a certification (specification,
    // Certification).
    let only = (stem == "qualification" && action != Action::Replace).then_some(QUALIFICATION);
    let resource = tables::resource(&stem.replacen("qualification", "certification", 1))?;
    Some(Binding { action, resource, only })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::operations;

    #[test]
    fn every_operation_is_bound_and_no_row_is_of_none() {
        for operation in operations().iter().filter(|operation| !operation.is_token_request()) {
            assert!(found(operation.name).is_some(), "{}", operation.name);
        }
        for (name, ..) in OTHERS {
            assert!(operations().iter().any(|operation| operation.name == *name), "{name}");
        }
    }

    #[test]
    fn what_is_created_replaced_or_removed_is_what_the_name_says() {
        for operation in operations() {
            let verb = operation.name.rsplit('.').next().unwrap();
            let expected = match verb {
                "create" if operation.name != "induction.holder.create" => Action::Create,
                "update" if operation.name != "sp.org.groups.update" => Action::Replace,
                "delete" => Action::Delete,
                "list" | "list-staff" | "list-sp-member" => Action::List,
                _ => continue,
            };
            assert_eq!(binding(operation.name).action, expected, "{}", operation.name);
        }
    }

    #[test]
    fn an_operation_is_about_the_resource_that_its_name_begins_with() {
        for (name, resource) in [
            ("sp.org.group.update", "sp.org.group"),
            ("qualification.holder.document.list", "certification.holder.document"),
            ("qualification.update", "certification"),
            ("asset.issue", "asset.movement"),
        ] {
            assert_eq!(binding(name).resource.name, resource, "{name}");
        }
        assert!(binding("qualification.get").only.is_some() && binding("qualification.update").only.is_none());
    }
}
