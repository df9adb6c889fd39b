//! What a file of changes says once, and no later file says again: days, segments, what waits for a decision.

use jiff::SignedDuration;
use rosterd::clock::Clock;
use serde_json::json;

use super::{Inbox, inbox_of};
use crate::support::{Config, World, row};

const HEADER: &str = "Employee No,Name,Email,Title,Start,End\n";
const DAYS: &str = "active_from = \"{{ start }}\"\nactive_until = \"{{ end }}\"\n";
const LEAVE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

fn dated(number: usize, title: &str, days: &str) -> String {
    format!("{},{days}\n", row(number, title).trim_end())
}

/// A job over an inbox of files of changes, on a clock that it shares with the service.
fn world_at(clock: &Clock, job: &str, rest: &str) -> World {
    let source = "settle = \"0s\"\nmode = \"changes\"\n";
    let config = Config {
        job: Config::default().job + DAYS + job,
        source: source.into(),
        rest: LEAVE.to_owned() + rest,
        ..Config::default()
    };
    inbox_of(World::at(clock, config))
}

/// A job over an inbox of files of everyone, likewise.
fn everyone_at(clock: &Clock) -> World {
    let source = "settle = \"0s\"\n".into();
    let config = Config { job: Config::default().job + DAYS, source, rest: LEAVE.into(), ..Config::default() };
    inbox_of(World::at(clock, config))
}

fn clock() -> Clock {
    Clock::fixed("2027-03-03T10:00:00Z".parse().unwrap())
}

/// A file of these rows arrives, and a run reads it: created, updated, removed.
fn arrives(world: &World, clock: &Clock, name: &str, rows: &[String]) -> (u64, u64, u64) {
    Inbox(world).drop(name, HEADER.to_owned() + &rows.concat());
    after(world, clock, 0)
}

/// A run so many hours later.
fn after(world: &World, clock: &Clock, hours: i64) -> (u64, u64, u64) {
    clock.advance(SignedDuration::from_hours(hours));
    let counts = world.sync_at(clock).counts;
    (counts.created, counts.updated, counts.deleted)
}

/// The first of these jobs, of which a file with the first four people was read.
fn four_clerks_at(clock: &Clock) -> World {
    let world = world_at(clock, "", "");
    let rows: Vec<_> = (1..5).map(|number| dated(number, "Clerk", ",")).collect();
    assert_eq!(arrives(&world, clock, "a.csv", &rows), (4, 0, 0));
    world
}

#[test]
fn law_1_a_row_that_is_not_used_takes_back_no_first_day_and_removes_no_one_on_their_last() {
    let clock = clock();
    let world = world_at(&clock, "", "");
    let first: Vec<_> = (1..6).map(|number| dated(number, "Clerk", ",")).collect();
    let days = [dated(6, "Clerk", ",2027-03-04"), dated(7, "Clerk", "2027-03-05,"), dated(8, "Clerk", ",2027-03-04")];
    assert_eq!(arrives(&world, &clock, "a.csv", &[first, days.to_vec()].concat()), (7, 0, 0));
    let slips = [dated(6, "Clerk", ",until June"), dated(7, "#REF!", "2027-03-05,").replace("Person 7", "#REF!")];
    assert_eq!(arrives(&world, &clock, "b.csv", &slips), (0, 0, 0));
    world.run(&["rebuild"]).expect(0);
    assert_eq!(after(&world, &clock, 48), (1, 0, 1), "the 7th begins, and the 8th leaves as their row said");
    assert!(world.held_as(6).is_some(), "a row that names them came after the one with that day");
    assert_eq!(after(&world, &clock, 24 * 30), (0, 0, 0));
    let usable = [dated(6, "Clerk", ",2027-04-20")];
    assert_eq!(arrives(&world, &clock, "c.csv", &usable), (0, 0, 0));
    assert_eq!(after(&world, &clock, 24 * 30), (0, 0, 1));
}

