//! A daemon that goes on for long keeps nothing open; `cargo bench --bench soak` measures the same over 2,000 runs.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;

use rustix::process::Signal;

use crate::support::config::OfAFolder;
use crate::support::daemon::{Daemon, eventually};
use crate::support::looked::get;
use crate::support::ports::free_address;
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
    let address = free_address();
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

/// The ends that the TCP connections of a process lead to, as ports of this machine; listeners are left out.
fn connected_to(daemon: &Daemon) -> Vec<u16> {
    let files = fs::read_dir(format!("/proc/{}/fd", daemon.id())).unwrap();
    let names = files.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
    let own: Vec<String> =
        names.filter_map(|name| Some(name.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())).collect();
    let tables = ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/{}/net/{name}", daemon.id())).unwrap());
    let sockets = tables.iter().flat_map(|table| table.lines().skip(1));
    let ports = sockets.filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let port = u16::from_str_radix(columns[2].rsplit(':').next()?, 16).ok()?;
        (port != 0 && own.iter().any(|inode| inode == columns[9])).then_some(port)
    });
    ports.collect()
}

#[test]
fn a_state_in_a_folder_asks_no_database_for_anything() {
    let world = World::of(Config::served("", "").in_a_folder(OfAFolder::Place));
    world.csv(people(0..20));
    // Where a program that looks for PostgreSQL by itself would find it.
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = tcp.local_addr().unwrap().port().to_string();
    let socket = UnixListener::bind(world.dir().join(format!(".s.PGSQL.{port}"))).unwrap();
    tcp.set_nonblocking(true).unwrap();
    socket.set_nonblocking(true).unwrap();
    let daemon = world.daemon_with(&["run"], |command| {
        command.env("PGHOST", world.dir()).env("PGHOSTADDR", "127.0.0.1").env("PGPORT", port);
    });
    let service = world.service().url().rsplit(':').next().unwrap().trim_end_matches("/v1").parse::<u16>().unwrap();
    let mut met = 0;
    for run in 1..=3 {
        daemon.signal(Signal::USR1);
        eventually("the run ends", || {
            let ports = connected_to(&daemon);
            met += ports.len();
            assert!(ports.iter().all(|port| *port == service), "{ports:?}, not only the service at {service}");
            daemon.ended().len() == run
        });
        world.csv(people(0..20 + run));
    }
    assert!(met > 0, "no connection was seen, not even to the service");
    assert!(daemon.stop().success());
    assert!(socket.accept().is_err() && tcp.accept().is_err(), "a database was asked for something");
}
