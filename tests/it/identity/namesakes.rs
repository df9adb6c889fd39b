//! A first run asks before it creates a person with a name that the service has already.

use rosterd::sandbox::Options;
use serde_json::json;

use crate::support::{Config, World, people, row};

/// A service with a person of the name of person 2 that no field of `match_on` finds.
fn world() -> World {
    let world = World::default();
    world.person(1, "Clerk");
    world.service().put("staff", json!({"name": "PERSON  2", "email": "two@old.example.com"}));
    world.csv(people(1..4));
    world
}

#[test]
fn on_the_first_run_a_new_record_of_a_known_name_is_held_until_a_person_decides() {
    let world = world();
    let plan = world.plan().expect(0).job();
    assert_eq!((&plan["matched"], &plan["new"], &plan["foreign"]), (&json!(1), &json!(2), &json!(1)), "{plan}");
    assert_eq!(plan["matched_by"], json!({"employee_id": 1}));
    for (run, created) in [1, 0, 0].into_iter().enumerate() {
        let ran = world.sync().expect(4).hides(&["Person", "PERSON"]);
        assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((created, 0, 0), Some(1)), "run {run}: {ran:?}");
        assert!(ran.ended().2.contains("has the name of a person at the service"), "run {run}: {ran:?}");
    }
    world.run(&["approve", "staff", "P00002"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    assert_eq!(world.staff().len(), 4);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn who_is_the_same_person_is_matched_once_the_service_says_so() {
    let world = world();
    world.sync().expect(4);
    let id = world.staff().iter().find(|person| person["name"] == "PERSON  2").unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"email": "person2@example.com"}));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!(world.staff().len(), 3);
}

#[test]
fn a_rejected_namesake_is_not_created() {
    let world = world();
    world.sync().expect(4);
    world.run(&["reject", "staff", "P00002"]).expect(0);
    for _ in 0..2 {
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    }
    assert_eq!(world.staff().len(), 3);
}

#[test]
fn law_3_a_first_run_asks_about_an_email_that_the_service_has_too() {
    let by_number =
        Config { job: "key = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\"]\n".into(), ..Config::default() };
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, by_number);
    world.service().put("staff", json!({"name": "Another Name", "employee_id": "X2", "email": "Person2@example.com"}));
    for _ in 0..2 {
        let ran = world.sync_of(people(2..3)).expect(4);
        assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 1), "{ran:?}");
        assert!(ran.reason().contains("this new record has the email of a person at the service"), "{ran:?}");
    }
    world.run(&["approve", "staff", "P00002"]).expect(0);
    world.sync();
    assert_eq!(world.staff().len(), 2);
}

#[test]
fn later_a_new_person_may_share_a_name() {
    let world = World::synced(Config::default(), 3);
    world.service().put("staff", json!({"name": "Person 7", "email": "seven@old.example.com"}));
    assert_eq!(world.sync_of(people(1..4) + &row(7, "Clerk")).expect(0).writes(), (1, 0, 0));
}

#[test]
fn the_plan_opens_with_who_was_matched_by_what_and_that_creating_may_send_mail() {
    let world = world();
    let shown = world.run(&["plan"]).expect(0);
    let opening: Vec<&str> = shown.out.lines().take(2).collect();
    assert_eq!(
        opening,
        [
            "staff: 3 records: 1 matched (1 for the first time: 1 by employee_id), 2 new; 1 people at the service have no record \
             here",
            "  creating people may send them mail, as the account is set up",
        ]
    );
}
