//! Rows that count from one day to another: both act on their day, though nothing in the file changed.

use jiff::SignedDuration;
use rosterd::clock::Clock;
use rosterd::reconcile::Report;

use crate::inbox::{Inbox, inbox_of};
use crate::support::{Config, World, people, row};

const HEADER: &str = "Employee No,Name,Email,Title,Start,End\n";

/// A job with both days, in Auckland, that removes leavers after a long grace.
fn dated() -> Config {
    let days = "active_from = \"{{ start }}\"\nactive_until = \"{{ end | date('%d/%m/%Y') }}\"\n";
    Config {
        job: Config::default().job + "time_zone = \"Pacific/Auckland\"\n" + days,
        ..Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"240h\"\ngrace_reads = 9\n")
    }
}

fn person(number: usize, start: &str, end: &str) -> String {
    format!("{},{start},{end}\n", row(number, "Clerk").trim_end())
}

/// Twenty people without days, and then these rows.
fn file(rows: &str) -> String {
    (50..70).fold(HEADER.to_owned(), |text, number| text + &person(number, "", "")) + rows
}

fn writes(report: &Report) -> (u64, u64, u64) {
    (report.counts.created, report.counts.updated, report.counts.deleted)
}

#[test]
fn both_days_act_on_their_day_in_the_jobs_zone_though_no_row_changed() {
    // It is the evening of the 3rd in UTC and the 4th in Auckland, thirteen hours ahead.
    let clock = Clock::fixed("2027-03-03T20:00:00Z".parse().unwrap());
    let world = World::at(&clock, dated());
    world.csv(file(&person(1, "2027-03-05", "31/03/2027")));
    let run = |hours| {
        clock.advance(SignedDuration::from_hours(hours));
        world.sync_at(&clock)
    };
    assert_eq!(writes(&run(0)), (20, 0, 0), "not there yet");
    assert_eq!(writes(&run(14)), (0, 0, 0), "23:00 of the 4th");
    assert_eq!(writes(&run(2)), (1, 0, 0), "01:00 of the 5th");
    assert!(world.held_as(1).is_some());
    assert_eq!(writes(&run(24 * 26)), (0, 0, 0), "the last day is included");
    let unchanged = run(0);
    assert_eq!((writes(&unchanged), unchanged.counts.unchanged), ((0, 0, 0), 21));
    let ran = run(24);
    assert_eq!(writes(&ran), (0, 0, 1), "by statement, so without grace: {:?}", ran.reasons);
    assert!(world.held_as(1).is_none());
    assert_eq!(writes(&run(24)), (0, 0, 0));
}

#[test]
fn who_begins_more_than_a_year_from_now_is_named_in_each_run() {
    let clock = Clock::fixed("2027-03-03T20:00:00Z".parse().unwrap());
    let world = World::at(&clock, dated());
    world.csv(file(&(person(1, "2028-03-05", "") + &person(2, "2028-03-04", "") + &person(3, "2042-03-01", ""))));
    for _ in 0..2 {
        let reasons = format!("{:?}", world.sync_at(&clock).reasons);
        assert!(reasons.contains("2 people begin more than a year from now"), "{reasons}");
        assert!(reasons.contains("P00001") && reasons.contains("on 2042-03-01"), "{reasons}");
        assert!(!reasons.contains("P00002"), "{reasons}");
    }
}

#[test]
fn whose_last_day_has_passed_is_a_leaver_under_the_guard_in_any_read() {
    let world = World::of(dated());
    let rows = |end: &str| (1..6).fold(String::new(), |text, number| text + &person(number, "", end));
    world.csv(file(&rows("")));
    world.sync().expect(0);
    let ran = world.sync_of(file(&rows("31/12/2020"))).expect(4);
    assert!(ran.ended().2.contains("max_leavers: 5 people"), "{ran:?}");
    let cut = file(&(person(1, "", "31/12/2020") + &person(2, "", "")));
    let ran = world.sync_of(&cut[..cut.len() - 3]).expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 1), Some(4)), "what is held stays so: {ran:?}");
    assert!(world.held_as(1).is_none());
}

