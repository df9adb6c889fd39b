//! Certifications, inductions, communities.

use serde_json::json;

use super::*;

#[tokio::test]
async fn a_qualification_is_its_certification_seen_with_fewer_fields() {
    let rig = rig(full()).await;
    let (_, certification) = rig.get("/certification/801").await;
    let (_, qualification) = rig.get("/qualification/801").await;
    for (name, value) in qualification.as_object().unwrap() {
        assert_eq!(value, &certification[name], "{name}");
    }
    assert_eq!((qualification.as_object().unwrap().len(), certification.as_object().unwrap().len()), (9, 18));
    let (_, updated) = rig.send("PUT", "/qualification/801", Some(json!({ "name": "Heights" }))).await;
    assert_eq!((updated.as_object().unwrap().len(), &updated["name"]), (18, &json!("Heights")));
    assert_eq!(rig.get("/certification/801/holder").await, rig.get("/qualification/801/holder").await);
}

#[tokio::test]
async fn a_holder_is_counted_and_named_and_goes_with_its_certification() {
    let rig = rig(full()).await;
    let count = rig.get("/certification/801").await.1["holders"].as_i64().unwrap();
    let body = json!({ "record_id": 1002, "record_type": "staff", "validfrom": "2026-01-31" });
    let (_, holder) = rig.send("POST", "/certification/801/holder", Some(body)).await;
    let staff = rig.get("/staff/1002").await.1;
    for (field, expected) in [
        ("holder_name", staff["name"].clone()),
        ("holder_email", staff["email"].clone()),
        ("certification_name", json!("Working at heights")),
        ("certification_id", json!(801)),
        ("type", json!("external")),
        ("validfrom", json!("2026-01-31")),
        ("documents", json!(0)),
    ] {
        assert_eq!(holder[field], expected, "{field}");
    }
    rig.sandbox.put("certification.holder.document", json!({ "holder_id": holder["id"], "name": "Scan" }));
    let path = format!("/certification/801/holder/{}", holder["id"]);
    assert_eq!(rig.get(&path).await.1["documents"], 1);
    assert_eq!(rig.get("/certification/801").await.1["holders"], count + 1);
    let before = rig.sandbox.all("certification.holder").len();
    assert_eq!(rig.send("DELETE", "/certification/801", None).await.0, 204);
    assert_eq!(rig.get(&path).await.0, 404);
    assert_eq!(rig.sandbox.all("certification.holder").len(), before - usize::try_from(count + 1).unwrap());
    let documents = rig.sandbox.all("certification.holder.document");
    assert!(!documents.iter().any(|document| document["holder_id"] == holder["id"]));
}

#[tokio::test]
async fn an_induction_taken_again_is_the_same_association() {
    let rig = rig(full()).await;
    let post = |completed: Value| {
        let body = json!({ "staff_id": 1001, "sp_member_id": 0, "completed": completed });
        rig.send("POST", "/induction/901/holder", Some(body))
    };
    let (status, first) = post(Value::Null).await;
    let state = |holder: &Value| ["status", "attempts", "attempts_left"].map(|field| holder[field].clone());
    assert_eq!((status, state(&first)), (201, [json!("incomplete"), json!(1), json!(2)]));
    let (status, second) = post(json!("2026-01-02T03:04:05+13:00")).await;
    assert_eq!((status, state(&second)), (201, [json!("completed"), json!(2), json!(1)]));
    assert_eq!(second["id"], first["id"]);
    assert_eq!(second["completed"], "2026-01-01T14:04:05+00:00");
    let staff = rig.get("/staff/1001").await.1;
    assert_eq!((&second["learner_name"], &second["learner_from"]), (&staff["name"], &staff["location"]));
    assert_eq!((&second["sp_member_id"], second.get("induction_id")), (&Value::Null, None));
    let path = format!("/induction/901/holder/{}", first["id"]);
    let (_, replaced) = rig.send("PUT", &path, Some(json!({ "staff_id": "0", "sp_member_id": "2001" }))).await;
    assert_eq!(state(&replaced), [json!("incomplete"), json!(2), json!(1)]);
    let org = rig.get("/sp/org/401").await.1;
    assert_eq!((&replaced["sp_member_id"], &replaced["learner_from"]), (&json!(2001), &org["name"]));
}

#[tokio::test]
async fn a_community_member_stays_where_it_was_created() {
    let rig = rig(full()).await;
    rig.sandbox.put("community", json!({ "id": 952, "name": "Others" }));
    let create =
        |community: i64| json!({ "name": "Eve", "location_id": 12, "community_id": community, "external_id": 7 });
    assert_eq!(rig.send("POST", "/community/951/member", Some(create(952))).await.0, 400);
    let (_, eve) = rig.send("POST", "/community/951/member", Some(create(951))).await;
    assert_eq!(eve["external_id"], "7");
    let path = format!("/community/951/member/{}", eve["id"]);
    let (_, eve) = rig.send("PUT", &path, Some(json!({ "name": "Eva", "year": 2026, "location_id": 13 }))).await;
    assert_eq!((&eve["location_id"], &eve["community_id"], &eve["name"]), (&json!(12), &json!(951), &json!("Eva")));
    assert_eq!((eve.get("year"), &eve["external_id"]), (None, &Value::Null));
    assert_eq!(rig.get("/community/952/member").await, (200, json!([])));
}
