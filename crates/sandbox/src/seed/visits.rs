//! Who came and went: visitors, movements, and the notifications of them.

use serde_json::{Value, json};

use super::super::resource::Resource;
use super::super::row::EntityRow;
use super::super::tables::{EVENT, MEMBER_MOVEMENT, NOTIFICATION, ORG, REGISTER, STAFF_MOVEMENT, VISITOR_GROUP};
use super::common::{DAY, Field, location, numbered};

const HOUR: i64 = 3600;

const VISITORS: &[&str] =
    &["Ines Prove", "Jarek Muster", "Kalea Example", "Lou Specimen", "Moana Sample", "Nico Pattern"];

const GROUPS: &[&str] = &["Board of directors", "School excursion"];

const METHODS: &[&str] = &["sms", "email", "push"];

const VISITS: usize = 24;

/// How many contractors have been on site.
const MOVED_MAX: usize = 200;

pub(super) fn rows(field: &Field) -> Vec<(&'static Resource, Vec<EntityRow>)> {
    let early = field.ago(20 * DAY);
    vec![
        numbered(&VISITOR_GROUP, GROUPS.len(), early, |number, _| {
            json!({
                "location_id": location(number), "staff_id": field.host(number), "description": "Comes every spring",
                "name": GROUPS[number],
            })
        }),
        numbered(&EVENT, VISITS, early, |number, _| event(field, number)),
        numbered(&REGISTER, 4, early, |number, id| visit(field, number, id)),
        numbered(&NOTIFICATION, VISITS / 2, early, |number, _| notification(field, number)),
        numbered(&STAFF_MOVEMENT, field.staff.len(), early, |number, _| {
            movement(field, number, json!({ "staff_id": field.staff[number], "onsite_status": "offsite" }))
        }),
        numbered(&MEMBER_MOVEMENT, field.members.len().min(MOVED_MAX), early, |number, _| {
            let org = ORG.first_id + i64::try_from(number / 8).unwrap_or(0);
            let member = json!({
                "sp_member_id": field.members[number], "sp_org_id": org, "visiting_staff_id": field.host(number),
                "sp_purpose": "Maintenance", "onsite_status": "offsite",
            });
            movement(field, number, member)
        }),
    ]
}

fn event(field: &Field, number: usize) -> Value {
    let since = (30 + i64::try_from(number).unwrap_or(0)) * DAY;
    let group = number.is_multiple_of(5).then_some(VISITOR_GROUP.first_id + i64::from(number.is_multiple_of(2)));
    json!({
        "location_id": location(number), "visiting_staff_id": field.host(number), "name": VISITORS[number % VISITORS.len()],
        "created": field.time(since), "modified": field.time(since - HOUR),
        "signed_in": field.time(since), "signed_out": field.time(since - HOUR), "mode_in": "Kiosk", "mode_out": "Kiosk",
        "email": format!("visitor{}@example.com", number + 1), "from": "Example Partners", "purpose": "Meeting",
        "lacp_in_id": location(number) * 10, "lacp_out_id": location(number) * 10, "visitor_group_id": group,
    })
}

fn visit(field: &Field, number: usize, id: i64) -> Value {
    let visitor = |place: usize| {
        json!({
            "id": id * 100 + i64::try_from(place).unwrap_or(0) + 1, "name": VISITORS[place], "email": null,
            "from": "Example Partners", "phone": null, "mobile": null, "title": null, "assistance": false,
            "purpose": "Tour",
        })
    };
    let begins = -(2 + i64::try_from(number).unwrap_or(0)) * DAY;
    let is_group = number % 2 == 1;
    json!({
        "location_id": location(number), "created_staff_id": field.host(0), "visiting_staff_id": field.host(number),
        "event_start": field.time(begins), "event_end": field.time(begins - 2 * HOUR), "name": VISITORS[0],
        "visitors": (0..if is_group { 3 } else { 1 }).map(visitor).collect::<Vec<_>>(),
        "type": if is_group { "group" } else { "preregister" },
    })
}

fn notification(field: &Field, number: usize) -> Value {
    let visitor = EVENT.first_id + i64::try_from(number).unwrap_or(0);
    let host = field.host(number);
    json!({
        "location_id": location(number), "visitor_id": visitor, "for_staff_id": host, "to_staff_id": host,
        "method": METHODS[number % METHODS.len()], "type": "signin", "recipient": "64 95550100",
        "messageid": format!("m-{:06}", number + 1),
        "status": [{
            "id": visitor, "created": field.time(25 * DAY), "modified": field.time(25 * DAY), "staff_id": host,
            "location_id": location(number), "name": VISITORS[number % VISITORS.len()], "assistance": false,
            "type": "visit", "groups": [],
        }],
    })
}

/// A movement that has ended, of the person whose fields these are.
fn movement(field: &Field, number: usize, mut person: Value) -> Value {
    let since = (3 + i64::try_from(number % 10).unwrap_or(0)) * DAY;
    let common = json!({
        "created": field.time(since), "modified": field.time(since - 8 * HOUR),
        "location_id": location(number), "signed_in": field.time(since), "signed_out": field.time(since - 8 * HOUR),
        "mode_in": "Touchless", "mode_out": "Touchless", "lacp_in_id": location(number) * 10,
    });
    if let (Value::Object(fields), Value::Object(common)) = (&mut person, common) {
        fields.extend(common);
    }
    person
}