#[test]
fn law_8_a_last_day_comes_for_someone_who_moved_at_the_service_since() {
    let clock = clock();
    let world = world_at(&clock, "", "");
    let rows = [dated(1, "Clerk", ","), dated(2, "Clerk", ",2027-03-05"), dated(3, "Clerk", ",2027-03-05")];
    assert_eq!(arrives(&world, &clock, "a.csv", &rows), (3, 0, 0));
    let id = world.held_as(2).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"mobile": "64 211234561"}));
    after(&world, &clock, 1);
    // The last word on the third is that they stay, though its other half waits for the service.
    world.faults(&["staff.update status=503"]);
    Inbox(&world).drop("b.csv", HEADER.to_owned() + &dated(3, "Cook", ","));
    world.sync_at(&clock);
    world.faults(&[]);
    let id = world.held_as(3).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"mobile": "64 211234562"}));
    assert_eq!(after(&world, &clock, 1), (0, 1, 0));
    assert_eq!(after(&world, &clock, 72), (0, 0, 1));
    assert_eq!(world.keys(), ["P00001", "P00003"]);
}

#[test]
fn what_is_approved_keeps_the_last_day_and_the_segment_of_its_row() {
    let clock = clock();
    let segment = "[job.guard]\nsegment = \"{{ title }}\"\nmax_leavers = 20\n";
    let world = world_at(&clock, "writes = \"approve\"\n", segment);
    let of =
        |number| dated(number, if number < 4 { "Night" } else { "Day" }, if number == 9 { ",2027-03-05" } else { "," });
    let rows: Vec<_> = (1..31).map(of).collect();
    assert_eq!(arrives(&world, &clock, "a.csv", &rows), (0, 0, 0));
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(after(&world, &clock, 0), (30, 0, 0));
    let mut world = world;
    world.reconfigure(|config| Config { job: config.job.replace("writes = \"approve\"\n", ""), ..config });
    assert_eq!(after(&world, &clock, 72), (0, 0, 1), "whose last day has passed");
    let gone = |number: usize| dated(number, "Night", "2027-03-01,2027-03-02");
    let ran = arrives(&world, &clock, "b.csv", &[gone(1), gone(2), gone(3)]);
    assert_eq!(ran, (0, 0, 0), "a whole segment leaves");
    assert_eq!(world.staff().len(), 29);
}

#[test]
fn a_file_with_no_one_but_people_who_begin_later_is_used() {
    let clock = clock();
    let world = world_at(&clock, "", "");
    assert_eq!(arrives(&world, &clock, "a.csv", &[dated(1, "Clerk", "2027-03-05,")]), (0, 0, 0));
    assert_eq!(Inbox(&world).names("failed"), [] as [String; 0]);
    assert_eq!(after(&world, &clock, 48), (1, 0, 0));
}

#[test]
fn law_9_a_rebuild_loses_nothing_that_a_file_said_once() {
    let clock = clock();
    let world = world_at(&clock, "include = \"{{ title != 'Gone' }}\"\n", "[job.guard]\nmax_creates = 5\n");
    let days = [dated(4, "Clerk", ",2027-03-05"), dated(5, "Clerk", "2027-03-06,")];
    let known: Vec<_> = (1..4).map(|number| dated(number, "Clerk", ",")).collect();
    assert_eq!(arrives(&world, &clock, "a.csv", &[known, days.to_vec()].concat()), (4, 0, 0));
    let many: Vec<_> = (11..21).map(|number| dated(number, "Clerk", ",")).collect();
    assert_eq!(arrives(&world, &clock, "b.csv", &many), (0, 0, 0), "a limit holds them");
    let shown = world.run(&["rebuild"]).expect(0);
    assert!(shown.out.contains("4 people") && shown.out.contains("10 changes that wait"), "{shown:?}");
    let gone = dated(2, "Gone", ",");
    assert_eq!(arrives(&world, &clock, "c.csv", &[gone]), (0, 0, 1), "who is said to be gone is known");
    assert_eq!(after(&world, &clock, 72), (1, 0, 1), "so is the last day of the 4th, and the first of the 5th");
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(after(&world, &clock, 1).0, 10);
    assert_eq!(world.staff().len(), 13);
}

#[test]
fn law_9_after_a_rebuild_the_last_file_of_everybody_is_read_again() {
    let clock = clock();
    let world = everyone_at(&clock);
    let rows: Vec<_> = (1..5).map(|number| dated(number, "Clerk", ",")).collect();
    assert_eq!(arrives(&world, &clock, "a.csv", &[rows, vec![dated(5, "Clerk", "2027-03-05,")]].concat()), (4, 0, 0));
    world.run(&["rebuild"]).expect(0);
    assert_eq!(after(&world, &clock, 1), (0, 0, 0));
    assert_eq!(world.run(&["status", "--json"]).job()["known"], 4, "they are matched again");
    assert_eq!(after(&world, &clock, 47), (1, 0, 0), "who begins later begins");
}

