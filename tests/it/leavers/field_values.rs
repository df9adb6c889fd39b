//! Leavers who stay at the service, with some of their fields set.

use jiff::SignedDuration;
use rosterd::clock::Clock;
use serde_json::json;

use crate::support::{Config, HEADER, World, people, row};

const COUNT: usize = 10;

fn setting(lines: &str) -> Config {
    Config::rest(&format!("[job.leavers]\naction = \"update\"\n{lines}\n"))
}

fn marking() -> Config {
    setting("grace = \"0s\"\nset.title = \"{{ last.title }} (left)\"")
}

fn title(world: &World, number: usize) -> String {
    world.held_as(number).unwrap()["title"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn who_is_gone_gets_what_is_set_once_and_keeps_everything_else() {
    let world = World::synced(marking(), COUNT);
    let id = world.held_as(1).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"mobile": "64 211111111", "onsite_status": "onsite"}));
    let before = world.one(id);
    world.csv(people(2..COUNT + 1));
    let plan = world.plan().expect(0).job();
    let change = &plan["changes"][0];
    assert_eq!(
        (&change["action"], &change["leaver"], &change["key"]),
        (&json!("update"), &json!(true), &json!("P00001"))
    );
    assert_eq!(change["fields"], json!({"title": {"from": "Clerk", "to": "Clerk (left)"}}));

    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    let mut after = world.one(id);
    assert_eq!(after["title"], "Clerk (left)");
    after["title"] = before["title"].clone();
    after["modified"] = before["modified"].clone();
    assert_eq!(after, before, "law 2, law 10");
    let writes = world.service().writes();
    for tail in ["A", "B", "B"] {
        world.csv(people(2..COUNT) + &row(COUNT, tail));
        world.sync().expect(0);
        assert_eq!(title(&world, 1), "Clerk (left)", "once, and not again");
    }
    assert_eq!(world.service().writes(), writes + 2, "the two other titles");
    world.service().edit("staff", id, json!({"title": "Theirs"}));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "what somebody makes of it later is theirs");
    assert_eq!(world.plan().expect(0).job()["changes"], json!([]));
}

#[test]
fn who_comes_back_gets_the_mapped_fields_again_and_may_leave_again() {
    for on_drift in ["overwrite", "keep", "report"] {
        let world = World::synced(marking().job(&format!("on_drift = \"{on_drift}\"\n")), COUNT);
        let id = world.held_as(1).unwrap()["id"].clone();
        for round in 0..2 {
            assert_eq!(world.sync_of(people(2..COUNT + 1)).expect(0).writes(), (0, 1, 0), "{on_drift} {round}");
            assert_eq!(title(&world, 1), "Clerk (left)", "{on_drift} {round}");
            assert_eq!(world.sync_of(people(1..COUNT + 1)).expect(0).writes(), (0, 1, 0), "{on_drift} {round}");
            assert_eq!((title(&world, 1), &world.held_as(1).unwrap()["id"]), ("Clerk".to_owned(), &id), "{on_drift}");
            assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{on_drift} {round}");
        }
    }
}

#[test]
fn the_day_is_the_first_on_which_they_were_missing_in_the_jobs_zone() {
    let mut config = setting("grace = \"48h\"\nset.title = \"Left {{ left }}\"");
    config.job += "time_zone = \"Pacific/Auckland\"\n";
    // 23:30 of the 1st in UTC is the 2nd in Auckland.
    let clock = Clock::fixed("2027-03-01T23:30:00Z".parse().unwrap());
    let world = World::at(&clock, config);
    world.csv(people(1..COUNT + 1));
    world.sync_at(&clock);
    world.csv(people(2..COUNT + 1));
    for (hours, expected) in [(0, "Clerk"), (47, "Clerk"), (2, "Left 2027-03-02"), (200, "Left 2027-03-02")] {
        clock.advance(SignedDuration::from_hours(hours));
        world.sync_at(&clock);
        assert_eq!(title(&world, 1), expected, "{hours} hours later");
    }
    assert_eq!(world.service().writes(), COUNT + 1);
}

#[test]
fn a_row_that_says_so_is_set_at_once() {
    let mut config = marking();
    config.job += "include = \"{{ title != 'Gone' }}\"\n";
    let world = World::synced(config, COUNT);
    let text = people(1..COUNT + 1).replace(&row(3, "Clerk"), &row(3, "Gone"));
    assert_eq!(world.sync_of(&text).expect(0).writes(), (0, 1, 0));
    assert_eq!(title(&world, 3), "Clerk (left)", "of what the record was before the row said so");
    assert_eq!(world.sync_of(text + &row(50, "New")).expect(0).writes(), (1, 0, 0));
    assert_eq!(world.sync_of(people(1..COUNT + 1) + &row(50, "New")).expect(0).writes(), (0, 1, 0));
    assert_eq!(title(&world, 3), "Clerk");
}

