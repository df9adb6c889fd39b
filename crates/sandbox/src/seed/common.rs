//! What the seeds share: the people that they fall on, rows and times.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::resource::Resource;
use super::super::row::EntityRow;
use super::super::store::Entities;
use super::super::tables::{LOCATION, MEMBER, STAFF};
use super::super::zone;

pub(super) const DAY: i64 = 86_400;

/// (name, address, postcode, phone)
pub(super) const LOCATIONS: &[(&str, &str, &str, &str)] = &[
    ("Auckland Office", "12 Sample Quay, Auckland", "1010", "64 95550100"),
    ("Wellington Office", "3 Specimen Terrace, Wellington", "6011", "64 45550101"),
    ("Christchurch Depot", "88 Pattern Road, Christchurch", "8011", "64 35550102"),
    ("Hamilton Warehouse", "5 Model Street, Hamilton", "3204", "64 75550103"),
    ("Dunedin Workshop", "41 Example Place, Dunedin", "9016", "64 35550104"),
    ("Tauranga Port", "7 Mock Wharf, Tauranga", "3110", "64 75550105"),
];

/// What the later seeds fall on: the people who are there.
pub(super) struct Field {
    /// Some of the employees.
    pub(super) staff: Vec<i64>,
    pub(super) members: Vec<i64>,
    pub(super) now: Timestamp,
}

/// How many of the employees take part in anything.
const STAFF_MAX: usize = 40;

impl Field {
    pub(super) fn of(entities: &Entities, now: Timestamp) -> Self {
        let ids = |resource: &Resource| entities.rows(resource.name).keys().copied();
        Self { staff: ids(&STAFF).take(STAFF_MAX).collect(), members: ids(&MEMBER).collect(), now }
    }

    /// One of the employees; `None` if there are none.
    pub(super) fn host(&self, number: usize) -> Option<i64> {
        self.staff.get(number % self.staff.len().max(1)).copied()
    }

    pub(super) fn ago(&self, seconds: i64) -> Timestamp {
        ago(self.now, seconds)
    }

    /// A time as it is stored.
    pub(super) fn time(&self, seconds_ago: i64) -> String {
        zone::written(self.ago(seconds_ago), &TimeZone::UTC)
    }

    pub(super) fn day(&self, days_ago: i64) -> String {
        day(self.ago(days_ago * DAY)).to_string()
    }
}

pub(super) fn day(at: Timestamp) -> Date {
    TimeZone::UTC.to_datetime(at).date()
}

pub(super) fn row(resource: &Resource, fields: Value, at: Timestamp) -> EntityRow {
    let mut row = EntityRow::new(resource, 0, at);
    if let Value::Object(fields) = fields {
        row.merge(resource, fields);
    }
    row
}

/// Entities of one resource, numbered from its first id; each from its number, counted from 0, and its id.
pub(super) fn numbered(
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
pub(super) fn element(resource: &Resource, (id, title, kind): &(i64, &str, &str), at: Timestamp) -> EntityRow {
    let fields = json!({
        "id": id, "cf_tab_id": 1, "is_visible": true, "is_mandatory": false, "is_unique": false, "title": title,
        "created_by": 1, "modified_by": 1, "element_type": kind,
    });
    row(resource, fields, at)
}

/// One of the locations that are always there.
pub(super) fn location(number: usize) -> i64 {
    LOCATION.first_id + i64::try_from(number % LOCATIONS.len()).unwrap_or(0)
}

pub(super) fn ago(now: Timestamp, seconds: i64) -> Timestamp {
    now.saturating_sub(SignedDuration::from_secs(seconds)).unwrap_or(now)
}

/// The letters of a name that an email address may have.
pub(super) fn ascii(name: &str) -> String {
    name.to_lowercase().replace('ä', "ae").replace('ë', "e").chars().filter(char::is_ascii_alphabetic).collect()
}