/// Files that came over a weekend are read one after the other, in one go.
#[test]
fn law_1_a_last_day_does_not_come_while_a_file_waits_that_names_another() {
    let clock = clock();
    let world = world_at(&clock, "", "");
    let rows = [dated(1, "Clerk", ","), dated(2, "Clerk", ",2027-03-05"), dated(3, "Clerk", ",2027-03-05")];
    assert_eq!(arrives(&world, &clock, "a.csv", &rows), (3, 0, 0));
    let id = world.held_as(2).unwrap()["id"].clone();
    clock.advance(SignedDuration::from_hours(96));
    for (name, row) in [("b.csv", dated(1, "Cook", ",")), ("c.csv", dated(2, "Clerk", ",2028-03-05"))] {
        Inbox(&world).drop(name, HEADER.to_owned() + &row);
    }
    assert_eq!(after(&world, &clock, 0), (0, 1, 1));
    assert_eq!(world.held_as(2).unwrap()["id"], id, "they were there all the time");
    assert_eq!(world.keys(), ["P00001", "P00002"]);
}

/// Programs write 31.12.9999 where there is no last day, and some of them the year with two digits.
#[test]
fn law_1_a_last_day_of_decades_ago_removes_no_one_who_is_known() {
    let clock = clock();
    let world = world_at(&clock, "", "");
    let mut world = world;
    world.reconfigure(|config| Config {
        job: config.job.replace("{{ end }}", "{{ end | date('%d.%m.%y') }}"),
        ..config
    });
    let rows = [dated(1, "Clerk", ","), dated(2, "Clerk", ",31.12.27"), dated(3, "Clerk", ",31.12.27")];
    assert_eq!(arrives(&world, &clock, "a.csv", &rows), (3, 0, 0));
    let never = [dated(2, "Clerk", ",31.12.99"), dated(3, "Clerk", ",01.03.27"), dated(4, "Clerk", ",31.12.99")];
    Inbox(&world).drop("b.csv", HEADER.to_owned() + &never.concat());
    let report = world.sync_at(&clock);
    assert_eq!((report.counts.deleted, report.counts.rejected), (1, 2), "{report:?}");
    assert_eq!(world.keys(), ["P00001", "P00002"]);
}

#[test]
fn law_9_after_a_rebuild_who_is_missing_from_a_newer_file_is_known() {
    let clock = clock();
    let world = everyone_at(&clock);
    let rows: Vec<_> = (1..31).map(|number| dated(number, "Clerk", ",")).collect();
    assert_eq!(arrives(&world, &clock, "a.csv", &rows), (30, 0, 0));
    world.run(&["rebuild"]).expect(0);
    assert_eq!(arrives(&world, &clock, "b.csv", &rows[1..]), (0, 0, 1));
}

/// Forgetting someone rewrites the file that lies filed.
#[test]
fn who_begins_later_by_the_last_file_begins_though_someone_of_it_was_forgotten() {
    for rebuilt in [false, true] {
        let clock = clock();
        let world = everyone_at(&clock);
        let rows: Vec<_> = (1..5).map(|number| dated(number, "Clerk", ",")).collect();
        assert_eq!(
            arrives(&world, &clock, "a.csv", &[rows, vec![dated(5, "Clerk", "2027-03-05,")]].concat()),
            (4, 0, 0)
        );
        world.run(&["forget", "P00002"]).expect(0);
        if rebuilt {
            world.run(&["rebuild"]).expect(0);
        }
        assert_eq!(after(&world, &clock, 1), (0, 0, 0));
        assert_eq!(after(&world, &clock, 48), (1, 0, 0), "rebuilt: {rebuilt}");
    }
}

