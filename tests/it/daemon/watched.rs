//! The status page and notices of a running daemon.

use std::net::{SocketAddr, TcpListener};

use rosterd::sandbox::Options;

use crate::notices::Listener;
use crate::support::daemon::eventually;
use crate::support::looked::get;
use crate::support::{Config, World, people};

/// An address on which nothing listens.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn watched(address: SocketAddr, rest: &str) -> World {
    let tables = format!("[status]\nlisten = \"{address}\"\n{rest}");
    let world = World::with(Options::default(), Config::served("schedule = \"* * * * * *\"\n", &tables));
    world.csv(people(1..4));
    world
}

#[test]
fn fault_108_a_port_that_is_taken_ends_the_daemon_with_2() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let ran = watched(address, "").run(&["run"]).expect(2);
    assert!(ran.err.contains(&format!("the status page can't be served on {address}")), "{ran:?}");
    assert!(ran.err.contains("status.listen"), "{ran:?}");
}

#[test]
fn the_daemon_shows_how_things_are() {
    let address = free();
    let world = watched(address, "");
    let daemon = world.daemon();
    eventually("a run is counted", || {
        get(address, "/metrics").2.contains("rosterd_changes_total{job=\"staff\",action=\"create\"} 3\n")
    });
    let (_, _, text) = get(address, "/metrics");
    for line in [
        "rosterd_change_delay_seconds_count{job=\"staff\"} 3",
        "rosterd_api_requests_total{verb=\"create\",outcome=\"2xx\"} 3",
    ] {
        assert!(text.lines().any(|written| written == line), "{line} is missing: {text}");
    }
    assert!(text.contains("\nrosterd_runs_total{job=\"staff\",status=\"done\"} "), "{text}");
    // A snapshot serves all who ask within two seconds.
    eventually("the run is seen", || {
        get(address, "/metrics").2.contains("\nrosterd_job_source_records{job=\"staff\"} 3\n")
    });
    assert_eq!(get(address, "/healthz").0, 200);
    assert!(get(address, "/").2.contains("All is well"));
    world.csv("no header of ours\n");
    eventually("health notices the failure", || get(address, "/healthz").0 == 503);
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn the_daemon_tells_what_is_new_and_a_restart_repeats_nothing() {
    let web = Listener::start(Listener::http);
    let world = watched(free(), &format!("[notify]\nwebhook = \"http://{}/hook\"\n", web.address));
    let mut told = Vec::new();
    let mut hears = |what: &str, event: &str| {
        eventually(what, || {
            told.extend(web.heard());
            told.iter().any(|heard| heard.contains(&format!("\"event\":\"{event}\"")))
        });
        assert_eq!(told.drain(..).len(), 1, "{what}");
    };
    world.csv("no header of ours\n");
    let daemon = world.daemon();
    hears("the failure is told", "failed");
    assert_eq!(daemon.stop().code(), Some(0));
    let again = world.daemon();
    world.csv(people(1..4));
    hears("only the recovery is told by the next process", "recovered");
    drop(again);
}
