//! A daemon that goes on for long keeps nothing open; `cargo bench --bench soak` measures the same over 2,000 runs.

use std::fs;

use rustix::process::Signal;

use crate::support::daemon::{Daemon, eventually};
use crate::support::looked::get;
use crate::support::{Config, World, kept, people, row};

const RUNS: usize = 60;
/// Connections to the service that wait for their next use come and go.
const COMES_AND_GOES: usize = 3;
/// As many connections to a database are opened when they are used for the first time, whenever that is, and stay open.
const TO_A_DATABASE: usize = 4;

fn open_files(daemon: &Daemon) -> usize {
    fs::read_dir(format!("/proc/{}/fd", daemon.id())).unwrap().count()
}

#[test]
fn sixty_runs_commands_reloads_and_looks_leave_no_file_open() {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let world = World::of(Config::served("", &format!("[status]\nlisten = \"{address}\"\n")));
    world.csv(people(0..20));
    let daemon = world.daemon();
    let mut counts = Vec::new();
    for run in 1..=RUNS {
        daemon.signal(Signal::USR1);
        eventually("the run ends", || daemon.ended().len() == run);
        get(address, "/metrics");
        if run % 5 == 0 {
            world.run(&["reload"]).expect(0);
            world.run(&["explain", "staff", "P00001"]).expect(0);
        }
        counts.push(open_files(&daemon));
        world.csv(people(0..19) + &row(20, &format!("Clerk {run}")));
    }
    let most = |counts: &[usize]| counts.iter().copied().max().unwrap();
    let (begin, end) = (most(&counts[5..20]), most(&counts[RUNS - 15..]));
    let margin = COMES_AND_GOES + if kept::is_asked_for() { TO_A_DATABASE } else { 0 };
    assert!(end <= begin + margin, "open files grow: {counts:?}");
    assert!(daemon.stop().success());
}
