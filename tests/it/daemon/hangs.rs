//! A daemon that hangs holds up no one who asks it for something.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::config::OfAFolder;
use crate::support::daemon::eventually;
use crate::support::held::EIGHT_IN_FLIGHT;
use crate::support::{Config, World, people};

/// The exit code of what was interrupted.
const INTERRUPTED: i32 = 130;

#[test]
fn a_command_says_that_the_daemon_does_not_answer_and_a_pause_works_without_it() {
    let world = World::of(Config::served("", "").in_a_folder(OfAFolder::Lock));
    world.csv(people(1..4));
    let daemon = world.daemon();
    daemon.signal(Signal::STOP);
    let refused = world.run(&["status"]).expect(11);
    let hint = format!("the daemon (process {0}) does not answer on ", daemon.id());
    assert!(refused.err.contains(&hint), "{refused:?}");
    assert!(refused.err.contains(&format!("kill -KILL {}", daemon.id())), "{refused:?}");
    let paused = world.run(&["pause"]).expect(0);
    assert!(paused.err.contains("pausing without it"), "{paused:?}");
    daemon.signal(Signal::CONT);
    world.run(&["resume"]).expect(0);
    assert!(daemon.stop().success());
}

#[test]
fn a_command_that_waits_for_a_daemon_which_hangs_ends_by_a_second_signal() {
    let world = World::of(Config { api: EIGHT_IN_FLIGHT.into(), ..Config::served("", "") });
    world.csv(people(0..60));
    let daemon = world.daemon();
    world.faults(&["staff.create hold after=10"]);
    let mut sync = world.command(&["sync"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    world.until_held(8);
    daemon.signal(Signal::STOP);
    let mut ended = None;
    eventually("it ends", || {
        // It hears the second one once it has informed the daemon of the first.
        kill_process(Pid::from_child(&sync), Signal::INT).unwrap();
        ended = sync.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.unwrap().code(), Some(INTERRUPTED));
    world.faults(&[]);
    daemon.signal(Signal::CONT);
    assert!(daemon.stop().success());
}
