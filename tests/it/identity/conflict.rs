//! People that the service reports as existing already.

use serde_json::json;

use crate::inbox::{Inbox, inbox_of};
use crate::support::{Config, Ran, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

/// A job that matches by employee id only, so that an email can be taken without its knowing. It has two people already:
/// a first run asks about emails, too.
fn world() -> World {
    let job = "key = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\"]\n";
    let rest = "[job.guard]\nmax_updates = \"off\"\n";
    World::synced(Config { job: job.into(), ..Config::rest(rest) }, 2)
}

fn everything(world: &World, ran: &Ran) -> String {
    let mut text = format!("{}{}", ran.out, ran.err);
    for command in [["status", "--color=never"], ["status", "--json"], ["sync", "--color=never"], ["plan", "--json"]] {
        let shown = world.run(&command);
        text += &format!("{}{}", shown.out, shown.err);
    }
    text
}

#[test]
fn law_3_fault_36_a_refused_create_is_adopted_or_parked_and_never_tried_for_ever() {
    let world = world();
    let other = world.service().put(
        "staff",
        json!({"name": "Someone Else", "email": "person3@example.com", "employee_id": "X1", "title": "Chief", "mobile": "64 21777"}),
    );
    world.csv(people(1..11));
    let first = world.sync();
    let creates = world.count("staff.create");
    assert_eq!(world.staff().len(), 10, "nobody doubled, nobody lost: {first:?}");
    assert_eq!(world.one(other)["mobile"], "64 21777");
    match first.code {
        Some(0) => assert_eq!(world.one(other)["employee_id"], "P00003", "adopted: {first:?}"),
        Some(3) => {
            assert_eq!(first.job()["parked"], 1, "{first:?}");
            assert_eq!(world.one(other)["employee_id"], "X1", "parked: {first:?}");
            assert!(everything(&world, &first).contains("staff already exists"), "the service's words: {first:?}");
        }
        code => panic!("{code:?}: {first:?}"),
    }
    let second = world.sync();
    assert_eq!((second.code, second.writes()), (first.code, (0, 0, 0)), "{second:?}");
    assert_eq!(world.count("staff.create"), creates, "the create was not sent again");
    assert!(world.texts("name").iter().all(|name| name.starts_with("Person") || name == "Someone Else"));
}

#[test]
fn law_3_fault_36_a_create_that_two_people_conflict_with_is_parked_with_the_services_words() {
    let world = world();
    for id in ["X1", "X2"] {
        let twin = json!({"name": "Twin", "email": "person3@example.com", "employee_id": id, "title": "Chief"});
        world.service().put("staff", twin);
    }
    let before = world.staff();
    world.csv(people(1..11));
    let first = world.sync().expect(3);
    assert_eq!((first.writes(), first.job()["parked"].as_u64()), ((7, 0, 0), Some(1)), "{first:?}");
    for twin in before {
        assert_eq!(world.one(twin["id"].as_i64().unwrap()), twin, "law 6: only what a job matched is changed");
    }
    let told = everything(&world, &first);
    assert!(told.contains("staff already exists"), "the service's words: {told}");
    assert!(told.contains("P00003"), "named by key: {told}");
    let creates = world.count("staff.create");
    let second = world.sync().expect(3);
    assert_eq!((second.job()["parked"].as_u64(), world.count("staff.create")), (Some(1), creates), "{second:?}");
    world.csv(people(1..11).replacen("person3@example.com", "person3.new@example.com", 1));
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0), "a changed record is tried anew");
}

#[test]
fn law_6_two_people_with_one_employee_id_hold_their_record_and_create_no_one() {
    let world = world();
    for number in 0..2 {
        let twin = json!({"name": "Twin", "email": format!("twin{number}@example.com"), "employee_id": "P00003"});
        world.service().put("staff", twin);
    }
    world.csv(people(1..11));
    let ran = world.sync().expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((7, 0, 0), Some(1)), "{ran:?}");
    assert_eq!(world.staff().len(), 11);
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
}

/// Lays these down in the middle of a first sync of 80 people, after its plan; returns how it ended.
fn in_between(world: &World, people_there: &[serde_json::Value]) -> Option<i32> {
    world.csv(people(0..80));
    // Of eighty, nine are under way.
    world.faults(&["staff.create hold after=1"]);
    let mut child = world.start(&["sync"]);
    world.until_any_is_held();
    for person in people_there {
        world.service().put("staff", person.clone());
    }
    world.faults(&[]);
    child.wait().unwrap().code()
}

