//! A million people: what it costs to find out that nothing has changed, to plan what one row in a hundred asks for, to
//! plan a first run and to queue it, to start, and to be asked while a run is going.
//!
//! `cargo bench --bench million [-- ROWS]`: a stand-in service in a process of its own with that many people (1,000,000
//! by default) and a file of the same people with 12 columns. Times are shown as ratios to bare walks over the same file
//! right before and after, as a machine's speed changes from one second to the next, waiting for the service included and left
//! out; of several rounds the middle one is shown. Memory is the kernel's high-water mark (VmHWM) of the process that is measured.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that can't go on fails, and prints")]

mod process;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use process::work;

const CONFIG: &str = r#"[api]
base_url = "BASE_URL"
api_key_file = "api_key"
requests_per_minute = 100000
[state]
dir = "STATE"
[status]
listen = ""
[control]
socket = "STATE.sock"
[[job]]
name = "employees"
target = "staff"
schedule = "0 3 1 1 *"
key = "{{ employee_no }}"
match_on = ["employee_id", "email"]
[job.source]
type = "csv"
path = "employees.csv"
settle = "0s"
[job.map]
name = "{{ name }}"
email = "{{ email | lower }}"
title = "{{ title }}"
employee_id = "{{ employee_no }}"
location = "{{ site }}"
mobile = "{{ mobile }}"
"#;

const HEADER: &str =
    "Employee No,Name,Email,Title,Site,Mobile,Department,Cost Centre,Manager,Start Date,Grade,Remark\n";

/// One person of the service, as far as the file tells of them.
#[derive(Deserialize)]
struct Person {
    employee_id: String,
    name: String,
    email: String,
    title: String,
    location: Option<String>,
    mobile: String,
}

