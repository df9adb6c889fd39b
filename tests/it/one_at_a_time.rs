//! The order of writes, the lock, and interruption.

use std::thread::sleep;
use std::time::{Duration, Instant};

use rosterd::sandbox::Options;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Config, HEADER, World, people, row};

/// Waits until the service has carried out so many writes.
fn wait_for_writes(world: &World, writes: usize) {
    let begin = Instant::now();
    while world.service().writes() < writes {
        assert!(begin.elapsed() < Duration::from_secs(10), "the sync does not get on");
        sleep(Duration::from_millis(2));
    }
}

fn slow() -> World {
    let options = Options { delay: Duration::from_millis(100), accept_duplicates: true, ..Options::default() };
    let world = World::new(options);
    world.csv(people(0..80));
    world
}

#[test]
fn law_12_leavers_go_before_joiners_before_movers() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\nmax_updates = \"off\"\n";
    let world = World::with(Options::default(), Config { rest: rest.into(), ..Config::default() });
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
    let world = slow();
    let mut first = world.start(&["sync"]);
    wait_for_writes(&world, 3);
    for command in ["sync", "plan"] {
        let second = world.run(&[command, "--json"]);
        if command == "sync" {
            assert_eq!(second.code, Some(11), "{second:?}");
        }
        if second.code == Some(11) {
            assert!(second.err.contains(&first.id().to_string()), "who holds it: {second:?}");
        }
    }
    assert!(first.wait().unwrap().success());
    world.expect_people(0..80);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn fault_22_an_interrupted_sync_exits_130_and_the_next_one_finishes() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut world = slow();
        // Eight requests are in flight at such a limit.
        world.reconfigure(|config| Config { api: "requests_per_minute = 160\n".into(), ..config });
        let mut child = world.start(&["sync"]);
        wait_for_writes(&world, 20);
        let (begin, before) = (Instant::now(), world.service().writes());
        kill_process(Pid::from_child(&child), signal).unwrap();
        let code = child.wait().unwrap().code();
        let (took, after) = (begin.elapsed(), world.service().writes());
        let seen = format!("{signal:?} after {before} writes: exit {code:?} after {took:?} and {after} writes");
        assert_eq!(code, Some(130), "{seen}");
        assert!(after <= before + 16, "only what is in flight is finished: {seen}");
        world.sync().expect(0);
        world.expect_people(0..80);
        assert_eq!(world.count("staff.create"), 80, "{signal:?}: what was in flight was awaited, nothing sent twice");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    }
}

#[test]
fn fault_22_a_sync_that_waits_for_its_budget_ends_soon_after_an_interrupt() {
    let config = Config { api: "requests_per_minute = 20\n".into(), ..Config::default() };
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, config);
    world.csv(people(0..40));
    let mut child = world.start(&["sync"]);
    wait_for_writes(&world, 17);
    sleep(Duration::from_millis(500));
    let begin = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let code = child.wait().unwrap().code();
    let seen = format!("exit {code:?} after {:?} and {} writes", begin.elapsed(), world.service().writes());
    assert!(code == Some(130) && begin.elapsed() < Duration::from_secs(15), "{seen}");
}
