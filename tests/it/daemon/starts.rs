//! Runs that the daemon starts, and what it tells the service manager.

use rustix::process::Signal;
use serde_json::Value;

use crate::support::config::OfAFolder;
use crate::support::daemon::{Manager, eventually};
use crate::support::{Config, World, people, row};

const EVERY_SECOND: &str = "schedule = \"* * * * * *\"\n";

#[test]
fn a_daemon_waits_for_a_command_that_has_the_state() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..4));
    let mut manager = Manager::listen(&world);
    let store = world.store();
    let mut command = world.command(&["run"]);
    command.env("NOTIFY_SOCKET", &manager.path).stderr(std::process::Stdio::null());
    let mut daemon = command.spawn().unwrap();
    assert!(manager.expect("STATUS=waiting").contains(&format!("process {}", std::process::id())));
    drop(store);
    manager.expect("READY=1");
    world.sync().expect(0);
    rustix::process::kill_process(rustix::process::Pid::from_child(&daemon), Signal::TERM).unwrap();
    assert!(daemon.wait().unwrap().success());
}

#[test]
fn a_daemon_that_waits_for_its_state_ends_when_it_is_asked_to() {
    let world = World::of(Config::served("", "").in_a_folder(OfAFolder::Lock));
    let mut manager = Manager::listen(&world);
    let _store = world.store();
    let mut command = world.command(&["run"]);
    command.env("NOTIFY_SOCKET", &manager.path).stderr(std::process::Stdio::null());
    let mut daemon = command.spawn().unwrap();
    manager.expect("STATUS=waiting");
    rustix::process::kill_process(rustix::process::Pid::from_child(&daemon), Signal::TERM).unwrap();
    assert_eq!(daemon.wait().unwrap().code(), Some(11));
}

#[test]
fn a_job_runs_by_its_schedule_again_and_again() {
    let world = World::of(Config::served(EVERY_SECOND, ""));
    world.csv(people(1..4));
    let daemon = world.daemon();
    eventually("the first people are there", || world.staff().len() == 3);
    world.csv(people(1..5));
    eventually("the next one is there", || world.staff().len() == 4);
    let runs = || world.status()["last"]["run"].as_u64().unwrap();
    let before = runs();
    eventually("it goes on", || runs() > before + 2);
    world.expect_people(1..5);
    assert!(daemon.stop().success());
}

#[test]
fn a_run_that_was_missed_while_the_daemon_was_off_is_made_up_when_it_begins() {
    let world = World::of(Config::served(EVERY_SECOND, ""));
    world.csv(people(1..4));
    let daemon = world.daemon();
    eventually("it has run", || world.staff().len() == 3 && world.status()["last"].is_object());
    daemon.stop();
    let mut world = world;
    // Once a day, half an hour ago; it ran an hour ago, as far as is known. What never ran would not be due.
    let ago = |minutes| rosterd::clock::Clock::system().now() - jiff::SignedDuration::from_mins(minutes);
    let missed = jiff::Zoned::new(ago(30), jiff::tz::TimeZone::UTC);
    let job = format!("schedule = \"{} {} * * *\"\n", missed.minute(), missed.hour());
    world.reconfigure(|_| Config::served(&job, ""));
    rosterd::daemon::remember(&world.store(), &world.checked().jobs[0].name, ago(60)).unwrap();
    world.csv(people(1..6));
    let _daemon = world.daemon();
    eventually("it is made up", || world.staff().len() == 5);
}

