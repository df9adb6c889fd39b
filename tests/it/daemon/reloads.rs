//! Taking a new configuration, or refusing it.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use rustix::process::Signal;

use crate::support::daemon::{Manager, eventually};
use crate::support::looked::get;
use crate::support::ports::free_address;
use crate::support::{Config, World, people};

#[test]
fn fault_109_a_broken_configuration_is_refused_and_the_old_one_works_on() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..4));
    let _daemon = world.daemon();
    let whole = world.config_text();
    for (broken, told) in [
        (whole.replace("target = \"staff\"", "target = \"staf\""), "is no target"),
        (whole.replace("{{ title }}", "{{ titel }}"), "titel"),
        (world.with_other_state(&whole), "state.dir is another one"),
        (whole.replace("path = \"staff.csv\"", "path = \"gone.csv\""), "gone.csv"),
    ] {
        world.put_config(&broken);
        let config = world.config_path();
        let refused = world.run(&["reload", "--config", config.to_str().unwrap()]).expect(2);
        assert!(refused.err.contains(told), "{told}: {refused:?}");
        assert!(refused.err.contains("stays in force"), "{refused:?}");
    }
    world.put_config(&whole);
    world.run(&["sync"]).expect(0);
    world.expect_people(1..4);
    world.run(&["reload"]).expect(0);
}

#[test]
fn a_half_written_file_is_reported_as_such_wherever_its_socket_is() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..4));
    let _daemon = world.daemon();
    let whole = world.config_text();
    let socket = whole.find("[control]").unwrap();
    for (case, text, is_found) in [
        ("a table is cut", whole.replace("[job.map]", "[job.map"), true),
        ("a text is cut", whole.replace("match_on = [\"", "match_on = ["), true),
        ("the socket is not written yet", format!("{}[contr", &whole[..socket]), false),
        ("nothing is written yet", String::new(), false),
    ] {
        world.put_config(&text);
        let refused = world.run(&["reload"]).expect(2);
        assert!(refused.err.contains("config.toml") && !refused.err.contains("no daemon"), "{case}: {refused:?}");
        assert_eq!(refused.err.contains("stays in force"), is_found, "{case}: {refused:?}");
        if is_found {
            assert_eq!(world.status()["name"], "staff", "{case}: other commands find the daemon too");
        }
    }
    world.put_config(&whole);
    world.run(&["reload"]).expect(0);
}

#[test]
fn an_alarming_configuration_is_refused_with_4_and_a_harmless_one_is_taken() {
    let rest = "[job.leavers]\naction = \"delete\"\n";
    let mut world = World::of(Config::served("", rest));
    world.csv(people(1..21));
    let _daemon = world.daemon();
    world.run(&["sync"]).expect(0);
    // The mapping alters everybody.
    world.reconfigure(|config| Config { map: config.map.replace("{{ title }}", "{{ title }} (staff)"), ..config });
    let refused = world.run(&["reload"]).expect(4);
    assert!(refused.err.contains("the mapping change alters 20 people"), "{refused:?}");
    // Half of the people are no longer included.
    world.reconfigure(|config| {
        let map = config.map.replace("{{ title }} (staff)", "{{ title }}");
        Config { map, ..config.job("include = \"{{ employee_no > 'P00010' }}\"\n") }
    });
    world.run(&["reload"]).expect(4);
    let writes = world.service().writes();
    world.run(&["sync"]).expect(0);
    assert_eq!(world.service().writes(), writes, "the one before is in force");
    // The same people, with a schedule.
    world.reconfigure(|_| Config::served("schedule = \"* * * * * *\"\n", rest));
    assert!(world.run(&["reload"]).expect(0).out.contains("is in force"));
    world.csv(people(1..22));
    eventually("the schedule is kept", || world.staff().len() == 21);
}

#[test]
fn fault_25_a_reload_during_a_run_takes_effect_after_it() {
    let mut world = World::of(Config::served("", ""));
    world.csv(people(0..60));
    world.faults(&["staff.create hold after=5"]);
    let mut manager = Manager::listen(&world);
    let path = manager.path.clone();
    let daemon = world.daemon_with(&["run"], |command| {
        command.env("NOTIFY_SOCKET", path);
    });
    daemon.signal(Signal::USR1);
    world.until_any_is_held();
    // Everybody would get another title; no one is known yet under a mapping, so there is no alarm.
    world.reconfigure(|config| config.job("seed_only = [\"title\"]\n"));
    daemon.signal(Signal::HUP);
    manager.expect("RELOADING=1");
    assert!(!daemon.log().contains("is in force now"), "the run is under way");
    world.faults(&[]);
    eventually("it takes effect", || daemon.log().contains("is in force now"));
    assert_eq!(world.count("staff.create"), 60, "the run came to its end first");
    let log = daemon.log();
    let place = |text: &str| log.find(text).unwrap_or_else(|| panic!("no {text:?} in {log}"));
    assert!(place(" requests=") < place("is in force now"), "{log}");
}

