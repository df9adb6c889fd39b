//! What an account has and asks: zones, assets, custom questions.

use serde_json::json;

use super::super::resource::Resource;
use super::super::row::EntityRow;
use super::super::tables::{ASSET, ASSET_GROUP, ASSET_MOVEMENT, QUESTION, ZONE};
use super::common::{DAY, Field, location, numbered};

/// (name, spaces)
const ZONES: &[(&str, i64)] = &[("Ground floor", 40), ("Workshop", 12)];

const ASSETS: &[&str] = &["Ladder", "Gas detector", "Master key", "Harness", "Laptop", "Radio"];

/// (name, class)
const GROUPS: &[(&str, &str)] = &[("Tools", "transfer"), ("Keys", "fixed")];

/// (question, type)
const QUESTIONS: &[(&str, &str)] = &[
    ("Have you read the site rules?", "waiver"),
    ("Which shift do you work?", "multi-choice"),
    ("When do you leave?", "date picker"),
];

pub(super) fn rows(field: &Field) -> Vec<(&'static Resource, Vec<EntityRow>)> {
    let early = field.ago(280 * DAY);
    let zone = |number: usize, _| {
        let (name, spaces) = ZONES[number % ZONES.len()];
        json!({
            "location_id": location(number / ZONES.len()), "name": name, "reference": format!("Z{:02}", number + 1),
            "zone_group_id": 1, "zone_group_name": "Building", "maximum_occupancy": 2 * spaces, "spaces": spaces,
            "spaces_enabled": true, "spaces_title": "Desks", "lacps": [location(number / ZONES.len()) * 10],
        })
    };
    let is_out = |number: usize| number.is_multiple_of(3);
    let asset = |number: usize, _| {
        json!({
            "type_id": ASSET_GROUP.first_id + i64::from(number.is_multiple_of(2)), "name": ASSETS[number],
            "tag": format!("A-{:04}", number + 1), "location_id": location(number), "owner_type": "staff",
            "owner_staff_id": field.host(number), "status": if is_out(number) { "out" } else { "in" },
        })
    };
    let issued = |number: usize, _| {
        json!({
            "asset_id": ASSET.first_id + i64::try_from(number * 3).unwrap_or(0), "assigned_type": "spm",
            "assigned_spm_id": field.members[0], "signed_out": field.time(5 * DAY), "dueback": field.time(-9 * DAY),
            "issued_out": "API",
        })
    };
    let question = |number: usize, id: i64| {
        let (question, kind) = QUESTIONS[number];
        json!({
            "questionnaire_id": 1, "question": question, "type": kind, "compulsory": true, "order": number + 1,
            "version": 1, "parent_id": (number > 0).then_some(id - 1), "settings_send_recipients": field.host(0).as_slice(),
            "settings_options": if number == 1 { json!(["Day", "Night"]) } else { json!([]) },
        })
    };
    vec![
        numbered(&ZONE, 6 * ZONES.len(), early, zone),
        numbered(
            &ASSET_GROUP,
            2,
            early,
            |number, _| json!({ "name": GROUPS[number].0, "class": GROUPS[number].1, "description": "For loan" }),
        ),
        numbered(&ASSET, ASSETS.len(), early, asset),
        numbered(&ASSET_MOVEMENT, ASSETS.len().div_ceil(3), early, issued),
        numbered(&QUESTION, QUESTIONS.len(), early, question),
    ]
}