/// A newer file was read before it: what it says is decided on by a person, or not used.
#[test]
fn law_6_what_an_older_file_says_of_leavers_and_days_is_not_done_unasked() {
    let clock = clock();
    let world = world_at(&clock, "", "");
    let first: Vec<_> = (1..8).map(|number| dated(number, "Clerk", ",")).collect();
    assert_eq!(arrives(&world, &clock, "staff-2027-02-20.csv", &first), (7, 0, 0));
    let newer = [dated(1, "Cook", ","), dated(6, "Clerk", ",2027-03-20"), dated(8, "Clerk", "2027-03-05,")];
    assert_eq!(arrives(&world, &clock, "staff-2027-03-02.csv", &newer), (0, 1, 0));
    let late = [
        dated(2, "Clerk", ",2027-03-01"),
        dated(3, "Clerk", ",2027-03-05"),
        dated(4, "Cook", ","),
        dated(6, "Clerk", ","),
        dated(8, "Clerk", ","),
        dated(9, "Clerk", "2027-03-05,"),
    ];
    Inbox(&world).drop("staff-2027-03-01.csv", HEADER.to_owned() + &late.concat());
    let counts = world.sync_at(&clock).counts;
    assert_eq!((counts.held, counts.rejected), (2, 4), "{counts:?}");
    // One that is older yet takes nothing back of it.
    let older = [dated(2, "Nurse", ","), dated(4, "Nurse", ","), dated(5, "Clerk", ",")];
    Inbox(&world).drop("staff-2027-02-10.csv", HEADER.to_owned() + &older.concat());
    let counts = world.sync_at(&clock).counts;
    assert_eq!((counts.held, counts.rejected), (2, 2), "{counts:?}");
    assert_eq!(after(&world, &clock, 1), (0, 0, 0));
    assert_eq!(after(&world, &clock, 72), (1, 0, 0), "the 8th begins as the newer file said");
    assert_eq!(world.staff().len(), 8, "no one left by the older one");
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(after(&world, &clock, 1), (0, 1, 1));
    assert_eq!(after(&world, &clock, 24 * 20), (0, 0, 1), "the 6th leaves as the newer file said");
    assert_eq!(world.keys(), ["P00001", "P00003", "P00004", "P00005", "P00007", "P00008"]);
}

#[test]
fn law_8_of_equal_rows_with_several_days_the_first_and_the_last_count() {
    for turned in [false, true] {
        let clock = clock();
        let world = four_clerks_at(&clock);
        let mut rows = vec![
            dated(2, "Clerk", ",2027-03-05"),
            dated(3, "Cook", ",2027-03-05"),
            dated(5, "Clerk", "2027-03-05,"),
            dated(2, "Clerk", ",2027-03-20"),
            dated(3, "Cook", ","),
            dated(5, "Clerk", "2027-03-10,"),
        ];
        if turned {
            rows.reverse();
        }
        assert_eq!(arrives(&world, &clock, "b.csv", &rows), (0, 1, 0));
        assert_eq!(after(&world, &clock, 48), (1, 0, 0), "turned: {turned}");
        assert_eq!(after(&world, &clock, 24 * 7), (0, 0, 0), "turned: {turned}");
        assert_eq!(after(&world, &clock, 24 * 14), (0, 0, 1), "turned: {turned}");
        assert_eq!(world.keys(), ["P00001", "P00003", "P00004", "P00005"]);
    }
}

#[test]
fn law_8_rows_that_begin_later_and_differ_are_both_rejected() {
    let clock = clock();
    let world = world_at(&clock, "", "");
    let rows = [dated(1, "Clerk", ","), dated(2, "Clerk", "2027-03-05,"), dated(2, "Cook", "2027-03-10,")];
    Inbox(&world).drop("a.csv", HEADER.to_owned() + &rows.concat());
    let counts = world.sync_at(&clock).counts;
    assert_eq!((counts.created, counts.rejected), (1, 2), "{counts:?}");
    assert_eq!(after(&world, &clock, 24 * 10), (0, 0, 0));
}

#[test]
fn law_8_a_leaver_without_a_number_is_not_passed_over_and_the_others_leave() {
    let clock = clock();
    let world = world_at(&clock, "include = \"{{ title != 'left' }}\"\n", "");
    let rows: Vec<_> = (1..5).map(|number| dated(number, "Clerk", ",")).collect();
    assert_eq!(arrives(&world, &clock, "a.csv", &rows), (4, 0, 0));
    let unnamed = dated(2, "left", ",").replace("P00002", "");
    Inbox(&world).drop("b.csv", HEADER.to_owned() + &unnamed + &dated(1, "left", ","));
    let report = world.sync_at(&clock);
    assert_eq!((report.counts.rejected, report.counts.deleted), (1, 1));
    assert_eq!(world.keys(), ["P00002", "P00003", "P00004"]);
}

