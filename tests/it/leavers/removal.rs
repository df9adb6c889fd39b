//! When a person who is gone from the source is removed from the service, and when not.

use jiff::SignedDuration;
use rosterd::clock::Clock;
use serde_json::json;

use crate::support::{Config, World, people, row};

/// Ten people; three may leave at once (no limit is below 3).
const COUNT: usize = 10;

fn leaving(lines: &str) -> Config {
    Config::rest(&format!("[job.leavers]\n{lines}\n"))
}

fn deleting(lines: &str) -> Config {
    leaving(&format!("action = \"delete\"\n{lines}"))
}

/// The file without some people, and with a title that tells this file from another.
fn without(gone: &[usize], title: &str) -> String {
    let all = people(1..COUNT).to_owned() + &row(COUNT, title);
    gone.iter().fold(all, |text, number| text.replace(&row(*number, "Clerk"), ""))
}

/// The numbers of those who are gone at the service.
fn gone(world: &World) -> Vec<usize> {
    (1..=COUNT).filter(|number| world.held_as(*number).is_none()).collect()
}

/// The leaver who waits longest, as `status` says it.
fn oldest(world: &World) -> serde_json::Value {
    world.run(&["status", "--json"]).expect(0).job()["oldest_leaver"].clone()
}

#[test]
fn who_is_gone_is_kept_unless_the_job_says_delete() {
    for config in [Config::default(), leaving("grace = \"0s\""), leaving("action = \"keep\"\ngrace = \"0s\"")] {
        let world = World::synced(config, COUNT);
        for title in ["A", "B", "B"] {
            let ran = world.sync_of(without(&[1, 2], title)).expect(0);
            assert_eq!((ran.writes().2, ran.job()["held"].as_u64()), (0, Some(0)), "{ran:?}");
        }
        assert_eq!(world.plan().expect(0).job()["changes"], json!([]));
        assert!(gone(&world).is_empty());
    }
}

#[test]
fn law_6_who_was_made_another_person_at_the_service_is_not_removed_as_the_one_who_leaves() {
    let other = json!({"name": "Visitor Foreign", "email": "visitor@example.org", "employee_id": "V4"});
    let marries = json!({"name": "Eve Foreign", "email": "eve@example.org"});
    for (edit, is_removed) in [(other, false), (marries, true)] {
        let world = World::synced(deleting("grace = \"0s\""), COUNT);
        let id = world.held_as(2).unwrap()["id"].as_i64().unwrap();
        world.service().edit("staff", id, edit.clone());
        world.csv(without(&[2], "Clerk"));
        for _ in 0..2 {
            let ran = world.sync().expect(if is_removed { 0 } else { 3 });
            let is_there = world.staff().iter().any(|person| person["name"] == edit["name"]);
            assert_eq!(is_there, !is_removed, "{ran:?}");
        }
    }
}

#[test]
fn law_6_without_grace_one_complete_read_is_enough_and_only_own_people_leave() {
    let world = World::of(deleting("grace = \"0s\""));
    world.person(90, "Foreign");
    world.person(2, "Clerk");
    assert_eq!(world.sync_of(people(1..COUNT + 1)).expect(0).writes(), (COUNT as u64 - 1, 0, 0));

    world.csv(without(&[1, 2], "Clerk"));
    let plan = world.plan().expect(0).job();
    let changes = plan["changes"].as_array().unwrap();
    assert!(changes.iter().all(|change| change["action"] == "delete" && change["id"].is_i64()), "{plan}");
    assert_eq!(changes.len(), 2, "created or matched, both are the job's own: {plan}");
    let ran = world.sync().expect(0);
    assert_eq!(ran.writes(), (0, 0, 2));
    assert!(!ran.err.contains("due to be removed"), "{ran:?}");
    let status = world.run(&["status", "--json"]).expect(0).job();
    assert_eq!(status["missing"], json!(null), "who was removed is not missing any more: {status}");
    assert_eq!((gone(&world), world.held_as(90).is_some()), (vec![1, 2], true));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));

    assert_eq!(world.sync_of(people(1..COUNT + 1)).expect(0).writes(), (2, 0, 0), "who comes back is created again");
    assert_eq!(world.staff().len(), COUNT + 1);
}

