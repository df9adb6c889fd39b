//! Held changes: released, dropped, and only as they were when a person looked at them.

use rosterd::sandbox::Options;

use crate::inbox::{Inbox, inbox_of};
use crate::support::{Config, HEADER, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

/// Twenty people; the last ten of them are gone, and held.
fn ten_leavers() -> World {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE), 20);
    assert_eq!(world.sync_of(people(1..11)).expect(4).job()["held"], 10);
    world
}

/// A job in which every change waits for an approval, with three people at the service and in the file.
fn waiting() -> World {
    let world = World::of(Config::rest(LEAVE_AT_ONCE).job("writes = \"approve\"\n"));
    for number in 1..4 {
        world.person(number, "Clerk");
    }
    world.csv(people(1..4));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world
}

fn titled(title: &str) -> String {
    people(1..4).replace(&row(1, "Clerk"), &row(1, title))
}

fn held_set(world: &World) -> u64 {
    world.run(&["status", "--json"]).job()["held_set"].as_u64().unwrap()
}

#[test]
fn what_is_approved_is_sent_by_the_next_sync_and_nothing_else() {
    let world = ten_leavers();
    let before = world.service().writes();
    let approved = world.run(&["approve", "staff", "P00011", "P00020", "--json"]).expect(0);
    assert_eq!(approved.json()["approved"], serde_json::json!(["P00011", "P00020"]));
    assert_eq!(world.service().writes(), before, "an approval sends nothing itself");

    let ran = world.sync().expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 2), Some(8)));
    assert!(world.held_as(11).is_none() && world.held_as(20).is_none() && world.held_as(12).is_some());

    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 8), "past the guard");
    assert_eq!(world.staff().len(), 10);
    assert_eq!(world.run(&["approve", "staff"]).code, Some(1), "nothing is held any more");
}

#[test]
fn what_is_rejected_stays_so_until_its_record_comes_back() {
    let world = ten_leavers();
    world.run(&["reject", "staff", "P00020"]).expect(0);
    assert_eq!(world.sync().expect(4).job()["held"], 9);
    world.run(&["reject", "staff"]).expect(0);
    for text in [people(1..11), people(1..10) + &row(10, "Moved"), people(1..11)] {
        let ran = world.sync_of(text).expect(0);
        assert_eq!(
            (ran.writes().2, ran.job()["held"].as_u64(), ran.ended().0.as_str()),
            (0, Some(0), "done"),
            "{ran:?}"
        );
    }
    assert_eq!(world.staff().len(), 20);
    assert_eq!(world.plan().expect(0).job()["changes"], serde_json::json!([]), "nor is it planned");

    world.sync_of(people(1..11) + &row(20, "Clerk")).expect(0);
    assert_eq!(
        world.sync_of(people(1..11)).expect(0).writes(),
        (0, 0, 1),
        "it came back and left anew, within the limit"
    );
    assert!(world.held_as(20).is_none());
}

#[test]
fn a_rejected_update_stays_so_until_its_record_changes() {
    let world = waiting();
    assert_eq!(world.sync_of(titled("A")).expect(4).job()["held"], 1);
    world.run(&["reject", "staff", "P00001"]).expect(0);
    for text in [titled("A"), titled("A") + ",,,\n"] {
        assert_eq!(world.sync_of(text).expect(0).job()["held"], 0);
    }
    let ran = world.sync_of(titled("B")).expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(1)), "another change is held anew");
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!(world.held_as(1).unwrap()["title"], "B");
}

#[test]
fn fault_111_an_approval_is_of_the_change_that_was_seen() {
    let world = waiting();
    world.sync_of(titled("A")).expect(4);
    world.run(&["approve", "staff", "P00001"]).expect(0);
    let ran = world.sync_of(titled("B")).expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(1)), "{ran:?}");
    assert_eq!(world.held_as(1).unwrap()["title"], "Clerk");

    world.run(&["approve", "staff", "P00001"]).expect(0);
    let ran = world.sync_of(titled("Clerk")).expect(0);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(0)), "nothing is wanted any more: {ran:?}");
}

#[test]
fn an_approved_leaver_who_comes_back_stays() {
    let world = ten_leavers();
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync_of(people(1..21)).expect(0).writes(), (0, 0, 0));
    assert_eq!(world.staff().len(), 20);
    let ran = world.sync_of(people(1..11));
    assert_eq!((ran.code, ran.writes().2), (Some(4), 0), "an approval is no standing order: {ran:?}");
}

