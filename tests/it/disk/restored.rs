//! A state that was laid back: what it knows of leavers and approvals is of another time.

use std::fs;
use std::path::PathBuf;

use jiff::SignedDuration;
use rosterd::clock::Clock;
use rosterd::reconcile::Status;

use super::damage::{copy, restore};
use crate::inbox::{Inbox, inbox_of};
use crate::support::config::OfAFolder;
use crate::support::{Config, HEADER, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
const DAY: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"24h\"\n";

fn clock() -> Clock {
    Clock::fixed("2027-03-03T10:00:00Z".parse().unwrap())
}

/// A job whose rows name a last day, over an inbox of files of this mode; and the header of those.
fn dated_inbox(clock: &Clock, mode: &str) -> (World, String) {
    let source = format!("settle = \"0s\"\nmode = \"{mode}\"\n");
    let job = Config::default().job + "active_until = \"{{ end }}\"\n";
    let config = Config { job, source, rest: DAY.into(), ..Config::default() };
    let world = inbox_of(World::at(clock, config.in_a_folder(OfAFolder::Damage)));
    (world, HEADER.trim_end().to_owned() + ",End\n")
}

fn dated(number: usize, title: &str, end: &str) -> String {
    format!("{},{end}\n", row(number, title).trim_end())
}

fn aside(world: &World) -> PathBuf {
    let aside = world.dir().join("aside");
    copy(&world.state(), &aside);
    aside
}

#[test]
fn law_1_fault_16_in_a_state_that_was_laid_back_a_grace_begins_anew() {
    for part in ["all", "the store alone"] {
        let clock = clock();
        let world = World::at(&clock, Config::rest(DAY).in_a_folder(OfAFolder::Damage));
        let removed = |text: String, hours: i64| {
            clock.advance(SignedDuration::from_hours(hours));
            world.csv(text);
            world.sync_at(&clock).counts.deleted
        };
        assert_eq!([removed(people(1..31), 0), removed(people(1..30), 1)], [0, 0]);
        let aside = aside(&world);
        assert_eq!([removed(people(1..31), 1), removed(people(1..31), 72)], [0, 0], "they are back");
        if part == "all" {
            restore(&world, &aside);
        } else {
            for name in ["store", "commits"] {
                let (old, now) = (aside.join(name), world.state().join(name));
                if now.is_dir() {
                    fs::remove_dir_all(&now).unwrap()
                } else {
                    fs::remove_file(&now).unwrap()
                }
                if old.is_dir() { copy(&old, &now) } else { fs::copy(&old, &now).map(|_| ()).unwrap() }
            }
        }
        assert_eq!(removed(people(1..30), 1), 0, "{part}: a single read misses them");
        assert_eq!(removed(people(1..30), 23), 0, "{part}");
        assert_eq!(removed(people(1..30) + "\n", 2), 1, "{part}");
    }
}

#[test]
fn fault_16_an_approval_that_a_state_has_which_was_laid_back_is_asked_for_again() {
    let leave = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let world = World::synced(Config::rest(leave).in_a_folder(OfAFolder::Damage), 30);
    let few = people(1..26);
    assert_eq!(world.sync_of(&few).expect(4).writes(), (0, 0, 0));
    world.run(&["approve", "staff"]).expect(0);
    let aside = aside(&world);
    world.sync_of(people(1..31)).expect(0);
    restore(&world, &aside);
    let ran = world.sync_of(&few).expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(5)), "{ran:?}");
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync_of(&few).expect(0).writes(), (0, 0, 5));
}

#[test]
fn law_1_fault_16_in_a_state_that_was_laid_back_no_one_leaves_by_an_old_file_of_an_inbox() {
    let clock = clock();
    let (world, header) = dated_inbox(&clock, "full");
    let file = |end: &str| {
        let rows: String = (1..31).map(|number| dated(number, "Clerk", "")).collect();
        header.clone() + &rows + &dated(31, "Clerk", end)
    };
    let removed = |hours: i64| {
        clock.advance(SignedDuration::from_hours(hours));
        world.sync_at(&clock).counts.deleted
    };
    Inbox(&world).drop("a.csv", file("2027-03-05"));
    assert_eq!(removed(0), 0);
    let aside = aside(&world);
    Inbox(&world).drop("b.csv", file("2028-03-05"));
    assert_eq!([removed(1), removed(96)], [0, 0], "their last day is another by now");
    restore(&world, &aside);
    for _ in 0..2 {
        let report = world.sync_at(&clock);
        assert_eq!((report.counts.deleted, report.status), (0, Status::Held), "{report:?}");
        assert!(report.reasons.iter().any(|reason| reason.contains("laid back")), "{report:?}");
    }
    Inbox(&world).drop("c.csv", file("2028-03-05"));
    assert_eq!((removed(1), removed(1), world.staff().len()), (0, 0, 31));
    Inbox(&world).drop("d.csv", file("2027-03-06"));
    assert_eq!(removed(1), 1, "a newer file may say so");
}

