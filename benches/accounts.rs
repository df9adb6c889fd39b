//! What a process with many idle accounts takes: memory, threads and open files, beside a daemon of one account.
//!
//! `cargo bench --bench accounts [-- ACCOUNTS PEOPLE]`: 500 accounts of 20 people by default, each with a state and a
//! service of its own; all services are in this process. Every account has an inbox, with a file in it at the beginning. Every account is synced once; it is measured when all of them are in step
//! and nothing is under way, and once more after page, metrics and the status of all accounts were asked for. A daemon of one
//! such account is measured in the same way, and is what the ratios are to.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that can't go on fails, and prints")]

mod process;

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use process::work;
use rosterd::sandbox::{Options, Sandbox};
use rustix::process::{Pid, Signal, kill_process};

/// How long the work of nothing is measured.
const IDLE: Duration = Duration::from_secs(20);
/// How often it is looked whether all are in step.
const LOOK: Duration = Duration::from_millis(200);
const MIB: f64 = 1024.0;

const CONFIG: &str = r#"[api]
base_url = "BASE_URL"
api_key_file = "FOLDER/api_key"
requests_per_minute = 100000
[state]
dir = "FOLDER/state"
[control]
socket = "FOLDER/control.sock"
[status]
listen = "LISTEN"
[[job]]
name = "employees"
target = "staff"
key = "{{ employee_no }}"
match_on = ["employee_id"]
[job.source]
type = "csv"
path = "FOLDER/inbox"
settle = "0s"
[job.map]
name = "{{ name }}"
email = "{{ email }}"
title = "{{ title }}"
employee_id = "{{ employee_no }}"
"#;

fn main() {
    let mut told = std::env::args().filter_map(|argument| argument.parse::<usize>().ok());
    let (accounts, people) = (told.next().unwrap_or(500), told.next().unwrap_or(20));
    println!("{accounts} accounts of {people} people");
    let one = measured(1, people, None);
    measured(accounts, people, Some(&one));
}

/// Lays accounts down, runs them, and says what the process takes.
fn measured(accounts: usize, people: usize, one: Option<&Numbers>) -> Numbers {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let start = |_| runtime.block_on(Sandbox::start(Options { rate: 0, ..Options::default() })).unwrap();
    let services: Vec<Sandbox> = (0..accounts).map(start).collect();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    fs::create_dir(dir.path().join("accounts")).unwrap();
    services.iter().enumerate().for_each(|(number, service)| lay_down(dir.path(), (number, people), service, address));
    let begun = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
    command.env_clear().envs(of_the_unit()).current_dir(dir.path()).stdin(Stdio::null());
    match one {
        None => command.args(["--config", "accounts/a0.toml", "run"]),
        Some(_) => command.args(["run", "--accounts", "accounts"]),
    };
    let mut daemon = command.stderr(Stdio::null()).spawn().unwrap();
    let id = daemon.id();
    wait(&mut daemon, || get(address, "/metrics").is_some_and(|text| shown(&text) == accounts));
    let up = begun.elapsed();
    let in_step = || get(address, "/metrics").map(|text| done(&text)).unwrap_or_default() == accounts;
    wait(&mut daemon, in_step);
    let synced = begun.elapsed();
    assert!(services.iter().all(|service| service.all("staff").len() == people), "everybody is there");
    // What is left of the runs goes.
    sleep(Duration::from_secs(10));
    let numbers = Numbers::of(id);
    println!("up after {:.1} s, all in step after {:.1} s", up.as_secs_f64(), synced.as_secs_f64());
    numbers.print("idle", accounts, one);
    let before = work(id);
    sleep(IDLE);
    let share = (work(id) - before).as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    println!("  {share:.1} % of a processor while nothing happens");
    if one.is_some() {
        for path in ["/", "/metrics", "/healthz"] {
            let begun = Instant::now();
            let text = get(address, path).unwrap();
            println!("  {path}: {} KiB in {:.2} s", text.len() / 1024, begun.elapsed().as_secs_f64());
        }
        let begun = Instant::now();
        let mut status = Command::new(env!("CARGO_BIN_EXE_rosterd"));
        status.env_clear().current_dir(dir.path()).args(["status", "--accounts", "accounts", "--json"]);
        let output = status.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        println!("  status of all: {:.2} s", begun.elapsed().as_secs_f64());
        Numbers::of(id).print("afterwards", accounts, one);
    }
    kill_process(Pid::from_child(&daemon), Signal::TERM).unwrap();
    let begun = Instant::now();
    assert!(daemon.wait().unwrap().success());
    println!("ended in {:.1} s", begun.elapsed().as_secs_f64());
    numbers
}