#[test]
fn fault_111_a_set_that_is_another_by_now_is_refused() {
    let world = ten_leavers();
    let seen = held_set(&world);
    let wrong = (seen + 1).to_string();
    for command in ["approve", "reject"] {
        let ran = world.run(&[command, "staff", "--set", &wrong]);
        assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
    }
    assert_eq!(world.sync().expect(4).job()["held"], 10);
    assert_eq!(held_set(&world), seen, "the same changes are the same set");

    assert_eq!(world.sync_of(people(1..10)).expect(4).job()["held"], 11);
    assert_ne!(held_set(&world), seen);
    let ran = world.run(&["approve", "staff", "--set", &seen.to_string()]);
    assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
    world.run(&["approve", "staff", "--set", &held_set(&world).to_string()]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 11));
}

#[test]
fn where_nothing_is_held_or_no_one_has_that_name_nothing_is_released() {
    let world = ten_leavers();
    for (arguments, code) in [
        (&["approve", "staff", "NOBODY"][..], 1),
        (&["approve", "staff", "P00001"], 1),
        (&["approve", "staff", "P00011", "NOBODY"], 1),
        (&["reject", "staff", "NOBODY"], 1),
        (&["approve", "managers"], 2),
        (&["reject", "managers", "P00011"], 2),
    ] {
        let ran = world.run(arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(arguments.last().is_some_and(|name| code == 2 || ran.err.contains(name)), "{arguments:?}: {ran:?}");
    }
    let ran = world.sync().expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(10)), "{ran:?}");

    let world = World::synced(Config::default(), 3);
    for command in ["approve", "reject"] {
        let ran = world.run(&[command, "staff"]).expect(1);
        assert!(ran.err.contains("held"), "{ran:?}");
    }
}

#[test]
fn writes_approve_holds_every_change() {
    let world = World::of(Config::rest(LEAVE_AT_ONCE).job("writes = \"approve\"\n"));
    world.person(1, "Another");
    world.csv(people(1..4));
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), ran.job()["held"].as_u64(), ran.ended().0.as_str()), ((0, 0, 0), Some(3), "held"));
    }
    assert_eq!(world.service().writes(), 0);
    world.run(&["approve", "staff", "P00001", "P00002"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (1, 1, 0));
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    assert_eq!(world.sync().expect(0).job()["held"], 0, "law 4: nothing is left to hold");

    assert_eq!(world.sync_of(people(1..3)).expect(4).writes(), (0, 0, 0), "a leaver too");
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
}

#[test]
fn writes_off_plans_and_never_sends() {
    let world = World::of(Config::rest(LEAVE_AT_ONCE).job("writes = \"off\"\n"));
    world.csv(people(1..4));
    assert_eq!(world.plan().expect(0).job()["changes"].as_array().unwrap().len(), 3);
    for _ in 0..2 {
        let ran = world.sync();
        assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
        world.run(&["approve", "staff"]);
    }
    assert_eq!((world.service().writes(), world.staff().len()), (0, 0));
}

#[test]
fn what_was_approved_is_not_sent_once_writing_is_off() {
    let world = ten_leavers();
    world.run(&["approve", "staff"]).expect(0);
    world.configure(Config::rest(LEAVE_AT_ONCE).job("writes = \"off\"\n"));
    assert_eq!(world.sync().writes(), (0, 0, 0));
    assert_eq!(world.staff().len(), 20);
}

#[test]
fn law_1_law_7_an_approved_leaver_is_removed_only_by_a_whole_and_complete_read() {
    let cut = people(1..11);
    let cut = &cut[..cut.len() - 3];
    let table: [(&str, &str, &[&str]); 5] = [
        ("a cut file", cut, &["sync", "--json"]),
        ("a file of no rows", HEADER, &["sync", "--json"]),
        ("a file of no bytes", "", &["sync", "--json"]),
        ("a renamed column", "Staff,Name,Email,Title\nP00001,A,a@example.com,Clerk\n", &["sync", "--json"]),
        ("one key", "", &["sync", "--json", "--key", "P00001"]),
    ];
    let whole = people(1..11);
    for (name, text, arguments) in table {
        let world = ten_leavers();
        world.run(&["approve", "staff"]).expect(0);
        world.csv(if name == "one key" { &whole } else { text });
        let ran = world.run(arguments);
        assert_eq!((ran.writes().2, world.staff().len()), (0, 20), "{name}: {ran:?}");
    }
}

#[test]
fn law_10_an_approved_leaver_who_came_on_site_since_stays() {
    let world = ten_leavers();
    world.run(&["approve", "staff"]).expect(0);
    let id = world.held_as(15).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, serde_json::json!({"onsite_status": "onsite"}));
    assert_eq!(world.sync().writes(), (0, 0, 9));
    assert_eq!(world.held_as(15).unwrap()["onsite_status"], "onsite");
}

