//! What contractors and their organizations show of one another, and the groups of organizations.

use serde_json::json;

use super::*;

/// An organization, a member, and both together.
async fn crew() -> Rig {
    let rig = rig(Options::default()).await;
    let org = json!({
        "name": "Acme", "locations": [{ "id": 11, "start": "2026-01-01" }, { "id": 12, "name": "ignored" }], "cf": { "7": 1 },
    });
    assert_eq!(rig.send("POST", "/sp/org", Some(org)).await.0, 200);
    assert_eq!(rig.send("POST", "/sp/member", Some(json!({ "name": "Bo Stone" }))).await.0, 201);
    let membership = json!({ "org_id": 401, "member_id": 2001, "roles": [61, 63] });
    assert_eq!(rig.send("POST", "/sp/membership", Some(membership)).await.0, 200);
    rig
}

#[tokio::test]
async fn a_membership_is_seen_from_both_sides() {
    let rig = crew().await;
    let places = json!([
        { "id": 11, "name": "Auckland Office", "start": "2026-01-01", "expires": null },
        { "id": 12, "name": "Wellington Office", "start": null, "expires": null },
    ]);
    let roles = json!([{ "id": 61, "name": "Worker" }, { "id": 63, "name": "Manager" }]);
    let (_, org) = rig.get("/sp/org/401").await;
    assert_eq!((&org["locations"], &org["members"]), (&places, &json!([{ "id": 2001, "name": "Bo Stone" }])));
    assert_eq!((&org["customfields"], org.get("cf")), (&json!({ "7": "1" }), None));
    let (_, member) = rig.get("/sp/member/2001").await;
    let seen =
        json!([{ "id": 401, "name": "Acme", "roles": roles, "locations": places, "locations_same_as_org": true }]);
    assert_eq!(member["sp_orgs"], seen);
    let (_, membership) = rig.get("/sp/membership/3001").await;
    assert_eq!((&membership["org_name"], &membership["member_name"]), (&json!("Acme"), &json!("Bo Stone")));
    assert_eq!((&membership["roles"], &membership["locations"]), (&roles, &places));
}

#[tokio::test]
async fn a_membership_with_locations_of_its_own_inherits_none() {
    let rig = crew().await;
    for (locations, same) in [
        (json!([{ "id": 12 }]), false),
        (json!([{ "id": 11, "start": "2026-01-01" }, { "id": 12 }]), true),
        (json!([]), true),
    ] {
        let body = json!({ "org_id": 401, "member_id": 2001, "locations": locations });
        let (_, membership) = rig.send("PUT", "/sp/membership/3001", Some(body)).await;
        assert_eq!(membership["locations_same_as_org"], json!(same), "{locations}");
        assert_eq!(membership["locations"].as_array().unwrap().len(), if same { 2 } else { 1 });
    }
}

#[tokio::test]
async fn what_is_renamed_or_removed_shows_everywhere() {
    let rig = crew().await;
    assert_eq!(rig.send("PUT", "/sp/member/2001", Some(json!({ "name": "Bea" }))).await, (204, Value::Null));
    assert_eq!(rig.get("/sp/membership/3001").await.1["member_name"], "Bea");
    assert_eq!(rig.ids("/sp/membership?q=member_name:bea").await, [3001]);
    for _ in 0..2 {
        rig.send("POST", "/sp/insurance", Some(json!({ "org_id": 401 }))).await;
    }
    assert_eq!(rig.get("/sp/org/401").await.1["policies"], 2);
    assert_eq!(rig.send("DELETE", "/sp/member/2001", None).await.0, 204);
    assert_eq!(
        (rig.ids("/sp/membership").await.len(), rig.get("/sp/org/401").await.1["members"].clone()),
        (0, json!([]))
    );
}

#[tokio::test]
async fn a_list_of_one_id_is_one_object_and_only_that_has_its_logs() {
    let rig = crew().await;
    rig.sandbox.edit("sp.member", 2001, json!({ "logs": [{ "id": 1, "created": "2026-01-01T00:00:00Z" }] }));
    let zone = "time_zone=Asia/Tokyo";
    let logs = json!([{ "id": 1, "created": "2026-01-01T09:00:00+09:00" }]);
    for path in ["/sp/member?id=2001&", "/sp/member/2001?"] {
        assert_eq!(rig.get(&format!("{path}{zone}")).await.1["logs"], logs, "{path}");
    }
    assert_eq!(rig.get("/sp/member").await.1[0]["logs"], json!([]));
}

#[tokio::test]
async fn a_token_finds_its_contractor() {
    let rig = crew().await;
    rig.sandbox.edit("sp.member", 2001, json!({ "tokens": [{ "type": "card", "number": 0x00C1_BB7F }] }));
    for (number, expected) in [("C1BB7F", vec![2001]), ("12696447", vec![2001]), ("7", vec![])] {
        assert_eq!(rig.ids(&format!("/sp/member?q=token:{number}")).await, expected);
    }
}

#[tokio::test]
async fn groups_are_added_and_hold_on_to_their_organizations() {
    let rig = crew().await;
    for (name, category_id) in [("Preferred", 1), ("High risk", 2)] {
        let body = json!({ "name": name, "category_id": category_id });
        assert_eq!(rig.send("POST", "/sp/org/group", Some(body)).await.0, 201);
    }
    let path = "/sp/org/401/groups";
    for (body, expected) in [
        (json!({ "groups": [{ "id": 501 }], "function": "remove" }), 400),
        (json!({ "groups": [{ "id": 501 }] }), 400),
        (json!({ "groups": [{ "name": "Preferred" }], "function": "add" }), 400),
        (json!({ "groups": [{ "id": 9 }], "function": "add" }), 400),
        (json!({ "groups": [{ "id": 501 }], "function": "add", "more": 1 }), 400),
        (json!({ "groups": [{ "id": 502, "name": "ignored" }, { "id": 502 }], "function": "add" }), 200),
        (json!({ "groups": [{ "id": 501 }], "function": "add" }), 200),
    ] {
        assert_eq!(rig.send("PUT", path, Some(body.clone())).await.0, expected, "{body}");
    }
    assert_eq!(rig.sandbox.all("sp.org")[0]["groups"], json!([502, 501]));
    let preferred = json!({ "id": 501, "name": "Preferred", "category_id": 1 });
    let risky = json!({ "id": 502, "name": "High risk", "category_id": 2 });
    assert_eq!(rig.get(path).await, (200, json!({ "group": [preferred, risky] })));
    assert_eq!(rig.get(&format!("{path}?q=category_id:1")).await, (200, json!({ "group": [preferred] })));
    assert_eq!(rig.send("DELETE", "/sp/org/group/502", None).await.0, 409);
    // A replacement of the organization leaves its groups.
    assert_eq!(rig.send("PUT", "/sp/org/401", Some(json!({ "name": "Acme" }))).await.0, 200);
    assert_eq!(rig.send("DELETE", "/sp/org/group/502", None).await.0, 409);
    rig.sandbox.edit("sp.org", 401, json!({ "groups": [501] }));
    assert_eq!(rig.send("DELETE", "/sp/org/group/502", None).await.0, 204);
}