#[test]
fn law_1_fault_16_in_a_state_that_was_laid_back_no_one_leaves_because_an_old_file_misses_them() {
    let clock = clock();
    let config = Config { source: "settle = \"0s\"\n".to_owned(), ..Config::rest(DAY) };
    let world = inbox_of(World::at(&clock, config.in_a_folder(OfAFolder::Damage)));
    let removed = |hours: i64| {
        clock.advance(SignedDuration::from_hours(hours));
        world.sync_at(&clock).counts.deleted
    };
    Inbox(&world).drop("a.csv", people(1..31));
    assert_eq!(removed(0), 0);
    Inbox(&world).drop("b.csv", people(1..30));
    assert_eq!(removed(1), 0);
    let aside = aside(&world);
    Inbox(&world).drop("c.csv", people(1..31));
    assert_eq!([removed(1), removed(96)], [0, 0], "they are back");
    restore(&world, &aside);
    assert_eq!([removed(0), removed(25)], [0, 0], "the old file misses them");
    let report = world.sync_at(&clock);
    assert_eq!((report.counts.deleted, report.status), (0, Status::Held), "{report:?}");
    assert!(report.reasons.iter().any(|reason| reason.contains("laid back")), "{report:?}");
    Inbox(&world).drop("d.csv", people(1..31));
    assert_eq!((removed(1), removed(48), world.staff().len()), (0, 0, 30));
    Inbox(&world).drop("e.csv", people(1..30));
    assert_eq!([removed(1), removed(25)], [0, 1], "a newer file may miss them");
}

/// A file of changes about others says nothing of someone whose day an old state knows.
#[test]
fn law_1_fault_16_in_a_state_that_was_laid_back_a_day_that_a_file_of_changes_named_waits_for_their_row() {
    let clock = clock();
    let (world, header) = dated_inbox(&clock, "changes");
    let counts = |name: &str, rows: &[String]| {
        Inbox(&world).drop(name, header.clone() + &rows.concat());
        let counts = world.sync_at(&clock).counts;
        (counts.created, counts.updated, counts.deleted, counts.held)
    };
    let first = [dated(1, "Clerk", ""), dated(2, "Clerk", "2027-03-05"), dated(3, "Clerk", "2027-03-05")];
    assert_eq!(counts("a.csv", &first), (3, 0, 0, 0));
    let aside = aside(&world);
    assert_eq!(counts("b.csv", &[dated(2, "Clerk", "2028-03-05")]), (0, 0, 0, 0));
    clock.advance(SignedDuration::from_hours(96));
    restore(&world, &aside);
    assert_eq!(counts("c.csv", &[dated(1, "Cook", "")]), (0, 1, 0, 2), "both wait");
    assert_eq!(counts("d.csv", &first[2..]), (0, 0, 1, 1), "whose row says it again leaves");
    assert_eq!(counts("e.csv", &[dated(2, "Clerk", "2028-03-05")]), (0, 0, 0, 0));
    assert_eq!(world.staff().len(), 2);
}

#[test]
fn law_6_fault_16_in_a_state_that_was_laid_back_who_got_another_key_since_then_has_one() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE).in_a_folder(OfAFolder::Damage), 12);
    let (old, aside) = (people(1..13), aside(&world));
    let new = old.replace("P00002", "P00222");
    world.sync_of(&new).expect(4);
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    restore(&world, &aside);
    assert_eq!(world.sync().writes(), (0, 0, 0), "they are found by what the service has");
    assert_eq!(world.run(&["status", "--json"]).job()["known"], 12);
    // Their old number is given back.
    for _ in 0..2 {
        assert_eq!(world.sync_of(&old).writes().2, 0);
        assert_eq!(world.staff().len(), 12);
    }
}