#[test]
fn a_removal_that_waits_ends_by_a_row_that_can_t_be_used_though_the_file_has_no_other() {
    let clock = clock();
    let world = four_clerks_at(&clock);
    let id = world.held_as(2).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"onsite_status": "onsite"}));
    assert_eq!(arrives(&world, &clock, "b.csv", &[dated(2, "Clerk", ",2027-03-01")]), (0, 0, 0));
    assert_eq!(arrives(&world, &clock, "c.csv", &[dated(2, "Clerk", ",31/31/2027")]), (0, 0, 0));
    world.service().edit("staff", id, json!({"onsite_status": "offsite"}));
    for _ in 0..2 {
        let report = world.sync_at(&clock);
        assert_eq!((report.counts.deleted, report.counts.held), (0, 0), "{report:?}");
    }
    assert_eq!(world.staff().len(), 4);
}

/// No later file need name them again.
#[test]
fn who_is_removed_at_the_service_is_made_again_as_the_last_file_said() {
    let clock = clock();
    let world = four_clerks_at(&clock);
    assert_eq!(arrives(&world, &clock, "b.csv", &[dated(2, "Cook", ",2027-03-20")]), (0, 1, 0));
    let id = |number| world.held_as(number).unwrap()["id"].as_i64().unwrap();
    let removed = [id(2), id(3)];
    removed.iter().for_each(|id| assert!(world.service().remove("staff", *id)));
    assert_eq!(after(&world, &clock, 25), (2, 0, 0), "a whole listing shows it");
    assert_eq!(world.held_as(2).unwrap()["title"], "Cook");
    world.run(&["rebuild"]).expect(0);
    assert!(world.service().remove("staff", id(4)));
    assert_eq!(after(&world, &clock, 25), (1, 0, 0), "after a rebuild, too");
    assert_eq!(after(&world, &clock, 25), (0, 0, 0));
    assert_eq!(after(&world, &clock, 24 * 20), (0, 0, 1), "whose last day it was");
}

#[test]
fn an_approved_change_of_someone_who_is_gone_makes_them_again_with_it() {
    let clock = clock();
    let mut world = four_clerks_at(&clock);
    world.reconfigure(|config| Config { job: config.job + "writes = \"approve\"\n", ..config });
    assert_eq!(arrives(&world, &clock, "b.csv", &[dated(2, "Cook", ",")]), (0, 0, 0));
    world.run(&["approve", "staff"]).expect(0);
    let id = world.held_as(2).unwrap()["id"].as_i64().unwrap();
    assert!(world.service().remove("staff", id));
    assert_eq!(after(&world, &clock, 0), (0, 0, 0));
    assert_eq!(world.sync_at(&clock).counts.held, 1, "to make them again is approved, too");
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(after(&world, &clock, 0), (1, 0, 0));
    assert_eq!(world.held_as(2).unwrap()["title"], "Cook");
}

#[test]
fn law_6_to_reject_that_a_run_is_undone_says_nothing_of_a_later_last_day() {
    let clock = clock();
    let world = four_clerks_at(&clock);
    assert_eq!(arrives(&world, &clock, "b.csv", &[dated(5, "Clerk", ",2027-03-20")]), (1, 0, 0));
    world.run(&["revert", "2"]).expect(4);
    world.run(&["reject", "staff"]).expect(0);
    assert_eq!(after(&world, &clock, 1), (0, 0, 0));
    assert_eq!(after(&world, &clock, 24 * 20), (0, 0, 1));
}

#[test]
fn what_begins_later_by_several_rows_comes_one_after_the_other() {
    for turned in [false, true] {
        for slept in [false, true] {
            let clock = clock();
            let world = world_at(&clock, "", "");
            let mut rows = vec![dated(5, "Clerk", "2027-03-05,2027-03-06"), dated(5, "Cook", "2027-03-10,2027-03-12")];
            if turned {
                rows.reverse();
            }
            rows.push(dated(1, "Clerk", ","));
            assert_eq!(arrives(&world, &clock, "a.csv", &rows), (1, 0, 0));
            let title = || world.held_as(5).map(|one| one["title"].clone());
            if slept {
                assert_eq!(after(&world, &clock, 24 * 7), (1, 0, 0), "turned: {turned}");
            } else {
                assert_eq!(after(&world, &clock, 48), (1, 0, 0), "turned: {turned}");
                assert_eq!(title(), Some("Clerk".into()));
                assert_eq!(after(&world, &clock, 48), (0, 0, 1), "turned: {turned}");
                assert_eq!(after(&world, &clock, 72), (1, 0, 0), "turned: {turned}");
            }
            assert_eq!(title(), Some("Cook".into()));
            assert_eq!(after(&world, &clock, 72), (0, 0, 1), "turned: {turned}");
        }
    }
}
