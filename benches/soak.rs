//! What a daemon that runs for long grows: memory, open files, threads, its store, and the time of a run.
//!
//! `cargo bench --bench soak [-- RUNS PEOPLE CHANGES]`: one daemon process, 2,000 runs over 500 people by default, one
//! after the other. Before each run 3 of them change, one joins and one leaves; now and then the status page and
//! `/metrics` are asked, a command comes over the socket, and the configuration is loaded again. The service is in this
//! process, so that the daemon's numbers are its own. A year of a large organization is `-- 500 100000 1000`. What is
//! printed is the middle one of the last runs before each mark; the first run, which makes everybody, is not among
//! them.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that can't go on fails, and prints")]

mod process;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use process::work;
use rosterd::sandbox::{Options, Sandbox};
use rustix::process::{Pid, Signal, kill_process};

/// After which parts of the runs it is measured; the first is what the others are compared with.
const MARKS: [usize; 4] = [20, 4, 2, 1];
/// Of how many runs before a mark the middle one is taken.
const WINDOW: usize = 11;
/// How many runs lie between two looks at the page, two commands, and two reloads.
const PAGE_EVERY: usize = 10;
const COMMAND_EVERY: usize = 25;
const RELOAD_EVERY: usize = 100;

const CONFIG: &str = r#"[api]
base_url = "BASE_URL"
api_key_file = "api_key"
requests_per_minute = 100000
[state]
dir = "state"
[control]
socket = "control.sock"
[status]
listen = "LISTEN"
[[job]]
name = "employees"
target = "staff"
key = "{{ employee_no }}"
match_on = ["employee_id"]
[job.source]
type = "csv"
path = "employees.csv"
settle = "0s"
[job.map]
name = "{{ name }}"
email = "{{ email }}"
title = "{{ title }}"
employee_id = "{{ employee_no }}"
[job.leavers]
action = "delete"
grace = "0s"
[job.guard]
max_leavers = "off"
max_updates = "off"
"#;