#[test]
fn during_the_grace_no_one_leaves_however_many_files_say_so() {
    for lines in ["", "grace = \"24h\""] {
        let world = World::synced(deleting(lines), COUNT);
        assert!(oldest(&world).is_null());
        for title in ["A", "B", "C"] {
            let ran = world.sync_of(without(&[1], title)).expect(0);
            assert_eq!((ran.writes().2, ran.ended().0.as_str()), (0, "done"), "{ran:?}");
        }
        assert!(gone(&world).is_empty());
        assert!(oldest(&world).is_string(), "status names who waits longest");
        world.sync_of(people(1..COUNT + 1)).expect(0);
        assert!(oldest(&world).is_null(), "and nobody once they are back");
    }
}

/// A world in which a person is missing for longer than the grace of an hour.
fn missing_since_two_hours() -> World {
    let clock = Clock::fixed(Clock::system().now() - SignedDuration::from_hours(3));
    let world = World::at(&clock, deleting("grace = \"1h\""));
    for (hours, text) in [(1, people(1..COUNT + 1)), (2, without(&[1], "Clerk"))] {
        world.csv(text);
        world.sync_at(&clock);
        clock.advance(SignedDuration::from_hours(hours));
    }
    assert!(gone(&world).is_empty());
    world
}

#[test]
fn after_the_grace_who_is_still_missing_from_a_complete_read_leaves() {
    let world = missing_since_two_hours();
    let cut = without(&[1], "Clerk");
    assert_eq!(
        world.sync_of(&cut[..cut.len() - 3]).expect(3).writes(),
        (0, 0, 0),
        "law 1: an incomplete read proves nothing"
    );
    assert_eq!(world.sync_of(cut).expect(0).writes(), (0, 0, 1));
    assert_eq!(gone(&world), [1]);
}

#[test]
fn after_the_grace_the_same_unchanged_file_is_enough() {
    let world = missing_since_two_hours();
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
}

#[test]
fn further_reads_are_of_other_complete_files_only() {
    let world = World::synced(deleting("grace = \"0s\"\ngrace_reads = 2"), COUNT);
    let cut = without(&[1], "cut");
    for (text, left) in [
        (without(&[1], "A"), false),
        (without(&[1], "A"), false),
        (without(&[1], "A"), false),
        (cut[..cut.len() - 3].to_owned(), false),
        (without(&[1], "B"), false),
        (without(&[1], "B"), false),
        (without(&[1], "C"), true),
    ] {
        let ran = world.sync_of(&text);
        assert_eq!(ran.writes().2, u64::from(left), "{text}: {ran:?}");
        assert_eq!(world.held_as(1).is_none(), left, "{text}");
    }
}

#[test]
fn who_comes_back_within_the_grace_starts_over() {
    let world = World::synced(deleting("grace = \"0s\"\ngrace_reads = 1"), COUNT);
    for (text, left) in [
        (without(&[1], "A"), false),
        (without(&[], "B"), false),
        (without(&[1], "C"), false),
        (without(&[], "D"), false),
        (without(&[1], "E"), false),
        (without(&[1], "F"), true),
    ] {
        world.sync_of(&text).expect(0);
        assert_eq!(world.held_as(1).is_none(), left, "{text}");
    }
}

