//! A `sync` over the socket: seen, counted and remembered as a run that its schedule started.

use std::fs::File;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use rosterd::clock::Clock;
use rosterd::daemon::served;
use rosterd::record::JobName;

use crate::inbox::{Inbox, inbox_of};
use crate::support::daemon::eventually;
use crate::support::looked::get;
use crate::support::ports::free_address;
use crate::support::{Config, World, people};

/// An address that is free, and the tables that put the status page there.
fn page() -> (SocketAddr, String) {
    let address = free_address();
    (address, format!("[status]\nlisten = \"{address}\"\n"))
}

/// Sets when a file was written: so long ago, or in the future.
fn written(world: &World, name: &str, ago: i64) {
    let by = Duration::from_secs(ago.unsigned_abs());
    let now = SystemTime::from(Clock::system().now());
    let at = if ago < 0 { now + by } else { now - by };
    File::options().write(true).open(world.dir().join(name)).unwrap().set_modified(at).unwrap();
}

fn metrics(address: SocketAddr) -> String {
    get(address, "/metrics").2
}

/// How many changes arrived within so many seconds of the source's change, of how many.
fn within(metrics: &str, bound: &str) -> (u64, u64) {
    let number = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name}: {metrics}")).trim().parse().unwrap()
    };
    let bucket = format!("rosterd_change_delay_seconds_bucket{{job=\"staff\",le=\"{bound}\"}}");
    (number(&bucket), number("rosterd_change_delay_seconds_count{job=\"staff\"}"))
}

fn sum(metrics: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix("rosterd_change_delay_seconds_sum{job=\"staff\"}"));
    line.unwrap().trim().parse().unwrap()
}

#[test]
fn a_sync_over_the_socket_is_shown_while_it_goes_and_serves_the_schedule() {
    let (address, rest) = page();
    let world = World::of(Config::served("schedule = \"30 2 1 1 *\"\n", &rest));
    world.csv(people(1..13));
    world.faults(&["staff.create hold-before"]);
    let daemon = world.daemon();
    let next = world.status()["next"].clone();
    assert!(next.is_string(), "{next}");
    let mut sync = world.start(&["sync"]);
    eventually("status shows that it runs", || world.status()["running_since"].is_string());
    eventually("the page shows how far it is", || get(address, "/").2.contains(" of 12 changes sent"));
    assert!(metrics(address).contains("rosterd_job_running{job=\"staff\"} 1"));
    world.faults(&[]);
    assert!(sync.wait().unwrap().success());
    let status = world.status();
    assert_eq!((&status["running_since"], &status["next"]), (&serde_json::Value::Null, &next), "the schedule is kept");
    assert_eq!((&status["last"]["status"], &status["overdue"]), (&"done".into(), &serde_json::Value::Null));
    // A page lasts for a while.
    eventually("the metrics show that it ended", || metrics(address).contains("rosterd_job_running{job=\"staff\"} 0"));
    let text = metrics(address);
    for line in [
        "rosterd_runs_total{job=\"staff\",status=\"done\"} 1",
        "rosterd_changes_total{job=\"staff\",action=\"create\"} 12",
        "rosterd_job_running{job=\"staff\"} 0",
    ] {
        assert!(text.lines().any(|written| written == line), "{line} is missing: {text}");
    }
    assert_eq!(within(&text, "+Inf").1, 12);
    assert!(daemon.stop().success());
    let last = status["last"]["ended"].as_str().unwrap().parse().unwrap();
    let kept = served(&world.store(), &JobName::new("staff").unwrap()).unwrap();
    assert!(kept.is_some_and(|kept| kept >= last), "a restart does not run it again: {kept:?}, {last}");
}

#[test]
fn a_narrowed_sync_serves_no_schedule() {
    let world = World::of(Config::served("schedule = \"30 2 1 1 *\"\n", ""));
    world.csv(people(1..5));
    let served = || served(&world.store(), &JobName::new("staff").unwrap()).unwrap();
    assert!(world.daemon().stop().success());
    let begun = served();
    assert!(begun.is_some(), "it counts from the first start");
    let daemon = world.daemon();
    world.run(&["sync", "--key", "P00001"]).expect(0);
    assert!(daemon.stop().success());
    assert_eq!(served(), begun);
}

#[test]
fn a_change_counts_from_when_its_file_was_written_and_never_from_the_future() {
    let (address, rest) = page();
    let world = World::of(Config::served("", &rest));
    let _daemon = world.daemon();
    world.csv(people(1..5));
    written(&world, "staff.csv", 2 * 3600);
    world.run(&["sync"]).expect(0);
    let text = metrics(address);
    assert_eq!((within(&text, "3600"), within(&text, "14400")), ((0, 4), (4, 4)));
    assert!(sum(&text) >= 4.0 * 7200.0);
    let before = sum(&text);
    world.csv(people(1..8));
    written(&world, "staff.csv", -3600);
    // It does not settle before its own time: the machine that wrote it has a clock that is ahead.
    world.run(&["sync"]).expect(0);
    eventually("the three more are counted", || within(&metrics(address), "+Inf").1 == 7);
    assert!(sum(&metrics(address)) >= before, "no delay is negative");
}

#[test]
fn a_change_from_an_inbox_counts_from_when_its_file_arrived() {
    let (address, rest) = page();
    let world = inbox_of(World::of(Config::served("", &rest)));
    let _daemon = world.daemon();
    // Copied with its old time, as an upload does.
    world.put("beside", people(1..5).as_bytes());
    written(&world, "beside", 2 * 24 * 3600);
    std::fs::rename(world.dir().join("beside"), Inbox(&world).path("staff.csv")).unwrap();
    eventually("it is taken", || world.staff().len() == 4);
    eventually("it is counted", || {
        let text = metrics(address);
        text.contains("rosterd_change_delay_seconds_count{job=\"staff\"} 4") && within(&text, "60") == (4, 4)
    });
}
