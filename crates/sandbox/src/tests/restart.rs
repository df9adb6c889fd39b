//! Stopping, starting again, and size.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::Error;
use crate::tables::RESOURCES;

#[tokio::test]
async fn a_data_folder_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { data: Some(folder.path().to_owned()), seed_staff: 3, ..Options::default() };
    let first = rig(options()).await;
    assert_eq!(first.send("POST", "/staff", Some(json!({ "name": "Ana", "cf": { "3": "L7" } }))).await.0, 200);
    assert_eq!(first.send("DELETE", "/staff/1002", None).await.0, 204);
    let before = first.sandbox.all("staff");
    assert!(matches!(Sandbox::start(options()).await, Err(Error::InUse { .. })));
    first.sandbox.stop().await;
    let second = rig(options()).await;
    assert_eq!(second.sandbox.all("staff"), before);
    assert_eq!(second.ids("/staff").await, [1001, 1003, 1004]);
    drop(second);
    assert_eq!(rig(options()).await.sandbox.all("location").len(), 6);
}

#[tokio::test]
async fn a_sandbox_that_stops_cuts_its_connections() {
    let rig = rig(Options { delay: Duration::from_secs(60), ..Options::default() }).await;
    let request = rig.request("GET", "/staff");
    let waiting = tokio::spawn(async move { request.send().await.is_err() });
    while rig.sandbox.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    let Rig { sandbox, client } = rig;
    let url = format!("{}/staff", sandbox.url());
    sandbox.stop().await;
    assert!(waiting.await.unwrap(), "it is cut, not answered when its time has come");
    assert!(client.get(url).send().await.is_err());
}

#[tokio::test]
async fn a_restart_keeps_every_collection() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { data: Some(folder.path().to_owned()), ..full() };
    let first = rig(options()).await;
    let movement = json!({ "onsite_status": "onsite", "location_id": 11, "staff_id": 1001 });
    assert_eq!(first.send("PUT", "/staff/movement", Some(movement)).await.0, 200);
    assert_eq!(first.send("PUT", "/asset/4001/return", None).await.0, 200);
    assert_eq!(first.send("DELETE", "/certification/801", None).await.0, 204);
    let event = json!({ "name": "Vi", "visiting_staff_name": "Somebody" });
    assert_eq!(first.send("PUT", "/visitor/event/70001", Some(event)).await.0, 200);
    let all = |rig: &Rig| RESOURCES.iter().map(|resource| rig.sandbox.all(resource.name)).collect::<Vec<_>>();
    let before = all(&first);
    first.sandbox.stop().await;
    // The second start reads what the first one wrote, the third what the second one rewrote.
    for _ in 0..2 {
        let again = rig(options()).await;
        assert_eq!(all(&again), before);
        assert_eq!(again.get("/visitor/event/70001").await.1["visiting_staff_name"], "Somebody");
        again.sandbox.stop().await;
    }
}
