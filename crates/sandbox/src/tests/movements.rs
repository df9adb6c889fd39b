//! Signing in and out.

use serde_json::json;

use super::*;

fn at_noon() -> Options {
    Options { clock: fixed_clock("2026-06-01T12:00:00Z"), ..full() }
}

/// The movements made since the seeds, reduced to the named fields.
fn made(rig: &Rig, resource: &str, fields: &[&str]) -> Vec<Vec<Value>> {
    let all = rig.sandbox.all(resource);
    let new = all.iter().filter(|movement| movement["created"].as_str().unwrap() >= "2026-06-01");
    new.map(|movement| fields.iter().map(|field| movement[field].clone()).collect()).collect()
}

fn person(rig: &Rig, resource: &str, id: i64) -> Value {
    rig.sandbox.all(resource).into_iter().find(|person| person["id"] == id).unwrap()
}

#[tokio::test]
async fn an_employee_signs_in_moves_on_and_signs_out() {
    let rig = rig(at_noon()).await;
    let before = person(&rig, "staff", 1001);
    let movement = |status: &str, location: i64, changed_at: &str| json!({ "onsite_status": status, "location_id": location, "staff_id": 1001, "changed_at": changed_at });
    let shown = |rig: &Rig| made(rig, "staff.movement", &["location_id", "signed_in", "signed_out"]);
    let [at8, at9, at10] = [8, 9, 10].map(|hour| format!("2026-06-01T{hour:02}:00:00+00:00"));
    for (body, expected, at) in [
        (movement("onsite", 11, "2026-06-01T20:00:00+12:00"), vec![json!([11, at8, null])], "Auckland Office"),
        // Again at the same place changes the open one.
        (movement("onsite", 11, &at9), vec![json!([11, at8, null])], "Auckland Office"),
        // Elsewhere ends it.
        (movement("onsite", 12, &at9), vec![json!([11, at8, at9]), json!([12, at9, null])], "Wellington Office"),
        (movement("offsite", 12, &at10), vec![json!([11, at8, at9]), json!([12, at9, at10])], ""),
        // Out again: a movement that never began.
        (
            movement("offsite", 13, &at10),
            vec![json!([11, at8, at9]), json!([12, at9, at10]), json!([13, null, at10])],
            "",
        ),
    ] {
        let (status, answer) = rig.send("PUT", "/staff/movement", Some(body.clone())).await;
        assert_eq!((status, &answer["staff_id"], &answer["name"]), (200, &json!(1001), &before["name"]), "{answer}");
        assert_eq!(json!(shown(&rig)), json!(expected), "{body}");
        let now = person(&rig, "staff", 1001);
        assert_eq!(now["onsite_status"], body["onsite_status"]);
        assert_eq!(now["cur_location"], if at.is_empty() { Value::Null } else { at.into() });
        assert_eq!(now["modified"], before["modified"]);
    }
}

#[tokio::test]
async fn a_movement_has_the_zone_and_access_point_of_each_way() {
    let rig = rig(at_noon()).await;
    let put = |status: &str, point: i64| json!({ "onsite_status": status, "location_id": 11, "staff_id": 1001, "lacp_id": point, "zone_id": 301, "remote": 1 });
    rig.send("PUT", "/staff/movement", Some(put("onsite", 110))).await;
    let (_, movement) = rig.send("PUT", "/staff/movement", Some(put("offsite", 110))).await;
    for (field, expected) in [
        ("lacp_in_name", json!("Front door")),
        ("lacp_out_name", json!("Front door")),
        ("zone_id", json!(301)),
        ("remote", json!(true)),
        ("mode_in", json!("Auto")),
        ("signed_in", json!("2026-06-01T12:00:00+00:00")),
    ] {
        assert_eq!(movement[field], expected, "{field}");
    }
    assert!(movement.get("lacp_id").is_none() && movement.get("onsite_status").is_none());
}