fn guarded() -> World {
    World::of(Config::rest("[job.guard]\nmax_updates = \"off\"\n"))
}

#[test]
fn law_3_fault_36_someone_made_by_another_between_plan_and_create_is_adopted() {
    let world = guarded();
    let made = json!({"name": "P. 79", "email": "person79@example.com", "employee_id": "P00079", "mobile": "64 21777"});
    let code = in_between(&world, &[made]);
    let refused = world.service().requests().iter().filter(|request| request.status == 409).count();
    assert_eq!(refused, 1, "the service refused the create");
    assert_eq!(code, Some(0), "adopted in the same run");
    world.expect_people(0..80);
    let adopted = world.staff().into_iter().find(|person| person["employee_id"] == "P00079").unwrap();
    assert_eq!((&adopted["mobile"], &adopted["name"]), (&"64 21777".into(), &"Person 79".into()));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn law_6_fault_36_two_made_by_another_between_plan_and_create_are_not_chosen_from() {
    let world = guarded();
    let made = [0, 1].map(|_| json!({"name": "Twin", "email": "twin@example.com", "employee_id": "P00079"}));
    let code = in_between(&world, &made);
    assert!(matches!(code, Some(3 | 4)), "parked or held: {code:?}");
    let twins: Vec<_> = world.staff().into_iter().filter(|person| person["name"] == "Twin").collect();
    assert_eq!((twins.len(), world.staff().len()), (2, 81));
    let again = world.sync();
    assert!(matches!(again.code, Some(3 | 4)), "{again:?}");
    assert_eq!((again.writes(), world.staff().len()), ((0, 0, 0), 81), "{again:?}");
}

#[test]
fn law_6_what_the_service_refused_is_made_in_the_run_that_takes_its_obstacle_away() {
    // Without a match by employee id, a new email is a new person; the number is still that of the one before.
    let config =
        |rest: &str| Config { job: "key = \"{{ email }}\"\nmatch_on = [\"email\"]\n".into(), ..Config::rest(rest) };
    let world = World::synced(config(""), 10);
    let married = people(1..11).replacen("Person 3", "Ana Young", 1).replacen("person3@", "ana.young@", 1);
    let ran = world.sync_of(married).expect(3);
    assert_eq!((ran.writes(), ran.job()["parked"].as_u64()), ((0, 0, 0), Some(1)), "{ran:?}");
    assert_eq!(world.sync().expect(3).writes(), (0, 0, 0));
    world.configure(config("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n"));
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), ran.job()["parked"].as_u64()), ((1, 0, 1), Some(0)), "{ran:?}");
    let there: Vec<_> = world.staff().into_iter().filter(|person| person["employee_id"] == "P00003").collect();
    assert_eq!((there.len(), &there[0]["email"], world.staff().len()), (1, &"ana.young@example.com".into(), 10));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

/// A job that finds its people by their numbers, and reads the file of its name.
fn by_number(name: &str) -> Config {
    Config {
        name: name.into(),
        path: format!("{name}.csv"),
        job: "key = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\"]\n".into(),
        ..Config::default()
    }
}

/// Two sites whose lists count from one.
#[test]
fn law_6_who_has_the_number_of_someone_else_in_another_list_waits_and_it_is_said_why_many_do() {
    let world = World::of(by_number("staff").and(&by_number("other")));
    world.csv(people(1..6));
    for (count, is_said) in [(2, true), (1, false)] {
        let other = people(1..count + 1).replace("Person ", "Xi Wong").replace("person", "xi");
        world.put("other.csv", other.as_bytes());
        let ran = world.sync().expect(4);
        assert_eq!((&ran.json()["jobs"][1]["held"], world.staff().len()), (&count.into(), 5), "{ran:?}");
        let reasons = ran.json()["jobs"][1]["reason"].to_string();
        let why =
            "2 people have the employee_id of someone else in job staff: where each list numbers its people by itself";
        assert_eq!(reasons.contains(why), is_said, "{reasons}");
    }
}

#[test]
fn law_6_what_the_service_refused_is_made_once_another_job_gave_the_email_free() {
    let world = World::of(by_number("staff").and(&by_number("other")));
    let other = people(11..12).replacen("person11@", "person2@", 1);
    world.csv(people(1..4));
    world.put("other.csv", other.as_bytes());
    let ran = world.sync().expect(3);
    assert_eq!((ran.json()["jobs"][1]["parked"].as_u64(), world.staff().len()), (Some(1), 3), "{ran:?}");
    world.csv(people(1..4).replacen("person2@", "two@", 1));
    world.sync().expect(0);
    assert_eq!(world.staff().len(), 4);
}

