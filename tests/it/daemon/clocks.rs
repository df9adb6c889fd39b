//! A daemon on a machine whose clock is wrong, and is set while it runs.

use std::thread::sleep;
use std::time::Duration;

use crate::support::daemon::{Daemon, Manager, eventually};
use crate::support::faked::Faked;
use crate::support::{Config, World, people};

const AT_SIX: &str = "schedule = \"0 6 * * *\"\n";

fn world(job: &str) -> World {
    let world = World::of(Config::served(job, ""));
    world.csv(people(1..4));
    world
}

fn started(world: &World, clock: &Faked) -> Daemon {
    world.daemon_with(&["run"], |command| clock.tell(command))
}

fn runs(daemon: &Daemon) -> usize {
    daemon.ended().len()
}

#[test]
fn fault_59_a_daemon_that_starts_in_1970_waits_for_the_clock_and_then_makes_up_what_was_missed_once() {
    let world = world(AT_SIX);
    let Some(clock) = Faked::at(&world, "2027-06-10 05:59:58") else { return };
    let daemon = started(&world, &clock);
    eventually("it runs at six", || runs(&daemon) == 1);
    assert!(daemon.stop().success());
    world.csv(people(1..6));
    clock.set("1970-01-01 00:00:10");
    let mut manager = Manager::listen(&world);
    let path = manager.path.clone();
    let before = world.service().requests().len();
    let daemon = world.daemon_with(&["run"], |command| {
        clock.tell(command);
        command.env("NOTIFY_SOCKET", path);
    });
    manager.expect("STATUS=waiting: this machine's clock is wrong");
    sleep(Duration::from_millis(2_500));
    assert_eq!(world.service().requests().len(), before, "nothing is done by that clock");
    clock.set("2027-06-12 09:30:00");
    eventually("it is made up", || world.staff().len() == 5);
    manager.expect("next: staff at 2027-06-13T06:00:00Z");
    sleep(Duration::from_millis(2_500));
    assert_eq!(runs(&daemon), 2, "two days were missed, and one run makes up for them: {}", daemon.log());
}

#[test]
fn fault_58_a_clock_that_is_set_by_a_day_makes_no_storm_and_one_set_back_by_an_hour_repeats_nothing() {
    let world = world("schedule = \"*/2 * * * * *\"\n");
    let Some(clock) = Faked::at(&world, "2027-06-10 12:00:00") else { return };
    let daemon = started(&world, &clock);
    eventually("it runs", || runs(&daemon) >= 2);
    for day in ["2027-06-11 12:00:00", "2027-06-09 12:00:00"] {
        let before = runs(&daemon);
        clock.set(day);
        eventually("it goes on", || runs(&daemon) > before + 2);
    }
    assert!(daemon.stop().success());
    world.expect_no_storm();

    let world = self::world(AT_SIX);
    let Some(clock) = Faked::at(&world, "2027-06-10 05:59:58") else { return };
    let daemon = started(&world, &clock);
    eventually("it runs at six", || runs(&daemon) == 1);
    for time in ["2027-06-10 05:00:02", "2027-06-10 05:59:58"] {
        clock.set(time);
        // The loop looks at the clock at each of its inputs.
        world.run(&["reload"]).expect(0);
    }
    sleep(Duration::from_secs(5));
    assert_eq!(runs(&daemon), 1, "six came twice: {}", daemon.log());
}