#[tokio::test]
async fn a_contractor_moves_for_an_organization_that_they_belong_to() {
    let rig = rig(at_noon()).await;
    let body = |changes: Value| {
        let mut body = json!({ "onsite_status": "onsite", "location_id": 11, "sp_member_id": 2002, "sp_org_id": 401 });
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        body
    };
    for (query, changes, expected) in [
        ("", json!({ "sp_org_id": 402 }), 400),
        ("", json!({ "sp_org_id": null }), 400),
        ("", json!({ "sp_member_id": null }), 400),
        ("", json!({ "location_id": null }), 400),
        ("", json!({ "onsite_status": null }), 400),
        ("?sp_member_id=2003", json!({}), 400),
        ("?sp_member_id=x", json!({ "sp_member_id": null }), 400),
        ("?sp_member_id=2002", json!({}), 200),
        ("?sp_member_id=2002", json!({ "sp_member_id": null }), 200),
        ("", json!({ "sp_member_id": "2002" }), 200),
    ] {
        let path = format!("/sp/member/movement{query}");
        let (status, answer) = rig.send("PUT", &path, Some(body(changes.clone()))).await;
        assert_eq!(status, expected, "{query} {changes}: {answer}");
    }
    assert_eq!(made(&rig, "sp.member.movement", &["id"]).len(), 1);
    let now = person(&rig, "sp.member", 2002);
    assert_eq!((&now["onsite_status"], &now["cur_location_id"]), (&json!("onsite"), &json!(11)));
    assert_eq!(
        (&now["cur_sp_org_id"], &rig.get("/sp/member/2002").await.1["cur_location"]),
        (&json!(401), &json!("Auckland Office"))
    );
}

#[tokio::test]
async fn scans_belong_to_their_way_and_flags_are_taken_as_they_come() {
    let rig = rig(at_noon()).await;
    let put = |status: &str| {
        json!({
            "onsite_status": status, "location_id": 11, "sp_member_id": 2002, "sp_org_id": 401, "scanned_in": "IN",
            "scanned_out": "OUT", "carpark_question": 1, "assistance": "true", "loneworker": false, "expected": 45,
            "visiting_staff_id": 1001,
        })
    };
    let (_, onsite) = rig.send("PUT", "/sp/member/movement", Some(put("onsite"))).await;
    assert_eq!((&onsite["scanned_in"], &onsite["scanned_out"]), (&json!("IN"), &Value::Null));
    let flags = ["carpark_question", "assistance", "loneworker", "expected"].map(|field| onsite[field].clone());
    assert_eq!(json!(flags), json!([true, true, false, true]));
    let mut leaving = put("offsite");
    leaving["location_id"] = 12.into();
    leaving["scanned_in"] = "LATE".into();
    leaving["cardnumber"] = "C7".into();
    let (_, offsite) = rig.send("PUT", "/sp/member/movement", Some(leaving)).await;
    assert_eq!((&offsite["location_id"], &offsite["cardnumber"]), (&json!(11), &json!("C7")));
    assert_eq!((&offsite["scanned_in"], &offsite["scanned_out"]), (&json!("IN"), &json!("OUT")));
    assert_eq!(offsite["id"], onsite["id"]);
    let (_, alone) = rig.send("PUT", "/sp/member/movement", Some(put("offsite"))).await;
    assert_eq!((&alone["scanned_in"], &alone["scanned_out"]), (&Value::Null, &json!("OUT")));
    let now = person(&rig, "sp.member", 2002);
    assert_eq!((&now["cur_location_id"], &now["cur_sp_org_id"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn movements_are_found_by_the_last_name_of_who_moved() {
    let rig = rig(at_noon()).await;
    let everybody = rig.get("/staff/movement").await.1;
    let name = everybody[0]["name"].as_str().unwrap();
    let (_, last) = name.split_once(' ').unwrap();
    let response = rig.request("GET", "/staff/movement").query(&[("q", format!("name%{last}"))]).send().await.unwrap();
    let found: Value = response.json().await.unwrap();
    assert!(found.as_array().unwrap().contains(&everybody[0]));
    assert!(found.as_array().unwrap().iter().all(|movement| movement["name"].as_str().unwrap().contains(last)));
}

#[tokio::test]
async fn a_movement_may_count_as_a_change_of_the_person() {
    let rig = rig(Options { movement_touches_person: true, ..at_noon() }).await;
    let body = json!({ "onsite_status": "onsite", "location_id": 11, "staff_id": 1001 });
    rig.send("PUT", "/staff/movement", Some(body)).await;
    assert_eq!(person(&rig, "staff", 1001)["modified"], "2026-06-01T12:00:00+00:00");
}

#[tokio::test]
async fn law_10_presence_that_is_replaced_leaves_no_movement() {
    let rig = rig(at_noon()).await;
    rig.send("PUT", "/staff/1001", Some(json!({ "name": "Ana", "onsite_status": "onsite" }))).await;
    assert!(made(&rig, "staff.movement", &["id"]).is_empty());
    assert_eq!(rig.get("/staff/1001").await.1["onsite_status"], "onsite");
}
