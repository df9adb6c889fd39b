//! Pauses: nothing is sent while one is set, across restarts, and every view shows it.

use rosterd::sandbox::Options;
use serde_json::json;

use crate::support::held::EIGHT_IN_FLIGHT;
use crate::support::{Config, World, people, row};

/// Three people, one of them with another title, and a new one.
fn changed() -> String {
    people(1..4).replace(&row(1, "Clerk"), &row(1, "Boss")) + &row(4, "Clerk")
}

#[test]
fn while_all_is_paused_nothing_is_sent_and_everything_says_so() {
    let world = World::synced(Config::default(), 3);
    let before = world.service().writes();
    let paused = world.run(&["pause", "--json"]).expect(0).json();
    assert_eq!((&paused["paused"], &paused["pauses"][0]["job"]), (&json!(true), &json!(null)), "{paused}");
    world.csv(changed());
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        let (status, complete, reason) = ran.ended();
        assert_eq!((status.as_str(), complete, ran.writes()), ("held", true, (0, 0, 0)), "{reason}");
        assert!(reason.contains("paused since") && reason.contains("2 changes wait"), "{reason}");
    }
    assert!(world.plan().expect(0).job()["held"]["reason"].as_str().unwrap().contains("rosterd resume"));
    let status = world.run(&["status", "--json"]).job();
    assert_eq!((&status["queued"], status["paused"]["since"].is_string()), (&json!(2), true), "{status}");
    let shown = world.run(&["status"]).out;
    assert_eq!(shown.matches("paused since").count(), 1, "{shown}");
    assert!(shown.contains("2 changes wait"), "{shown}");
    assert_eq!(world.service().writes(), before);

    world.run(&["resume"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 1, 0));
    let audit = world.audit();
    for decision in ["paused", "resumed"] {
        let line = audit.lines().find(|line| line.contains(&format!("\"decision\":\"{decision}\""))).unwrap();
        assert!(line.contains("\"by\":\"") && line.contains("\"at\":\"20"), "{line}");
    }
}

#[test]
fn a_paused_job_stops_no_other() {
    let world = World::of(Config::rest(Config::OTHER_JOB));
    world.csv(people(1..3));
    world.put("other.csv", people(10..12).as_bytes());
    world.run(&["pause", "staff"]).expect(0);
    world.sync().expect(4);
    world.expect_people(10..12);
    world.run(&["resume", "other"]).expect(0);
    assert!(world.run(&["resume", "othr"]).expect(2).err.contains("other"));
    world.run(&["pause"]).expect(0);
    assert!(world.run(&["resume", "staff"]).expect(1).err.contains("rosterd resume"), "all is paused still");
    assert_eq!(world.sync().expect(4).json()["jobs"][0]["created"], 0);
    world.run(&["resume"]).expect(0);
    assert!(world.run(&["resume"]).expect(0).out.contains("nothing was paused"));
    world.sync().expect(0);
    assert_eq!(world.staff().len(), 4);
}

#[test]
fn a_pause_stops_a_run_that_holds_the_store_and_nothing_of_it_counts_as_failed() {
    let world = World::of(Config { api: EIGHT_IN_FLIGHT.into(), ..Config::default() });
    world.csv(people(0..90));
    world.faults(&["staff.create hold after=12"]);
    let mut child = world.start(&["sync"]);
    world.until_held(8);
    world.run(&["pause"]).expect(0);
    world.faults(&[]);
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let sent = world.service().writes();
    assert_eq!(sent, 20, "only what was in flight was finished");
    world.run(&["resume"]).expect(0);
    assert_eq!(world.sync().expect(0).writes().0, 90 - sent as u64);
    world.expect_people(0..90);
}

#[test]
fn law_2_a_service_that_empties_an_unowned_field_is_left_alone_until_a_person_says_otherwise() {
    let config = Config::rest("[job.guard]\nmax_updates = \"off\"\n");
    let world = World::with(Options { put_without_body: true, ..Options::default() }, config);
    let ids: Vec<i64> = (1..13).map(|number| world.person(number, "Clerk")).collect();
    for id in &ids {
        world.service().edit("staff", *id, json!({"mobile": "64 211234567"}));
    }
    world.csv(people(1..13));
    world.sync().expect(0);
    world.csv(people(1..13).replace("Clerk", "Baker"));
    // What comes back is read after the PUT: in between, the service loses a number.
    world.faults(&["staff.get hold-before after=1"]);
    let mut child = world.start(&["sync"]);
    world.until_held(1);
    let titled = |person: &&serde_json::Value| person["title"] == "Baker";
    let id = world.staff().iter().find(titled).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"mobile": null}));
    world.faults(&[]);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(world.service().writes(), 1, "it goes alone, and nothing follows");
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert!(ran.reason().contains(&format!("cleared mobile of id {id}")), "{ran:?}");
    }
    world.lose_rows();
    world.sync().expect(4);
    assert_eq!(world.service().writes(), 1, "a lost store lifts nothing");
    world.run(&["resume", "staff"]).expect(1);
    world.run(&["resume"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 11, 0));
}

#[test]
fn what_is_approved_while_all_is_paused_waits_and_says_so() {
    let world = World::synced(Config::rest("[job.guard]\nmax_updates = 0\n"), 19);
    world.sync_of(people(1..20).replace("Clerk", "Baker")).expect(4);
    world.run(&["pause"]).expect(0);
    let approved = world.run(&["approve", "staff"]).expect(0);
    assert!(approved.err.contains("they wait: paused since") && !approved.err.contains("sends them"), "{approved:?}");
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
    world.run(&["resume"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 19, 0));
}
