//! Refused requests: conflicts, missing entities, missing permissions, and nonsense.

use serde_json::json;

use super::*;

#[tokio::test]
async fn a_conflict_is_409_and_changes_nothing() {
    let rig = rig(full()).await;
    rig.sandbox
        .put("induction", json!({ "id": 902, "name": "Small", "staff_audience": [1001], "contractor_audience": [] }));
    for (method, path, body, expected) in [
        ("POST", "/certification", json!({ "name": " first AID " }), 409),
        ("POST", "/qualification", json!({ "name": "First aid" }), 409),
        ("PUT", "/certification/801", json!({ "name": "First aid" }), 409),
        ("PUT", "/qualification/801", json!({ "name": "First aid" }), 409),
        ("PUT", "/certification/802", json!({ "name": "First aid" }), 200),
        ("POST", "/sp/membership", json!({ "org_id": 401, "member_id": 2003 }), 409),
        ("POST", "/sp/membership", json!({ "org_id": 402, "member_id": 2003 }), 200),
        // An update doesn't list the conflict among its outcomes.
        ("PUT", "/sp/membership/3002", json!({ "org_id": 401, "member_id": 2001 }), 200),
        ("DELETE", "/sp/org/group/501", Value::Null, 409),
        ("POST", "/induction/902/holder", json!({ "staff_id": 1002 }), 409),
        ("POST", "/induction/902/holder", json!({ "sp_member_id": 2001 }), 409),
        ("POST", "/induction/902/holder", json!({ "staff_id": 1001 }), 201),
        ("PUT", "/induction/902/holder/9011", json!({ "staff_id": "1002" }), 400),
    ] {
        let before = rig.sandbox.writes();
        let (status, answer) = rig.send(method, path, Some(body).filter(|body| !body.is_null())).await;
        assert_eq!(status, expected, "{method} {path}: {answer}");
        assert_eq!(rig.sandbox.writes() > before, status < 400, "{method} {path}");
    }
}

#[tokio::test]
async fn what_is_not_in_the_path_is_404_for_every_method() {
    let rig = rig(full()).await;
    for (method, path, body) in [
        ("GET", "/sp/member/9", Value::Null),
        ("GET", "/sp/member?id=9", Value::Null),
        ("GET", "/sp/member/x", Value::Null),
        ("PUT", "/sp/member/9", json!({ "name": "Bo" })),
        ("DELETE", "/sp/member/9", Value::Null),
        ("PUT", "/sp/org/9", json!({ "name": "Acme" })),
        ("GET", "/sp/org/9/groups", Value::Null),
        ("PUT", "/sp/org/9/groups", json!({ "groups": [], "function": "add" })),
        ("GET", "/certification/9/holder", Value::Null),
        ("POST", "/certification/9/holder", json!({ "record_id": 1001, "record_type": "staff" })),
        // Holders of another certification.
        ("GET", "/certification/802/holder/8001", Value::Null),
        ("PUT", "/certification/802/holder/8001", json!({ "record_id": 1001, "record_type": "staff" })),
        ("DELETE", "/qualification/802/holder/8001", Value::Null),
        ("GET", "/qualification/802/holder/8001/document", Value::Null),
        ("GET", "/qualification/9/holder/8001/document", Value::Null),
        ("GET", "/induction/9/holder", Value::Null),
        ("POST", "/induction/9/holder", json!({ "staff_id": 1001 })),
        ("GET", "/community/9/member", Value::Null),
        ("POST", "/community/9/member", json!({ "name": "Eve" })),
        ("GET", "/community/9/member/9501", Value::Null),
        ("PUT", "/zone/9/link/110", Value::Null),
        ("PUT", "/zone/301/link/9", Value::Null),
        ("PUT", "/zone/301/unlink/x", Value::Null),
        ("PUT", "/asset/9/issue", json!({ "assigned_type": "staff", "assigned_staff_id": 1001 })),
        ("PUT", "/asset/9/return", Value::Null),
        ("GET", "/staff/9/photo", Value::Null),
        ("GET", "/staff/1001/photo", Value::Null),
        ("GET", "/notification/9", Value::Null),
    ] {
        let (status, answer) = rig.send(method, path, Some(body).filter(|body| !body.is_null())).await;
        assert_eq!(status, 404, "{method} {path}: {answer}");
    }
    assert_eq!(rig.sandbox.writes(), 0);
}

