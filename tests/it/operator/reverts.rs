//! `revert` puts back what a run changed, and nothing else.

use serde_json::{Value, json};

use crate::inbox::{Inbox, inbox_of};
use crate::support::{Config, Ran, World, people, row};

const FREE: &str = "[job.guard]\nmax_updates = \"off\"\nmax_creates = \"off\"\n";

/// A job with so many people at the service and in the file, whose titles run 2 changed to Baker.
fn changed(config: Config, count: usize) -> World {
    let world = World::of(config);
    for number in 1..count + 1 {
        world.person(number, "Clerk");
    }
    assert_eq!(world.sync_of(people(1..count + 1)).expect(0).writes(), (0, 0, 0));
    assert_eq!(world.sync_of(bakers(count)).expect(0).writes(), (0, count as u64, 0));
    world
}

fn bakers(count: usize) -> String {
    people(1..count + 1).replace("Clerk", "Baker")
}

fn revert(world: &World, run: u64) -> Ran {
    world.run(&["revert", &run.to_string(), "--json"])
}

fn title(world: &World, number: usize) -> Value {
    world.held_as(number).unwrap()["title"].clone()
}

#[test]
fn a_run_that_changed_500_people_is_put_back_and_later_edits_of_others_stay() {
    let world = changed(Config::rest(FREE), 500);
    let id = |number: usize| world.held_as(number).unwrap()["id"].as_i64().unwrap();
    // Others since: a title, a field of the job that the run did not touch, and one that no job maps.
    world.service().edit("staff", id(7), json!({"title": "Chief"}));
    world.service().edit("staff", id(8), json!({"mobile": "64 21 555"}));
    let before = world.staff();
    let document = revert(&world, 2).expect(3).json();
    assert_eq!((&document["reverts"], &document["run"], &document["updated"]), (&2.into(), &3.into(), &499.into()));
    assert_eq!(
        document["untouched"],
        json!([{"key": "P00007", "field": "title", "reason": "it was changed after that run"}])
    );
    for (before, after) in before.iter().zip(world.staff()) {
        let mut expected = before.clone();
        if before["id"] != id(7) {
            expected["title"] = json!("Clerk");
        }
        for (field, value) in expected.as_object().unwrap() {
            assert!(field == "modified" || field == "modified_by" || after[field] == *value, "{field}: {after}");
        }
    }
}