#[test]
fn fault_63_a_day_is_a_day_of_the_jobs_zone_leap_days_and_midnight_included() {
    // Thirteen hours ahead of UTC: the leap day lasts from 11:00 of the 28th to 11:00 of the 29th.
    let clock = Clock::fixed("2028-02-28T10:59:59Z".parse().unwrap());
    let world = World::at(&clock, dated());
    world.csv(file(&(person(1, "2028-02-29", "") + &person(2, "", "29/02/2028"))));
    assert_eq!(writes(&world.sync_at(&clock)), (21, 0, 0), "the last second of the 28th");
    clock.advance(SignedDuration::from_secs(1));
    assert_eq!(writes(&world.sync_at(&clock)), (1, 0, 0), "midnight");
    clock.advance(SignedDuration::from_secs(24 * 3600 - 1));
    assert_eq!(writes(&world.sync_at(&clock)), (0, 0, 0), "the last day is today");
    clock.advance(SignedDuration::from_secs(1));
    assert_eq!(writes(&world.sync_at(&clock)), (0, 0, 1), "1 March");
    assert!(world.held_as(1).is_some() && world.held_as(2).is_none());
}

#[test]
fn who_is_hired_again_after_a_gap_leaves_and_comes_back() {
    let clock = Clock::fixed("2027-03-01T00:00:00Z".parse().unwrap());
    let world = World::at(&clock, dated());
    world.csv(file(&(person(1, "", "10/03/2027") + &person(1, "2027-05-01", ""))));
    assert_eq!(writes(&world.sync_at(&clock)), (21, 0, 0));
    clock.advance(SignedDuration::from_hours(24 * 20));
    assert_eq!(writes(&world.sync_at(&clock)), (0, 0, 1));
    clock.advance(SignedDuration::from_hours(24 * 60));
    assert_eq!(writes(&world.sync_at(&clock)), (1, 0, 0));
}

#[test]
fn a_known_person_whose_first_day_lies_ahead_is_left_alone() {
    let world = World::of(dated());
    world.csv(file(&person(1, "", "")));
    assert_eq!(world.sync().expect(0).writes(), (21, 0, 0));
    let later = person(1, "2999-01-01", "").replace("Clerk", "Chief");
    for _ in 0..2 {
        assert_eq!(world.sync_of(file(&later)).expect(0).writes(), (0, 0, 0));
    }
    assert_eq!(world.held_as(1).unwrap()["title"], "Clerk");
}

#[test]
fn law_8_a_value_that_is_no_date_rejects_its_row_and_no_one_leaves_by_it() {
    let world = World::of(dated());
    world.csv(file(&person(1, "", "")));
    world.sync().expect(0);
    for (start, end, field) in [
        ("soon", "", "active_from"),
        ("05/03/2020", "", "active_from"),
        ("2020-02-30", "", "active_from"),
        ("", "2020-03-05", "active_until"),
        ("2026-01-01", "31/12/2020", "active_until"),
    ] {
        let ran = world.sync_of(file(&person(1, start, end))).expect(3);
        assert_eq!((ran.writes(), ran.job()["rejected"].as_u64()), ((0, 0, 0), Some(1)), "{start} {end}: {ran:?}");
        let plan = world.plan().expect(0).job();
        assert_eq!(plan["rejected"][0]["field"], field, "{start} {end}: {plan}");
        assert!(world.held_as(1).is_some());
    }
}

#[test]
fn days_that_are_introduced_are_a_mapping_change() {
    let world = World::synced(Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n"), 40);
    world.configure(
        Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n")
            .job("active_until = \"{{ '2020-01-01' if employee_no < 'P00003' else '' }}\"\n"),
    );
    let ran = world.sync_of(people(1..41)).expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(2)), "{ran:?}");
    assert!(ran.ended().2.contains("the mapping change alters 2 people"), "{ran:?}");
}

#[test]
fn fault_60_a_machine_whose_clock_is_a_day_ahead_ends_no_grace_and_no_last_day_early() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"12h\"\n";
    let days = "active_until = \"{{ end }}\"\n";
    let config = Config { job: Config::default().job + days, ..Config::rest(rest) };
    let right = Clock::fixed("2027-03-05T10:00:00Z".parse().unwrap());
    let ahead = Clock::fixed("2027-03-06T10:00:00Z".parse().unwrap());
    let world = World::at(&right, config);
    world.csv(file(&(person(1, "", "") + &person(2, "", "2027-03-05"))));
    assert_eq!(writes(&world.sync_at(&right)), (22, 0, 0));
    world.csv(file(&person(2, "", "2027-03-05")));
    assert_eq!(world.sync_at(&right).counts.missing, 1);
    let ran = world.sync_at(&ahead);
    assert_eq!((writes(&ran), ran.counts.missing), ((0, 0, 0), 1), "{:?}", ran.reasons);
    assert!(ran.reason().unwrap().contains("1440 minutes ahead of the service's"), "{:?}", ran.reasons);
    right.advance(SignedDuration::from_hours(25));
    assert_eq!(writes(&world.sync_at(&right)), (0, 0, 2));
}

