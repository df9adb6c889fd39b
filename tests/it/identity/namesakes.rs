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

/// A job that knows by a row who is gone, and removes them in the same run.
fn stated(match_on: &str) -> World {
    let job =
        format!("key = \"{{{{ employee_no }}}}\"\nmatch_on = {match_on}\ninclude = \"{{{{ title != 'Gone' }}}}\"\n");
    let config = Config { job, ..Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n") };
    World::synced(config, 6)
}

#[test]
fn law_6_a_new_row_of_the_name_of_someone_who_is_gone_by_theirs_is_asked_about() {
    let gone = people(1..7).replace("Person 4,person4@example.com,Clerk", "Person 4,person4@example.com,Gone");
    for (email, why) in [
        ("", "without an email"),
        ("four@example.com", "with an email of their own"),
        ("person5@example.com", "with the email of someone else"),
    ] {
        let world = stated("[\"employee_id\", \"email\"]");
        world.csv(gone.clone() + &format!("P00009,Person 4,{email},Clerk\n"));
        let ran = world.sync().expect(4);
        assert_eq!(ran.writes(), (0, 0, 0), "{why}: {}", ran.reason());
        assert!(world.held_as(4).is_some() && world.held_as(9).is_none(), "{why}");
        // The same person, or someone else: what is said is done.
        if email != "person5@example.com" {
            world.run(&["approve", "staff", "P00009"]).expect(0);
            assert_eq!(world.sync().expect(0).writes(), (0, 1, 0), "{why}");
            assert!(world.held_as(4).is_none() && world.held_as(9).is_some(), "{why}");
        }
    }
    let world = stated("[\"employee_id\", \"email\"]");
    world.csv(gone.clone() + "P00009,Person 4,four@example.com,Clerk\n");
    world.sync().expect(4);
    world.run(&["reject", "staff", "P00009"]).expect(0);
    // Not the same person: who is gone leaves, and the new one is asked about once more.
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 1));
    world.run(&["approve", "staff", "P00009"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    // Who is gone from the service, too, is no one to ask about.
    let world = stated("[\"employee_id\"]");
    world.sync_of(&gone).expect(0);
    world.csv(gone + "P00009,Person 4,four@example.com,Clerk\n");
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
}

#[test]
fn law_6_a_new_row_waits_that_has_the_name_and_email_of_an_update_that_waits() {
    let both = people(1..7).replace("Person 4,person4@", "Maria New,maria@");
    for match_on in ["[\"employee_id\", \"email\"]", "[\"employee_id\"]"] {
        for is_known in [true, false] {
            let world = stated(match_on);
            if is_known {
                world.sync_of(&both).expect(4);
            }
            world.csv(both.clone() + "P00009,Maria New,maria@example.com,Clerk\n");
            let ran = world.sync().expect(4);
            assert_eq!((ran.writes(), &ran.job()["held"]), ((0, 0, 0), &2.into()), "{match_on}: {}", ran.reason());
        }
        // One of the same name, or with the mailbox of someone who has it, is no reason to wait.
        let world = stated(match_on);
        world.csv(people(1..7).replace("Person 4,", "Maria New,") + "P00009,Maria New,nine@example.com,Clerk\n");
        assert_eq!(world.sync().expect(0).writes(), (1, 1, 0), "{match_on}");
    }
}
