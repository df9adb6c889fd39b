//! What others do while changes are sent.

use super::*;
use crate::history::RunHistory;

#[tokio::test]
async fn law_9_what_can_t_be_written_to_the_audit_file_ends_the_push() {
    let rig = Rig::new(&staff("", FREE)).await;
    rig.persons(0..100);
    rig.csv(&(0..100).map(|number| row(number, "Baker")).collect::<String>());
    let audit = rig.state().join("audit");
    let report = rig.sync_while(&When::sending(|| fs::write(&audit, "no folder").unwrap())).await;
    assert_eq!((report.status, report.counts.updated), (Status::Failed, 0), "{report:?}");
    let sent = rig.count("staff.update");
    assert!(sent <= rig.bench().client.in_flight(), "{sent} were sent with an unknown outcome");
    fs::remove_file(&audit).unwrap();
    rig.sync().await;
    assert_eq!((rig.count("staff.update"), rig.changes().len()), (100, 100), "each is reported, and none sent again");
}

#[tokio::test]
async fn a_pause_stops_a_push_that_is_under_way() {
    let rig = Rig::new(&staff("", FREE)).await;
    rig.persons(0..100);
    rig.csv(&(0..100).map(|number| row(number, "Baker")).collect::<String>());
    let in_flight = rig.bench().client.in_flight();
    let report = rig.sync_while(&When::outcome(|| assert!(pause(&rig.state().into(), &rig.clock, None).is_ok()))).await;
    let sent = rig.count("staff.update");
    assert!(sent <= in_flight && report.status == Status::Held, "{sent} were sent: {report:?}");
    resume(&rig.state().into(), &rig.clock, None).unwrap();
    rig.sync().await;
    assert_eq!(rig.count("staff.update"), 100);
}

#[tokio::test]
async fn a_revert_leaves_alone_what_is_edited_while_it_is_under_way() {
    let rig = Rig::new(&staff("", FREE)).await;
    rig.persons(0..3);
    rig.sync_of(&people(0..3)).await;
    assert_eq!(rig.sync_of(&(0..3).map(|number| row(number, "Baker")).collect::<String>()).await, (0, 3, 0));
    let id = rig.id(1);
    let watch = When::sending(|| rig.service.edit("staff", id, json!({"title": "Chief"})));
    let bench = rig.bench();
    let story = RunHistory::read(&rig.state().into(), 2).unwrap().unwrap();
    revert(&bench.context(&rig.clock, &watch), &bench.config.jobs[0], &story).await.unwrap();
    assert_eq!([0, 1, 2].map(|number| rig.title(number)), ["Clerk", "Chief", "Clerk"]);
}

#[tokio::test]
async fn what_is_edited_between_plan_and_put_stays_where_the_job_keeps_edits() {
    for (on_drift, title) in [("keep", "Chief"), ("report", "Chief"), ("overwrite", "Clerk")] {
        let rig = Rig::new(&staff(&format!("on_drift = \"{on_drift}\"\n"), "")).await;
        rig.sync_of(&people(0..3)).await;
        let id = rig.id(1);
        rig.csv(&people(0..3).replace("Person 1,", "Ana One,"));
        rig.sync_while(&When::sending(|| rig.service.edit("staff", id, json!({"title": "Chief"})))).await;
        let now = rig.held_as(1).unwrap();
        assert_eq!((&now["name"], &now["title"]), (&json!("Ana One"), &json!(title)), "{on_drift}");
    }
}

#[tokio::test]
async fn what_was_approved_is_not_sent_by_a_job_that_sends_nothing() {
    for (writes, made) in [("auto", 1), ("approve", 1), ("off", 0)] {
        let rig = Rig::with(Options { accept_duplicates: true, ..Options::default() }, &staff("", "")).await;
        rig.sync_of(&people(0..3)).await;
        // A new key with the email of a person who is there: held before the guard.
        rig.csv(&(people(0..3) + &row(3, "Clerk").replace("person3@", "person1@")));
        assert_eq!(writes_and_held(&rig.sync().await), (0, 1));
        rig.approve().await;
        rig.configure(&staff(&format!("writes = \"{writes}\"\n"), ""));
        assert_eq!(writes_and_held(&rig.sync().await), (made, 1 - made), "writes = {writes}");
    }
}

fn writes_and_held(report: &Report) -> (u64, u64) {
    (report.counts.created, report.counts.held)
}