/// How many accounts are shown.
fn shown(metrics: &str) -> usize {
    metrics.lines().filter(|line| line.starts_with("rosterd_state_readable")).count()
}

/// How many accounts have had a run that went well.
fn done(metrics: &str) -> usize {
    let of_done = |line: &&str| line.starts_with("rosterd_job_last_run_status{") && line.contains("\"done\"} 1");
    metrics.lines().filter(of_done).count()
}

fn lay_down(dir: &Path, (number, people): (usize, usize), service: &Sandbox, address: SocketAddr) {
    let folder = dir.join(format!("a{number}"));
    fs::create_dir(&folder).unwrap();
    put(&folder.join("api_key"), &service.options().api_key);
    let mut text = "Employee No,Name,Email,Title\n".to_owned();
    for person in 0..people {
        writeln!(text, "A{number:03}P{person:03},Person {person},person{person}@a{number}.example.com,Clerk").unwrap();
    }
    fs::create_dir(folder.join("inbox")).unwrap();
    put(&folder.join("inbox/employees.csv"), &text);
    let config = CONFIG
        .replace("BASE_URL", &service.url())
        .replace("FOLDER", &format!("../a{number}"))
        .replace("LISTEN", &address.to_string());
    put(&dir.join(format!("accounts/a{number}.toml")), &config);
}

fn put(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// What the unit gives the daemon.
fn of_the_unit() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("../systemd/rosterd-accounts.service").lines();
    let told = lines.filter_map(|line| line.strip_prefix("Environment=")).flat_map(str::split_whitespace);
    told.map(|pair| pair.split_once('=').unwrap())
}

fn wait(daemon: &mut Child, mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        assert!(daemon.try_wait().unwrap().is_none(), "the daemon goes on");
        sleep(LOOK);
    }
}

/// The body of what is answered with 200.
fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.starts_with("HTTP/1.1 200").then(|| answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

/// What a process takes at one moment.
#[derive(Clone, Copy)]
struct Numbers {
    resident_kib: u64,
    proportional_kib: u64,
    swapped_kib: u64,
    peak_kib: u64,
    threads: u64,
    files: u64,
}

impl Numbers {
    fn of(process: u32) -> Self {
        let of = |file: &str, name: &str| {
            let text = fs::read_to_string(format!("/proc/{process}/{file}")).unwrap();
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
            line.trim_start_matches(':').split_whitespace().next().map_or(0, |number| number.parse().unwrap())
        };
        Self {
            resident_kib: of("status", "VmRSS"),
            proportional_kib: of("smaps_rollup", "Pss"),
            swapped_kib: of("status", "VmSwap"),
            peak_kib: of("status", "VmHWM"),
            threads: of("status", "Threads"),
            files: fs::read_dir(format!("/proc/{process}/fd")).unwrap().count() as u64,
        }
    }

    fn print(&self, when: &str, accounts: usize, one: Option<&Self>) {
        let ratio =
            |now: u64, one: Option<u64>| one.map_or(String::new(), |one| format!(" ({:.1})", now as f64 / one as f64));
        println!(
            "{when}: VmRSS {:.1} MiB{}, Pss {:.1} MiB, swapped {:.1} MiB, peak {:.1} MiB, {} threads{}, {} open files{}; {:.0} KiB resident \
             for each account",
            self.resident_kib as f64 / MIB,
            ratio(self.resident_kib, one.map(|one| one.resident_kib)),
            self.proportional_kib as f64 / MIB,
            self.swapped_kib as f64 / MIB,
            self.peak_kib as f64 / MIB,
            self.threads,
            ratio(self.threads, one.map(|one| one.threads)),
            self.files,
            ratio(self.files, one.map(|one| one.files)),
            self.resident_kib as f64 / accounts as f64,
        );
    }
}
