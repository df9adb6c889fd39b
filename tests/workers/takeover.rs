//! How long a takeover takes, with the real terms and a change that waits. It prints what it measured.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::config::Config;
use crate::support::daemon::eventually;
use crate::support::{World, people, postgres};
use crate::worker::{self, Worker, command};

/// Seconds from a signal to the holder until the first write of the other worker.
fn takeover(signal: Signal) -> Duration {
    let rest = "[job.guard]\nmax_updates = \"off\"\n";
    let config = Config { api: String::new(), ..Config::rest(rest) }.job("schedule = \"* * * * * *\"\n").in_database();
    let world = World::of(config);
    world.csv(people(1..11));
    let worker = |node: &str| {
        let mut command = command(&world, node, &["run"]);
        command.env_remove("ROSTERD_TERMS_DIVIDED_BY");
        Worker::start(&world, node, command)
    };
    let first = worker("first");
    eventually("ten people", || world.staff().len() == 10);
    let _second = worker("second");
    eventually("the second stands by", || worker::log(&world, "second").contains("waits until it can have its state"));
    let writes = world.service().writes();
    first.signal(signal);
    let begun = Instant::now();
    // The change comes at that moment; the first worker does not get to it.
    world.csv(people(1..12));
    eventually("a write", || world.service().writes() > writes);
    let took = begun.elapsed();
    let wrote = world.service().requests().into_iter().rfind(|request| request.method != "GET").unwrap();
    assert!(wrote.agent.contains("(second;"), "{wrote:?}");
    took
}

#[test]
#[ignore = "waits for the real terms: six minutes"]
fn a_takeover_takes_seconds_after_a_clean_end_and_less_than_two_minutes_after_a_crash() {
    if !postgres::is_there() {
        return;
    }
    for (signal, name, most) in [(Signal::TERM, "SIGTERM", 5), (Signal::KILL, "SIGKILL", 120)] {
        for _ in 0..3 {
            let took = takeover(signal);
            println!("{name} to the first write of the other worker: {:.1} s", took.as_secs_f64());
            assert!(took < Duration::from_secs(most), "{name}: {took:?}");
        }
    }
}

#[test]
fn a_worker_that_stands_by_ends_when_it_is_asked_for_the_first_time() {
    if !postgres::is_there() {
        return;
    }
    let world = World::of(Config::default().in_database());
    world.csv(people(1..4));
    let first = Worker::start(&world, "first", command(&world, "first", &["run"]));
    eventually("the first worker has the account", || worker::log(&world, "first").contains("the daemon is ready"));
    let second = Worker::start(&world, "second", command(&world, "second", &["run"]));
    let waits = "waits until it can have its state";
    eventually("the second stands by", || worker::log(&world, "second").contains(waits));
    second.signal(Signal::TERM);
    assert_eq!(second.wait().code(), Some(0), "{}", worker::log(&world, "second"));
    // It did not begin again in between.
    assert_eq!(worker::log(&world, "second").matches(waits).count(), 1, "{}", worker::log(&world, "second"));
    first.signal(Signal::TERM);
    assert_eq!(first.wait().code(), Some(0), "{}", worker::log(&world, "first"));
}
