//! The order of writes, the lock, and interruption.

use std::process::Stdio;

use rosterd::sandbox::Options;
use rustix::process::Signal;

use crate::support::daemon::eventually;
use crate::support::held::{EIGHT_IN_FLIGHT, signal};
use crate::support::{Config, HEADER, World, people, row};

/// A sync of eighty people. Only twenty are answered; the next eight are in flight until they are released.
fn stuck() -> World {
    let options = Options { accept_duplicates: true, ..Options::default() };
    let world = World::with(options, Config { api: EIGHT_IN_FLIGHT.into(), ..Config::default() });
    world.csv(people(0..80));
    world.faults(&["staff.create hold after=20"]);
    world
}

#[test]
fn law_12_leavers_go_before_joiners_before_movers() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\nmax_updates = \"off\"\n";
    let world = World::of(Config::rest(rest));
    world.csv(people(0..30));
    world.sync().expect(0);
    let file = (5..40).fold(HEADER.to_owned(), |file, at| file + &row(at, if at % 2 == 0 { "Baker" } else { "Clerk" }));
    world.csv(file);
    let before = world.service().requests().len();
    assert_eq!(world.sync().expect(0).writes(), (10, 12, 5));
    let order: Vec<String> = world.service().requests()[before..]
        .iter()
        .filter(|request| request.method != "GET")
        .map(|request| request.method.clone())
        .collect();
    let wanted = [vec!["DELETE"; 5], vec!["POST"; 10], vec!["PUT"; 12]].concat();
    assert_eq!(order, wanted);
}

#[test]
fn fault_20_a_second_sync_while_one_runs_exits_11_and_says_who_holds_the_store() {
    let world = stuck();
    let mut first = world.start(&["sync"]);
    world.until_held(8);
    for command in ["sync", "plan"] {
        let second = world.run(&[command, "--json"]).expect(11);
        assert!(second.err.contains(&first.id().to_string()), "who holds it: {second:?}");
    }
    world.faults(&[]);
    assert!(first.wait().unwrap().success());
    world.expect_people(0..80);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn fault_22_an_interrupted_sync_exits_130_and_the_next_one_finishes() {
    for asked in [Signal::INT, Signal::TERM] {
        let mut world = stuck();
        let mut child = world.start(&["sync"]);
        world.until_held(8);
        signal(&child, asked);
        world.faults(&[]);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{asked:?}");
        assert_eq!(world.service().writes(), 28, "{asked:?}: only what was in flight is finished");
        world.reconfigure(|config| Config { api: Config::default().api, ..config });
        world.sync().expect(0);
        world.expect_people(0..80);
        assert_eq!(world.count("staff.create"), 80, "{asked:?}: what was in flight was awaited, nothing sent twice");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    }
}

#[test]
fn fault_22_a_sync_that_waits_for_its_budget_ends_soon_after_an_interrupt() {
    let config = Config { api: "requests_per_minute = 20\n".into(), ..Config::default() };
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, config);
    world.csv(people(0..40));
    let child = world.command(&["sync"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the budget of the minute is spent", || world.service().requests().len() == 20);
    signal(&child, Signal::INT);
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{told}");
    // The signal may come before the wait, which then does not begin, or within it, which its grace ends.
    assert!(told.contains("stays queued") || told.contains("settled by the next run"), "{told}");
    assert_eq!(world.service().requests().len(), 20);
}

#[test]
fn a_write_that_collides_with_another_one_is_sent_once_more_and_not_again() {
    let renamed = people(1..6).replace("Person 1,", "Person One,");
    for (operation, file, writes) in [("staff.delete", people(2..6), (0, 0, 1)), ("staff.update", renamed, (0, 1, 0))] {
        for (status, times, exit) in [(409, "times=1", 0), (412, "times=1", 0), (428, "times=1", 0), (409, "", 3)] {
            let world = World::synced(Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n"), 5);
            world.faults(&[&format!("{operation} status={status} {times}")]);
            let ran = world.sync_of(&file).expect(exit);
            let done = if exit == 0 { writes } else { (0, 0, 0) };
            let parked = u64::from(exit != 0);
            assert_eq!(
                (ran.writes(), ran.job()["parked"].as_u64()),
                (done, Some(parked)),
                "{operation} {status}: {ran:?}"
            );
            assert_eq!(world.count(operation), 2, "{operation} {status}");
        }
    }
}
