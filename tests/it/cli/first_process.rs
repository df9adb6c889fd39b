//! The program as the first process of a container.

use std::fs;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{World, people};

/// Makes the program that follows process 1 of its own.
const APART: [&str; 3] = ["--pid", "--fork", "--kill-child"];

/// Whether this user may do that.
fn may_be_apart() -> bool {
    let tried = Command::new("unshare").args(APART).arg("true").output();
    let may = tried.is_ok_and(|output| output.status.success());
    assert!(may || std::env::var_os("CI").is_none(), "root must be able to make processes apart in CI");
    may
}

#[test]
fn a_signal_ends_a_first_process_that_does_not_wait_for_one() {
    if !may_be_apart() {
        return;
    }
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let world = World::default();
        world.csv(people(0..1));
        world.faults(&["staff.list hold"]);
        let plain = world.command(&["check"]);
        let mut apart = Command::new("unshare");
        apart.args(APART).arg(plain.get_program()).args(plain.get_args()).env_clear();
        apart.env("PATH", "/usr/bin:/bin").env("ROSTERD__STATUS__LISTEN", "").current_dir(world.dir());
        apart.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = apart.spawn().unwrap();
        world.until_held(1);
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
        let first = Pid::from_raw(children.trim().parse().unwrap()).unwrap();
        kill_process(first, signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal:?}");
    }
}
