//! People who share a mailbox: who is meant, and what can be decided about them.

use rosterd::sandbox::Options;
use serde_json::json;

use crate::support::{Config, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

fn twin(number: usize) -> String {
    format!("P{number:05},Person {number},shared@example.com,Clerk\n")
}

#[test]
fn two_new_people_who_share_a_mailbox_can_be_released_one_after_the_other() {
    let options = Options { accept_duplicates: true, ..Options::default() };
    let world = World::with(options, Config::rest(LEAVE_AT_ONCE));
    world.csv(people(1..4) + &twin(4) + &twin(5));
    world.sync().expect(4);
    world.run(&["approve", "staff", "P00004"]).expect(0);
    world.sync().expect(4);
    let ran = world.run(&["approve", "staff", "P00005"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    world.sync().expect(0);
    assert!(world.held_as(5).is_some());
}

#[test]
fn of_one_person_under_two_keys_one_can_be_dropped_for_good() {
    let options = Options { accept_duplicates: true, ..Options::default() };
    let world = World::with(options, Config::rest(LEAVE_AT_ONCE));
    world.csv(people(1..4) + &twin(4) + &twin(5));
    world.sync().expect(4);
    world.run(&["approve", "staff", "P00004"]).expect(0);
    world.run(&["reject", "staff", "P00005"]).expect(0);
    world.sync().expect(0);
    world.sync().expect(0);
}

#[test]
fn law_6_one_key_of_two_twins_is_held_too() {
    let world = World::default();
    world.csv(people(1..4) + &twin(4) + &twin(5));
    let ran = world.run(&["sync", "--json", "--key", "P00004"]);
    assert_eq!((ran.code, ran.writes()), (Some(4), (0, 0, 0)), "{ran:?}");
}

#[test]
fn law_6_one_key_of_two_that_fit_one_person_is_held_too() {
    let job = "key = \"{{ employee_no }}\"\nmatch_on = [\"email\"]\n".to_owned();
    let map = Config::default().map.replace("employee_id = \"{{ employee_no }}\"\n", "");
    let world = World::of(Config { job, map, ..Config::default() });
    world.service().put("staff", serde_json::json!({"name": "Ana", "email": "shared@example.com"}));
    world.csv(people(1..4) + &twin(4) + &twin(5));
    let ran = world.run(&["sync", "--json", "--key", "P00004"]);
    assert_eq!((ran.code, ran.writes()), (Some(4), (0, 0, 0)), "{ran:?}");
}

#[test]
fn law_7_a_changed_mapping_is_settled_though_a_row_has_no_key() {
    let world = World::synced(Config::default(), 10);
    let map = Config::default().map.replace("{{ title }}", "{{ title | trim }}");
    world.configure(Config { map, ..Config::default() });
    let nobody = ",Nobody,nobody@example.com,Clerk\n";
    world.sync_of(people(1..11) + nobody);
    world.sync_of(people(1..12) + nobody);
    let ran = world.sync_of(people(1..13) + nobody);
    assert_eq!((ran.job()["held"].as_u64(), world.staff().len()), (Some(0), 12), "{ran:?}");
}

#[test]
fn law_6_a_new_person_with_the_mailbox_of_one_who_left_can_come_in() {
    let options = Options { accept_duplicates: true, ..Options::default() };
    let world = World::with(options, Config::rest(LEAVE_AT_ONCE));
    world.sync_of(people(1..11) + &twin(11)).expect(0);
    world.sync_of(people(1..11) + &twin(12)).expect(4);
    world.run(&["reject", "staff", "P00012"]).expect(0);
    let ran = world.sync();
    assert!(world.held_as(12).is_some() || ran.code == Some(4), "somebody is missing and nothing says so: {ran:?}");
}

#[test]
fn people_who_share_a_mailbox_move_to_another_one_together() {
    let options = Options { accept_duplicates: true, ..Options::default() };
    let world = World::with(options, Config::rest(LEAVE_AT_ONCE));
    world.csv(people(1..4) + &twin(4) + &twin(5));
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    world.sync().expect(0);
    let moved = |text: String| text.replace("shared@", "desk@");
    assert_eq!(world.sync_of(moved(people(1..4) + &twin(4) + &twin(5))).expect(0).writes(), (0, 2, 0));
    // Who did not share it before waits.
    let joined = people(1..3) + "P00003,Person 3,desk2@example.com,Clerk\n" + &twin(4) + &twin(5);
    let ran = world.sync_of(joined.replace("shared@", "desk2@")).expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(3)), "{ran:?}");
}

/// Whatever becomes of the request, the person who was rejected stays who they are, and the new one is made once.
#[test]
fn law_6_a_new_person_is_not_taken_for_one_who_was_rejected_when_their_request_gets_no_answer() {
    for fault in ["staff.create cut-before times=1", "staff.create cut-after times=1", ""] {
        for on_drift in ["overwrite", "keep"] {
            let job = Config::default().job(&format!("on_drift = \"{on_drift}\"\n"));
            let world = World::with(Options { accept_duplicates: true, ..Options::default() }, job);
            world.csv(people(1..6));
            world.sync().expect(0);
            world.service().put("staff", json!({"name": "Xena", "email": "person9@example.com", "employee_id": "77"}));
            world.csv(people(1..6) + &row(9, "Clerk"));
            world.sync().expect(4);
            world.run(&["reject", "staff"]).expect(0);
            world.sync().expect(4);
            world.run(&["approve", "staff"]).expect(0);
            world.faults(&[fault].into_iter().filter(|fault| !fault.is_empty()).collect::<Vec<_>>());
            let ran = world.sync();
            world.sync().expect(0);
            let called = |number: &str| {
                let all = world.staff().into_iter().filter(|one| one["employee_id"] == number);
                all.map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
            };
            assert_eq!(called("77"), ["Xena"], "{fault} {on_drift}: {ran:?}");
            assert_eq!(called("P00009"), ["Person 9"], "{fault} {on_drift}: {ran:?}");
        }
    }
}

#[test]
fn law_1_who_left_counts_as_missing_once_a_person_said_that_a_newcomer_is_someone_else() {
    let world = World::of(Config::rest(
        "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\n",
    ));
    world.csv(people(1..12));
    world.sync().expect(0);
    // The first one is gone, and a newcomer has their name and mailbox.
    world.csv(people(2..12) + "P00099,Person 1,person1@example.com,Clerk\n");
    world.sync().expect(4);
    world.run(&["reject", "staff", "P00099"]).expect(0);
    let ran = world.sync();
    assert!(world.held_as(1).is_none(), "an ordinary leaver: {ran:?}");
    world.run(&["approve", "staff", "P00099"]).expect(0);
    let ran = world.sync().expect(0);
    assert!(world.held_as(99).is_some(), "{ran:?}");
    assert_eq!(world.staff().len(), 11, "{ran:?}");
}

#[test]
fn who_was_refused_because_of_a_shared_mailbox_stays_refused_until_the_mailbox_is_their_own() {
    let world = World::default();
    world.csv(people(1..4) + &twin(4) + &twin(5) + &twin(6));
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    // The service takes one of them.
    let ran = world.sync().expect(3);
    assert_eq!((ran.writes().0, &ran.job()["parked"]), (1, &2.into()), "{ran:?}");
    let ran = world.sync().expect(3);
    assert!(ran.job()["parked"] == 2 && ran.reason().contains("409"), "what was said stays true: {ran:?}");
    let owner = (4..7).find(|number| world.held_as(*number).is_some()).unwrap();
    let row_of = |number: usize| if number == owner { twin(number) } else { row(number, "Clerk") };
    world.csv((4..7).fold(people(1..4), |text, number| text + &row_of(number)));
    let ran = world.sync().expect(0);
    assert_eq!(ran.writes(), (2, 0, 0), "{ran:?}");
}