#[test]
fn what_a_mended_row_wants_is_not_rejected_with_what_is_undone() {
    let world = changed(Config::rest(FREE), 5);
    // The first is mended; the second has a new name, besides.
    let mended = bakers(5)
        .replace("P00001,Person 1,person1@example.com,Baker", "P00001,Person 1,person1@example.com,Cook")
        .replace("P00002,Person 2,", "P00002,Person Two,");
    world.csv(&mended);
    let reverted = revert(&world, 2).expect(0).json();
    assert_eq!((&reverted["updated"], &reverted["untouched"]), (&5.into(), &json!([])));
    assert!(reverted["reason"].to_string().contains("by now than what the run brought"), "{reverted}");
    assert!(reverted["reason"].to_string().contains("key P00001, key P00002"), "{reverted}");
    assert_eq!(world.sync().expect(0).writes(), (0, 2, 0));
    assert_eq!([1, 2, 3].map(|number| title(&world, number)), ["Cook", "Baker", "Clerk"]);
    assert_eq!(world.held_as(2).unwrap()["name"], "Person Two");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

/// It was approved by mistake that the row with the key of one who left is about them.
#[test]
fn law_6_who_took_the_place_of_another_is_named_as_missing_once_that_is_undone() {
    let world = World::synced(Config::rest(FREE), 5);
    world.csv(people(1..6).replace("P00003,Person 3,person3@", "P00003,Zed Other,zed@"));
    world.sync().expect(4);
    world.run(&["approve", "staff", "P00003"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!(revert(&world, 3).expect(0).json()["updated"], 1);
    assert_eq!(world.held_as(3).unwrap()["name"], "Person 3");
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert!(ran.reason().contains("give them a key of their own"), "{ran:?}");
    }
    // With a key of their own they are made.
    world.csv(people(1..6).replace("P00003,Person 3,person3@", "P00077,Zed Other,zed@"));
    world.sync().expect(4);
    world.run(&["reject", "staff", "P00077"]).expect(0);
    world.sync().expect(4);
    world.run(&["approve", "staff", "P00077"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
}

/// The number of one that a run made by mistake is another person's by the time that it is decided to take that back.
#[test]
fn law_1_who_has_the_number_of_one_whose_create_is_undone_is_made() {
    for inbox in [false, true] {
        let config = Config::rest(FREE);
        let world = if inbox { inbox_of(World::of(config)) } else { World::of(config) };
        let read = |name: &str, text: String| {
            if inbox {
                Inbox(&world).drop(name, &text);
            } else {
                world.csv(text);
            }
            world.sync()
        };
        read("1.csv", people(0..5)).expect(0);
        read("2.csv", people(0..6)).expect(0);
        revert(&world, 2).expect(4);
        read("3.csv", people(0..6).replace("P00005,Person 5,person5@", "P00005,Zed Other,zed@")).expect(4);
        world.run(&["approve", "staff", "P00005"]).expect(0);
        assert_eq!(world.sync().writes(), (0, 0, 1), "inbox: {inbox}");
        assert_eq!(world.sync().expect(0).writes(), (1, 0, 0), "inbox: {inbox}");
        assert_eq!(world.held_as(5).unwrap()["name"], "Zed Other", "inbox: {inbox}");
    }
}

#[test]
fn what_is_undone_is_not_done_again_until_the_record_changes() {
    let world = changed(Config::rest(FREE), 5);
    assert_eq!(revert(&world, 2).expect(0).json()["updated"], 5);
    for _ in 0..2 {
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "the file still says Baker");
    }
    assert_eq!(world.plan().job()["changes"], json!([]));
    let explained = world.run(&["explain", "staff", "P00001", "--json"]).expect(0).json();
    assert_eq!((&explained["outlook"]["is"], &explained["decision"]), (&"dropped".into(), &"rejected".into()));

    let cook =
        bakers(5).replace("P00001,Person 1,person1@example.com,Baker", "P00001,Person 1,person1@example.com,Cook");
    assert_eq!(world.sync_of(cook).expect(0).writes(), (0, 1, 0));
    assert_eq!((title(&world, 1), title(&world, 2)), (json!("Cook"), json!("Clerk")));

    let events = world.run(&["history", "--json"]).json()["events"].clone();
    let undoing = events.as_array().unwrap().iter().find(|event| event["reverts"] == 2).unwrap().clone();
    assert!(undoing["by"].is_string() && undoing["counts"]["updated"] == 5, "{undoing}");
    assert_eq!(world.run(&["history", "2", "--json"]).json()["reverted_by"], json!([3]));
    // Undoing the undoing is what makes it so again.
    let document = revert(&world, 3).json();
    assert_eq!((&document["updated"], document["untouched"].as_array().unwrap().len()), (&4.into(), 1));
    assert_eq!((title(&world, 2), title(&world, 1)), (json!("Baker"), json!("Cook")));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn a_revert_answers_to_the_guard_and_what_it_holds_outlives_syncs_until_it_is_approved() {
    let rest = "[job.guard]\nmax_updates = \"30%\"\n";
    let mut world = changed(Config::rest(FREE), 20);
    world.reconfigure(|config| Config { rest: rest.into(), ..config });
    let document = revert(&world, 2).expect(4).json();
    assert_eq!((&document["updated"], &document["held"]), (&0.into(), &20.into()));
    let reason = document["changes"][0]["held"].as_str().unwrap();
    assert!(reason.starts_with("undoing run 2: max_updates: 20 of 20"), "{reason}");
    world.run(&["status"]).expect(4);
    let plan = world.run(&["plan"]);
    assert!(
        plan.out.contains("20 changes that take back a run wait for a decision: `rosterd approve staff`"),
        "{plan:?}"
    );
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
    let ran = world.sync_of(bakers(20) + &row(21, "Clerk")).expect(4);
    assert_eq!((ran.writes(), &ran.job()["held"]), ((1, 0, 0), &json!(20)), "they wait still");

    world.run(&["reject", "staff", "P00020"]).expect(0);
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.plan().job()["changes"].as_array().map(Vec::len), Some(19), "a plan shows them");
    assert_eq!(world.sync().expect(0).writes(), (0, 19, 0));
    assert_eq!((title(&world, 1), title(&world, 20)), (json!("Clerk"), json!("Baker")));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "nor is that done again");
}

#[test]
fn who_was_created_by_a_run_is_removed_only_once_approved_and_off_site_and_does_not_come_back() {
    let world = World::synced(Config::default(), 3);
    let id = world.held_as(2).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"onsite_status": "onsite"}));
    let document = revert(&world, 1).expect(4).json();
    assert_eq!((&document["held"], world.staff().len()), (&3.into(), 3));
    world.run(&["approve", "staff", "P00001", "P00002"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 1), "who is on site waits");
    assert!(world.held_as(1).is_none() && world.held_as(2).is_some());
    world.service().edit("staff", id, json!({"onsite_status": "offsite"}));
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 1));
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0), "the file still has them");
    assert_eq!(world.keys(), ["P00003"]);
}

