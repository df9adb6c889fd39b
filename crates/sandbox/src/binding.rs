//! Binds each operation to a resource and an action.

use crate::resource::Resource;
use crate::tables::{
    ASSET, ASSET_GROUP, ASSET_MOVEMENT, CERTIFICATION, COMMUNITY_MEMBER, DOCUMENT, EVENT, HOLDER, INDUCTION_HOLDER,
    INSURANCE, INSURANCE_TYPE, LOCATION, MEMBER, MEMBER_ELEMENT, MEMBER_MOVEMENT, MEMBERSHIP, NOTIFICATION, ORG,
    ORG_GROUP, PHOTO, QUALIFICATION, QUESTION, REGISTER, STAFF, STAFF_ELEMENT, STAFF_MOVEMENT, VISITOR_GROUP, ZONE,
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
    operation: &'static str,
    pub(crate) action: Action,
    pub(crate) resource: &'static Resource,
    /// The fields in answers, where they are not all.
    pub(crate) only: Option<&'static [&'static str]>,
}

const fn row(operation: &'static str, action: Action, resource: &'static Resource) -> Binding {
    Binding { operation, action, resource, only: None }
}

const fn qualification(operation: &'static str, action: Action) -> Binding {
    Binding { operation, action, resource: &CERTIFICATION, only: Some(QUALIFICATION) }
}

