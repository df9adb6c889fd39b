//! The service's clock ahead of or behind this machine's: no remote edit is missed.

use jiff::SignedDuration;
use rosterd::clock::Clock;
use rosterd::sandbox::Options;
use serde_json::json;

use crate::support::{Config, HEADER, World, people};

const GUARD: &str = "[job.guard]\nmax_updates = \"off\"\n";

/// 60 seeded people in pages of 10, so that a delta and a whole listing differ in their number of requests.
fn world(minutes: i64) -> World {
    let options = Options {
        seed_staff: 60,
        page_max: 10,
        accept_duplicates: true,
        clock_offset: SignedDuration::from_mins(minutes),
        ..Options::default()
    };
    let config = Config::rest(GUARD);
    let world = World::with(options, config);
    let mut file = HEADER.to_owned();
    for person in world.staff() {
        let text = |name: &str| person[name].as_str().unwrap_or_default().to_owned();
        file += &format!("{},\"{}\",{},Owned\n", text("employee_id"), text("name"), text("email"));
    }
    world.csv(file);
    world.sync().expect(0);
    assert!(world.staff().iter().all(|person| person["title"] == "Owned"));
    world
}

fn id_at(world: &World, at: usize) -> i64 {
    world.staff()[at]["id"].as_i64().unwrap()
}

fn check_edits(minutes: i64) {
    let world = world(minutes);
    for round in 0..14 {
        let (before, after, during) = (id_at(&world, round), id_at(&world, round + 20), id_at(&world, round + 40));
        world.service().edit("staff", before, json!({ "title": "edited before" }));
        // The answer of its first request, its second, and so on: the last ones are the copy and the update.
        world.faults(&[&format!("hold nth={}", round % 4 + 1)]);
        let mut child = world.start(&["sync"]);
        world.until_held(1);
        world.service().edit("staff", during, json!({ "title": "edited during" }));
        world.faults(&[]);
        assert!(child.wait().unwrap().success(), "{minutes} minutes, round {round}");
        assert_eq!(world.one(before)["title"], "Owned", "{minutes} minutes, round {round}: an edit before a sync");
        world.service().edit("staff", after, json!({ "title": "edited after" }));
        let ran = world.sync().expect(0);
        for (id, when) in [(during, "during"), (after, "after")] {
            assert_eq!(
                world.one(id)["title"],
                "Owned",
                "{minutes} minutes, round {round}: an edit {when} a sync: {ran:?}"
            );
        }
    }
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn law_5_remote_edits_are_never_missed_with_the_services_clock_15_minutes_ahead() {
    check_edits(15);
}

#[test]
fn law_5_remote_edits_are_never_missed_with_the_services_clock_15_minutes_behind() {
    check_edits(-15);
}

#[test]
fn law_4_and_5_drift_is_found_by_a_delta_and_not_by_a_whole_listing() {
    for minutes in [-15, 0, 15] {
        let options = Options {
            seed_staff: 60,
            page_max: 10,
            clock_offset: SignedDuration::from_mins(minutes),
            ..Options::default()
        };
        let world = World::new(options);
        let mut file = HEADER.to_owned();
        for person in world.staff() {
            let text = |name: &str| person[name].as_str().unwrap_or_default().to_owned();
            file += &format!("{},\"{}\",{},\"{}\"\n", text("employee_id"), text("name"), text("email"), text("title"));
        }
        world.csv(file);
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
        let (first, listed) = (world.count("staff.list"), world.service().requests().len());
        assert!(first >= 7, "{first}");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
        let idle = world.service().requests().len() - listed;
        assert!(idle <= 3, "{minutes} minutes: {idle} requests for nothing");
        let id = id_at(&world, 30);
        let title = world.one(id)["title"].clone();
        world.service().edit("staff", id, json!({ "title": "edited" }));
        let listed = world.count("staff.list");
        assert_eq!(world.sync().expect(0).writes(), (0, 1, 0), "{minutes} minutes");
        assert_eq!(world.one(id)["title"], title);
        let pages = world.count("staff.list") - listed;
        assert!(pages <= 3, "{minutes} minutes: {pages} pages for one edit");
    }
}

#[test]
fn a_person_deleted_at_the_service_is_created_again_after_a_whole_listing() {
    for minutes in [-15, 15] {
        let world = world(minutes);
        let gone = world.staff()[10].clone();
        world.service().remove("staff", gone["id"].as_i64().unwrap());
        let later = Clock::fixed(Clock::system().now() + SignedDuration::from_hours(25));
        let counts = world.sync_at(&later).counts;
        assert_eq!((counts.created, counts.updated, counts.deleted), (1, 0, 0), "{minutes} minutes");
        expect_once(&world, gone["employee_id"].as_str().unwrap());
    }
}

#[test]
fn fault_35_a_person_deleted_at_the_service_is_created_again_when_next_written() {
    let world = world(0);
    let gone = world.staff()[10].clone();
    world.service().remove("staff", gone["id"].as_i64().unwrap());
    let name = gone["employee_id"].as_str().unwrap();
    let file = std::fs::read_to_string(world.dir().join("staff.csv")).unwrap();
    let file: String = file
        .lines()
        .map(|line| if line.starts_with(name) { line.replace(",Owned", ",Moved") + "\n" } else { format!("{line}\n") })
        .collect();
    world.csv(file);
    let first = world.sync();
    let second = world.sync().expect(0);
    assert_eq!(world.count("staff.create"), 1, "{first:?} {second:?}");
    assert!(world.staff().iter().any(|person| person["employee_id"] == name && person["title"] == "Moved"));
    expect_once(&world, name);
}

fn expect_once(world: &World, employee_id: &str) {
    assert_eq!(world.texts("employee_id").iter().filter(|id| *id == employee_id).count(), 1);
    assert_eq!(world.staff().len(), 60);
    let writes = world.service().writes();
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(world.service().writes(), writes);
}

#[test]
fn no_grace_is_over_by_a_clock_that_was_behind_when_it_began() {
    let day = "[job.leavers]\naction = \"delete\"\ngrace = \"24h\"\n[job.guard]\nmax_leavers = \"off\"\n";
    // The service is three days ahead of this machine, which is what a machine looks like that is three days behind.
    let options = Options { clock_offset: SignedDuration::from_hours(72), ..Options::default() };
    let world = World::with(options, Config::rest(day));
    world.csv(people(0..5));
    world.sync().expect(0);
    world.csv(people(0..4));
    world.sync().expect(0);
    // Put right, the clock shows another time, and a grace that has hardly begun.
    let after = |hours| Clock::fixed(Clock::system().now() + SignedDuration::from_hours(hours));
    world.sync_at(&after(72));
    assert_eq!(world.staff().len(), 5, "the grace has just begun");
}