#[test]
fn law_9_fault_16_in_a_state_that_was_laid_back_an_older_file_counts_no_more_than_a_newer_one() {
    for rebuilds in [false, true] {
        let config = Config { source: "settle = \"0s\"\n".to_owned(), ..Config::rest(LEAVE_AT_ONCE) };
        let world = inbox_of(World::of(config.in_a_folder(OfAFolder::Damage)));
        Inbox(&world).drop("a.csv", people(1..13));
        world.sync().expect(0);
        let aside = aside(&world);
        let newer = people(1..12).replace(&row(1, "Clerk"), &row(1, "Boss")) + &row(13, "New");
        Inbox(&world).drop("a2.csv", people(1..12));
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
        Inbox(&world).drop("b.csv", &newer);
        assert_eq!(world.sync().expect(0).writes(), (1, 1, 0));
        let (after, writes) = (world.staff(), world.service().writes());
        restore(&world, &aside);
        if rebuilds {
            world.run(&["rebuild"]).expect(0);
        }
        for _ in 0..2 {
            let ran = world.sync().expect(4);
            assert!(ran.reason().contains("_b.csv"), "{ran:?}");
        }
        Inbox(&world).drop("a2.csv", people(1..12));
        for _ in 0..2 {
            let ran = world.sync().expect(4);
            assert!(ran.reason().contains("_b.csv"), "{ran:?}");
        }
        assert_eq!((world.staff(), world.service().writes()), (after, writes));
        Inbox(&world).drop("b.csv", &newer);
        assert_eq!(world.sync().writes(), (0, 0, 0), "it is what the service has");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    }
}

#[test]
fn a_job_names_the_files_of_its_inbox_that_another_one_has_read() {
    let mut world = inbox_of(World::of(Config { source: "settle = \"0s\"\n".to_owned(), ..Config::default() }));
    let said = |world: &World| world.sync().expect(0).reason().contains("_a.csv");
    assert!(!said(&world), "there is none");
    Inbox(&world).drop("a.csv", people(1..5));
    assert!(!said(&world) && !said(&world), "it has read it");
    world.reconfigure(|config| Config { name: "people".into(), ..config });
    assert!(said(&world) && said(&world));
    Inbox(&world).drop("b.csv", people(1..5));
    assert!(!said(&world) && !said(&world));
}

#[test]
fn law_6_fault_16_in_a_state_that_was_laid_back_a_number_that_was_given_on_is_that_of_its_new_owner() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE).in_a_folder(OfAFolder::Damage), 12);
    let aside = aside(&world);
    let renumbered = people(1..13).replace("P00002", "P00222");
    world.sync_of(&renumbered).expect(4);
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!(world.sync_of(renumbered + "P00002,Ann New,ann@example.com,Clerk\n").expect(0).writes(), (1, 0, 0));
    let after = world.staff();
    restore(&world, &aside);
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert_eq!(ran.writes(), (0, 0, 0));
        assert!(ran.reason().contains("`rosterd rebuild`"), "{ran:?}");
        world.run(&["approve", "staff", "P00002"]).expect(1);
    }
    world.run(&["rebuild"]).expect(0);
    for _ in 0..2 {
        assert_eq!((world.sync().expect(0).writes(), world.staff()), ((0, 0, 0), after.clone()));
    }
}

#[test]
fn law_9_fault_16_in_a_state_that_was_laid_back_each_file_of_changes_is_missed_until_it_comes_again() {
    let source = "settle = \"0s\"\nmode = \"changes\"\n".to_owned();
    let world = inbox_of(World::of(Config { source, ..Config::default() }.in_a_folder(OfAFolder::Damage)));
    let drop = |number: usize| Inbox(&world).drop(&format!("{number}.csv"), people(number..number + 1));
    drop(1);
    world.sync().expect(0);
    let aside = aside(&world);
    [2, 3].into_iter().for_each(drop);
    world.sync().expect(0);
    restore(&world, &aside);
    for (dropped, missed) in [(None, vec!["_2.csv", "_3.csv"]), (Some(2), vec!["_3.csv"]), (Some(3), vec![])] {
        dropped.into_iter().for_each(drop);
        world.sync();
        let said = world.sync().reason();
        let named: Vec<&str> = ["_2.csv", "_3.csv"].into_iter().filter(|name| said.contains(name)).collect();
        assert_eq!(named, missed, "{said}");
    }
    world.expect_people(1..4);
}
