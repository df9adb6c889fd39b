//! A list that is read in place goes back in time.

use std::fs::File;
use std::time::{Duration, SystemTime};

use crate::support::web::{Web, answer};
use crate::support::{Config, Ran, World, people};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
const OLDER: &str =
    "this seems to be an older export than the last one: its time of writing lies before that of the file of 2026-";

#[test]
fn the_right_list_that_is_put_back_in_place_of_one_that_a_limit_holds_is_no_older_one() {
    let world = World::of(Config::rest(LEAVE_AT_ONCE));
    sync_of(&world, 1..31, 10).expect(0);
    assert_eq!(sync_of(&world, 1..12, 11).expect(4).writes(), (0, 0, 0));
    let ran = sync_of(&world, 1..32, 10).expect(0);
    assert_eq!((ran.writes(), ran.reason()), ((1, 0, 0), String::new()));
    // What is asked of one person holds no list.
    let asked = people(1..33).replace("Person 5,person5@", "Ana Young,ana@");
    world.csv(&asked);
    written_on(&world, 12);
    world.sync().expect(4);
    assert!(sync_of(&world, 1..32, 11).expect(4).reason().contains(OLDER));
}

/// Puts the list of some people there as it was written on a day, and reads it.
fn sync_of(world: &World, numbers: std::ops::Range<usize>, day: u64) -> Ran {
    world.csv(people(numbers));
    written_on(world, day);
    world.sync()
}

fn written_on(world: &World, day: u64) {
    let written = SystemTime::UNIX_EPOCH + Duration::from_secs((20_600 + day) * 86_400);
    File::options().write(true).open(world.dir().join("staff.csv")).unwrap().set_modified(written).unwrap();
}

/// A world that has read the lists of two days, of which the first is there once more.
fn gone_back() -> World {
    let world = World::of(Config::rest(LEAVE_AT_ONCE));
    sync_of(&world, 1..9, 10).expect(0);
    assert_eq!(sync_of(&world, 2..10, 11).expect(0).writes(), (1, 0, 1));
    let ran = sync_of(&world, 1..9, 10).expect(4);
    assert_eq!((ran.writes(), &ran.job()["held"]), ((0, 0, 0), &2.into()));
    assert!(ran.reason().contains(OLDER), "{ran:?}");
    world
}

#[test]
fn fault_94_a_list_in_place_that_was_written_before_the_last_one_is_held_as_a_whole() {
    let world = gone_back();
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0), "however often it is read");
    assert_eq!(sync_of(&world, 2..11, 12).expect(0).writes(), (1, 0, 0), "a newer one counts");
    world.expect_people(2..11);
    assert_eq!(sync_of(&world, 2..11, 10).expect(0).reason(), "", "the same one is none, whatever its time");
}

#[test]
fn fault_94_what_was_approved_of_an_older_list_in_place_is_done_and_the_list_stays_an_older_one() {
    let world = gone_back();
    world.run(&["approve", "staff"]).expect(0);
    let ran = world.sync().expect(0);
    assert_eq!(ran.writes(), (1, 0, 1));
    world.expect_people(1..9);
    assert_eq!(sync_of(&world, 1..10, 10).expect(4).writes(), (0, 0, 0));
    assert_eq!(sync_of(&world, 1..10, 12).expect(0).writes(), (1, 0, 0), "saved again, it counts");
}

#[test]
fn fault_94_what_was_rejected_of_an_older_list_in_place_stays_so_and_says_nothing_of_a_newer_one() {
    let world = gone_back();
    world.run(&["reject", "staff"]).expect(0);
    for _ in 0..2 {
        let ran = world.sync();
        assert_eq!(ran.writes(), (0, 0, 0));
        assert!(ran.out.contains(OLDER), "{ran:?}");
    }
    world.expect_people(2..10);
    assert_eq!(sync_of(&world, 1..9, 12).expect(0).writes(), (1, 0, 1));
}

#[test]
fn law_1_no_grace_begins_with_a_list_in_place_that_seems_to_be_older() {
    let world = World::of(Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"7d\"\n"));
    sync_of(&world, 1..9, 10).expect(0);
    sync_of(&world, 1..10, 11).expect(0);
    sync_of(&world, 1..9, 10).expect(0);
    for _ in 0..2 {
        let ran = world.sync().expect(0);
        assert!(ran.reason().contains(OLDER), "{ran:?}");
        assert_eq!(ran.job()["missing"], 0);
        assert_eq!(world.run(&["status", "--json"]).job()["missing"], serde_json::Value::Null);
    }
    assert_eq!(sync_of(&world, 1..9, 12).job()["missing"], 1);
}

#[test]
fn fault_94_a_list_of_a_web_server_that_says_that_it_is_older_is_held() {
    let of = |numbers: std::ops::Range<usize>, day: u32| {
        let written = format!("last-modified: {day:02} Nov 2026 08:00:00 GMT\r\n");
        move |_: &_, _: usize| answer(200, "text/csv", &written, people(numbers.clone()).as_bytes())
    };
    let web = Web::start(of(1..9, 10));
    let source = format!("type = \"csv\"\nurl = \"{}\"\n", web.url("/staff.csv"));
    let world = World::of(Config { source, ..Config::rest(LEAVE_AT_ONCE) });
    world.sync().expect(0);
    web.say(of(2..10, 11));
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 1));
    web.say(of(1..9, 10));
    let ran = world.sync().expect(4);
    assert_eq!(ran.writes(), (0, 0, 0));
    assert!(ran.reason().contains(OLDER), "{ran:?}");
}