/// Rows with a number of someone else: held, and their days count for no one before that is decided.
#[test]
fn law_6_no_one_leaves_by_the_last_day_of_a_row_that_may_be_about_another_person() {
    let config = || Config { source: "settle = \"0s\"\nmode = \"changes\"\n".into(), ..dated() };
    let all: String = (1..9).map(|number| person(number, "", "")).collect();
    let with_number = |row: String, from: usize, to: usize| row.replace(&format!("P{from:05}"), &format!("P{to:05}"));
    for (name, rows, skipped) in [
        ("a mistyped number", with_number(person(7, "", "04/03/2027"), 7, 8), 0),
        ("that begins later", with_number(person(7, "2027-03-05", "05/03/2027"), 7, 8), 0),
        ("that no run saw on its days", with_number(person(7, "2027-03-05", "05/03/2027"), 7, 8), 72),
        (
            "exchanged numbers",
            with_number(person(7, "", "05/03/2027"), 7, 8) + &with_number(person(8, "", ""), 8, 7),
            0,
        ),
    ] {
        for decision in ["none", "reject", "rebuild"] {
            let clock = Clock::fixed("2027-03-03T20:00:00Z".parse().unwrap());
            let world = inbox_of(World::at(&clock, config()));
            let inbox = Inbox(&world);
            inbox.drop("a.csv", HEADER.to_owned() + &all);
            assert_eq!(writes(&world.sync_at(&clock)), (8, 0, 0));
            inbox.drop("b.csv", HEADER.to_owned() + &rows);
            world.sync_at(&clock);
            match decision {
                "reject" if name == "a mistyped number" => world.run(&["reject", "staff", "P00008"]).expect(0),
                "rebuild" => world.run(&["rebuild"]).expect(0),
                _ => world.run(&["status"]),
            };
            clock.advance(SignedDuration::from_hours(skipped));
            for day in 0..4 {
                let ran = world.sync_at(&clock);
                assert_eq!(writes(&ran), (0, 0, 0), "{name} {decision}, day {day}: {:?}", ran.reasons);
                clock.advance(SignedDuration::from_hours(24));
            }
            world.expect_people(1..9);
        }
    }
}

#[test]
fn law_6_who_was_said_to_be_someone_else_takes_no_one_over_once_the_old_number_has_left() {
    let clock = Clock::fixed("2027-03-03T20:00:00Z".parse().unwrap());
    let config = Config { source: "settle = \"0s\"\nmode = \"changes\"\n".into(), ..dated() };
    let world = inbox_of(World::at(&clock, config));
    let inbox = Inbox(&world);
    let drop = |name: &str, rows: &str| inbox.drop(name, HEADER.to_owned() + rows);
    drop("a.csv", &(1..7).map(|number| person(number, "", "")).collect::<String>());
    assert_eq!(writes(&world.sync_at(&clock)), (6, 0, 0));
    let id = world.held_as(1).unwrap()["id"].clone();
    // By its number in the service's spelling it is the same person.
    drop("b.csv", &person(1, "", "").replace("P00001", "p00001"));
    assert_eq!(world.sync_at(&clock).counts.held, 1);
    world.run(&["reject", "staff", "p00001"]).expect(0);
    world.sync_at(&clock);
    drop("c.csv", &person(1, "", "05/03/2027"));
    for held in [1, 1, 2, 2] {
        let ran = world.sync_at(&clock);
        assert_eq!((writes(&ran), ran.counts.held), ((0, 0, 0), held), "both wait, and are named: {:?}", ran.reasons);
        clock.advance(SignedDuration::from_hours(24));
    }
    assert!(world.staff().iter().any(|one| one["id"] == id && one["employee_id"] == "P00001"));
}
