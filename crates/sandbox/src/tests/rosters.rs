//! Whole rosters of employees.

use serde_json::json;

use super::*;

/// A sandbox with these people only.
async fn with(people: Value) -> Rig {
    let rig = rig(Options::default()).await;
    for person in people.as_array().unwrap() {
        rig.sandbox.put("staff", person.clone());
    }
    rig
}

async fn upload(rig: &Rig, query: &str, body: Value) -> (u16, Value) {
    rig.send("PUT", &format!("/staff{query}"), Some(body)).await
}

async fn upload_csv(rig: &Rig, text: &str) -> (u16, Value) {
    answer(rig.request("PUT", "/staff").header("content-type", "text/csv; charset=utf-8").body(text.to_owned())).await
}

fn three() -> Value {
    json!([
        { "id": 1, "name": "Ana", "employee_id": "E1", "email": "ana@example.com", "department": "Sales", "title": "Driver" },
        { "id": 2, "name": "Bo", "employee_id": "E2", "email": "bo@example.com", "department": "Sales" },
        { "id": 3, "name": "Cy", "email": "cy@example.com", "department": "Finance", "tokens": [{ "type": "card", "number": 7 }] },
    ])
}

fn column(rig: &Rig, field: &str) -> Value {
    rig.sandbox.all("staff").iter().map(|person| json!([person["id"], person[field]])).collect()
}

#[tokio::test]
async fn a_roster_adds_updates_and_removes() {
    let rig = with(three()).await;
    let roster = json!([
        { "name": "Cyrus", "email": "CY@example.com" },
        { "name": "Dee", "employee_id": "E4" },
        { "name": "Ana", "employee_id": "e1", "email": "new@example.com", "cf": { "3": "L1" }, "roletype": ["Warden"] },
    ]);
    let (status, answer) = upload(&rig, "", roster).await;
    assert_eq!(status, 200, "{answer}");
    let written: Value = answer.as_array().unwrap().iter().map(|person| person["id"].clone()).collect();
    assert_eq!(written, json!([3, 1001, 1]));
    assert_eq!(column(&rig, "name"), json!([[1, "Ana"], [3, "Cyrus"], [1001, "Dee"]]));
    // An update replaces everything except what can't be sent.
    assert_eq!((&answer[2]["title"], &answer[2]["department"]), (&Value::Null, &json!("Sales")));
    assert_eq!((&answer[2]["email"], &answer[2]["customfields"]), (&json!("new@example.com"), &json!({ "3": "L1" })));
    assert_eq!(answer[0]["tokens"][0]["number"], 7);
}

#[tokio::test]
async fn a_roster_of_a_group_removes_no_one_else() {
    let rig = with(three()).await;
    let roster = json!([{ "name": "Bo", "employee_id": "E2" }, { "name": "Dee", "employee_id": "E4" }]);
    assert_eq!(upload(&rig, "?group=Sales&location=Dunedin%20Workshop", roster).await.0, 200);
    assert_eq!(column(&rig, "department"), json!([[2, "Sales"], [3, "Finance"], [1001, "Sales"]]));
    let dunedin = "Dunedin Workshop";
    assert_eq!(column(&rig, "location"), json!([[2, dunedin], [3, null], [1001, dunedin]]));
    assert_eq!(upload(&rig, "?group=Sales", json!([])).await, (200, json!([])));
    assert_eq!(column(&rig, "name"), json!([[3, "Cy"]]));
}

#[tokio::test]
async fn a_roster_may_be_csv() {
    let rig = with(three()).await;
    let text = "\u{feff}employee_id,name,email,cf4,roletype,globalroaming,token7type,token7number,token9number,token9issued\r\n\
                E1,\"Ana, \"\"A\"\"\",ana@example.com,M,Warden;First Aider,1,card,12,C1BB7F,2026-01-02T03:04:05Z\r\n\
                007,Zoë,,,,,,,,\r\n";
    let (status, answer) = upload_csv(&rig, text).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(column(&rig, "name"), json!([[1, "Ana, \"A\""], [1001, "Zoë"]]));
    assert_eq!(column(&rig, "employee_id"), json!([[1, "E1"], [1001, "007"]]));
    assert_eq!(answer[0]["customfields"], json!({ "4": "M" }));
    assert_eq!(
        (&answer[0]["role_types"], &answer[0]["globalroaming"]),
        (&json!([["Warden", "First Aider"]]), &json!(1))
    );
    assert_eq!(
        answer[0]["tokens"],
        json!([
            { "type": "card", "number": 12, "issued": null, "expiry": null },
            { "type": null, "number": "C1BB7F", "issued": "2026-01-02T03:04:05+00:00", "expiry": null },
        ])
    );
}

#[tokio::test]
async fn a_roster_with_one_bad_row_changes_nothing() {
    let rig = with(three()).await;
    let before = rig.sandbox.all("staff");
    let good = json!({ "name": "Ana", "employee_id": "E1", "email": "new@example.com" });
    for bad in [
        json!({ "shoe": 9 }),
        json!(7),
        json!({ "name": "Ana", "email": "ana@example.com" }),
        json!({ "name": "Ana", "employee_id": "e1" }),
        json!({ "name": "Two", "email": "NEW@example.com" }),
        json!({ "name": "Bo", "location": "Atlantis" }),
        json!({ "name": "Bo", "token1number": -4 }),
        json!({ "name": "Bo", "token1issued": "soon" }),
        json!({ "name": "Bo", "token1color": "red" }),
    ] {
        let (status, answer) = upload(&rig, "", json!([good, bad])).await;
        assert_eq!(status, 400, "{bad}");
        assert!(answer["error"].as_str().unwrap().starts_with("row 2"), "{answer}");
    }
    for body in [json!({}), json!("people")] {
        assert_eq!(upload(&rig, "", body).await.0, 400);
    }
    assert_eq!(upload(&rig, "?location=Atlantis", json!([])).await.0, 400);
    for text in ["", "2249", "name,shoe\n", "name,shoe\nAna,9\n", "name,email\nAna\n", "name\n\u{fffd}\nAna,x\n"] {
        assert_eq!(upload_csv(&rig, text).await.0, 400, "{text}");
    }
    assert_eq!(rig.sandbox.all("staff"), before);
}