#[test]
fn law_6_a_number_that_an_update_gives_free_is_given_in_the_same_run() {
    let config = || Config { job: "key = \"{{ email }}\"\nmatch_on = [\"email\"]\n".into(), ..Config::default() };
    for inbox in [false, true] {
        let world = if inbox { crate::inbox::inbox_of(World::of(config())) } else { World::of(config()) };
        let put = |name: &str, text: String| match inbox {
            true => crate::inbox::Inbox(&world).drop(name, text),
            false => world.csv(text),
        };
        put("1.csv", people(1..11));
        world.sync().expect(0);
        put("2.csv", people(1..12).replacen("P00003,", "N3,", 1).replacen("P00011,", "P00003,", 1));
        let ran = world.sync().expect(0);
        assert_eq!((ran.writes(), ran.job()["parked"].as_u64()), ((1, 1, 0), Some(0)), "{inbox} {ran:?}");
        assert_eq!(world.staff().len(), 11, "{inbox}");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{inbox}");
    }
}

#[test]
fn law_6_a_number_under_a_new_key_is_a_new_email_or_someone_new_as_a_person_says() {
    for same in [true, false] {
        let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
        let config =
            Config { job: "key = \"{{ email }}\"\nmatch_on = [\"employee_id\"]\n".into(), ..Config::rest(rest) };
        let world = World::synced(config, 10);
        let before = world.held_as(3).unwrap();
        let ran =
            world.sync_of(people(1..11).replacen("Person 3", "Zoe Zed", 1).replacen("person3@", "zoe@", 1)).expect(4);
        assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(1)), "{ran:?}");
        world.run(&[if same { "approve" } else { "reject" }, "staff"]).expect(0);
        if !same {
            let ran = world.sync().expect(4);
            assert_eq!(ran.writes(), (0, 0, 1), "the one before is gone: {ran:?}");
            world.run(&["approve", "staff"]).expect(0);
        }
        let ran = world.sync().expect(0);
        let now = world.held_as(3).unwrap();
        assert_eq!(
            (now["id"] == before["id"], &now["name"], world.staff().len()),
            (same, &"Zoe Zed".into(), 10),
            "{ran:?}"
        );
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    }
}

#[test]
fn law_8_who_is_refused_after_a_removal_holds_up_the_files_behind_for_some_runs_only() {
    let job = "key = \"{{ employee_no }}\"\nmatch_on = [\"email\"]\n".to_owned();
    let world = inbox_of(World::of(Config { job, ..Config::rest(LEAVE_AT_ONCE) }));
    let drop = |name: &str, text: String| Inbox(&world).drop(name, text);
    drop("1.csv", people(1..6));
    world.sync().expect(0);
    drop("2.csv", people(1..5));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
    // Someone has that number, and nothing finds them.
    world.service().put("staff", json!({"name": "Zoe Dunn", "email": "zoe@example.com", "employee_id": "P00077"}));
    drop("3.csv", people(1..5) + &row(77, "Clerk"));
    for _ in 0..10 {
        assert_eq!(world.sync().expect(1).writes(), (0, 0, 0));
    }
    drop("4.csv", people(1..5) + &row(77, "Clerk") + &row(9, "New"));
    let ran = world.sync().expect(3);
    assert_eq!((ran.writes(), ran.job()["parked"].as_u64()), ((1, 0, 0), Some(1)), "{ran:?}");
}

#[test]
fn law_8_who_alone_is_denied_holds_up_the_files_behind_for_some_runs_only() {
    let world = inbox_of(World::of(Config::rest(LEAVE_AT_ONCE)));
    let file = |title: &str, last: usize| {
        (2..last).fold(crate::support::HEADER.to_owned() + &row(1, title), |file, at| file + &row(at, "Clerk"))
    };
    let drop = |number: usize| Inbox(&world).drop(&format!("{number}.csv"), file("Boss", number + 4));
    Inbox(&world).drop("1.csv", file("Clerk", 5));
    world.sync().expect(0);
    let denied = ["staff.update status=403"];
    world.faults(&denied);
    drop(2);
    for _ in 0..3 {
        assert_eq!(world.sync().expect(1).writes().1, 0);
    }
    drop(3);
    for _ in 0..2 {
        let ran = world.sync().expect(3);
        assert_eq!(ran.job()["parked"], 1, "{ran:?}");
    }
    world.expect_people(1..7);
    // What may be allowed by now is tried again with the next file.
    world.faults(&[]);
    drop(4);
    assert_eq!(world.sync().expect(0).writes(), (1, 1, 0));
}