#[test]
fn law_1_a_row_that_says_so_leaves_in_any_read_and_without_grace() {
    let config = deleting("grace = \"24h\"\ngrace_reads = 5").job("include = \"{{ title != 'Gone' }}\"\n");
    let said = people(1..COUNT + 1).replace(&row(3, "Clerk"), &row(3, "Gone"));
    for (name, text, code) in [
        ("a complete read", said.clone(), 0),
        ("a cut file", said[..said.len() - 3].to_owned(), 3),
        ("a row more whose key is missing", said.clone() + ",No Key,nokey@example.com,Clerk\n", 3),
    ] {
        let world = World::synced(config.clone(), COUNT);
        let ran = world.sync_of(text);
        assert_eq!((ran.code, ran.writes()), (Some(code), (0, 0, 1)), "{name}: {ran:?}");
        assert_eq!(gone(&world), [3], "{name}: who is merely absent stays");
    }

    let world = World::synced(config.clone(), COUNT);
    let many =
        (1..5).fold(people(1..COUNT + 1), |text, number| text.replace(&row(number, "Clerk"), &row(number, "Gone")));
    let ran = world.sync_of(&many).expect(4);
    assert!(ran.ended().2.contains("max_leavers"), "they are under the guard: {ran:?}");
    assert!(gone(&world).is_empty());

    let mut kept = config;
    kept.rest = String::new();
    let world = World::synced(kept, COUNT);
    assert_eq!(world.sync_of(many).expect(0).writes(), (0, 0, 0), "action = keep keeps them too");
}

/// Someone gets a new contract under another number: the row of the old one says that it ended, and the new one has a slip.
#[test]
fn law_1_who_is_gone_by_one_row_stays_while_another_row_in_doubt_has_their_name_or_email() {
    let config = deleting("grace = \"0s\"").job("include = \"{{ title != 'Gone' }}\"\n");
    let ended = people(1..COUNT + 1).replace(&row(3, "Clerk"), &row(3, "Gone"));
    for (slip, extra) in [
        ("no number", ",Person 3,person3@example.com,Clerk\n"),
        ("a spreadsheet's error", "#N/A,Person 3,new@example.com,Clerk\n"),
        ("an email that is none", "P00077,Person 3,#REF!,Clerk\n"),
        ("the number of another", "P00006,Person 3,person3@example.com,Clerk\n"),
        ("another name, and no number", ",New Name,person3@example.com,Clerk\n"),
    ] {
        let world = World::synced(config.clone(), COUNT);
        for _ in 0..2 {
            let ran = world.sync_of(ended.clone() + extra).expect(4);
            assert_eq!((ran.writes().2, gone(&world)), (0, vec![]), "{slip}: {ran:?}");
            assert!(ran.out.contains("a row of job staff that can't be used is about this person"), "{ran:?}");
        }
        assert_eq!(world.sync_of(&ended).expect(0).writes(), (0, 0, 1), "{slip}");
        assert_eq!(gone(&world), [3], "{slip}");
    }
    // A row that can't be used and is that of its own person keeps no one.
    let world = World::synced(config, COUNT);
    let spoilt = ended.replace("P00006,Person 6,person6@example.com,Clerk", "P00006,Person 6,#REF!,Clerk");
    assert_eq!(world.sync_of(spoilt).expect(3).writes(), (0, 0, 1));
    assert_eq!(gone(&world), [3]);
}

/// No one sees it in a spreadsheet.
#[test]
fn law_1_white_space_around_what_include_compares_removes_no_one() {
    let world = World::synced(deleting("grace = \"0s\"").job("include = \"{{ title == 'Clerk' }}\"\n"), COUNT);
    for space in [" ", "\u{a0}", "\t", "\u{3000}", "\u{200b}", "\u{feff}", "\u{200e} "] {
        for slip in [format!("Clerk{space}"), format!("{space}Clerk")] {
            let text = people(1..COUNT + 1).replace(&row(3, "Clerk"), &row(3, &slip));
            assert_eq!(world.sync_of(text).expect(0).writes(), (0, 0, 0), "{slip:?}");
        }
    }
}

#[test]
fn law_1_a_row_that_is_not_included_needs_no_key_and_creates_no_one() {
    let world = World::synced(deleting("grace = \"0s\"").job("include = \"{{ title != 'Gone' }}\"\n"), COUNT);
    let text = without(&[1], "Clerk") + ",No Key,nokey@example.com,Gone\n" + &row(50, "Gone");
    let ran = world.sync_of(text).expect(0);
    assert!(ran.ended().1, "{ran:?}");
    assert_eq!((ran.writes(), gone(&world)), ((0, 0, 1), vec![1]));
    assert_eq!(world.staff().len(), COUNT - 1);
}

