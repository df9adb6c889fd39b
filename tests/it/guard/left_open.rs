//! What a limit held and a person left open waits for a decision of its own, whatever runs come in between.

use jiff::SignedDuration;
use rosterd::clock::Clock;

use crate::support::{Config, HEADER, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

/// Twenty people; five of them are missing, and two of those were approved and are gone.
fn partly_gone() -> World {
    let rest = format!("{LEAVE_AT_ONCE}[job.guard]\nmax_leavers = 3\nmax_missing = \"off\"\n");
    let world = World::synced(Config::rest(&rest), 20);
    world.sync_of(people(6..21)).expect(4);
    world.run(&["approve", "staff", "P00001", "P00002"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 2));
    world
}

#[test]
fn law_1_a_read_that_is_not_complete_releases_no_removal() {
    let world = partly_gone();
    let ran = world.sync_of(people(6..21) + ",Nameless,nameless@example.com,Clerk\n").expect(4);
    assert_eq!((ran.writes(), &ran.job()["held"]), ((0, 0, 0), &3.into()), "{ran:?}");
    for _ in 0..2 {
        let ran = world.sync_of(people(6..21)).expect(4);
        assert_eq!((ran.writes(), &ran.job()["held"]), ((0, 0, 0), &3.into()), "{ran:?}");
    }
}

#[test]
fn law_7_a_run_for_one_person_releases_no_removal_of_theirs() {
    let world = partly_gone();
    world.run(&["sync", "--json", "--key", "P00003"]);
    assert_eq!(world.run(&["status", "--json"]).job()["held"], 3);
    let ran = world.sync().expect(4);
    assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 18), "{ran:?}");
}

/// A file in which so many people have another title.
fn moved(count: usize) -> String {
    (1..=count).fold(people(1..21), |text, number| text.replace(&row(number, "Clerk"), &row(number, "Boss")))
}

#[test]
fn a_run_for_one_person_sends_no_change_that_a_limit_holds() {
    let world = World::synced(Config::rest("[job.guard]\nmax_updates = 6\n"), 20);
    world.sync_of(moved(8)).expect(4);
    let plan = world.run(&["plan", "--json", "--key", "P00004"]).job();
    assert!(plan["changes"][0]["held"].as_str().unwrap().contains("max_updates"), "{plan}");
    let ran = world.run(&["sync", "--json", "--key", "P00004"]).expect(4);
    assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
    world.run(&["approve", "staff", "P00004"]).expect(0);
    let ran = world.run(&["sync", "--json", "--key", "P00004"]).expect(0);
    assert_eq!(ran.writes(), (0, 1, 0), "{ran:?}");
}

#[test]
fn law_9_what_a_limit_holds_waits_after_a_rebuild_too() {
    let world = World::synced(Config::rest("[job.guard]\nmax_updates = 6\n"), 20);
    world.sync_of(moved(8)).expect(4);
    world.run(&["approve", "staff", "P00001", "P00002", "P00003"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (0, 3, 0));
    world.run(&["rebuild"]).expect(0);
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), &ran.job()["held"]), ((0, 0, 0), &5.into()), "{ran:?}");
    }
}

#[test]
fn law_6_who_was_approved_as_one_change_of_many_was_not_asked_about() {
    let world = World::of(Config::default().job("writes = \"approve\"\n"));
    let ana = "P00001,Ana Bell,ana@example.com,Clerk\n";
    world.csv(people(2..8) + ana);
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (7, 0, 0));
    let new = "P00009,Ana Bell,bell@example.com,Clerk\n";
    world.csv(people(2..8) + ana + new);
    let ran = world.sync().expect(4);
    assert!(ran.reason().contains("every change waits"), "{ran:?}");
    world.run(&["approve", "staff", "P00009"]).expect(0);
    // Before it is sent, the other row is gone: is it one person with a new number?
    let ran = world.sync_of(people(2..8) + new).expect(4);
    assert!(ran.reason().contains("approve it if they are the same person"), "{ran:?}");
    assert_eq!(world.staff().iter().filter(|one| one["name"] == "Ana Bell").count(), 1);
}

#[test]
fn law_6_one_of_two_who_get_one_email_waits_in_a_run_for_them_alone_too() {
    let world = World::synced(Config::default(), 5);
    let both = ["person1@", "person2@"].iter().fold(people(1..6), |text, email| text.replace(email, "both@"));
    world.csv(both);
    for arguments in [&["sync", "--json", "--key", "P00001"][..], &["sync", "--json"]] {
        let ran = world.run(arguments).expect(4);
        assert!(ran.writes() == (0, 0, 0) && ran.reason().contains("it would get the email"), "{ran:?}");
    }
}

#[test]
fn law_6_a_removal_that_waits_is_not_carried_out_once_the_person_has_another_key() {
    let map = "name = \"{{ name }}\"\nemail = \"{{ email }}\"\nemployee_id = \"{{ employee_no }}\"\n".to_owned();
    let job = "key = \"{{ title }}\"\nmatch_on = [\"employee_id\"]\n".to_owned();
    let world = World::of(Config { job, map, ..Config::default() });
    // The number is in the title; what they are found by, the badge, is in the first column.
    let of = |last: &str| (1..6).fold(HEADER.to_owned(), |text, one| text + &row(one, &format!("K{one}"))) + last;
    world.sync_of(of("")).expect(0);
    world.sync_of(of(&row(6, "K6"))).expect(0);
    world.run(&["revert", "2"]).expect(4);
    world.run(&["approve", "staff", "K6"]).expect(0);
    // The same badge under another number: the entity is theirs.
    let ran = world.sync_of(of(&row(6, "K66")));
    assert!(ran.reason().contains("is not removed: the person is key K66"), "{ran:?}");
    assert!(world.held_as(6).is_some(), "{ran:?}");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

/// Who left is counted for a day by whichever clock wrote it down: one that is far ahead ends that day no earlier.
#[test]
fn fault_60_a_machine_whose_clock_is_a_day_ahead_removes_no_more_than_the_limit_of_a_day() {
    let rest = format!("{LEAVE_AT_ONCE}[job.guard]\nmax_leavers = 3\nmax_missing = \"off\"\n");
    let right = Clock::fixed("2027-03-05T10:00:00Z".parse().unwrap());
    for (first, then) in [(25, 25), (0, 25), (25, 0)] {
        let ahead = |hours| Clock::fixed(right.now() + SignedDuration::from_hours(hours));
        let world = World::at(&right, Config::rest(&rest));
        world.csv(people(0..40));
        assert_eq!(world.sync_at(&right).counts.created, 40);
        world.csv(people(3..40));
        assert_eq!(world.sync_at(&ahead(first)).counts.deleted, 3);
        world.csv(people(6..40));
        let ran = world.sync_at(&ahead(then));
        assert_eq!((ran.counts.deleted, ran.counts.held), (0, 3), "{first} {then}: {:?}", ran.reasons);
    }
}
