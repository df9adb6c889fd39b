//! Taking a new configuration, or refusing it.

use std::time::Duration;

use rosterd::sandbox::Options;
use rustix::process::Signal;

use crate::support::daemon::eventually;
use crate::support::{Config, World, people};

#[test]
fn fault_109_a_broken_configuration_is_refused_and_the_old_one_works_on() {
    let world = World::with(Options::default(), Config::served("", ""));
    world.csv(people(1..4));
    let _daemon = world.daemon();
    let whole = std::fs::read_to_string(world.dir().join("config.toml")).unwrap();
    for (broken, told) in [
        (whole.replace("target = \"staff\"", "target = \"staf\""), "is no target"),
        (whole.replace("{{ title }}", "{{ titel }}"), "titel"),
        (whole.replace("dir = \"state\"", "dir = \"elsewhere\""), "state"),
        (whole.replace("path = \"staff.csv\"", "path = \"gone.csv\""), "gone.csv"),
    ] {
        world.put("config.toml", broken.as_bytes());
        let config = world.dir().join("config.toml");
        let refused = world.run(&["reload", "--config", config.to_str().unwrap()]);
        if refused.code == Some(1) {
            // Another state.dir is another daemon's.
            assert!(told == "state" && refused.err.contains("no daemon"), "{refused:?}");
            continue;
        }
        let refused = refused.expect(2);
        assert!(refused.err.contains(told), "{told}: {refused:?}");
        assert!(refused.err.contains("stays in force"), "{refused:?}");
    }
    world.put("config.toml", whole.as_bytes());
    world.run(&["sync"]).expect(0);
    world.expect_people(1..4);
    world.run(&["reload"]).expect(0);
}

#[test]
fn an_alarming_configuration_is_refused_with_4_and_a_harmless_one_is_taken() {
    let rest = "[job.leavers]\naction = \"delete\"\n";
    let mut world = World::with(Options::default(), Config::served("", rest));
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
        Config { map, job: config.job + "include = \"{{ employee_no > 'P00010' }}\"\n", ..config }
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
    let options = Options { delay: Duration::from_millis(60), ..Options::default() };
    let mut world = World::with(options, Config::served("", ""));
    world.csv(people(0..60));
    let daemon = world.daemon();
    daemon.signal(Signal::USR1);
    eventually("some are sent", || world.service().writes() > 5);
    // Everybody would get another title; nobody is known yet under a mapping, so nothing alarms.
    world.reconfigure(|config| Config { job: config.job + "seed_only = [\"title\"]\n", ..config });
    daemon.signal(Signal::HUP);
    assert!(world.service().writes() < 55, "the run is under way");
    eventually("it takes effect", || daemon.log().contains("is in force now"));
    assert_eq!(world.count("staff.create"), 60, "the run came to its end first");
    let log = daemon.log();
    let place = |text: &str| log.find(text).unwrap_or_else(|| panic!("no {text:?} in {log}"));
    assert!(place(" requests=") < place("is in force now"), "{log}");
}

#[test]
fn without_a_daemon_there_is_nothing_to_reload() {
    let world = World::with(Options::default(), Config::served("", ""));
    world.csv(people(1..3));
    assert!(world.run(&["reload"]).expect(1).err.contains("no daemon is running"));
}
