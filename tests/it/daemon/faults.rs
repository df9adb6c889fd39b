//! Cases of the regression list that take a real daemon: time that stands still, runs that are too long, zones that change,
//! a state of a later version.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use rosterd::store::{ErrorKind, Store};
use rustix::process::Signal;
use serde_json::json;

use crate::support::daemon::eventually;
use crate::support::held::freeze;
use crate::support::{Config, World, people, row};

const EVERY_SECOND: &str = "schedule = \"* * * * * *\"\n";
const ANY_UPDATES: &str = "[job.guard]\nmax_updates = \"off\"\n";

#[test]
fn fault_17_and_113_a_state_of_a_later_version_exits_1_and_stays_as_it_is() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..4));
    world.sync().expect(0);
    let later = world.make_later();
    let writes = world.service().writes();
    for arguments in [&["sync"][..], &["run"], &["plan"], &["status"], &["approve", "staff"]] {
        let ran = world.run(arguments).expect(1);
        assert!(ran.err.contains("install the version that wrote it, or a later one"), "{arguments:?}: {ran:?}");
    }
    assert_eq!(world.service().writes(), writes);
    // Nothing was thrown away: its damage can still be reported.
    let error = Store::open(world.home()).err().unwrap();
    assert!(matches!(error.kind, ErrorKind::Newer { format } if format == later), "{error}");
}

#[test]
fn fault_23_and_64_a_daemon_that_stood_still_goes_on_by_what_is_true_then_and_makes_up_once() {
    let mut world = World::of(Config::served("", ANY_UPDATES));
    world.csv(people(1..41));
    world.sync().expect(0);
    world.reconfigure(|_| Config::served(EVERY_SECOND, ANY_UPDATES));
    let daemon = world.daemon();
    world.faults(&["staff.update hold after=2"]);
    world.csv(people(1..41).replace("Clerk", "Baker"));
    world.until_any_is_held();
    freeze(daemon.id());
    let late = world.held_as(40).unwrap()["id"].as_i64().unwrap();
    assert_eq!(world.held_as(40).unwrap()["title"], "Clerk", "its turn is to come");
    world.service().edit("staff", late, json!({"mobile": "64 219999999"}));
    world.faults(&[]);
    // Some of its times pass.
    sleep(Duration::from_secs(4));
    daemon.signal(Signal::CONT);
    eventually("all are sent", || world.staff().iter().all(|person| person["title"] == "Baker"));
    assert_eq!(world.held_as(40).unwrap()["mobile"], "64 219999999", "what was edited meanwhile stays");
    let before = daemon.runs();
    eventually("it goes on", || daemon.runs() > before + 3);
    assert!(daemon.stop().success());
    world.expect_no_storm();
    world.expect_people(1..41);
}

#[test]
fn fault_61_a_run_longer_than_its_interval_is_never_doubled_and_what_is_skipped_is_reported() {
    let world = World::of(Config::served(EVERY_SECOND, ""));
    world.csv(people(0..150));
    world.faults(&["staff.create hold nth=100"]);
    let daemon = world.daemon();
    world.until_held(1);
    // Some of its times pass.
    sleep(Duration::from_secs(3));
    world.release();
    eventually("all are made", || world.staff().len() == 150);
    // A run that sends is preempted and starts over; one that reads goes on, and what it skips is counted.
    world.faults(&["staff.list hold nth=1"]);
    world.until_held(1);
    sleep(Duration::from_secs(3));
    world.faults(&[]);
    world.release();
    eventually("the run ends", || daemon.log().contains("the run took longer than its interval"));
    let log = daemon.log();
    let told = log.find("the run took longer than its interval").unwrap();
    assert!(log[..told].contains(" requests="), "the run ended before: {log}");
    assert!(log[told..].lines().next().unwrap().contains("times="), "{log}");
    world.expect_people(0..150);
    assert_eq!(world.count("staff.create"), 150);
}

#[test]
fn fault_62_an_unknown_zone_exits_2_and_new_rules_of_a_zone_count_after_a_reload() {
    let mut world = World::of(Config::served("", ""));
    world.csv(people(1..4));
    let zones = world.dir().join("zones");
    fs::create_dir(&zones).unwrap();
    let rules = |of: &str| fs::copy(format!("/usr/share/zoneinfo/{of}"), zones.join("Changing")).unwrap();
    rules("Etc/GMT-3");
    world.reconfigure(|_| Config::served("schedule = \"0 6 * * *\"\ntime_zone = \"Nowhere/Atall\"\n", ""));
    let ran = world.run(&["run"]).expect(2);
    assert!(ran.err.contains("config.toml:") && ran.err.contains("\"Nowhere/Atall\" is no time zone"), "{ran:?}");
    world.reconfigure(|_| Config::served("schedule = \"0 6 * * *\"\ntime_zone = \"Changing\"\n", ""));
    let daemon = world.daemon_with(&["run"], |command| {
        command.env("TZDIR", &zones);
    });
    let next = || world.status()["next"].as_str().unwrap_or_default().to_owned();
    eventually("06:00 three hours ahead", || next().ends_with("T03:00:00Z"));
    rules("Etc/GMT+4");
    world.run(&["reload"]).expect(0);
    eventually("06:00 four hours behind", || next().ends_with("T10:00:00Z"));
    assert!(daemon.stop().success());
}

#[test]
fn fault_105_a_filter_that_drops_half_of_the_people_is_refused_at_a_reload_and_held_at_a_restart() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let mut world = World::of(Config::served("", rest));
    world.csv(people(1..21));
    let daemon = world.daemon();
    world.sync().expect(0);
    world.reconfigure(|config| {
        let job = config.job + "include = \"{{ employee_no <= 'P00010' }}\"\n";
        Config { job, ..config }
    });
    let refused = world.run(&["reload"]).expect(4);
    assert!(refused.err.contains("stays in force") && refused.err.contains("restart the daemon"), "{refused:?}");
    world.csv(people(1..21) + &row(21, "Clerk"));
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0), "the one before is in force");
    assert!(daemon.stop().success());
    let daemon = world.daemon();
    daemon.signal(Signal::USR1);
    eventually("the run is held", || daemon.log().contains("status=\"held\""));
    assert_eq!(world.staff().len(), 21, "nobody left by it");
}
