//! Employees, their locations and custom fields.

use std::io;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::super::chance::{bits, pick};
use super::super::row::EntityRow;
use super::super::store::Entities;
use super::super::tables::{LOCATION, STAFF, STAFF_ELEMENT};
use super::super::zone;
use super::common::{DAY, LOCATIONS, ago, ascii, element, row};

/// How many people are laid down at once.
const BATCH: u32 = 10_000;

/// (id, title, type)
const ELEMENTS: &[(i64, &str, &str)] =
    &[(3, "Locker", "text"), (4, "Shirt size", "text"), (5, "First aider", "checkbox")];

pub(super) const FIRST_NAMES: &[&str] = &[
    "Aroha", "Ben", "Carla", "Dinesh", "Eleni", "Farid", "Grace", "Hemi", "Ingrid", "Jonas", "Kiri", "Liam", "Mei",
    "Nikau", "Olga", "Pania", "Quentin", "Rosa", "Sione", "Tui", "Ulla", "Vikram", "Wiremu", "Xenia", "Yusuf", "Zoë",
];

pub(super) const LAST_NAMES: &[&str] = &[
    "Archer",
    "Bennett",
    "Castillo",
    "Dewes",
    "Eriksen",
    "Fonoti",
    "Gupta",
    "Harawira",
    "Ivanov",
    "Jansen",
    "Kumar",
    "Lindqvist",
    "Moreau",
    "Ngata",
    "O'Dowd",
    "Petersen",
    "Quill",
    "Rangi",
    "Schäfer",
    "Tamihana",
    "Unwin",
    "van der Berg",
    "Walker",
    "Xu",
    "Yeoman",
    "Zhou",
];

const TITLES: &[&str] =
    &["Technician", "Engineer", "Office Manager", "Driver", "Planner", "Analyst", "Team Leader", "Storeperson"];

const DEPARTMENTS: &[&str] = &["Operations", "Finance", "People", "Engineering", "Logistics", "Safety"];

/// Creates what is missing: places and custom fields always, people if there are none yet.
pub(super) fn sow(entities: &mut Entities, people: u32, now: Timestamp) -> io::Result<()> {
    let early = ago(now, 400 * DAY);
    if entities.rows(LOCATION.name).is_empty() {
        let numbered = (LOCATION.first_id..).zip(LOCATIONS);
        entities.put(&LOCATION, numbered.map(|(id, location)| self::location(id, location, early)).collect())?;
    }
    if entities.rows(STAFF_ELEMENT.name).is_empty() {
        let rows = ELEMENTS.iter().map(|described| element(&STAFF_ELEMENT, described, early));
        entities.put(&STAFF_ELEMENT, rows.collect())?;
    }
    if entities.rows(STAFF.name).is_empty() {
        for first in (1..=people).step_by(BATCH as usize) {
            let last = people.min(first.saturating_add(BATCH - 1));
            entities.put(&STAFF, (first..=last).map(|number| person(u64::from(number), now)).collect())?;
        }
    }
    Ok(())
}

fn location(id: i64, (name, address, postcode, phone): &(&str, &str, &str, &str), at: Timestamp) -> EntityRow {
    let fields = json!({
        "id": id, "name": name, "address": address, "postcode": postcode, "phone": phone, "country": "NZ",
        "timezone": "Pacific/Auckland", "date_format": "d/m/Y",
        "lacps": [{ "id": id * 10, "name": "Front door" }],
    });
    row(&LOCATION, fields, at)
}

/// The person of a number, counted from 1.
fn person(number: u64, now: Timestamp) -> EntityRow {
    let first = pick(FIRST_NAMES, 1, number);
    let last = pick(LAST_NAMES, 2, number);
    let one_in = |part: u64, seed: u64| bits(seed, number).is_multiple_of(part);
    let some = |there: bool, value: Value| if there { value } else { Value::Null };
    let mut custom = Map::new();
    if one_in(3, 3) {
        custom.insert("3".to_owned(), format!("L{number:04}").into());
    }
    if one_in(4, 4) {
        custom.insert("4".to_owned(), pick(&["S", "M", "L", "XL"], 5, number).into());
    }
    if one_in(5, 6) {
        custom.insert("5".to_owned(), "1".into());
    }
    // No person was made or changed within the last day or before a year ago.
    let age = 2 * DAY + i64::try_from(bits(7, number) % (360 * 86_400)).unwrap_or(0);
    let changed = 2 * DAY + (age - 2 * DAY) / i64::try_from(1 + bits(8, number) % 5).unwrap_or(1);
    let token = json!({
        "type": "Access Card", "number": 10_000_000 + number,
        "issued": zone::written(ago(now, age), &jiff::tz::TimeZone::UTC), "expiry": null,
    });
    let fields = json!({
        "id": STAFF.first_id - 1 + i64::try_from(number).unwrap_or(0),
        "modified": zone::written(ago(now, changed), &jiff::tz::TimeZone::UTC),
        "account_status": pick(&["active", "active", "active", "activated", "pending"], 9, number),
        "last_login": some(one_in(2, 10), zone::written(ago(now, changed), &jiff::tz::TimeZone::UTC).into()),
        "name": format!("{first} {last}"),
        "title": pick(TITLES, 11, number),
        "altname": some(one_in(10, 12), first.chars().take(3).collect::<String>().into()),
        "email": format!("{}.{}{number}@example.com", ascii(first), ascii(last)),
        "phone": some(one_in(3, 13), format!("64 9555{:04}", number % 10_000).into()),
        "mobile": format!("64 2{:08}", number % 100_000_000),
        "ice": some(one_in(4, 14), format!("64 3{:08}", number % 100_000_000).into()),
        "setup_method": "import",
        "employee_id": format!("E{number:05}"),
        "location": pick(LOCATIONS, 15, number).0,
        "department": pick(DEPARTMENTS, 16, number),
        "roles": if one_in(50, 17) { json!([["Site Administrator"]]) } else { json!([]) },
        "role_types": if one_in(6, 18) { json!([["Fire Warden"]]) } else { json!([]) },
        "tokens": if one_in(3, 19) { json!([token]) } else { json!([]) },
        "customfields": custom,
    });
    row(&STAFF, fields, ago(now, age))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn now() -> Timestamp {
        "2026-06-01T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn people_are_the_same_every_time_and_differ_from_one_another() {
        let people = || (1..=2000).map(|number| person(number, now()).to_json(&STAFF)).collect::<Vec<_>>();
        let (one, other) = (people(), people());
        assert_eq!(one, other);
        for field in ["id", "email", "employee_id"] {
            let values: BTreeSet<String> = one.iter().map(|person| person[field].to_string()).collect();
            assert_eq!(values.len(), one.len(), "{field}");
        }
        assert!(one.iter().all(|person| person["email"].as_str().unwrap().ends_with("@example.com")));
        for field in ["phone", "mobile", "ice"] {
            for number in one.iter().filter_map(|person| person[field].as_str()) {
                assert_eq!(crate::normal::phone(number), number);
            }
        }
    }

    #[test]
    fn no_one_changed_within_the_last_day() {
        for number in 1..2000 {
            let person = person(number, now());
            assert!(person.created <= person.modified && person.modified < ago(now(), DAY), "{number}");
            assert!(person.created > ago(now(), 366 * DAY), "{number}");
        }
    }
}