/// What was decided is that they go: their row of that day is no more to have them back than the one before.
#[test]
fn who_was_removed_by_a_revert_does_not_come_back_by_a_row_that_changed_while_that_waited() {
    let world = World::synced(Config::default(), 3);
    let file = |title: &str| people(1..4) + &row(4, title) + &row(5, title);
    assert_eq!(world.sync_of(file("Clerk")).expect(0).writes(), (2, 0, 0));
    assert_eq!(revert(&world, 2).expect(4).json()["held"], 2);
    assert_eq!(world.sync_of(file("Cook")).expect(4).writes(), (0, 0, 0));
    world.run(&["approve", "staff", "P00004"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 1));
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0), "nor is that done again");
    // It may be approved before the row changes, too.
    world.run(&["approve", "staff", "P00005"]).expect(0);
    assert_eq!(world.sync_of(file("Baker").replace(&row(4, "Baker"), &row(4, "Cook"))).expect(0).writes(), (0, 0, 1));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(world.keys(), ["P00001", "P00002", "P00003"]);
    assert_eq!(world.sync_of(file("Chief")).expect(0).writes(), (2, 0, 0), "until the record changes");
}

#[test]
fn what_can_t_be_undone_is_reported() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let world = World::synced(Config::rest(rest), 3);
    assert_eq!(world.sync_of(people(1..3)).expect(0).writes(), (0, 0, 1));
    let document = revert(&world, 2).expect(3).json();
    assert_eq!((&document["updated"], &document["changes"]), (&0.into(), &json!([])));
    assert!(document["untouched"][0]["reason"].as_str().unwrap().contains("joins again"), "{document}");
    let writes = world.service().writes();
    for (arguments, code) in [(&["revert", "9"][..], 1), (&["revert", "one"], 2), (&["revert"], 2)] {
        assert_eq!(world.run(arguments).code, Some(code), "{arguments:?}");
    }
    world.sync().expect(0);
    let last = world.run(&["history", "--json"]).json()["events"][0]["run"].to_string();
    assert!(world.run(&["revert", &last]).expect(1).err.contains("changed no one"));
    assert_eq!(world.service().writes(), writes);
}

#[test]
fn a_plan_of_a_revert_changes_nothing_here_or_there() {
    let world = changed(Config::rest(FREE), 5);
    let state = world.run(&["status", "--json"]).json()["jobs"].clone();
    let writes = world.service().writes();
    let ran = world.run(&["revert", "2", "--plan"]).expect(0);
    assert!(ran.out.contains("title: \"Baker\" → \"Clerk\"") && ran.out.contains("5 to put back"), "{ran:?}");
    assert_eq!(world.run(&["revert", "2", "--plan", "--json"]).expect(0).json()["run"], Value::Null);
    assert_eq!((world.service().writes(), &world.run(&["status", "--json"]).json()["jobs"]), (writes, &state));
    assert_eq!(world.run(&["history", "--json"]).json()["events"].as_array().unwrap().len(), 2);
}

