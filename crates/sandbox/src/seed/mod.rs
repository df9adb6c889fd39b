//! Entities to begin with; invented, and the same in every sandbox except the times, which lie within the year before
//! its start.
//!
//! Places, custom fields and roles are always there. Contractors bring everything else along, so that every list has
//! something to show and every entity of a list can be asked for.

mod compliance;
mod contractors;
mod holdings;
mod people;
mod visits;

use std::io;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::resource::Resource;
use super::row::EntityRow;
use super::store::{Entities, Store};
use super::tables::{LOCATION, MEMBER, STAFF};
use super::zone;

const DAY: i64 = 86_400;

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

/// What the later seeds fall on: the people who are there.
struct Field {
    /// Some of the employees.
    staff: Vec<i64>,
    members: Vec<i64>,
    now: Timestamp,
}

/// How many of the employees take part in anything.
const STAFF_MAX: usize = 40;

impl Field {
    fn of(entities: &Entities, now: Timestamp) -> Self {
        let ids = |resource: &Resource| entities.rows(resource.name).keys().copied();
        Self { staff: ids(&STAFF).take(STAFF_MAX).collect(), members: ids(&MEMBER).collect(), now }
    }

    /// One of the employees; `None` if there are none.
    fn host(&self, number: usize) -> Option<i64> {
        self.staff.get(number % self.staff.len().max(1)).copied()
    }

    fn ago(&self, seconds: i64) -> Timestamp {
        ago(self.now, seconds)
    }

    /// A time as it is stored.
    fn time(&self, seconds_ago: i64) -> String {
        zone::written(self.ago(seconds_ago), &TimeZone::UTC)
    }

    fn day(&self, days_ago: i64) -> String {
        day(self.ago(days_ago * DAY)).to_string()
    }
}

fn day(at: Timestamp) -> Date {
    TimeZone::UTC.to_datetime(at).date()
}

fn row(resource: &Resource, fields: Value, at: Timestamp) -> EntityRow {
    let mut row = EntityRow::new(resource, 0, at);
    if let Value::Object(fields) = fields {
        row.merge(resource, fields);
    }
    row
}

/// Entities of one resource, numbered from its first id; each from its number, counted from 0, and its id.
fn numbered(
    resource: &'static Resource,
    count: usize,
    at: Timestamp,
    fields: impl Fn(usize, i64) -> Value,
) -> (&'static Resource, Vec<EntityRow>) {
    let ids = (resource.first_id..).enumerate().take(count);
    let rows = ids.map(|(number, id)| {
        let mut row = row(resource, fields(number, id), at);
        row.id = id;
        row
    });
    (resource, rows.collect())
}

/// A custom-field element: (id, title, type).
fn element(resource: &Resource, (id, title, kind): &(i64, &str, &str), at: Timestamp) -> EntityRow {
    let fields = json!({
        "id": id, "cf_tab_id": 1, "is_visible": true, "is_mandatory": false, "is_unique": false, "title": title,
        "created_by": 1, "modified_by": 1, "element_type": kind,
    });
    row(resource, fields, at)
}

/// One of the locations that are always there.
fn location(number: usize) -> i64 {
    LOCATION.first_id + i64::try_from(number % people::LOCATIONS.len()).unwrap_or(0)
}

fn ago(now: Timestamp, seconds: i64) -> Timestamp {
    now.saturating_sub(SignedDuration::from_secs(seconds)).unwrap_or(now)
}

/// The letters of a name that an email address may have.
fn ascii(name: &str) -> String {
    name.to_lowercase().replace('ä', "ae").replace('ë', "e").chars().filter(char::is_ascii_alphabetic).collect()
}

#[cfg(test)]
mod tests {
    use super::super::resource::FieldKind;
    use super::super::tables::RESOURCES;
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
