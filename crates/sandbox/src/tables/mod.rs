//! The resources as the specification describes them; the tables of a file belong together.
//!
//! An entity that has no operations of its own (an induction, a community, a role of contractors) is here too: others
//! refer to it, and tests and seeds lay it down.

use super::resource::Resource;

/// The fields of a resource in the order of answers, in runs of which each says who decides on them: the service on its
/// `own`; callers on those that are `sent`, or sent at that time only (`created`, `updated`), or sent and never answered
/// (`taken`); `kept` are those that only the service itself sees. A field that is sent under other names has them behind
/// its own.
macro_rules! fields {
    (@inputs $name:ident) => { &[stringify!($name)] };
    (@inputs $name:ident $($input:literal)+) => { &[$($input),+] };
    (@own $name:ident $inputs:expr, $kind:expr) => { $crate::resource::Field::own(stringify!($name), $kind) };
    (@whole $($field:tt)+) => { fields!(@own $($field)+).shown($crate::resource::Visibility::Whole) };
    (@kept $($field:tt)+) => { fields!(@own $($field)+).shown($crate::resource::Visibility::Never) };
    (@sent $name:ident $inputs:expr, $kind:expr) => {
        $crate::resource::Field::sent_as(stringify!($name), $inputs, $kind)
    };
    (@roaming $($field:tt)+) => { fields!(@sent $($field)+).shown($crate::resource::Visibility::Roaming) };
    (@taken $($field:tt)+) => { fields!(@sent $($field)+).shown($crate::resource::Visibility::Never) };
    (@created $($field:tt)+) => { fields!(@sent $($field)+).sent_only($crate::resource::Sent::OnCreate) };
    (@updated $($field:tt)+) => { fields!(@sent $($field)+).sent_only($crate::resource::Sent::OnUpdate) };
    (@taken_updated $($field:tt)+) => { fields!(@taken $($field)+).sent_only($crate::resource::Sent::OnUpdate) };
    ($($run:ident { $($name:ident $(as $($input:literal)|+)? : $kind:expr),+ $(,)? })+) => {
        &[$($(fields!(@$run $name fields!(@inputs $name $($($input)+)?), $kind)),+),+]
    };
}

/// What a field holds that is one of the entity to which another field refers.
macro_rules! of {
    ($from:literal, $resource:literal, $field:literal) => {
        $crate::resource::FieldKind::Derived($crate::resource::Derived::Of(&[($from, $resource)], $field))
    };
}

mod asset;
mod certification;
mod contractor;
mod contractor_movement;
mod employee;
mod induction;
mod place;
mod questionnaire;
mod visitor;

/// Gives the tables of each file their names here, and lists them.
macro_rules! tables {
    ($($file:ident { $($resource:ident),+ $(,)? })+) => {
        $(pub(super) use $file::{$($resource),+};)+

        /// All resources.
        pub(super) static RESOURCES: &[&Resource] = &[$($(&$resource),+),+];
    };
}

tables! {
    employee { STAFF, PHOTO, STAFF_MOVEMENT, STAFF_ELEMENT }
    place { LOCATION, ZONE }
    contractor { MEMBER, MEMBER_ELEMENT, ORG, ORG_GROUP, ROLE, MEMBERSHIP, INSURANCE, INSURANCE_TYPE }
    contractor_movement { MEMBER_MOVEMENT }
    certification { CERTIFICATION, HOLDER, DOCUMENT }
    induction { INDUCTION, INDUCTION_HOLDER, COMMUNITY, COMMUNITY_MEMBER }
    visitor { EVENT, REGISTER, VISITOR_GROUP }
    asset { ASSET, ASSET_MOVEMENT, ASSET_GROUP }
    questionnaire { QUESTION, NOTIFICATION }
}

pub(super) use certification::QUALIFICATION;

/// Which entities go when the one that a field of theirs refers to goes: (the one, theirs, the field).
pub(super) static DEPENDENTS: &[(&Resource, &Resource, &str)] = &[
    (&STAFF, &PHOTO, "id"),
    (&MEMBER, &MEMBERSHIP, "member_id"),
    (&CERTIFICATION, &HOLDER, "certification_id"),
    (&HOLDER, &DOCUMENT, "holder_id"),
];

/// Finds a resource by its name.
pub(super) fn resource(name: &str) -> Option<&'static Resource> {
    RESOURCES.iter().copied().find(|resource| resource.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::resource::{Derived, FieldKind};
    use super::*;

    /// The resource and field names that a field's kind mentions.
    fn mentioned(own: &Resource, kind: FieldKind) -> Vec<(&'static str, &'static str)> {
        let here = |name: &&'static str| (resource(own.name).unwrap().name, *name);
        match kind {
            FieldKind::NameOf(other)
            | FieldKind::IdOf(other)
            | FieldKind::IdsOf(other)
            | FieldKind::Custom(Some(other)) => {
                vec![(other, "id")]
            }
            FieldKind::Places(Some(from)) | FieldKind::Derived(Derived::AccessPointName(from)) => vec![here(&from)],
            FieldKind::Derived(Derived::Of(references, field)) => {
                references.iter().flat_map(|(from, other)| [here(from), (*other, field)]).collect()
            }
            FieldKind::Derived(Derived::OfRecord(field)) => vec![("staff", field), ("sp.member", field)],
            FieldKind::Derived(Derived::Count(other, by)) => vec![(other, by)],
            FieldKind::Derived(Derived::Joined(fields)) => fields.iter().map(here).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn a_resource_names_only_fields_and_resources_that_exist() {
        for own in RESOURCES {
            let names: BTreeSet<_> = own.fields.iter().map(|field| field.name).collect();
            assert_eq!(names.len(), own.fields.len(), "{}", own.name);
            let named = own.unique.iter().copied().flatten().chain(own.required);
            for name in
                named.chain(own.defaults.iter().map(|(name, _)| name)).chain(own.parent.iter().map(|(by, _)| by))
            {
                assert!(names.contains(name), "{}: {name}", own.name);
            }
            for (other, field) in own.fields.iter().flat_map(|field| mentioned(own, field.kind)) {
                assert!(resource(other).is_some_and(|other| other.position(field).is_some()), "{other}: {field}");
            }
            assert!(own.parent.is_none_or(|(_, parent)| resource(parent).is_some()), "{}", own.name);
        }
        for (_, dependent, by) in DEPENDENTS {
            assert!(dependent.position(by).is_some(), "{}: {by}", dependent.name);
        }
    }

    #[test]
    fn no_input_name_means_two_fields() {
        for own in RESOURCES {
            let inputs: Vec<_> = own.fields.iter().flat_map(|field| field.inputs).collect();
            assert_eq!(inputs.iter().collect::<BTreeSet<_>>().len(), inputs.len(), "{}", own.name);
        }
    }

    #[test]
    fn first_ids_differ_so_that_an_id_of_another_resource_is_noticed() {
        let ids: BTreeSet<_> = RESOURCES.iter().map(|resource| resource.first_id).collect();
        assert_eq!(ids.len(), RESOURCES.len());
    }
}