#[test]
fn who_reloads_during_a_run_hears_what_it_waits_for() {
    let world = World::of(Config::served("", ""));
    world.csv(people(0..60));
    world.faults(&["staff.create hold after=5"]);
    let daemon = world.daemon();
    daemon.signal(Signal::USR1);
    world.until_any_is_held();
    let mut reload = world.command(&["reload"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(reload.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("when the runs under way have ended")));
    world.faults(&[]);
    assert!(reload.wait().unwrap().success());
}

#[test]
fn an_unchanged_file_is_taken_also_while_the_service_is_down() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..4));
    let daemon = world.daemon();
    world.run(&["sync"]).expect(0);
    world.faults(&["staff.list status=503"]);
    let taken = world.run(&["reload"]).expect(0);
    assert!(taken.err.contains("job staff could not be tried: "), "{taken:?}");
    world.faults(&[]);
    assert!(daemon.stop().success());
}

#[test]
fn without_a_daemon_there_is_nothing_to_reload() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..3));
    assert!(world.run(&["reload"]).expect(1).err.contains("no daemon is running"));
}

#[test]
fn a_refused_configuration_is_shown_everywhere_until_one_is_taken() {
    let address = free_address();
    let world = World::of(Config::served("", &format!("[status]\nlisten = \"{address}\"\n")));
    world.csv(people(1..4));
    let mut manager = Manager::listen(&world);
    let path = manager.path.clone();
    let daemon = world.daemon_with(&["run"], |command| {
        command.env("NOTIFY_SOCKET", path);
    });
    let metric =
        |value: u8| get(address, "/metrics").2.contains(&format!("\nrosterd_config_last_reload_successful {value}\n"));
    let refused = || world.run(&["status", "--json"]).json()["config_refused"].clone();
    assert!(metric(1) && refused().is_null());
    let whole = world.config_text();
    world.put_config(&whole.replace("target = \"staff\"", "target = \"staf\""));
    daemon.signal(Signal::HUP);
    eventually("the metric says so", || metric(0));
    assert!(refused()["reason"].as_str().unwrap().contains("is no target"), "{}", refused());
    assert!(world.run(&["status"]).out.contains("the new configuration was refused"));
    let page = || get(address, "/").2.contains("The new configuration was refused");
    eventually("the page says so", page);
    manager.expect("the new configuration was refused: ");
    assert_eq!(get(address, "/healthz").0, 200, "the one before works on");
    world.put_config(&whole);
    world.run(&["reload"]).expect(0);
    assert!(metric(1) && refused().is_null());
    eventually("the page says so no more", || !page());
}

#[test]
fn an_inbox_without_a_file_is_tried_with_its_last_one() {
    for (kept, code) in [("30d", 4), ("0s", 0)] {
        let rest = format!("[retention]\nprocessed = \"{kept}\"\n");
        let config = Config { path: "inbox".into(), ..Config::served("", &rest) };
        let mut world = World::of(config);
        std::fs::create_dir(world.dir().join("inbox")).unwrap();
        world.put("inbox/all.csv", people(1..21).as_bytes());
        world.run(&["sync"]).expect(0);
        world.expect_people(1..21);
        let _daemon = world.daemon();
        world.reconfigure(|config| Config { map: config.map.replace("{{ title }}", "{{ title }} (staff)"), ..config });
        let ran = world.run(&["reload"]).expect(code);
        let told = if code == 4 { "the mapping change alters 20 people" } else { "its last file is not kept any more" };
        assert!(ran.err.contains(told), "{kept}: {ran:?}");
    }
}

#[test]
fn a_pause_keeps_no_harmless_configuration_out() {
    let mut world = World::of(Config::served("", "[job.leavers]\naction = \"delete\"\n"));
    world.csv(people(1..21));
    let _daemon = world.daemon();
    world.run(&["sync"]).expect(0);
    world.run(&["pause"]).expect(0);
    let grace = |rest: String| rest.replace("action = \"delete\"\n", "action = \"delete\"\ngrace = \"3d\"\n");
    world.reconfigure(|config| Config { rest: grace(config.rest), ..config });
    world.run(&["reload"]).expect(0);
    world.reconfigure(|config| Config { map: config.map.replace("{{ title }}", "{{ title }} (staff)"), ..config });
    world.run(&["reload"]).expect(4);
}

/// Two processes would send for one account otherwise, and a pause would stop neither.
#[test]
fn law_3_a_daemon_whose_file_names_another_state_is_reached_until_it_is_restarted() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..4));
    let daemon = world.daemon();
    world.put_config(&world.with_other_state(&world.config_text()));
    world.run(&["pause"]).expect(0);
    world.sync().expect(4);
    assert_eq!(world.staff().len(), 0);
    assert!(!world.status()["paused"].is_null());
    world.run(&["resume"]).expect(0);
    world.sync().expect(0);
    world.expect_people(1..4);
    daemon.stop();
}