#[test]
fn law_3_an_approved_joiner_that_the_service_has_by_now_is_not_created_again() {
    let options = Options { accept_duplicates: true, ..Options::default() };
    let world = World::with(options, Config::default().job("writes = \"approve\"\n"));
    assert_eq!(world.sync_of(people(1..4)).expect(4).job()["held"], 3);
    world.run(&["approve", "staff"]).expect(0);
    world.person(2, "Clerk");
    assert_eq!(world.sync().expect(0).writes(), (2, 0, 0));
    assert_eq!(world.staff().len(), 3);
}

#[test]
fn law_6_an_approved_update_of_a_person_who_was_removed_meanwhile_creates_no_one_unseen() {
    let world = waiting();
    world.sync_of(titled("A")).expect(4);
    world.run(&["approve", "staff", "P00001"]).expect(0);
    let id = world.held_as(1).unwrap()["id"].as_i64().unwrap();
    assert!(world.service().remove("staff", id));
    let ran = world.sync();
    assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
    assert!(world.held_as(1).is_none());
}

#[test]
fn whose_first_change_was_rejected_is_known_and_leaves_like_anyone_else() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let mut world = World::of(Config::rest(rest).job("writes = \"approve\"\n"));
    for number in 1..5 {
        world.person(number, if number == 1 { "Chief" } else { "Clerk" });
    }
    world.sync_of(people(1..5)).expect(4);
    world.run(&["reject", "staff", "P00001"]).expect(0);
    for _ in 0..2 {
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
        assert_eq!(world.run(&["status", "--json"]).job()["known"], 4);
    }
    assert_eq!(world.held_as(1).unwrap()["title"], "Chief", "what was rejected stays so");
    world.reconfigure(|config| Config { job: config.job.replace("approve", "auto"), ..config });
    assert_eq!(world.sync_of(people(2..5)).expect(0).writes(), (0, 0, 1));
}

#[test]
fn the_number_of_a_held_set_is_not_that_of_another_one_after_a_rebuild() {
    let world = World::of(Config::default().job("writes = \"approve\"\n"));
    world.sync_of(people(1..2)).expect(4);
    let seen = held_set(&world);
    world.run(&["rebuild"]).expect(0);
    world.sync().expect(4);
    world.sync_of(people(2..3)).expect(4);
    assert!(held_set(&world) > seen);
    world.run(&["approve", "staff", "--set", &seen.to_string()]).expect(1);
}

#[test]
fn a_rejection_is_taken_back_by_an_approval_of_its_key() {
    for is_inbox in [false, true] {
        let config = Config { source: "settle = \"0s\"\n".into(), ..Config::default().job("writes = \"approve\"\n") };
        let world = if is_inbox { inbox_of(World::of(config)) } else { World::of(config) };
        match is_inbox {
            true => Inbox(&world).drop("a.csv", people(1..4)),
            false => world.csv(people(1..4)),
        }
        world.sync().expect(4);
        world.run(&["reject", "staff", "P00001", "P00002"]).expect(0);
        world.run(&["approve", "staff", "P00003"]).expect(0);
        assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
        let ran = world.sync().expect(0);
        assert_eq!(ran.writes(), (0, 0, 0));
        let named = "not at the service though the source has them: 2 people (key P00001, key P00002)";
        assert!(ran.reason().contains(named), "inbox: {is_inbox}, {ran:?}");
        let refused = world.run(&["approve", "staff", "P00003"]).expect(1);
        assert!(refused.err.contains("is held"), "{refused:?}");
        world.run(&["approve", "staff", "P00001"]).expect(0);
        let ran = world.sync().expect(0);
        assert_eq!(
            (ran.writes(), world.keys()),
            ((1, 0, 0), vec!["P00001".to_owned(), "P00003".to_owned()]),
            "{ran:?}"
        );
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "the other stays rejected");
    }
}

