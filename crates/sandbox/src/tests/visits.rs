//! Visitors, and the times and limits of lists.

use serde_json::json;

use super::*;

fn at_noon() -> Options {
    Options { clock: fixed_clock("2026-06-01T12:00:00Z"), ..full() }
}

#[tokio::test]
async fn a_visit_names_its_people_and_says_how_long_it_lasts() {
    let rig = rig(at_noon()).await;
    let body = json!({
        "name": "Vi", "location_id": 11, "visiting_staff_id": 1001, "signed_in": "2026-06-01T23:46:28+12:00",
        "lacp_in_id": 110, "id_verification_reference": true,
    });
    let (_, event) = rig.send("POST", "/visitor/event", Some(body)).await;
    let host = rig.get("/staff/1001").await.1["name"].clone();
    for (field, expected) in [
        ("visiting_staff_name", host.clone()),
        ("location_name", json!("Auckland Office")),
        ("lacp_in_name", json!("Front door")),
        ("onsite", json!("13 minutes 32 seconds")),
        ("signed_in", json!("2026-06-01T11:46:28+00:00")),
        ("id_verification_reference", json!("true")),
        ("type", json!("visit")),
        ("expected", json!(false)),
    ] {
        assert_eq!(event[field], expected, "{field}");
    }
    let path = format!("/visitor/event/{}", event["id"]);
    let update = json!({
        "name": "Vi", "mode_id": "Kiosk", "mode_out": "Manual", "signed_by": null, "signed_in_by_name": "A guard",
        "visiting_staff_id": 1002, "visiting_staff_name": "stale", "onsite": "an hour",
    });
    assert_eq!(rig.send("PUT", &path, Some(update.clone())).await.0, 400);
    let mut update = update;
    update.as_object_mut().unwrap().remove("signed_by");
    let (_, event) = rig.send("PUT", &path, Some(update)).await;
    let host = rig.get("/staff/1002").await.1["name"].clone();
    for (field, expected) in [
        ("mode_in", json!("Kiosk")),
        ("mode_out", json!("Manual")),
        // The person of the id counts; a name alone shows as it was sent.
        ("visiting_staff_name", host),
        ("signed_in_by_name", json!("A guard")),
        ("onsite", json!("an hour")),
        ("location_id", Value::Null),
        ("type", Value::Null),
    ] {
        assert_eq!(event[field], expected, "{field}");
    }
}

#[tokio::test]
async fn a_visitor_of_a_visit_keeps_the_id_that_is_sent() {
    let rig = rig(at_noon()).await;
    let visitors = |names: &[Value]| json!({ "name": "Tour", "staff_id": 1001, "visitors": names });
    let post = visitors(&[json!({ "name": "Vi", "assistance": 1 }), json!({ "name": "Wo" })]);
    let (_, visit) = rig.send("POST", "/visitor/register", Some(post)).await;
    let ids = |visit: &Value| {
        let visitors = visit["visitors"].as_array().unwrap().iter();
        visitors.map(|visitor| visitor["id"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    let first = ids(&visit);
    assert_eq!((&visit["type"], &visit["created_staff_id"], first.len()), (&json!("preregister"), &json!(1001), 2));
    assert_eq!(
        (&visit["visitors"][0]["assistance"], &visit["visitors"][1]["assistance"]),
        (&json!(true), &json!(false))
    );
    let path = format!("/visitor/register/{}", visit["id"]);
    let put = [json!({ "name": "New" }), json!({ "id": first[0], "name": "Vi" }), json!({ "id": 7, "name": "Other" })];
    let (_, visit) = rig.send("PUT", &path, Some(visitors(&put))).await;
    let second = ids(&visit);
    assert_eq!(second[1], first[0]);
    // Without an id, or with one of another visit, it is a new visitor.
    assert!(!first.contains(&second[0]) && !first.contains(&second[2]) && second[2] != 7, "{second:?}");
}

#[tokio::test]
async fn a_visitor_group_counts_its_events() {
    let rig = rig(at_noon()).await;
    let before = rig.get("/visitor/group/78001").await.1["members"].as_i64().unwrap();
    rig.sandbox.put("visitor.event", json!({ "name": "Vi", "visitor_group_id": 78_001 }));
    assert_eq!(rig.get("/visitor/group/78001").await.1["members"], before + 1);
}

#[tokio::test]
async fn a_list_has_at_most_its_maximum() {
    let rig = rig(Options { page_max: 20_000, rate: 0, ..Options::default() }).await;
    rig.sandbox.put("induction", json!({ "id": 901 }));
    for (resource, path, most, has_limit) in [
        ("staff.movement", "/staff/movement", 5000, true),
        ("sp.member.movement", "/sp/member/movement", 3000, true),
        ("visitor.event", "/visitor/event", 10_000, true),
        ("custom-questionnaire.question", "/custom-questionnaire/question", 5000, true),
        ("induction.holder", "/induction/901/holder", 1000, false),
        ("notification", "/notification", 200, false),
    ] {
        for _ in 0..=most {
            rig.sandbox.put(resource, json!({ "induction_id": 901 }));
        }
        let ids = rig.ids(path).await;
        assert_eq!(ids.len(), most, "{resource}");
        if has_limit {
            assert_eq!(rig.ids(&format!("{path}?limit=30000")).await.len(), most, "{resource}");
            assert_eq!(rig.ids(&format!("{path}?q=id%3E{}", ids[most - 1])).await.len(), 1, "{resource}");
        }
    }
}

#[tokio::test]
async fn a_zone_moves_every_time_and_no_day() {
    let rig = rig(at_noon()).await;
    for path in [
        "/sp/org/401",
        "/sp/org/group/501",
        "/sp/insurance/701",
        "/certification/801/holder/8001",
        "/notification/90001",
    ] {
        let (_, utc) = rig.get(path).await;
        let (_, tokyo) = rig.get(&format!("{path}?time_zone=Asia/Tokyo")).await;
        check_shift(path, &utc, &tokyo);
        assert_ne!(utc["created"], tokyo["created"], "{path}");
    }
}

/// Checks that two values differ only in their times, which are written in other zones.
fn check_shift(at: &str, utc: &Value, tokyo: &Value) {
    match (utc, tokyo) {
        (Value::Object(one), Value::Object(other)) => {
            one.iter().for_each(|(name, value)| check_shift(&format!("{at} {name}"), value, &other[name]));
        }
        (Value::Array(one), Value::Array(other)) => {
            one.iter().zip(other).for_each(|(one, other)| check_shift(at, one, other));
        }
        (Value::String(one), Value::String(other)) if one.ends_with("+00:00") => {
            assert!(other.ends_with("+09:00"), "{at}");
            assert_eq!(one.parse::<jiff::Timestamp>().unwrap(), other.parse().unwrap(), "{at}");
        }
        (Value::String(one), Value::String(other)) if one.len() == 19 && one.starts_with("20") => {
            let [one, other] = [one, other].map(|text| text.parse::<jiff::civil::DateTime>().unwrap());
            assert_eq!(other, one + jiff::SignedDuration::from_hours(9), "{at}");
        }
        _ => assert_eq!(utc, tokyo, "{at}"),
    }
}