#[test]
fn a_run_that_was_missed_after_the_first_start_is_made_up_too() {
    // Neither a run by hand nor a start that was too short for a run keeps its first time from being made up.
    for by_hand in [false, true] {
        let now = jiff::Zoned::new(rosterd::clock::Clock::system().now(), jiff::tz::TimeZone::UTC);
        let soon = now.saturating_add(jiff::Span::new().seconds(6));
        let job = format!("schedule = \"{} {} {} * * *\"\n", soon.second(), soon.minute(), soon.hour());
        let world = World::of(Config::served(&job, ""));
        world.csv(people(1..4));
        if by_hand {
            world.sync().expect(0);
        }
        world.daemon().stop();
        world.csv(people(1..6));
        let left = soon.timestamp().duration_since(rosterd::clock::Clock::system().now());
        std::thread::sleep(std::time::Duration::try_from(left).unwrap_or_default() + std::time::Duration::from_secs(1));
        let _daemon = world.daemon();
        eventually("it is made up", || world.staff().len() == 5);
    }
}

#[test]
fn sigusr1_runs_all_jobs_now() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..4));
    let daemon = world.daemon();
    assert!(world.status()["next"].is_null(), "it has no schedule");
    assert_eq!(world.staff().len(), 0);
    daemon.signal(Signal::USR1);
    eventually("it has run", || world.staff().len() == 3);
}

#[test]
fn a_file_that_is_dropped_into_an_inbox_is_taken_without_a_schedule() {
    let config = Config::served("", "");
    let world = World::of(config);
    let inbox = world.dir().join("inbox");
    std::fs::create_dir(&inbox).unwrap();
    world.edit_config("path = \"staff.csv\"", "path = \"inbox\"");
    let _daemon = world.daemon();
    for (name, count) in [("one.csv", 3), ("two.csv", 5)] {
        world.put("new.csv", people(1..count + 1).as_bytes());
        std::fs::rename(world.dir().join("new.csv"), inbox.join(name)).unwrap();
        eventually("the people are there", || world.staff().len() == count);
        eventually("the file is filed", || !inbox.join(name).exists());
    }
}

#[test]
fn fault_112_the_service_manager_hears_what_goes_on_and_the_watchdog_is_fed() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..40));
    world.faults(&["staff.create hold after=20"]);
    let mut manager = Manager::listen(&world);
    let path = manager.path.clone();
    let daemon = world.daemon_with(&["run"], |command| {
        command.env("NOTIFY_SOCKET", path).env("WATCHDOG_USEC", "1000000");
    });
    manager.expect("READY=1");
    manager.expect("STATUS=1 jobs, none with a schedule");
    daemon.signal(Signal::USR1);
    manager.expect("STATUS=staff sends changes: ");
    for _ in 0..3 {
        manager.expect("WATCHDOG=1");
    }
    daemon.signal(Signal::TERM);
    manager.expect("STOPPING=1");
    world.faults(&[]);
    assert!(daemon.wait().success());
}

#[test]
fn fault_109_the_service_manager_is_notified_of_a_reload_also_where_it_is_refused() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..4));
    let mut manager = Manager::listen(&world);
    let path = manager.path.clone();
    let daemon = world.daemon_with(&["run"], |command| {
        command.env("NOTIFY_SOCKET", path);
    });
    manager.expect("READY=1");
    world.put("config.toml", b"nonsense");
    daemon.signal(Signal::HUP);
    let reloading = manager.expect("RELOADING=1");
    assert!(reloading.contains("MONOTONIC_USEC="), "{reloading}");
    manager.expect("READY=1");
    assert!(daemon.log().contains("the one before stays in force"), "{}", daemon.log());
    daemon.signal(Signal::USR1);
    eventually("it works on", || world.staff().len() == 3);
}

#[test]
fn the_log_has_fields_and_names_no_one() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..4) + &row(9, "Clerk").replace("person9@example.com", "nobody"));
    let daemon = world.daemon_with(&["run", "--log", "json"], |_| {});
    world.run(&["sync"]);
    daemon.signal(Signal::USR1);
    eventually("a run is told of", || daemon.log().contains("\"requests\":"));
    let log = daemon.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ended = lines.iter().find(|line| line["fields"]["requests"].is_number()).unwrap();
    assert_eq!((&ended["fields"]["job"], &ended["fields"]["parked"]), (&"staff".into(), &1.into()), "{ended}");
    assert!(!log.contains("example.com") && !log.contains("Person"), "{log}");
}
