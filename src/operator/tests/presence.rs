//! The presence of people that an earlier process updated is verified, whatever becomes of the next run (law 10).

use tokio::sync::Notify;

use super::*;

/// A process that ended after it had updated a person who signed in meanwhile.
async fn left_behind() -> (Rig, i64) {
    let rig = Rig::new(&staff("", "")).await;
    rig.sync_of(&people(0..3)).await;
    let id = rig.id(1);
    let place = rig.service.put("location", json!({"name": "Quay"}));
    let ended = Notify::new();
    rig.csv(&people(0..3).replace("Person 1,", "Ana One,"));
    let watch = When::outcome(|| ended.notify_one());
    tokio::select! {
        biased;
        () = ended.notified() => {}
        report = rig.sync_while(&watch) => panic!("it came to its end: {report:?}"),
    }
    let now = rig.clock.now().to_string();
    // The PUT said that they are off site.
    let movement = json!({"staff_id": id, "location_id": place, "signed_in": now, "signed_out": null});
    rig.service.put("staff.movement", movement);
    (rig, id)
}

#[tokio::test]
async fn law_10_a_run_that_fails_before_it_sends_verifies_them() {
    let (rig, id) = left_behind().await;
    let stands = || rig.staff().into_iter().find(|person| person["id"] == id).unwrap()["onsite_status"].clone();
    assert_ne!(stands(), "onsite");
    fs::remove_file(rig.dir.path().join("staff.csv")).unwrap();
    let report = rig.sync().await;
    assert_eq!((report.status, stands()), (Status::Failed, json!("onsite")), "{report:?}");
}

#[tokio::test]
async fn a_paused_job_verifies_no_presence() {
    let (rig, _) = left_behind().await;
    pause(&rig.state().into(), &rig.clock, None).unwrap();
    rig.sync().await;
    assert_eq!(rig.count("staff.movement.put"), 0, "what is paused sends nothing that changes anything");
    resume(&rig.state().into(), &rig.clock, None).unwrap();
    rig.sync().await;
    assert_eq!(rig.count("staff.movement.put"), 1);
}