#[test]
fn leavers_who_are_set_are_under_the_limit_of_leavers_over_a_day() {
    let world = World::synced(marking(), 40);
    let ran = world.sync_of(people(5..41)).expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(4)), "{ran:?}");
    assert!(ran.ended().2.contains("max_leavers: 4 people would be set as gone, 3 are allowed"), "{ran:?}");
    assert_eq!(world.sync_of(people(3..41)).expect(0).writes(), (0, 2, 0));
    let ran = world.sync_of(people(5..41)).expect(4);
    assert!(ran.ended().2.contains("besides 2 of the last 24 hours"), "{ran:?}");
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 2, 0));
    assert_eq!(world.sync_of(people(6..41)).expect(0).writes(), (0, 1, 0), "approved ones don't count");
}

#[test]
fn what_cant_be_set_is_held_with_the_reason_and_stops_no_one_else() {
    let config = setting("grace = \"0s\"\nset.location = \"{{ last.title }}\"\nset.title = \"Left\"");
    let world = World::synced(config, COUNT);
    let ran = world.sync_of(people(2..COUNT + 1) + &row(50, "New")).expect(4).hides(&["Clerk"]);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((1, 0, 0), Some(1)), "{ran:?}");
    assert!(ran.ended().2.contains("leavers.set.location"), "{ran:?}");
    assert_eq!(title(&world, 1), "Clerk", "nothing of it was set");
}

#[test]
fn law_3_a_kill_or_a_lost_answer_sets_it_all_the_same_and_once() {
    for moment in ["kill before", "kill after", "lost answers"] {
        let world = World::synced(marking(), COUNT);
        world.csv(people(2..COUNT + 1));
        match moment {
            "kill before" => world.kill_held("staff.update hold-before", &[]),
            "kill after" => world.kill_held("staff.update hold", &[]),
            _ => {
                world.faults(&["staff.update cut-after times=9"]);
                world.sync();
                world.faults(&[]);
            }
        }
        world.sync().expect(0);
        assert_eq!(title(&world, 1), "Clerk (left)", "{moment}");
        assert_eq!(world.sync_of(people(1..COUNT + 1)).expect(0).writes(), (0, 1, 0), "{moment}");
        assert_eq!(title(&world, 1), "Clerk", "{moment}");
    }
}

#[test]
fn after_a_removal_a_person_who_comes_back_gets_the_old_entity_where_it_still_exists() {
    let leave = Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n");
    let clock = Clock::fixed(Clock::system().now());
    let world = World::at(&clock, leave);
    world.csv(people(1..COUNT + 1));
    world.sync_at(&clock);
    let old = world.held_as(1).unwrap();
    world.csv(people(2..COUNT + 1));
    assert_eq!(world.sync_at(&clock).counts.deleted, 1);
    // They are restored at the service, with what they had.
    world.service().put("staff", old.clone());
    clock.advance(SignedDuration::from_hours(2));
    world.csv(people(1..COUNT + 1));
    let report = world.sync_at(&clock);
    assert_eq!((report.counts.created, world.staff().len()), (0, COUNT), "{report:?}");
    assert_eq!(world.held_as(1).unwrap()["id"], old["id"]);
    world.csv(people(1..COUNT) + &row(COUNT, "Moved"));
    assert_eq!(world.sync_at(&clock).counts.updated, 1);
}

#[test]
fn the_file_may_be_a_list_of_changes() {
    let mut config = marking();
    config.job += "include = \"{{ title != 'Gone' }}\"\n";
    config.source += "mode = \"changes\"\n";
    let world = World::synced(config, COUNT);
    assert_eq!(world.sync_of(HEADER.to_owned() + &row(2, "Gone") + &row(4, "Clerk")).expect(0).writes(), (0, 1, 0));
    assert_eq!((title(&world, 2), title(&world, 1)), ("Clerk (left)".into(), "Clerk".into()));
    assert_eq!(world.sync_of(HEADER.to_owned() + &row(3, "Clerk")).expect(0).writes(), (0, 0, 0));
    assert_eq!(world.sync_of(HEADER.to_owned() + &row(2, "Clerk")).expect(0).writes(), (0, 1, 0));
    assert_eq!(title(&world, 2), "Clerk");
}