fn main() {
    let rows = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(1_000_000);
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let csv = dir.join("employees.csv");
    put(&dir.join("api_key"), "sandbox-key");
    let (service, url) = serve(rows);
    let (empty, empty_url) = serve(0);
    for (name, url) in [("state", &url), ("new", &empty_url)] {
        let config = CONFIG.replace("BASE_URL", url).replace("STATE", name);
        put(&dir.join(format!("{name}.toml")), &config);
    }
    let people = people(dir);
    write(&csv, &people, |_| false);
    println!("{rows} rows, {} MB", fs::metadata(&csv).unwrap().len() / 1_000_000);
    let told = |what: &str, rounds: usize, name: &str, command: &[&str]| {
        let mut all: Vec<Run> = (0..rounds).map(|_| measure(dir, &csv, name, command)).collect();
        all.sort_by(|one, other| one.times(one.time).total_cmp(&other.times(other.time)));
        let run = &all[rounds / 2];
        println!(
            "{what}: {:.2} s = {:.1} times the walk of {:.3} s, of which at work {:.2} s = {:.1} times; peak {:.1} MiB; {}",
            run.time.as_secs_f64(),
            run.times(run.time),
            run.walk.as_secs_f64(),
            run.at_work.as_secs_f64(),
            run.times(run.at_work),
            run.peak_kib as f64 / 1024.0,
            run.said
        );
        if let [first, .., last] = &all[..] {
            println!("  {:.1} to {:.1} times in {rounds} rounds", first.times(first.time), last.times(last.time));
        }
    };

    told("first run, everybody is there already", 1, "state", &["sync"]);
    println!("state folder: {:.0} MB", size(&dir.join("state")) as f64 / 1e6);
    told("nothing to do", 9, "state", &["sync"]);
    start(dir);
    write(&csv, &people, |number| number % 100 == 0);
    told("one row in a hundred changed, the plan", 9, "state", &["plan"]);
    told("everybody new, the plan", 5, "new", &["plan"]);
    // Paused, a run does everything but send.
    assert!(rosterd(dir, "new").arg("pause").stderr(Stdio::null()).status().unwrap().success());
    told("everybody new, the first run up to sending", 1, "new", &["sync"]);
    println!("state folder: {:.0} MB", size(&dir.join("new")) as f64 / 1e6);
    for mut child in [service, empty] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// How long the daemon takes to be ready, what it needs then, and how quickly it answers during a run.
fn start(dir: &Path) {
    const ASKED: usize = 9;
    let notify = UnixDatagram::bind(dir.join("notify")).unwrap();
    notify.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let begun = Instant::now();
    let mut daemon = rosterd(dir, "state");
    daemon.env("NOTIFY_SOCKET", dir.join("notify")).args(["run", "--log", "text"]).stderr(Stdio::null());
    let mut daemon = daemon.spawn().unwrap();
    let mut buffer = [0; 4096];
    loop {
        let length = notify.recv(&mut buffer).unwrap();
        if String::from_utf8_lossy(&buffer[..length]).contains("READY=1") {
            break;
        }
    }
    let ready = begun.elapsed();
    std::thread::sleep(Duration::from_secs(1));
    println!(
        "the daemon: ready after {:.3} s, idle at {:.1} MiB, peak {:.1} MiB",
        ready.as_secs_f64(),
        memory(daemon.id(), "VmRSS:") as f64 / 1024.0,
        memory(daemon.id(), "VmHWM:") as f64 / 1024.0,
    );
    let alone = Command::new(env!("CARGO_BIN_EXE_rosterd")).arg("--version").stdout(Stdio::null()).status();
    alone.unwrap();
    let begun = Instant::now();
    rosterd(dir, "state").arg("--version").stdout(Stdio::null()).status().unwrap();
    let process = begun.elapsed();
    let mut run = rosterd(dir, "state").args(["sync"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let mut times = Vec::new();
    while run.try_wait().unwrap().is_none() && times.len() < ASKED {
        let begun = Instant::now();
        rosterd(dir, "state").args(["--json", "status"]).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        times.push(begun.elapsed().saturating_sub(process));
        std::thread::sleep(Duration::from_millis(20));
    }
    let during = times.len();
    run.wait().unwrap();
    times.sort();
    println!(
        "`status` asked {during} times during a run: {:.1} ms the middle one, {:.1} ms the slowest, less the {:.1} ms of a \
         process; afterwards at {:.1} MiB",
        times[during / 2].as_secs_f64() * 1e3,
        times[during - 1].as_secs_f64() * 1e3,
        process.as_secs_f64() * 1e3,
        memory(daemon.id(), "VmRSS:") as f64 / 1024.0,
    );
    Command::new("kill").args(["-TERM", &daemon.id().to_string()]).status().unwrap();
    daemon.wait().unwrap();
}

fn rosterd(dir: &Path, name: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
    command.env_clear().current_dir(dir).args(["--config", &format!("{name}.toml")]);
    command
}

fn serve(rows: u32) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
    command.args(["sandbox", "--rate", "0", "--seed-staff", &rows.to_string()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
    (child, url)
}

fn people(dir: &Path) -> Vec<Person> {
    let list = dir.join("people.json");
    let out = fs::File::create(&list).unwrap();
    assert!(rosterd(dir, "state").args(["api", "staff.list", "--all"]).stdout(out).status().unwrap().success());
    let people = serde_json::from_reader(BufReader::new(fs::File::open(&list).unwrap())).unwrap();
    fs::remove_file(list).unwrap();
    people
}

/// Writes the file of only the people that the service has; some with another title.
fn write(path: &Path, people: &[Person], moved: impl Fn(usize) -> bool) {
    let mut out = std::io::BufWriter::new(fs::File::create(path).unwrap());
    out.write_all(HEADER.as_bytes()).unwrap();
    for (number, person) in people.iter().enumerate() {
        let title = if moved(number) { "Moved" } else { &person.title };
        let location = person.location.as_deref().unwrap_or_default();
        let Person { employee_id, name, email, mobile, .. } = person;
        write!(out, "{employee_id},\"{name}\",{email},\"{title}\",\"{location}\",{mobile},").unwrap();
        let (department, centre, manager) = (number % 40, number % 977, number / 10);
        let (month, day, grade) = (number % 12 + 1, number % 28 + 1, number % 9);
        writeln!(out, "D{department},CC{centre:03},{manager},2019-{month:02}-{day:02},G{grade},-").unwrap();
    }
    out.flush().unwrap();
    drop(out);
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn put(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn bare_walk(path: &Path) -> Duration {
    let started = Instant::now();
    let file = fs::File::open(path).unwrap();
    let mut reader = csv::ReaderBuilder::new().buffer_capacity(256 * 1024).from_reader(file);
    let mut record = csv::ByteRecord::new();
    let mut rows = 0u64;
    while reader.read_byte_record(&mut record).unwrap() {
        rows += 1;
    }
    assert!(rows > 0);
    started.elapsed()
}

struct Run {
    peak_kib: u64,
    /// The mean of the quickest bare walk before the run and the quickest after it.
    walk: Duration,
    time: Duration,
    /// The time of the processor; for the rest of it the service is waited for.
    at_work: Duration,
    said: String,
}

impl Run {
    /// How many walks a time is as long as.
    fn times(&self, time: Duration) -> f64 {
        time.as_secs_f64() / self.walk.as_secs_f64()
    }
}

fn measure(dir: &Path, csv: &Path, name: &str, command: &[&str]) -> Run {
    let quickest = || (0..3).map(|_| bare_walk(csv)).min().unwrap();
    let before = quickest();
    let answer = dir.join("answer");
    let started = Instant::now();
    let mut child = rosterd(dir, name);
    child.arg("--json").args(command).stdout(fs::File::create(&answer).unwrap()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    let (mut peak_kib, mut at_work) = (0, Duration::ZERO);
    while child.try_wait().unwrap().is_none() {
        peak_kib = peak_kib.max(memory(child.id(), "VmHWM:"));
        at_work = at_work.max(work(child.id()));
        std::thread::sleep(Duration::from_millis(5));
    }
    let time = started.elapsed();
    let document: Value = serde_json::from_reader(BufReader::new(fs::File::open(&answer).unwrap())).unwrap();
    let job = &document["jobs"][0];
    let said = match job["changes"].as_array() {
        Some(changes) => format!("{} changes", changes.len()),
        None => format!("{}, {} requests, {} unchanged", job["status"], job["requests"], job["unchanged"]),
    };
    let walk = (before + quickest()) / 2;
    Run { peak_kib, walk, time, at_work, said }
}

/// A line of the kernel's account of a process's memory, in KiB; 0 where there is none any more.
fn memory(process: u32, line: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let found = text.lines().find_map(|found| found.strip_prefix(line));
    found.and_then(|found| found.trim().trim_end_matches(" kB").trim().parse().ok()).unwrap_or(0)
}

fn size(path: &Path) -> u64 {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| if entry.path().is_dir() { size(&entry.path()) } else { entry.metadata().unwrap().len() }).sum()
}
