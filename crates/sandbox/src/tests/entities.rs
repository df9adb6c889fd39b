//! Creating, replacing and removing.

use serde_json::json;

use super::*;

const EVERYTHING: &str = r#"{
    "name": "Ana Maria", "title": "Driver", "altname": "An", "email": "Ana@Example.com ", "phone": "+64 9 555-0100",
    "mobile": "029 838 5771", "ice": "none", "employee_id": 123, "onsite_status": "onsite", "location": "Auckland Office",
    "roletype": ["Fire Warden", "First Aider"], "cf": { "3": "L7", "5": 1 }, "globalroaming": true,
    "globalroaming_locations": [11, 12]
}"#;

fn everything() -> Value {
    serde_json::from_str(EVERYTHING).unwrap()
}

async fn created(rig: &Rig, body: Value) -> Value {
    let (status, entity) = rig.send("POST", "/staff", Some(body)).await;
    assert_eq!(status, 200, "{entity}");
    entity
}

fn path(entity: &Value) -> String {
    format!("/staff/{}", entity["id"])
}

/// Whether each field has the value that it should.
fn assert_fields(entity: &Value, expected: Value) {
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&entity[name], value, "{name}");
    }
}

#[tokio::test]
async fn what_is_created_comes_back_under_the_names_of_answers() {
    let rig = rig(Options::default()).await;
    let ana = created(&rig, everything()).await;
    assert_fields(
        &ana,
        json!({
            "name": "Ana Maria", "email": "Ana@Example.com ", "phone": "+64 9 555-0100", "employee_id": "123",
            "role_types": [["Fire Warden", "First Aider"]], "customfields": { "3": "L7", "5": "1" }, "globalroaming": 1,
            "onsite_status": "onsite", "account_status": "new", "department": null, "tokens": [], "roles": [], "remote": 0,
        }),
    );
    for name in ["roletype", "cf", "globalroaming_locations"] {
        assert!(ana.get(name).is_none(), "{name}");
    }
    assert_eq!(rig.get(&path(&ana)).await, (200, ana.clone()));
    assert_eq!(rig.get("/staff").await, (200, json!([ana])));
}

#[tokio::test]
async fn law_2_a_put_empties_what_it_does_not_name() {
    let rig = rig(Options { show_roaming: true, ..Options::default() }).await;
    let ana = created(&rig, everything()).await;
    assert_eq!(ana["globalroaming_locations"][1], json!({ "id": 12, "name": "Wellington Office" }));
    let own = json!({
        "department": "Finance", "roles": [["Admin"]], "tokens": [{ "type": "card", "number": 7 }], "account_status": "active",
    });
    rig.sandbox.edit("staff", ana["id"].as_i64().unwrap(), own.clone());
    let sent = json!({ "id": ana["id"], "name": "Ana", "department": "Sales", "tokens": [] });
    let (status, replaced) = rig.send("PUT", &path(&ana), Some(sent)).await;
    assert_eq!(status, 200);
    assert_fields(&replaced, own);
    assert_fields(
        &replaced,
        json!({
            "id": ana["id"], "created": ana["created"], "name": "Ana", "title": null, "altname": null, "email": null,
            "phone": null, "mobile": null, "ice": null, "employee_id": null, "onsite_status": null, "location": null,
            "role_types": [], "customfields": {}, "globalroaming": 0, "globalroaming_locations": [],
        }),
    );
    assert_eq!(rig.get(&path(&ana)).await, (200, replaced));
}

#[tokio::test]
async fn an_id_and_custom_fields_change_custom_fields_only() {
    let rig = rig(Options::default()).await;
    let ana = created(&rig, everything()).await;
    for (body, expected) in [
        (json!({ "id": ana["id"], "cf": { "4": "M" } }), json!({ "3": "L7", "4": "M", "5": "1" })),
        (
            json!({ "id": ana["id"].to_string(), "customfields": { "5": "0" } }),
            json!({ "3": "L7", "4": "M", "5": "0" }),
        ),
        (
            json!({ "id": ana["id"], "customfields": [{ "id": 3, "value": null }] }),
            json!({ "3": null, "4": "M", "5": "0" }),
        ),
    ] {
        let (status, changed) = rig.send("PUT", &path(&ana), Some(body)).await;
        assert_eq!(status, 200);
        assert_fields(
            &changed,
            json!({ "customfields": expected, "email": ana["email"], "location": ana["location"] }),
        );
    }
    // Without the id it is a replacement like any other.
    let (_, replaced) = rig.send("PUT", &path(&ana), Some(json!({ "cf": { "3": "L8" } }))).await;
    assert_fields(&replaced, json!({ "customfields": { "3": "L8" }, "name": null }));
}

#[tokio::test]
async fn a_put_may_answer_without_a_body() {
    let rig = rig(Options { put_without_body: true, ..Options::default() }).await;
    let ana = created(&rig, everything()).await;
    assert_eq!(rig.send("PUT", &path(&ana), Some(json!({ "name": "Bo" }))).await, (204, Value::Null));
    assert_eq!(rig.get(&path(&ana)).await.1["name"], "Bo");
}

