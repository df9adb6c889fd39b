//! How long people's data is kept.

use jiff::SignedDuration;
use rosterd::clock::Clock;

use crate::support::{Config, World, people, row};

fn world(retention: &str) -> World {
    let state = format!("[retention]\n{retention}\n");
    let world = World::of(Config { state, ..Config::default() });
    world.sync_of(people(1..4)).expect(0);
    world.sync_of(people(1..3) + &row(3, "Baker")).expect(0);
    world
}

#[test]
fn values_are_kept_for_90_days_and_lines_for_a_year_by_default() {
    let world = World::of(Config::rest("[job.guard]\nmax_updates = \"off\"\n"));
    for (days, title) in [(366, "Clerk"), (364, "Baker"), (91, "Chief"), (89, "Dean")] {
        world.csv(people(1..4).replace("Clerk", title));
        assert_eq!(world.sync_ago(SignedDuration::from_hours(24 * days)).counts.parked, 0);
    }
    assert_eq!(world.sync_of(people(1..4).replace("Clerk", "Elder")).expect(0).writes(), (0, 3, 0));
    let audit = world.audit();
    for (value, is_kept) in [("Clerk", false), ("Baker", false), ("Chief", true), ("Dean", true), ("Elder", true)] {
        assert_eq!(audit.contains(value), is_kept, "{value}: {audit}");
    }
    // The run of 89 days ago tells what it changed from; that of 91 days ago only that it changed something.
    assert!(world.run(&["history", "4"]).out.contains("\"Chief\" → \"Dean\""));
    assert!(world.run(&["history", "3"]).out.contains("title: values dropped"));
    let history = world.run(&["history", "--json"]).expect(0).json();
    let runs: Vec<u64> = history["events"].as_array().unwrap().iter().map(|run| run["run"].as_u64().unwrap()).collect();
    assert_eq!(runs, [5, 4, 3, 2], "what is older than a year is gone");
}

#[test]
fn values_that_are_not_to_be_kept_are_gone_once_the_sync_has_ended_and_the_rest_stays() {
    let world = world("before_images = \"0s\"");
    let audit = world.audit();
    for value in ["Baker", "Clerk", "Person ", "@example.com"] {
        assert!(!audit.contains(value), "{value}: {audit}");
    }
    let document = world.run(&["history", "2", "--json"]).expect(0).json();
    assert_eq!(document["changes"][0]["key"], "P00003");
    assert_eq!(document["changes"][0]["fields"], serde_json::json!({"title": null}));
    assert!(world.run(&["history", "2"]).out.contains("title: values dropped"));
}

#[test]
fn lines_that_are_not_to_be_kept_go_and_no_number_is_given_twice() {
    let world = world("runs = \"0s\"");
    assert_eq!(world.audit(), "");
    assert_eq!(world.run(&["status", "--json"]).job()["last"]["run"], 2);
}

#[test]
fn a_negative_age_or_none_at_all_is_a_mistake() {
    for lines in ["runs = \"-1d\"", "before_images = \"\"", "runs = 5", "before_images = \"soon\""] {
        let state = format!("[retention]\n{lines}\n");
        let world = World::of(Config { state, ..Config::default() });
        let ran = world.run(&["status"]).expect(2);
        assert!(ran.err.contains("retention."), "{lines}: {ran:?}");
    }
}

/// Nothing of it can be had again.
#[test]
fn a_clock_that_is_a_year_ahead_drops_nothing() {
    let world = World::of(Config::default());
    world.sync_of(people(1..4)).expect(0);
    let before = world.audit();
    world.csv(people(1..3) + &row(3, "Baker"));
    let ahead = Clock::fixed(Clock::system().now() + SignedDuration::from_hours(24 * 400));
    assert_eq!(world.sync_at(&ahead).counts.updated, 1);
    assert!(world.audit().starts_with(&before), "{}", world.audit());
}