#[test]
fn a_revert_that_could_not_be_delivered_is_finished_by_the_next_sync() {
    let world = changed(Config::rest(FREE), 5);
    world.faults(&["staff.update status=503"]);
    revert(&world, 2).expect(1);
    assert_eq!(title(&world, 1), "Baker");
    world.faults(&[]);
    assert_eq!(world.sync().expect(0).writes(), (0, 5, 0));
    assert_eq!(title(&world, 5), "Clerk");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn law_3_whatever_of_a_revert_was_under_way_when_it_broke_off_is_undone_in_the_end_and_not_done_again() {
    // Each answer of a PUT is lost, before the service acts or after, and then nothing can be looked up any more.
    for faults in [
        ["staff.update cut-after times=1", "staff.get status=500 after=1"],
        ["staff.update cut-before times=1", "staff.get status=500 after=1"],
        ["staff.update cut-after every=2", "staff.get status=500 after=6"],
    ] {
        let world = changed(Config::rest(FREE), 12);
        world.faults(&faults);
        revert(&world, 2).expect(1);
        world.faults(&[]);
        let queued = world.run(&["queue", "list", "--json"]).json()["changes"].as_array().unwrap().len();
        assert!(queued > 0, "{faults:?}: nothing was left open");
        for _ in 0..3 {
            world.sync().expect(0);
            let titles: Vec<Value> = (1..13).map(|number| title(&world, number)).collect();
            assert_eq!(titles, vec![json!("Clerk"); 12], "{faults:?}");
        }
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{faults:?}");
        let events = world.run(&["history", "--json"]).json()["events"].clone();
        let later = events.as_array().unwrap().iter().filter(|event| event["run"].as_u64() > Some(2));
        let told: u64 = later.map(|event| event["changes"].as_u64().unwrap()).sum();
        assert_eq!(told, 12, "{faults:?}: {events}");
    }
}

#[test]
fn who_was_made_and_removed_by_a_revert_comes_back_where_the_removing_run_is_reverted() {
    let world = World::of(Config::rest(FREE));
    world.sync_of(people(1..6)).expect(0);
    assert_eq!(world.sync_of(people(1..8)).expect(0).writes(), (2, 0, 0));
    revert(&world, 2).expect(4);
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 2));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "they stay out");
    let shown = world.run(&["revert", "4"]).expect(3);
    assert!(shown.out.contains("joins again by a sync"), "{shown:?}");
    assert_eq!(world.sync().expect(0).writes(), (2, 0, 0));
    world.expect_people(1..8);
}

#[test]
fn law_6_no_one_gets_an_email_back_that_someone_else_has_by_now() {
    for match_on in ["\"employee_id\", \"email\"", "\"employee_id\""] {
        let options = rosterd::sandbox::Options { accept_duplicates: true, ..Default::default() };
        let job = format!("key = \"{{{{ employee_no }}}}\"\nmatch_on = [{match_on}]\n");
        let world = World::with(options, Config { job, ..Config::default() });
        world.sync_of(people(1..6)).expect(0);
        let moved = people(1..6).replace(&row(3, "Clerk"), "P00003,Person 3,new.3@example.com,Clerk\n");
        assert_eq!(world.sync_of(&moved).expect(0).writes(), (0, 1, 0));
        let email = row(3, "Clerk").split(',').nth(2).unwrap().to_owned();
        let joined = format!("{moved}P00050,Cara New,{email},Clerk\n");
        world.sync_of(&joined);
        world.run(&["approve", "staff"]);
        world.sync();
        assert_eq!(world.held_as(50).unwrap()["email"], email.as_str());
        let held = revert(&world, 2).expect(4).json();
        assert_eq!(world.held_as(3).unwrap()["email"], "new.3@example.com", "{match_on} {held}");
    }
}

