//! Certifications, inductions and communities with those who belong to them.

use serde_json::{Value, json};

use super::super::resource::Resource;
use super::super::row::EntityRow;
use super::super::tables::{
    CERTIFICATION, COMMUNITY, COMMUNITY_MEMBER, DOCUMENT, HOLDER, INDUCTION, INDUCTION_HOLDER, LOCATION,
};
use super::common::{DAY, Field, numbered};

/// (name, category, description)
const CERTIFICATIONS: &[(&str, &str, &str)] = &[
    ("Working at heights", "external", "A course of a day, renewed every two years"),
    ("First aid", "external", "Valid for two years"),
    ("Forklift operator", "internal", "A check ride at the warehouse"),
];

const NEIGHBOURS: &[&str] = &["Amiria Parata", "Bruno Castell", "Chiara Weiss", "Dov Sample", "Elin Model"];

pub(super) fn rows(field: &Field) -> Vec<(&'static Resource, Vec<EntityRow>)> {
    let early = field.ago(250 * DAY);
    let holders: Vec<(&str, i64)> = field
        .members
        .iter()
        .step_by(3)
        .map(|id| ("sp", *id))
        .chain(field.staff.iter().step_by(4).map(|id| ("staff", *id)))
        .collect();
    let certification = |number: usize, _| {
        let (name, category, description) = CERTIFICATIONS[number];
        json!({ "name": name, "category": category, "certification_type_id": number + 1, "description": description })
    };
    let holder = |number: usize, _| {
        let (record_type, record_id) = holders[number];
        json!({
            "certification_id": CERTIFICATION.first_id + place(number, CERTIFICATIONS.len()), "record_id": record_id,
            "record_type": record_type, "validfrom": field.day(240), "validto": field.day(-490),
            "certification_number": format!("C-{:05}", number + 1),
        })
    };
    let document = |number: usize, _| {
        json!({
            "holder_id": HOLDER.first_id + place(number * 3, holders.len()), "name": "Certificate",
            "type": "application/pdf", "size": 52_000 + number,
        })
    };
    let induction = |_, _| json!({ "name": "Site safety", "attempts_max": 3 });
    let learner = |number: usize, _| {
        let is_done = !number.is_multiple_of(4);
        json!({
            "induction_id": INDUCTION.first_id, "sp_member_id": field.members[number * 2], "attempts": 1,
            "attempts_left": 2, "completed": is_done.then(|| field.time(230 * DAY)),
            "status": if is_done { "completed" } else { "incomplete" }, "renew": is_done.then(|| field.day(-135)),
        })
    };
    vec![
        numbered(&CERTIFICATION, CERTIFICATIONS.len(), early, certification),
        numbered(&HOLDER, holders.len(), early, holder),
        numbered(&DOCUMENT, holders.len().div_ceil(3), early, document),
        numbered(&INDUCTION, 1, early, induction),
        numbered(&INDUCTION_HOLDER, field.members.len().div_ceil(2), early, learner),
        numbered(&COMMUNITY, 1, early, |_, _| json!({ "name": "Neighbours" })),
        numbered(&COMMUNITY_MEMBER, NEIGHBOURS.len(), early, neighbour),
    ]
}

fn neighbour(number: usize, _: i64) -> Value {
    json!({
        "external_id": format!("N{:03}", number + 1), "location_id": LOCATION.first_id, "community_id": COMMUNITY.first_id,
        "name": NEIGHBOURS[number], "email": format!("neighbour{}@example.com", number + 1),
        "mobile": format!("64 2{:08}", 30_000_000 + number),
    })
}

/// One of `among` places.
fn place(number: usize, among: usize) -> i64 {
    i64::try_from(number % among.max(1)).unwrap_or(0)
}
