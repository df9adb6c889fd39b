//! Entities to begin with; invented, and the same in every sandbox except the times, which lie within the year before
//! its start.
//!
//! Places, custom fields and roles are always there. Contractors bring everything else along, so that every list has
//! something to show and every entity of a list can be asked for.

mod common;
mod compliance;
mod contractors;
mod holdings;
mod people;
mod visits;

use std::io;

use common::Field;
use jiff::Timestamp;

use super::resource::Resource;
use super::row::EntityRow;
use super::store::Store;
use super::tables::MEMBER;

/// Creates what is missing: these numbers of employees and contractors, where there are none yet.
pub(super) fn sow(store: &Store, (employees, members): (u32, u32), now: Timestamp) -> io::Result<()> {
    let mut entities = store.write();
    people::sow(&mut entities, employees, now)?;
    contractors::sow_words(&mut entities, now)?;
    if members == 0 || !entities.rows(MEMBER.name).is_empty() {
        return Ok(());
    }
    contractors::sow(&mut entities, u64::from(members), now)?;
    let field = Field::of(&entities, now);
    let mut lay = |(resource, rows): (&'static Resource, Vec<EntityRow>)| entities.put(resource, rows);
    holdings::rows(&field).into_iter().try_for_each(&mut lay)?;
    visits::rows(&field).into_iter().try_for_each(&mut lay)?;
    compliance::rows(&field).into_iter().try_for_each(&mut lay)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::resource::FieldKind;
    use super::super::tables::{RESOURCES, STAFF};
    use super::super::zone;
    use super::common::{DAY, ago};
    use super::*;

    fn now() -> Timestamp {
        "2026-06-01T12:00:00Z".parse().unwrap()
    }

    /// Every collection with how much is in it and all that it holds.
    fn sown(seeds: (u32, u32)) -> Vec<(&'static str, usize, Vec<Value>)> {
        let store = Store::open(None).unwrap();
        sow(&store, seeds, now()).unwrap();
        let entities = store.read();
        let all =
            |resource: &Resource| entities.rows(resource.name).values().map(|row| row.to_json(resource)).collect();
        RESOURCES.iter().map(|resource| (resource.name, entities.rows(resource.name).len(), all(resource))).collect()
    }

    #[test]
    fn a_store_with_people_gets_no_more() {
        let store = Store::open(None).unwrap();
        for seeds in [(3, 2), (5, 9)] {
            sow(&store, seeds, now()).unwrap();
            let entities = store.read();
            let count = |name| entities.rows(name).len();
            assert_eq!((count("staff"), count("sp.member"), count("location")), (3, 2, 6));
            assert_eq!((count("customfield.element.staff"), entities.next_id(&STAFF)), (3, 1004));
        }
    }

    #[test]
    fn without_contractors_there_are_people_and_words_only() {
        let filled: Vec<_> =
            sown((9, 0)).into_iter().filter(|(_, count, _)| *count > 0).map(|(name, ..)| name).collect();
        let words = ["staff", "customfield.element.staff", "location", "customfield.element.sp-member", "sp.role"];
        assert_eq!(filled, words);
    }

    #[test]
    fn contractors_bring_something_for_every_list_and_the_same_every_time() {
        let sown_once = sown((9, 20));
        for (name, count, _) in &sown_once {
            assert!(*count > 0 || *name == "staff.photo", "{name}");
        }
        assert_eq!(sown_once, sown((9, 20)));
        assert!(sown((0, 1)).iter().all(|(name, count, _)| *count > 0 || name.starts_with("staff")));
    }

    #[test]
    fn whatever_is_referred_to_is_there() {
        let store = Store::open(None).unwrap();
        sow(&store, (9, 100), now()).unwrap();
        let entities = store.read();
        for resource in RESOURCES {
            for (position, field) in resource.fields.iter().enumerate() {
                let is_there = |row: &EntityRow| match (field.kind, row.integer(position)) {
                    (FieldKind::IdOf(other), Some(id)) => entities.rows(other).contains_key(&id),
                    (FieldKind::AccessPoint, Some(id)) => entities.access_point(id).is_some(),
                    _ => true,
                };
                assert!(entities.rows(resource.name).values().all(is_there), "{}: {}", resource.name, field.name);
            }
            for group in resource.unique {
                let rows = entities.rows(resource.name).values();
                assert!(!rows.into_iter().any(|row| entities.is_taken(resource, group, row)), "{}", resource.name);
            }
        }
    }

    #[test]
    fn nothing_is_younger_than_the_day_before() {
        for (name, _, entities) in sown((9, 20)) {
            for entity in entities {
                let modified = entity["modified"].as_str().and_then(zone::read).unwrap();
                assert!(modified < ago(now(), DAY), "{name}: {}", entity["id"]);
            }
        }
    }
}
