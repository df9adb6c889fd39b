//! The status page and notices of a running daemon.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};

use crate::monitoring::notices::Listener;
use crate::support::daemon::eventually;
use crate::support::looked::get;
use crate::support::ports::free_address;
use crate::support::{Config, World, people};

fn watched(address: SocketAddr, rest: &str) -> World {
    let tables = format!("[status]\nlisten = \"{address}\"\n{rest}");
    let world = World::of(Config::served("schedule = \"* * * * * *\"\n", &tables));
    world.csv(people(1..4));
    world
}

#[test]
fn fault_108_a_port_that_is_taken_stops_no_run_and_is_taken_as_soon_as_it_is_free_address() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let web = Listener::start(Listener::http);
    let world = watched(address, &format!("[notify]\nwebhook = \"http://{}/hook\"\n", web.address));
    let daemon = world.daemon();
    eventually("it runs without the page", || world.staff().len() == 3);
    let words = format!("the status page can't be served on {address}");
    assert!(daemon.log().contains(&words) && daemon.log().contains("status.listen"), "{}", daemon.log());
    assert!(world.run(&["status"]).out.contains(&words));
    assert!(world.run(&["status", "--json"]).json()["unserved"]["reason"].as_str().unwrap().contains(&words));
    let mut told = String::new();
    eventually("that is told", || {
        told.extend(web.heard());
        told.contains("\"no_page\"") && told.contains(&words)
    });
    drop(taken);
    eventually("the page is served", || daemon.log().contains("the status page answers"));
    assert_eq!(get(address, "/healthz").0, 200);
    eventually("that is told too", || {
        told.extend(web.heard());
        told.contains("status page is served again")
    });
    assert_eq!(world.run(&["status", "--json"]).json()["unserved"], serde_json::Value::Null);
    assert!(daemon.stop().success());
    assert_eq!(told.matches("\"no_page\"").count(), 1, "{told}");
}

/// The daemon may open so many files, and others open more connections than that.
const FILES: u64 = 192;

#[test]
fn connections_that_say_nothing_stop_neither_runs_nor_commands_nor_the_page() {
    let address = free_address();
    let world = watched(address, "");
    let daemon = world.daemon();
    let limit = rustix::process::Rlimit { current: Some(FILES), maximum: Some(FILES) };
    let id = rustix::process::Pid::from_raw(daemon.id() as i32);
    rustix::process::prlimit(id, rustix::process::Resource::Nofile, limit).unwrap();
    let half = |_| {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nX").unwrap();
        stream
    };
    let silent: Vec<_> = (0..2 * FILES).map(half).collect();
    assert_eq!(get(address, "/healthz").0, 200);
    world.run(&["sync"]).expect(0);
    world.csv(people(1..6));
    eventually("runs go on", || world.staff().len() == 5);
    drop(silent);
    assert!(daemon.stop().success());
}

#[test]
fn a_page_is_shown_under_this_machine_s_names_only() {
    let address = free_address();
    let world = watched(address, "");
    let daemon = world.daemon();
    for (host, status) in [("localhost", "200"), ("roster.example.com", "421")] {
        for path in ["/", "/metrics", "/healthz"] {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{host} {path}: {answer}");
            assert_eq!(answer.contains("staff"), status == "200" && path != "/healthz", "{host} {path}: {answer}");
        }
    }
    assert!(daemon.stop().success());
}

#[test]
fn the_daemon_shows_how_things_are() {
    let address = free_address();
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
    let world = watched(free_address(), &format!("[notify]\nwebhook = \"http://{}/hook\"\n", web.address));
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