#[tokio::test]
async fn a_method_that_a_resource_lacks_is_405() {
    let rig = rig(full()).await;
    for (method, path) in [
        ("DELETE", "/sp/org/401"),
        ("DELETE", "/zone/301"),
        ("DELETE", "/asset/4001"),
        ("POST", "/notification"),
        ("PUT", "/custom-questionnaire/question/5001"),
        ("POST", "/sp/insurance/type"),
        ("POST", "/customfield/element/staff"),
        ("PUT", "/location"),
        ("DELETE", "/staff/1001/photo"),
        ("POST", "/asset/4001/return"),
    ] {
        assert_eq!(rig.send(method, path, None).await.0, 405, "{method} {path}");
    }
}

#[tokio::test]
async fn assets_are_forbidden_without_their_add_on() {
    let rig = rig(Options { assets: false, ..full() }).await;
    for (method, path) in
        [("GET", "/asset"), ("GET", "/asset/4001"), ("PUT", "/asset/4001/return"), ("DELETE", "/assetgroup/4901")]
    {
        assert_eq!(rig.send(method, path, None).await.0, 403, "{method} {path}");
    }
    assert_eq!(rig.get("/zone").await.0, 200);
}

#[tokio::test]
async fn what_makes_no_sense_is_400() {
    let rig = rig(full()).await;
    for (method, path, body) in [
        ("POST", "/sp/member", json!({ "email": "bo@example.com" })),
        ("PUT", "/sp/member/2001", json!({ "id": 2001, "customfields": { "31": "x" } })),
        ("POST", "/sp/member", json!({ "name": "Bo", "valid_to": "31.12.2026" })),
        ("POST", "/sp/member", json!({ "name": "Bo", "cf": { "3": "an employee's element" } })),
        ("POST", "/sp/member", json!({ "name": "Bo", "cur_location": 9 })),
        ("POST", "/sp/member", json!({ "name": "Bo", "cur_location": "Auckland Office" })),
        ("POST", "/sp/org", json!({ "locations": [{ "id": 9 }] })),
        ("POST", "/sp/org", json!({ "locations": [{ "id": 11, "start": "soon" }] })),
        ("POST", "/sp/org", json!({ "locations": [{ "id": 11, "until": "2026-01-01" }] })),
        ("POST", "/sp/org", json!({ "organization_owner": 9 })),
        ("POST", "/sp/org/group", json!({ "category_id": "two" })),
        ("POST", "/sp/membership", json!({ "org_id": 401 })),
        ("POST", "/sp/membership", json!({ "org_id": 9, "member_id": 2001 })),
        ("POST", "/sp/membership", json!({ "org_id": 402, "member_id": 2001, "roles": [9] })),
        ("POST", "/sp/insurance", json!({ "start": "2026-13-01" })),
        ("POST", "/certification/801/holder", json!({ "record_id": 1001 })),
        ("POST", "/certification/801/holder", json!({ "record_id": 1001, "record_type": "sp" })),
        ("POST", "/certification/801/holder", json!({ "record_id": 1001, "record_type": "visitor" })),
        ("POST", "/induction/901/holder", json!({})),
        ("POST", "/induction/901/holder", json!({ "staff_id": 0, "sp_member_id": "0" })),
        ("POST", "/induction/901/holder", json!({ "staff_id": 1001, "sp_member_id": 2001 })),
        ("POST", "/community/951/member", json!({ "name": "Eve", "year": 2026 })),
        ("POST", "/visitor/event", json!({ "signed_in": "yesterday" })),
        ("POST", "/visitor/event", json!({ "mode_id": "Manual" })),
        ("POST", "/visitor/event", json!({ "lacp_in_id": 7 })),
        ("POST", "/visitor/register", json!({ "visitors": [{ "name": "Wo", "shoe": 9 }] })),
        ("POST", "/visitor/register", json!({ "type": "visit" })),
        ("POST", "/zone", json!({ "spaces": 1.5 })),
        ("POST", "/zone", json!({ "spaces": 4_000_000_000_i64 })),
    ] {
        let (status, answer) = rig.send(method, path, Some(body.clone())).await;
        assert_eq!(status, 400, "{method} {path} {body}: {answer}");
    }
    for path in [
        "/sp/member?q=customfields:1",
        "/sp/member?q=sp_orgs:1",
        "/visitor/event?q=visitor_group_id:1",
        "/qualification?q=staff_audience:all",
        "/notification?limit=5",
        "/zone?order=id",
        "/certification/801/holder?q=id:1",
        "/custom-questionnaire/question?page=0",
        "/sp/org?page=1",
    ] {
        assert_eq!(rig.get(path).await.0, 400, "{path}");
    }
    assert_eq!(rig.sandbox.writes(), 0);
}