fn main() {
    let mut told = std::env::args().filter_map(|argument| argument.parse::<usize>().ok());
    let (runs, count, changes) =
        (told.next().unwrap_or(2_000), told.next().unwrap_or(500), told.next().unwrap_or(3).max(1));
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let service = runtime.block_on(Sandbox::start(Options { rate: 0, ..Options::default() })).unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    put(&dir.path().join("api_key"), &service.options().api_key);
    let config = CONFIG.replace("BASE_URL", &service.url()).replace("LISTEN", &address.to_string());
    put(&dir.path().join("config.toml"), &config);
    let mut people = Roster::new(count, changes);
    put(&dir.path().join("employees.csv"), &people.file());
    let mut daemon = Daemon::start(dir.path());

    println!("{count} people, {changes} changes, a joiner and a leaver before each run");
    let mut first: Option<Numbers> = None;
    let mut all: Vec<Numbers> = Vec::new();
    for run in 1..=runs {
        let (begin, worked) = (Instant::now(), work(daemon.child.id()));
        daemon.run();
        let (took, at_work) = (begin.elapsed(), work(daemon.child.id()) - worked);
        if run > 1 {
            all.push(Numbers { took, at_work, ..Numbers::of(daemon.child.id(), &dir.path().join("state/store")) });
        }
        if run % PAGE_EVERY == 0 {
            ["/", "/metrics", "/healthz"].iter().for_each(|path| ask(address, path));
        }
        if run % COMMAND_EVERY == 0 {
            command(dir.path(), &["status", "--json"]);
            command(dir.path(), &["explain", "employees", &people.anybody()]);
        }
        if run % RELOAD_EVERY == 0 {
            command(dir.path(), &["reload"]);
        }
        if MARKS.iter().any(|part| run == (runs / part).max(2)) {
            let numbers = Numbers::middle(&all[all.len().saturating_sub(WINDOW)..]);
            numbers.print(run, first.get_or_insert(numbers));
        }
        people.change();
        put(&dir.path().join("employees.csv"), &people.file());
    }
    let made: BTreeMap<String, usize> = service.all("staff").iter().fold(BTreeMap::new(), |mut made, person| {
        *made.entry(person["employee_id"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        made
    });
    assert!(made.len() == count && made.values().all(|times| *times == 1), "the service has {} people", made.len());
    daemon.end();
}

/// Who is in the file, each with the number of changes so far.
struct Roster {
    people: BTreeMap<usize, usize>,
    changes: usize,
}

impl Roster {
    fn new(count: usize, changes: usize) -> Self {
        Self { people: (0..count).map(|number| (number, 0)).collect(), changes }
    }

    /// One leaves, one joins, and some change.
    fn change(&mut self) {
        self.people.pop_first();
        let next = self.people.last_key_value().map_or(0, |(number, _)| number + 1);
        self.people.insert(next, 0);
        let every = (self.people.len() / self.changes).max(1);
        self.people.iter_mut().step_by(every).take(self.changes).for_each(|(_, changes)| *changes += 1);
    }

    fn file(&self) -> String {
        let mut text = "Employee No,Name,Email,Title\n".to_owned();
        for (number, changes) in &self.people {
            writeln!(text, "P{number:06},Person {number},person{number}@example.com,Clerk {changes}").unwrap();
        }
        text
    }

    fn anybody(&self) -> String {
        format!("P{:06}", self.people.keys().nth(self.people.len() / 2).unwrap())
    }
}

struct Daemon {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
}

impl Daemon {
    fn start(dir: &Path) -> Self {
        let mut command = rosterd(dir);
        command.args(["run", "--log", "json"]).envs(of_the_unit()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        wait(&mut log, "the daemon is ready");
        Self { child, log }
    }

    /// One run, to its end.
    fn run(&mut self) {
        kill_process(Pid::from_child(&self.child), Signal::USR1).unwrap();
        let line = wait(&mut self.log, "\"requests\":");
        assert!(line.contains("\"status\":\"done\""), "{line}");
    }

    fn end(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

/// Reads the log up to a line that holds `text`.
fn wait(log: &mut Lines<BufReader<ChildStderr>>, text: &str) -> String {
    log.map(Result::unwrap).find(|line| line.contains(text)).expect("the daemon goes on")
}

fn rosterd(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
    command.env_clear().current_dir(dir).args(["--config", "config.toml"]).stdin(Stdio::null());
    command
}

/// What the unit gives the daemon.
fn of_the_unit() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("../systemd/rosterd.service").lines();
    let told = lines.filter_map(|line| line.strip_prefix("Environment=")).flat_map(str::split_whitespace);
    told.map(|pair| pair.split_once('=').unwrap())
}

fn command(dir: &Path, arguments: &[&str]) {
    let output = rosterd(dir).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

fn ask(address: SocketAddr, path: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
}

fn put(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// What the daemon takes at one moment.
#[derive(Clone, Copy)]
struct Numbers {
    resident_kib: u64,
    peak_kib: u64,
    files: u64,
    threads: u64,
    store_bytes: u64,
    took: Duration,
    /// The processor's time of the run, which other processes do not stretch.
    at_work: Duration,
}

impl Numbers {
    fn of(process: u32, store: &Path) -> Self {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
        };
        Self {
            resident_kib: number("VmRSS"),
            peak_kib: number("VmHWM"),
            files: fs::read_dir(format!("/proc/{process}/fd")).unwrap().count() as u64,
            threads: number("Threads"),
            store_bytes: size(store),
            took: Duration::ZERO,
            at_work: Duration::ZERO,
        }
    }

    /// The middle one of each number; of the processor's time, which the kernel counts in hundredths of a second, the mean.
    fn middle(runs: &[Self]) -> Self {
        fn of<T: Ord>(numbers: impl Iterator<Item = T>) -> T {
            let mut numbers: Vec<T> = numbers.collect();
            numbers.sort();
            numbers.swap_remove(numbers.len() / 2)
        }
        Self {
            resident_kib: of(runs.iter().map(|run| run.resident_kib)),
            peak_kib: of(runs.iter().map(|run| run.peak_kib)),
            files: of(runs.iter().map(|run| run.files)),
            threads: of(runs.iter().map(|run| run.threads)),
            store_bytes: of(runs.iter().map(|run| run.store_bytes)),
            took: of(runs.iter().map(|run| run.took)),
            at_work: runs.iter().map(|run| run.at_work).sum::<Duration>() / u32::try_from(runs.len()).unwrap(),
        }
    }

    fn print(&self, run: usize, first: &Self) {
        let ratio = |now: u64, then: u64| now as f64 / then.max(1) as f64;
        println!(
            "run {run}: {:.3} s ({:.2}), of which at work {:.3} s ({:.2}), resident {:.1} MiB ({:.2}), peak {:.1} MiB ({:.2}), {} open files ({:.2}), \
             {} threads ({:.2}), store {:.1} MiB ({:.2})",
            self.took.as_secs_f64(),
            self.took.as_secs_f64() / first.took.as_secs_f64(),
            self.at_work.as_secs_f64(),
            self.at_work.as_secs_f64() / first.at_work.as_secs_f64(),
            self.resident_kib as f64 / 1024.0,
            ratio(self.resident_kib, first.resident_kib),
            self.peak_kib as f64 / 1024.0,
            ratio(self.peak_kib, first.peak_kib),
            self.files,
            ratio(self.files, first.files),
            self.threads,
            ratio(self.threads, first.threads),
            self.store_bytes as f64 / (1024.0 * 1024.0),
            ratio(self.store_bytes, first.store_bytes),
        );
    }
}

/// How many bytes a folder takes on the disk.
fn size(path: &Path) -> u64 {
    let entries = fs::read_dir(path).unwrap().map(Result::unwrap);
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()),
        Ok(found) => found.blocks() * 512,
        // It went away meanwhile.
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}