static BINDINGS: &[Binding] = &[
    row("staff.list", Action::List, &STAFF),
    row("staff.create", Action::Create, &STAFF),
    row("staff.get", Action::Get, &STAFF),
    row("staff.update", Action::Replace, &STAFF),
    row("staff.delete", Action::Delete, &STAFF),
    row("staff.bulk", Action::Upload, &STAFF),
    row("staff.photo.get", Action::ShowPhoto, &PHOTO),
    row("staff.photo.put", Action::PutPhoto, &PHOTO),
    row("staff.photo.head", Action::ShowPhoto, &PHOTO),
    row("staff.movement.list", Action::List, &STAFF_MOVEMENT),
    row("staff.movement.put", Action::Move, &STAFF_MOVEMENT),
    row("staff.movement.get", Action::Get, &STAFF_MOVEMENT),
    row("customfield.element.list-staff", Action::List, &STAFF_ELEMENT),
    row("customfield.element.list-sp-member", Action::List, &MEMBER_ELEMENT),
    row("location.list", Action::List, &LOCATION),
    row("location.create", Action::Create, &LOCATION),
    row("sp.member.list", Action::List, &MEMBER),
    row("sp.member.create", Action::Create, &MEMBER),
    row("sp.member.get", Action::Get, &MEMBER),
    row("sp.member.update", Action::Replace, &MEMBER),
    row("sp.member.delete", Action::Delete, &MEMBER),
    row("sp.member.movement.list", Action::List, &MEMBER_MOVEMENT),
    row("sp.member.movement.put", Action::Move, &MEMBER_MOVEMENT),
    row("sp.org.list", Action::List, &ORG),
    row("sp.org.create", Action::Create, &ORG),
    row("sp.org.get", Action::Get, &ORG),
    row("sp.org.update", Action::Replace, &ORG),
    row("sp.org.groups.get", Action::ListGroups, &ORG),
    row("sp.org.groups.update", Action::AddGroups, &ORG),
    row("sp.org.group.list", Action::List, &ORG_GROUP),
    row("sp.org.group.create", Action::Create, &ORG_GROUP),
    row("sp.org.group.get", Action::Get, &ORG_GROUP),
    row("sp.org.group.update", Action::Replace, &ORG_GROUP),
    row("sp.org.group.delete", Action::Delete, &ORG_GROUP),
    row("sp.membership.list", Action::List, &MEMBERSHIP),
    row("sp.membership.create", Action::Create, &MEMBERSHIP),
    row("sp.membership.get", Action::Get, &MEMBERSHIP),
    row("sp.membership.update", Action::Replace, &MEMBERSHIP),
    row("sp.membership.delete", Action::Delete, &MEMBERSHIP),
    row("sp.insurance.list", Action::List, &INSURANCE),
    row("sp.insurance.create", Action::Create, &INSURANCE),
    row("sp.insurance.get", Action::Get, &INSURANCE),
    row("sp.insurance.update", Action::Replace, &INSURANCE),
    row("sp.insurance.delete", Action::Delete, &INSURANCE),
    row("sp.insurance.type.list", Action::List, &INSURANCE_TYPE),
    row("certification.list", Action::List, &CERTIFICATION),
    row("certification.create", Action::Create, &CERTIFICATION),
    row("certification.get", Action::Get, &CERTIFICATION),
    row("certification.update", Action::Replace, &CERTIFICATION),
    row("certification.delete", Action::Delete, &CERTIFICATION),
    row("certification.holder.list", Action::List, &HOLDER),
    row("certification.holder.create", Action::Create, &HOLDER),
    row("certification.holder.get", Action::Get, &HOLDER),
    row("certification.holder.update", Action::Replace, &HOLDER),
    row("certification.holder.delete", Action::Delete, &HOLDER),
    qualification("qualification.list", Action::List),
    qualification("qualification.create", Action::Create),
    qualification("qualification.get", Action::Get),
    // Its answer has the shape of a certification (specification, Certification).
    row("qualification.update", Action::Replace, &CERTIFICATION),
    row("qualification.delete", Action::Delete, &CERTIFICATION),
    row("qualification.holder.list", Action::List, &HOLDER),
    row("qualification.holder.create", Action::Create, &HOLDER),
    row("qualification.holder.get", Action::Get, &HOLDER),
    row("qualification.holder.update", Action::Replace, &HOLDER),
    row("qualification.holder.delete", Action::Delete, &HOLDER),
    row("qualification.holder.document.list", Action::List, &DOCUMENT),
    row("induction.holder.list", Action::List, &INDUCTION_HOLDER),
    row("induction.holder.create", Action::Associate, &INDUCTION_HOLDER),
    row("induction.holder.get", Action::Get, &INDUCTION_HOLDER),
    row("induction.holder.update", Action::Replace, &INDUCTION_HOLDER),
    row("induction.holder.delete", Action::Delete, &INDUCTION_HOLDER),
    row("community.member.list", Action::List, &COMMUNITY_MEMBER),
    row("community.member.create", Action::Create, &COMMUNITY_MEMBER),
    row("community.member.get", Action::Get, &COMMUNITY_MEMBER),
    row("community.member.update", Action::Replace, &COMMUNITY_MEMBER),
    row("community.member.delete", Action::Delete, &COMMUNITY_MEMBER),
    row("visitor.event.list", Action::List, &EVENT),
    row("visitor.event.create", Action::Create, &EVENT),
    row("visitor.event.get", Action::Get, &EVENT),
    row("visitor.event.update", Action::Replace, &EVENT),
    row("visitor.event.delete", Action::Delete, &EVENT),
    row("visitor.register.list", Action::List, &REGISTER),
    row("visitor.register.create", Action::Create, &REGISTER),
    row("visitor.register.get", Action::Get, &REGISTER),
    row("visitor.register.update", Action::Replace, &REGISTER),
    row("visitor.register.delete", Action::Delete, &REGISTER),
    row("visitor.group.list", Action::List, &VISITOR_GROUP),
    row("visitor.group.create", Action::Create, &VISITOR_GROUP),
    row("visitor.group.get", Action::Get, &VISITOR_GROUP),
    row("visitor.group.update", Action::Replace, &VISITOR_GROUP),
    row("visitor.group.delete", Action::Delete, &VISITOR_GROUP),
    row("zone.list", Action::List, &ZONE),
    row("zone.create", Action::Create, &ZONE),
    row("zone.get", Action::Get, &ZONE),
    row("zone.update", Action::Replace, &ZONE),
    row("zone.link", Action::Link, &ZONE),
    row("zone.unlink", Action::Unlink, &ZONE),
    row("asset.list", Action::List, &ASSET),
    row("asset.create", Action::Create, &ASSET),
    row("asset.get", Action::Get, &ASSET),
    row("asset.update", Action::Replace, &ASSET),
    row("asset.issue", Action::Issue, &ASSET_MOVEMENT),
    row("asset.return", Action::Return, &ASSET_MOVEMENT),
    row("assetgroup.list", Action::List, &ASSET_GROUP),
    row("assetgroup.create", Action::Create, &ASSET_GROUP),
    row("assetgroup.get", Action::Get, &ASSET_GROUP),
    row("assetgroup.update", Action::Replace, &ASSET_GROUP),
    row("assetgroup.delete", Action::Delete, &ASSET_GROUP),
    row("custom-questionnaire.question.list", Action::List, &QUESTION),
    row("custom-questionnaire.question.get", Action::Get, &QUESTION),
    row("notification.list", Action::List, &NOTIFICATION),
    row("notification.get", Action::Get, &NOTIFICATION),
];

/// What an operation does. Token requests are no concern of it.
pub(crate) fn binding(operation: &str) -> Binding {
    let found = BINDINGS.iter().find(|binding| binding.operation == operation);
    *found.expect("a test checks that every operation but those for tokens is bound")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::operations;

    #[test]
    fn every_operation_is_bound_once() {
        let mut bound: Vec<&str> = BINDINGS.iter().map(|binding| binding.operation).collect();
        let requests = operations().iter().filter(|operation| !operation.is_token_request());
        let mut expected: Vec<&str> = requests.map(|operation| operation.name).collect();
        bound.sort_unstable();
        expected.sort_unstable();
        assert_eq!(bound, expected);
    }

    #[test]
    fn what_is_created_replaced_or_removed_is_what_the_name_says() {
        for binding in BINDINGS {
            let verb = binding.operation.rsplit('.').next().unwrap();
            let expected = match verb {
                "create" if binding.operation != "induction.holder.create" => Action::Create,
                "update" if binding.operation != "sp.org.groups.update" => Action::Replace,
                "delete" => Action::Delete,
                "list" | "list-staff" | "list-sp-member" => Action::List,
                _ => continue,
            };
            assert_eq!(binding.action, expected, "{}", binding.operation);
        }
    }
}
