//! Zones and assets.

use serde_json::json;

use super::*;

#[tokio::test]
async fn a_zone_is_linked_and_unlinked_once_or_twice() {
    let rig = rig(Options::default()).await;
    let (_, zone) = rig.send("POST", "/zone", Some(json!({ "name": "Roof", "location_id": 11 }))).await;
    assert_eq!((&zone["status"], &zone["zone_fullname"], zone.get("lacps")), (&json!("active"), &json!("Roof"), None));
    for (verb, point, expected) in [
        ("link", 110, json!([110])),
        ("link", 110, json!([110])),
        ("link", 120, json!([110, 120])),
        ("unlink", 110, json!([120])),
    ] {
        let path = format!("/zone/301/{verb}/{point}");
        assert_eq!(rig.send("PUT", &path, None).await, (200, Value::Null));
        assert_eq!(rig.sandbox.all("zone")[0]["lacps"], expected, "{verb} {point}");
    }
    rig.sandbox.edit("zone", 301, json!({ "zone_group_name": "Tower" }));
    assert_eq!(rig.get("/zone/301").await.1["zone_fullname"], "Tower - Roof");
}

#[tokio::test]
async fn an_asset_goes_out_once_and_comes_back_once() {
    let clock = fixed_clock("2026-01-02T03:04:05Z");
    let rig = rig(Options { seed_staff: 1, clock, ..Options::default() }).await;
    rig.send("POST", "/asset", Some(json!({ "name": "Drill", "status": "out" }))).await;
    assert_eq!(rig.get("/asset/4001").await.1["status"], "in");
    let issue = |body: Value| rig.send("PUT", "/asset/4001/issue?time_zone=Pacific/Auckland", Some(body));
    for bad in [
        json!({}),
        json!({ "assigned_type": "staff" }),
        json!({ "assigned_type": "spm", "assigned_staff_id": 1001 }),
        json!({ "assigned_type": "dog", "assigned_staff_id": 1001 }),
        json!({ "assigned_type": "staff", "assigned_staff_id": 9 }),
        json!({ "assigned_type": "staff", "assigned_staff_id": 1001, "dueback": "soon" }),
    ] {
        assert_eq!(issue(bad.clone()).await.0, 400, "{bad}");
    }
    assert_eq!(rig.send("PUT", "/asset/4001/return", None).await.0, 400);
    let body = json!({ "assigned_type": "staff", "assigned_staff_id": 1001, "dueback": "2026-01-09 17:00:00" });
    let (_, out) = issue(body.clone()).await;
    let times = |movement: &Value| ["signed_out", "signed_in", "dueback"].map(|field| movement[field].clone());
    assert_eq!(times(&out), [json!("2026-01-02 16:04:05"), Value::Null, json!("2026-01-09 17:00:00")]);
    assert_eq!((out.get("id"), rig.get("/asset/4001").await.1["status"].clone()), (None, json!("out")));
    assert_eq!(issue(body.clone()).await.0, 400);
    let (_, back) = rig.send("PUT", "/asset/4001/return", None).await;
    assert_eq!(
        times(&back),
        [json!("2026-01-02 03:04:05"), json!("2026-01-02 03:04:05"), json!("2026-01-09 04:00:00")]
    );
    assert_eq!(
        (&back["assigned_staff_id"], rig.get("/asset/4001").await.1["status"].clone()),
        (&json!(1001), json!("in"))
    );
    assert_eq!(rig.send("PUT", "/asset/4001/return", None).await.0, 400);
    assert_eq!(issue(body).await.0, 200);
    assert_eq!(rig.sandbox.all("asset.movement").len(), 2);
}

#[tokio::test]
async fn who_refers_to_what_is_gone_may_say_so_again_and_no_one_else() {
    let rig = rig(Options { seed_staff: 2, ..Options::default() }).await;
    for owner in [1001, 1002] {
        let body = json!({ "name": "Drill", "owner_staff_id": owner });
        assert_eq!(rig.send("POST", "/asset", Some(body)).await.0, 200);
    }
    assert_eq!(rig.send("DELETE", "/staff/1001", None).await.0, 204);
    for (asset, expected) in [(4001, 200), (4002, 400)] {
        let body = json!({ "name": "Drill", "owner_staff_id": 1001 });
        assert_eq!(rig.send("PUT", &format!("/asset/{asset}"), Some(body)).await.0, expected, "{asset}");
    }
}
