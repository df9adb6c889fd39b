//! How the daemon ends, is killed, and begins again.

use rosterd::sandbox::Options;
use rustix::process::Signal;

use crate::monitoring::notices::Listener;
use crate::support::config::OfAFolder;
use crate::support::daemon::eventually;
use crate::support::held::EIGHT_IN_FLIGHT;
use crate::support::{Config, World, people};

/// A push of so many people with eight of them in flight.
fn world(people_count: usize, job: &str) -> World {
    let config = Config { api: EIGHT_IN_FLIGHT.into(), ..Config::served(job, "") };
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, config);
    world.csv(people(0..people_count));
    world
}

#[test]
fn fault_22_a_daemon_that_is_asked_to_end_finishes_what_is_in_flight_and_the_queue_stays() {
    for signal in [Signal::TERM, Signal::INT] {
        let world = world(200, "");
        world.faults(&["staff.create hold after=20"]);
        let daemon = world.daemon();
        daemon.signal(Signal::USR1);
        world.until_held(8);
        daemon.begin_to_end(signal);
        world.faults(&[]);
        let status = daemon.wait();
        assert!(status.success(), "{signal:?}: {status:?}");
        assert_eq!(world.service().writes(), 28, "{signal:?}: only what was in flight is finished");
        assert!(!world.dir().join("control.sock").exists(), "its socket goes with it");
        let waiting = world.run(&["queue", "list", "--json"]).expect(0).json()["changes"].as_array().unwrap().len();
        assert_eq!(waiting, 172, "what was not sent waits");
    }
}

#[test]
fn fault_113_a_run_that_was_cut_off_goes_on_after_a_restart_and_makes_no_one_twice() {
    let world = world(60, "schedule = \"* * * * * *\"\n");
    world.faults(&["staff.create hold after=10"]);
    let daemon = world.daemon();
    world.until_held(8);
    daemon.begin_to_end(Signal::TERM);
    world.faults(&["staff.create hold after=10"]);
    assert!(daemon.wait().success());
    let daemon = world.daemon();
    world.until_held(8);
    daemon.kill();
    world.faults(&[]);
    assert!(world.dir().join("control.sock").exists(), "a killed daemon leaves its socket behind");
    let daemon = world.daemon();
    eventually("all are there", || world.staff().len() >= 60);
    let before = daemon.runs();
    eventually("it goes on", || daemon.runs() > before + 1);
    world.expect_people(0..60);
    assert_eq!(world.count("staff.create"), 60, "each was sent once");
}

/// A daemon is ended in the middle of a run, and another goes on: there is no notice, and `status` knows of no failure.
fn check_restart(config: Config, publish: fn(&World, &str)) {
    let web = Listener::start(Listener::http);
    let notify = format!("[notify]\nwebhook = \"http://{}/hook\"\n", web.address);
    let config = Config { rest: config.rest + &notify, api: EIGHT_IN_FLIGHT.into(), ..config };
    let world = World::of(config);
    std::fs::create_dir(world.dir().join("inbox")).unwrap();
    publish(&world, &people(0..5));
    world.sync().expect(0);
    world.faults(&["staff.create hold after=12"]);
    let daemon = world.daemon();
    publish(&world, &people(0..60));
    world.until_held(8);
    daemon.begin_to_end(Signal::TERM);
    world.faults(&[]);
    assert!(daemon.wait().success());
    assert_eq!(world.staff().len(), 25);
    world.run(&["status"]).expect(0);
    let daemon = world.daemon();
    eventually("all are there", || world.staff().len() == 60);
    eventually("the run is done", || daemon.log().contains("status=\"done\""));
    assert!(daemon.stop().success());
    assert_eq!(web.heard(), Vec::<String>::new());
}

#[test]
fn a_restart_in_the_middle_of_a_run_is_no_failure_and_gives_no_notice() {
    // A file that is written while it is read is another matter.
    check_restart(Config::served("schedule = \"* * * * * *\"\n", ""), |world, text| {
        let path = world.put("next.part", text.as_bytes());
        std::fs::rename(path, world.dir().join("staff.csv")).unwrap();
    });
}

#[test]
fn a_restart_in_the_middle_of_a_dropped_file_is_none_either() {
    let config = Config { path: "inbox".into(), ..Config::served("", "") };
    check_restart(config, |world, text| {
        let path = world.put("inbox/next.part", text.as_bytes());
        std::fs::rename(path, world.dir().join("inbox/people.csv")).unwrap();
    });
}

#[test]
fn fault_20_two_daemons_on_one_state_and_a_socket_that_is_taken() {
    let world = World::of(Config::served("", "").in_a_folder(OfAFolder::Lock));
    world.csv(people(1..3));
    let daemon = world.daemon();
    let second = world.run(&["run"]).expect(11);
    assert!(second.err.contains(&daemon.id().to_string()), "who holds it: {second:?}");
    // Another state and credential, the same socket.
    let text = world.config_text().replace("api_key_file = \"api_key\"", "api_key_file = \"other_key\"");
    world.put("other_key", b"other");
    world.put("other.toml", text.replace("dir = \"state\"", "dir = \"other\"").as_bytes());
    let other = world.run(&["run", "--config", "other.toml"]).expect(2);
    assert!(other.err.contains("another daemon listens there"), "{other:?}");
    // A command for another state does not end up at this daemon.
    let status = world.run(&["status", "--json", "--config", "other.toml"]).json();
    assert_eq!(status["daemon"], false, "{status}");
    world.put("plain", b"keep me");
    world.put(
        "third.toml",
        text.replace("dir = \"state\"", "dir = \"third\"").replace("control.sock", "plain").as_bytes(),
    );
    assert!(world.run(&["run", "--config", "third.toml"]).expect(2).err.contains("no socket"));
    assert_eq!(std::fs::read(world.dir().join("plain")).unwrap(), b"keep me");
}

#[test]
fn only_owner_and_group_may_use_the_socket() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::of(Config::served("", ""));
    world.csv(people(1..3));
    let _daemon = world.daemon();
    let mode = || std::fs::metadata(world.dir().join("control.sock")).unwrap().permissions().mode() & 0o777;
    // Until the daemon has set it, the umask keeps all others out.
    assert_eq!(mode() & 0o007, 0);
    eventually("owner and group may", || mode() == 0o660);
}

/// Whatever the schedule says.
#[test]
fn what_an_earlier_process_left_in_the_queue_is_sent_right_after_the_start() {
    let job = "schedule = \"0 5 1 1 *\"\nwrites = \"approve\"\n";
    let world = World::of(Config::served(job, ""));
    world.csv(people(1..4));
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    let _daemon = world.daemon();
    eventually("they are there", || world.staff().len() == 3);
}