#[test]
fn law_8_an_include_that_says_neither_rejects_its_row_and_no_one_leaves_by_it() {
    let world = World::of(deleting("grace = \"0s\"").job("include = \"{{ title }}\"\n"));
    let all = people(1..COUNT + 1).replace("Clerk", "true");
    assert_eq!(world.sync_of(&all).expect(0).writes(), (COUNT as u64, 0, 0));
    let ran = world.sync_of(all.replace(&row(4, "true"), &row(4, "perhaps"))).expect(3).hides(&["perhaps"]);
    assert_eq!((ran.writes(), ran.job()["rejected"].as_u64()), ((0, 0, 0), Some(1)), "{ran:?}");
    assert_eq!(world.staff().len(), COUNT);
}

#[test]
fn law_10_a_leaver_on_site_is_removed_only_once_off_site() {
    let world = World::synced(deleting("grace = \"0s\""), COUNT);
    let id = world.held_as(1).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"onsite_status": "onsite"}));

    world.csv(without(&[1, 2], "Clerk"));
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 1), Some(1)), "{ran:?}");
    assert_eq!((ran.ended().0.as_str(), gone(&world)), ("done", vec![2]));

    world.run(&["approve", "staff", "P00001"]);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "an approval lifts the guard, not this");
    assert_eq!(world.held_as(1).unwrap()["onsite_status"], "onsite");

    world.service().edit("staff", id, json!({"onsite_status": "offsite"}));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
    assert_eq!(gone(&world), [1, 2]);
    assert!(world.service().requests().iter().all(|request| !request.operation.starts_with("staff.movement")));
}

#[test]
fn law_10_sync_plan_and_status_say_that_a_leaver_on_site_waits() {
    let world = World::synced(deleting("grace = \"0s\""), COUNT);
    let id = world.held_as(1).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"onsite_status": "onsite"}));
    world.csv(without(&[1], "Clerk"));
    let shown = world.run(&["sync"]).expect(0);
    assert!(shown.out.lines().any(|line| line.contains("P00001") && line.contains("site")), "{shown:?}");
    assert_eq!(world.run(&["status", "--json"]).job()["held"], 1);
    let plan = world.plan().expect(0).job();
    assert_eq!((&plan["changes"][0]["key"], &plan["held"]), (&"P00001".into(), &json!(null)), "{plan}");
    let reason = &plan["changes"][0]["held"];
    assert!(reason.as_str().is_some_and(|reason| reason.contains("site")), "the plan says why it waits: {plan}");
}

#[test]
fn law_10_a_leaver_on_site_with_others_over_the_guard_is_held_with_them() {
    let world = World::synced(deleting("grace = \"0s\""), COUNT);
    let id = world.held_as(1).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"onsite_status": "onsite"}));
    let ran = world.sync_of(without(&[1, 2, 3, 4, 5], "Clerk")).expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(5)), "{ran:?}");
    assert!(gone(&world).is_empty());
}

#[test]
fn a_leaver_that_the_service_has_lost_already_stops_no_one() {
    let world = World::synced(deleting("grace = \"0s\""), COUNT);
    let id = world.held_as(1).unwrap()["id"].as_i64().unwrap();
    assert!(world.service().remove("staff", id));
    let ran = world.sync_of(without(&[1, 2], "Clerk")).expect(0);
    assert_eq!(ran.ended().0, "done");
    assert_eq!(gone(&world), [1, 2]);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn who_has_a_row_that_counts_stays_whatever_their_other_row_says() {
    let config = deleting("grace = \"0s\"").job("include = \"{{ title != 'Gone' }}\"\n");
    for order in [[row(3, "Gone"), row(3, "Clerk")], [row(3, "Clerk"), row(3, "Gone")]] {
        let world = World::synced(config.clone(), COUNT);
        let ran = world.sync_of(people(1..COUNT + 1).replace(&row(3, "Clerk"), &order.concat()));
        assert_eq!((ran.writes(), gone(&world)), ((0, 0, 0), Vec::new()), "left and hired again: {order:?}: {ran:?}");
    }
}
