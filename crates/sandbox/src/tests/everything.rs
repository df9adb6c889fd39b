//! Every operation, once, with a body that it takes: it is carried out and answers as its row says.

use serde_json::json;

use super::*;
use crate::operation::operations;
use crate::tables::RESOURCES;

/// A request of each operation, in an order in which all succeed; what is deleted is deleted last.
const REQUESTS: &[(&str, &str, &str, &str)] = &[
    ("staff.list", "GET", "/staff?order=-name&limit=3", ""),
    ("staff.create", "POST", "/staff", r#"{ "name": "Ana" }"#),
    ("staff.get", "GET", "/staff/1001", ""),
    ("staff.update", "PUT", "/staff/1001", r#"{ "name": "Ana" }"#),
    ("staff.movement.list", "GET", "/staff/movement?order=-signed_in", ""),
    (
        "staff.movement.put",
        "PUT",
        "/staff/movement",
        r#"{ "onsite_status": "onsite", "location_id": 11, "staff_id": 1001 }"#,
    ),
    ("staff.movement.get", "GET", "/staff/movement/50001", ""),
    ("customfield.element.list-staff", "GET", "/customfield/element/staff", ""),
    ("customfield.element.list-sp-member", "GET", "/customfield/element/sp-member", ""),
    ("location.list", "GET", "/location?limit=2", ""),
    ("location.create", "POST", "/location", r#"{ "name": "Nelson Yard" }"#),
    ("sp.member.list", "GET", "/sp/member?q=name%25a", ""),
    ("sp.member.create", "POST", "/sp/member", r#"{ "name": "Bo", "customfields": { "31": "L" } }"#),
    ("sp.member.get", "GET", "/sp/member/2001", ""),
    ("sp.member.update", "PUT", "/sp/member/2001", r#"{ "name": "Bo", "cf": { "33": true }, "cur_location": 12 }"#),
    ("sp.member.movement.list", "GET", "/sp/member/movement?limit=1", ""),
    (
        "sp.member.movement.put",
        "PUT",
        "/sp/member/movement?sp_member_id=2002",
        r#"{ "onsite_status": "onsite", "location_id": 11, "sp_org_id": 401, "expected": 30 }"#,
    ),
    ("sp.org.list", "GET", "/sp/org?q=policies%3E1", ""),
    ("sp.org.create", "POST", "/sp/org", r#"{ "name": "Acme", "locations": [{ "id": 11 }], "cf": { "7": "x" } }"#),
    ("sp.org.get", "GET", "/sp/org/401", ""),
    ("sp.org.update", "PUT", "/sp/org/402", r#"{ "name": "Acme", "organization_owner": 1002, "status": "on-hold" }"#),
    ("sp.org.groups.get", "GET", "/sp/org/401/groups", ""),
    ("sp.org.groups.update", "PUT", "/sp/org/401/groups", r#"{ "groups": [{ "id": 502 }], "function": "add" }"#),
    ("sp.org.group.list", "GET", "/sp/org/group?q=category_id:2", ""),
    ("sp.org.group.create", "POST", "/sp/org/group", r#"{ "category_id": 4, "name": "Night" }"#),
    ("sp.org.group.get", "GET", "/sp/org/group/501", ""),
    ("sp.org.group.update", "PUT", "/sp/org/group/501", r#"{ "name": "Preferred by all" }"#),
    ("sp.membership.list", "GET", "/sp/membership", ""),
    ("sp.membership.create", "POST", "/sp/membership", r#"{ "org_id": 403, "member_id": 2003, "roles": [61] }"#),
    ("sp.membership.get", "GET", "/sp/membership/3001", ""),
    ("sp.membership.update", "PUT", "/sp/membership/3002", r#"{ "org_id": 401, "member_id": 2002 }"#),
    ("sp.insurance.list", "GET", "/sp/insurance?q=expires%3E2020-01-01", ""),
    ("sp.insurance.create", "POST", "/sp/insurance", r#"{ "org_id": 401, "type": "Other", "expires": "2030-01-31" }"#),
    ("sp.insurance.get", "GET", "/sp/insurance/701", ""),
    ("sp.insurance.update", "PUT", "/sp/insurance/701", r#"{ "org_id": 401, "value": 5000 }"#),
    ("sp.insurance.type.list", "GET", "/sp/insurance/type?order=-name", ""),
    ("certification.list", "GET", "/certification?q=holders%3E1", ""),
    ("certification.create", "POST", "/certification", r#"{ "name": "Diving", "category": "internal" }"#),
    ("certification.get", "GET", "/certification/801", ""),
    ("certification.update", "PUT", "/certification/801", r#"{ "name": "Heights", "certification_type_id": 2 }"#),
    ("certification.holder.list", "GET", "/certification/801/holder", ""),
    (
        "certification.holder.create",
        "POST",
        "/certification/801/holder",
        r#"{ "record_id": 1003, "record_type": "staff" }"#,
    ),
    ("certification.holder.get", "GET", "/certification/801/holder/8001", ""),
    (
        "certification.holder.update",
        "PUT",
        "/certification/801/holder/8001",
        r#"{ "record_id": 2004, "record_type": "sp", "validto": "2030-12-31" }"#,
    ),
    ("qualification.list", "GET", "/qualification", ""),
    ("qualification.create", "POST", "/qualification", r#"{ "name": "Climbing" }"#),
    ("qualification.get", "GET", "/qualification/802", ""),
    ("qualification.update", "PUT", "/qualification/802", r#"{ "name": "Aid" }"#),
    ("qualification.holder.list", "GET", "/qualification/802/holder", ""),
    (
        "qualification.holder.create",
        "POST",
        "/qualification/802/holder",
        r#"{ "record_id": 2004, "record_type": "sp" }"#,
    ),
    ("qualification.holder.get", "GET", "/qualification/802/holder/8002", ""),
    (
        "qualification.holder.update",
        "PUT",
        "/qualification/802/holder/8002",
        r#"{ "record_id": 2004, "record_type": "sp" }"#,
    ),
    ("qualification.holder.document.list", "GET", "/qualification/801/holder/8001/document", ""),
    ("induction.holder.list", "GET", "/induction/901/holder?q=status:completed", ""),
    (
        "induction.holder.create",
        "POST",
        "/induction/901/holder",
        r#"{ "staff_id": 1002, "sp_member_id": 0, "completed": "2026-01-02T03:04:05+13:00" }"#,
    ),
    ("induction.holder.get", "GET", "/induction/901/holder/9001", ""),
    ("induction.holder.update", "PUT", "/induction/901/holder/9001", r#"{ "staff_id": "0", "sp_member_id": "2001" }"#),
    ("community.member.list", "GET", "/community/951/member", ""),
    (
        "community.member.create",
        "POST",
        "/community/951/member",
        r#"{ "name": "Eve", "location_id": 12, "community_id": 951 }"#,
    ),
    ("community.member.get", "GET", "/community/951/member/9501", ""),
    ("community.member.update", "PUT", "/community/951/member/9501", r#"{ "name": "Eve", "year": 2026 }"#),
    ("visitor.event.list", "GET", "/visitor/event?order=name", ""),
    ("visitor.event.create", "POST", "/visitor/event", r#"{ "name": "Vi", "id_verification_reference": true }"#),
    ("visitor.event.get", "GET", "/visitor/event/70001", ""),
    ("visitor.event.update", "PUT", "/visitor/event/70001", r#"{ "name": "Vi", "mode_id": "Manual", "pass": 1 }"#),
    ("visitor.register.list", "GET", "/visitor/register?q=type:group", ""),
    ("visitor.register.create", "POST", "/visitor/register", r#"{ "name": "Vi", "visitors": [{ "name": "Wo" }] }"#),
    ("visitor.register.get", "GET", "/visitor/register/75001", ""),
    ("visitor.register.update", "PUT", "/visitor/register/75001", r#"{ "name": "Vi", "staff_id": 1001 }"#),
    ("visitor.group.list", "GET", "/visitor/group", ""),
    ("visitor.group.create", "POST", "/visitor/group", r#"{ "name": "Choir" }"#),
    ("visitor.group.get", "GET", "/visitor/group/78001", ""),
    ("visitor.group.update", "PUT", "/visitor/group/78001", r#"{ "name": "Choir", "staff_id": 1001 }"#),
    ("zone.list", "GET", "/zone?q=location_id:11", ""),
    ("zone.create", "POST", "/zone", r#"{ "name": "Roof", "location_id": 11, "spaces_enabled": 0 }"#),
    ("zone.get", "GET", "/zone/301", ""),
    ("zone.update", "PUT", "/zone/301", r#"{ "name": "Cellar", "maximum_occupancy": "7" }"#),
    ("zone.link", "PUT", "/zone/301/link/120", ""),
    ("zone.unlink", "PUT", "/zone/301/unlink/120", ""),
    ("asset.list", "GET", "/asset?q=status:in&limit=2", ""),
    ("asset.create", "POST", "/asset", r#"{ "name": "Drill", "geo_lat": -36.8, "geo_lon": "174.7" }"#),
    ("asset.get", "GET", "/asset/4001", ""),
    ("asset.update", "PUT", "/asset/4001", r#"{ "name": "Ladder", "tag": "A1" }"#),
    ("asset.issue", "PUT", "/asset/4002/issue", r#"{ "assigned_type": "staff", "assigned_staff_id": 1001 }"#),
    ("asset.return", "PUT", "/asset/4002/return", ""),
    ("assetgroup.list", "GET", "/assetgroup?q=class:fixed", ""),
    ("assetgroup.create", "POST", "/assetgroup", r#"{ "name": "Cars", "class": "transfer" }"#),
    ("assetgroup.get", "GET", "/assetgroup/4901", ""),
    ("assetgroup.update", "PUT", "/assetgroup/4901", r#"{ "name": "Tools" }"#),
    ("custom-questionnaire.question.list", "GET", "/custom-questionnaire/question?order=order&page=2&limit=1", ""),
    ("custom-questionnaire.question.get", "GET", "/custom-questionnaire/question/5001", ""),
    ("notification.list", "GET", "/notification?q=method:sms", ""),
    ("notification.get", "GET", "/notification/90001", ""),
    ("sp.membership.delete", "DELETE", "/sp/membership/3001", ""),
    ("sp.member.delete", "DELETE", "/sp/member/2001", ""),
    ("sp.org.group.delete", "DELETE", "/sp/org/group/504", ""),
    ("sp.insurance.delete", "DELETE", "/sp/insurance/701", ""),
    ("certification.holder.delete", "DELETE", "/certification/801/holder/8001", ""),
    ("qualification.holder.delete", "DELETE", "/qualification/802/holder/8002", ""),
    ("certification.delete", "DELETE", "/certification/801", ""),
    ("qualification.delete", "DELETE", "/qualification/802", ""),
    ("induction.holder.delete", "DELETE", "/induction/901/holder/9001", ""),
    ("community.member.delete", "DELETE", "/community/951/member/9501", ""),
    ("visitor.event.delete", "DELETE", "/visitor/event/70001", ""),
    ("visitor.register.delete", "DELETE", "/visitor/register/75001", ""),
    ("visitor.group.delete", "DELETE", "/visitor/group/78001", ""),
    ("assetgroup.delete", "DELETE", "/assetgroup/4901", ""),
    ("staff.delete", "DELETE", "/staff/1002", ""),
    ("staff.bulk", "PUT", "/staff", r#"[{ "name": "Ana" }]"#),
];

#[tokio::test]
async fn every_operation_succeeds_as_its_row_says() {
    let rig = rig(full()).await;
    for (name, method, path, body) in REQUESTS {
        let body = (!body.is_empty()).then(|| serde_json::from_str(body).unwrap());
        let (status, answer) = rig.send(method, path, body).await;
        let operation = operations().iter().find(|operation| operation.name == *name).unwrap();
        assert_eq!(rig.sandbox.requests().last().unwrap().operation, *name);
        assert_eq!(status, operation.success, "{name}: {answer}");
        match *name {
            name if operation.is_list() => assert!(!answer.as_array().unwrap().is_empty(), "{name}"),
            "sp.org.groups.get" | "sp.org.groups.update" => assert!(answer["group"][0]["id"].is_i64()),
            "zone.link" | "zone.unlink" => assert_eq!(answer, Value::Null),
            "asset.issue" | "asset.return" => assert_eq!(answer["asset_id"], json!(4002)),
            "staff.bulk" => assert_eq!(answer[0]["name"], "Ana"),
            _ if status == 204 => {}
            name => assert!(answer["id"].is_i64(), "{name}: {answer}"),
        }
    }
}

#[tokio::test]
async fn tests_reach_into_every_collection() {
    let rig = rig(Options::default()).await;
    for resource in RESOURCES {
        let id = rig.sandbox.put(resource.name, json!({ "badge": "B7" }));
        rig.sandbox.edit(resource.name, id, json!({ "badge": "B8" }));
        let all = rig.sandbox.all(resource.name);
        assert!(all.iter().any(|entity| entity["id"] == id && entity["badge"] == "B8"), "{}", resource.name);
        assert!(rig.sandbox.remove(resource.name, id) && !rig.sandbox.remove(resource.name, id), "{}", resource.name);
    }
}

#[test]
fn no_operation_is_left_out() {
    let photos_and_tokens = ["staff.photo.get", "staff.photo.put", "staff.photo.head"];
    for operation in operations() {
        let is_elsewhere = photos_and_tokens.contains(&operation.name) || operation.is_token_request();
        let count = REQUESTS.iter().filter(|(name, ..)| *name == operation.name).count();
        assert_eq!(count, usize::from(!is_elsewhere), "{}", operation.name);
    }
}

#[tokio::test]
async fn every_entity_of_a_list_can_be_asked_for_and_looks_the_same() {
    let rig = rig(full()).await;
    for list in [
        "/staff",
        "/staff/movement",
        "/sp/member",
        "/sp/org",
        "/sp/org/group",
        "/sp/membership",
        "/sp/insurance",
        "/certification",
        "/certification/801/holder",
        "/qualification",
        "/qualification/803/holder",
        "/induction/901/holder",
        "/community/951/member",
        "/visitor/event",
        "/visitor/register",
        "/visitor/group",
        "/zone",
        "/asset",
        "/assetgroup",
        "/custom-questionnaire/question",
        "/notification",
    ] {
        let (_, entities) = rig.get(list).await;
        for entity in entities.as_array().unwrap() {
            let (status, mut alone) = rig.get(&format!("{list}/{}", entity["id"])).await;
            assert_eq!(status, 200, "{list}");
            // How long an open visit has lasted is another text a second later.
            alone["onsite"] = entity["onsite"].clone();
            let mut entity = entity.clone();
            entity["onsite"] = alone["onsite"].clone();
            assert_eq!(alone, entity, "{list}");
        }
    }
}