#[test]
fn an_undoing_that_waits_ends_with_the_person_it_is_about() {
    let leave = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let world = World::of(Config::rest(leave));
    world.sync_of(people(1..11)).expect(0);
    assert_eq!(world.sync_of(people(1..12)).expect(0).writes(), (1, 0, 0));
    revert(&world, 2).expect(4);
    assert_eq!(world.sync_of(people(1..11)).expect(4).writes(), (0, 0, 1));
    assert_eq!(world.sync_of(people(1..12)).expect(0).writes(), (1, 0, 0), "hired again");
    assert_eq!(world.run(&["status", "--json"]).job()["held"], 0);
}

#[test]
fn who_comes_back_by_a_reverted_removal_is_read_again_from_the_last_file_of_an_inbox() {
    for mode in ["full", "changes"] {
        let source = format!("settle = \"0s\"\nmode = \"{mode}\"\n");
        let world = inbox_of(World::of(Config { source, ..Config::rest(FREE) }));
        let (first, second) = (people(1..6), people(if mode == "full" { 1..8 } else { 6..8 }));
        Inbox(&world).drop("a.csv", first);
        assert_eq!(world.sync().expect(0).writes(), (5, 0, 0));
        Inbox(&world).drop("b.csv", second.clone());
        assert_eq!(world.sync().expect(0).writes(), (2, 0, 0));
        revert(&world, 2).expect(4);
        world.run(&["approve", "staff"]).expect(0);
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 2));
        revert(&world, 4).expect(3);
        if mode == "changes" {
            Inbox(&world).drop("c.csv", second);
        }
        assert_eq!(world.sync().expect(0).writes(), (2, 0, 0), "{mode}");
        assert_eq!(world.staff().len(), 7);
    }
}

/// No file of changes says it again.
#[test]
fn what_a_file_of_changes_wants_of_its_people_waits_for_what_takes_back_a_run() {
    let source = "settle = \"0s\"\nmode = \"changes\"\n".into();
    let world = inbox_of(World::of(Config { source, ..Config::rest(FREE) }));
    Inbox(&world).drop("a.csv", people(1..6));
    world.sync().expect(0);
    let held = revert(&world, 1).expect(4).json();
    assert_eq!((&held["held"], &held["changes"][1]["name"]), (&json!(5), &json!("Person 2")), "{held}");
    Inbox(&world).drop("b.csv", people(2..5).replace("Clerk", "Cook"));
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
    world.run(&["reject", "staff", "P00002"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (0, 1, 0));
    assert_eq!(title(&world, 2), "Cook");
    world.run(&["approve", "staff", "P00003"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 1));
    world.run(&["reject", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!((title(&world, 4), title(&world, 5)), (json!("Cook"), json!("Clerk")));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "who was removed is not made again");
    assert_eq!(world.held_as(3), None);
}

#[test]
fn what_takes_back_a_run_comes_before_what_the_source_wants_of_its_person() {
    let cook = people(1..5).replace(&row(2, "Clerk"), &row(2, "Cook"));
    // What the source wants was rejected, as it is once an update was taken back.
    let world = World::synced(Config::default(), 4);
    world.sync_of(&cook).expect(0);
    revert(&world, 2).expect(0);
    assert_eq!(revert(&world, 1).expect(4).json()["held"], 4);
    world.run(&["approve", "staff", "P00002"]).expect(0);
    let ran = world.sync().expect(4);
    assert_eq!((ran.writes(), world.held_as(2)), ((0, 0, 1), None), "{ran:?}");
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0), "nor is the person made again");

    // What the source wants waits for a decision of its own.
    let mut world = World::synced(Config::default(), 4);
    world.reconfigure(|config| config.job("writes = \"approve\"\n"));
    world.sync_of(&cook).expect(4);
    assert_eq!(revert(&world, 1).expect(4).json()["held"], 4);
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), &ran.job()["held"]), ((0, 0, 0), &json!(4)), "{ran:?}");
        let changes = world.plan().job()["changes"].clone();
        assert!(changes.as_array().unwrap().iter().all(|one| one["action"] == "delete"), "{changes}");
    }
    world.run(&["approve", "staff"]).expect(0);
    let ran = world.sync();
    assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 4), 0), "{ran:?}");
}