/// Rejected by mistake, and approved a moment later: what waits by then is another question, and it was not shown. So the approval is of
/// what was rejected.
#[test]
fn law_6_an_approval_right_after_a_rejection_takes_the_rejection_back() {
    let renumbered = people(1..6) + "P00060,Person 6,person6@example.com,Clerk\n";
    let whole = |is_of_changes: bool| {
        if !is_of_changes {
            let world = World::synced(Config::rest(LEAVE_AT_ONCE), 6);
            world.sync_of(renumbered.clone()).expect(4);
            return world;
        }
        let config = Config { source: "settle = \"0s\"\nmode = \"changes\"\n".into(), ..Config::default() };
        let world = inbox_of(World::of(config));
        Inbox(&world).drop("01.csv", people(1..7));
        world.sync().expect(0);
        Inbox(&world).drop("02.csv", format!("{HEADER}P00060,Person 6,person6@example.com,Clerk\n"));
        world.sync().expect(4);
        world
    };
    for is_of_changes in [false, true] {
        let world = whole(is_of_changes);
        let id = world.held_as(6).unwrap()["id"].clone();
        world.run(&["reject", "staff", "P00060"]).expect(0);
        world.run(&["approve", "staff"]).expect(1);
        world.run(&["approve", "staff", "P00060"]).expect(0);
        assert_eq!(world.sync().expect(0).writes(), (0, 1, 0), "changes: {is_of_changes}");
        assert_eq!(world.held_as(60).unwrap()["id"], id, "they are the same person, changes: {is_of_changes}");
        assert_eq!(world.staff().len(), 6);
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    }
    let world = whole(false);
    world.run(&["reject", "staff", "P00060"]).expect(0);
    // Once a run has asked, it is an answer.
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 1), "who is not the newcomer leaves");
    world.run(&["approve", "staff", "P00060"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
}

/// That a row is about the one whose key it has is rejected by mistake.
#[test]
fn a_rejection_that_a_row_is_about_its_person_is_taken_back_by_an_approval_of_its_key() {
    for runs in 0..3 {
        let world = World::synced(Config::rest(LEAVE_AT_ONCE), 6);
        world.csv(people(1..7).replace("Person 4,person4@", "Ada Married,ada@"));
        world.sync().expect(4);
        world.run(&["reject", "staff", "P00004"]).expect(0);
        for _ in 0..runs {
            assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
        }
        world.run(&["approve", "staff", "P00004"]).expect(0);
        assert_eq!(world.sync().expect(0).writes(), (0, 1, 0), "after {runs} runs");
        assert_eq!(world.held_as(4).unwrap()["name"], "Ada Married");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    }
}

/// A new number was mistyped and then corrected, and a file was dropped into the folder of another site.
#[test]
fn what_files_of_changes_said_of_a_record_of_which_no_one_can_say_who_it_is_is_dropped_by_its_key_alone() {
    let of = |name: &str| {
        Config {
        name: name.into(),
        path: name.into(),
        source: "settle = \"0s\"\nmode = \"changes\"\n".into(),
        job: "key = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\", \"email\"]\ninclude = \"{{ title != 'Gone' }}\"\n".into(),
        ..Config::rest(LEAVE_AT_ONCE)
    }
    };
    let world = World::of(of("north").and(&of("south")));
    let drop = |name: &str, text: String| {
        world.put(name, text.as_bytes());
        world.sync()
    };
    ["north", "south"].iter().for_each(|name| std::fs::create_dir(world.dir().join(name)).unwrap());
    drop("north/a.csv", people(1..5)).expect(0);
    drop("south/a.csv", people(11..14)).expect(0);

    let renumbered = |number: &str| format!("{HEADER}{number},Person 1,person1@example.com,Clerk\n");
    drop("north/b.csv", renumbered("P00062") + &row(1, "Gone"));
    drop("north/c.csv", renumbered("P00061")).expect(4);
    world.run(&["approve", "north", "P00061"]).expect(1);
    world.run(&["reject", "north"]).expect(1);
    world.run(&["reject", "north", "P00062"]).expect(0);
    let ran = world.sync().expect(4);
    assert_eq!(ran.job()["held"], 1, "{ran:?}");
    world.run(&["approve", "north", "P00061"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));

    drop("north/d.csv", people(11..12)).expect(4);
    world.run(&["reject", "north", "P00011"]).expect(0);
    world.sync().expect(0);
    let ran = drop("south/b.csv", format!("{HEADER}{}", row(11, "Gone"))).expect(0);
    assert_eq!((world.held_as(11), world.staff().len()), (None, 6), "who leaves is not kept by it: {ran:?}");
}

#[test]
fn an_approval_of_what_was_rejected_says_that_a_file_of_changes_has_to_say_it_again() {
    let config = Config { source: "settle = \"0s\"\nmode = \"changes\"\n".into(), ..Config::default() };
    let world = inbox_of(World::of(config.job("writes = \"approve\"\n")));
    Inbox(&world).drop("a.csv", people(1..3));
    world.sync().expect(4);
    world.run(&["reject", "staff", "P00001"]).expect(0);
    world.run(&["approve", "staff", "P00002"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    let said = world.run(&["approve", "staff", "P00001"]).expect(0);
    assert!(said.err.contains("once a file of changes has the row again: key P00001"), "{said:?}");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    Inbox(&world).drop("b.csv", people(1..2));
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
}