#[tokio::test]
async fn law_3_a_second_person_of_one_email_or_employee_id_is_409() {
    let rig = rig(Options::default()).await;
    created(&rig, json!({ "name": "Ana", "email": "ana@example.com", "employee_id": "E1" })).await;
    for (body, expected) in [
        (json!({ "name": "Bo", "email": "ANA@example.com" }), 409),
        (json!({ "name": "Bo", "employee_id": "e1 " }), 409),
        (json!({ "name": "Bo", "email": "bo@example.com", "employee_id": "E2" }), 200),
        (json!({ "name": "Nobody" }), 200),
        (json!({ "name": "Nobody" }), 200),
    ] {
        assert_eq!(rig.send("POST", "/staff", Some(body.clone())).await.0, expected, "{body}");
    }
    assert_eq!(rig.sandbox.all("staff").len(), 4);
}

#[tokio::test]
async fn duplicates_are_accepted_where_the_options_say_so() {
    let rig = rig(Options { accept_duplicates: true, ..Options::default() }).await;
    for _ in 0..2 {
        created(&rig, json!({ "name": "Ana", "email": "ana@example.com" })).await;
    }
    assert_eq!(rig.ids("/staff?q=email:ana@example.com").await, [1001, 1002]);
}

#[tokio::test]
async fn a_deleted_person_is_gone_and_its_id_is_not_used_again() {
    let rig = rig(Options::default()).await;
    let ana = created(&rig, everything()).await;
    assert_eq!(rig.send("DELETE", &path(&ana), None).await, (204, Value::Null));
    for (method, body) in [("DELETE", None), ("GET", None), ("PUT", Some(json!({ "name": "Ana" })))] {
        assert_eq!(rig.send(method, &path(&ana), body).await.0, 404, "{method}");
    }
    assert_ne!(created(&rig, everything()).await["id"], ana["id"]);
}

#[tokio::test]
async fn a_bad_body_is_refused_and_changes_nothing() {
    let rig = rig(Options { seed_staff: 1, ..Options::default() }).await;
    let before = rig.sandbox.all("staff");
    for body in [
        json!([]),
        json!({ "name": 7 }),
        json!({ "shoe": "9" }),
        json!({ "id": 7, "name": "Ana" }),
        json!({ "email": "nobody" }),
        json!({ "location": "Atlantis" }),
        json!({ "onsite_status": "away" }),
        json!({ "roletype": "Warden" }),
        json!({ "globalroaming": "maybe" }),
        json!({ "globalroaming_locations": [99] }),
        json!({ "cf": { "99": "x" } }),
        json!({ "cf": { "5": "yes" } }),
        json!({ "cf": "x" }),
    ] {
        let (status, answer) = rig.send("PUT", "/staff/1001", Some(body.clone())).await;
        assert_eq!(status, 400, "{body}");
        assert!(answer["error"].is_string());
    }
    let typed = |kind: &str| rig.request("PUT", "/staff/1001").header("content-type", kind).body("{\"name\": ");
    assert_eq!(answer(typed("application/json; charset=utf-8")).await.0, 400);
    assert_eq!(answer(typed("text/csv")).await.0, 415);
    assert_eq!(rig.sandbox.all("staff"), before);
    assert_eq!(rig.sandbox.writes(), 0);
}

#[tokio::test]
async fn law_4_a_service_that_normalizes_rewrites_what_it_gets() {
    let rig = rig(Options { normalize: true, ..Options::default() }).await;
    let body = json!({ "name": " Ana  B ", "email": " Ana@Example.COM", "phone": "+64 (9) 555-0100", "mobile": "029 8385771" });
    assert_fields(
        &created(&rig, body).await,
        json!({ "name": "Ana  B", "email": "ana@example.com", "phone": "64 95550100", "mobile": "64 298385771" }),
    );
}

#[tokio::test]
async fn a_location_is_created_and_counts_its_staff() {
    let rig = rig(Options::default()).await;
    let (status, location) =
        rig.send("POST", "/location", Some(json!({ "name": "Nelson Yard", "country": "NZ" }))).await;
    assert_eq!((status, &location["staff_count"]), (200, &json!(0)));
    assert_eq!(rig.send("POST", "/location", Some(json!({ "address": "x" }))).await.0, 400);
    for _ in 0..2 {
        created(&rig, json!({ "name": "Ana", "location": "Nelson Yard" })).await;
    }
    let (_, found) = rig.get("/location?q=staff_count%3E1").await;
    assert_eq!((&found[0]["id"], &found[0]["staff_count"]), (&location["id"], &json!(2)));
    assert_eq!(found.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn tests_reach_in_by_the_back_door() {
    let rig = rig(Options::default()).await;
    let id = rig.sandbox.put("staff", json!({ "name": "Ana", "modified": "2020-01-01T00:00:00Z", "badge": "B7" }));
    let (_, ana) = rig.get(&format!("/staff/{id}")).await;
    assert_fields(&ana, json!({ "name": "Ana", "modified": "2020-01-01T00:00:00+00:00", "badge": "B7" }));
    rig.sandbox.edit("staff", id, json!({ "title": "Driver" }));
    let (_, edited) = rig.get(&format!("/staff/{id}")).await;
    assert_fields(&edited, json!({ "name": "Ana", "title": "Driver", "badge": "B7" }));
    assert_ne!(edited["modified"], ana["modified"]);
    assert!(rig.sandbox.remove("staff", id) && !rig.sandbox.remove("staff", id));
    assert_eq!(rig.sandbox.put("staff", json!({ "id": 77, "name": "Bo" })), 77);
    assert_eq!(rig.sandbox.writes(), 0);
}
