//! What it costs to find out that nothing has changed: peak memory, requests, and time as a ratio to a bare walk over the
//! same file in the same run.
//!
//! `cargo bench --bench unchanged [-- ROWS]`: a stand-in service in a process of its own with that many people (100,000
//! unless told), a file of the same people, a first run that matches them all, and a second that finds nothing to do.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that can't go on fails, and prints")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const CONFIG: &str = r#"[api]
base_url = "BASE_URL"
api_key_file = "api_key"
requests_per_minute = 100000
[state]
dir = "state"
[[job]]
name = "employees"
target = "staff"
key = "{{ employee_no }}"
match_on = ["employee_id", "email"]
[job.source]
type = "csv"
path = "employees.csv"
settle = "0s"
[job.map]
name = "{{ name }}"
email = "{{ email }}"
title = "{{ title }}"
employee_id = "{{ employee_no }}"
location = "{{ site }}"
mobile = "{{ mobile }}"
"#;

fn main() {
    let rows = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(100_000);
    let dir = tempfile::tempdir().unwrap();
    let (mut service, url) = serve(rows);
    put(&dir.path().join("api_key"), "sandbox-key");
    put(&dir.path().join("config.toml"), &CONFIG.replace("BASE_URL", &url));
    put(&dir.path().join("employees.csv"), &file(dir.path()));

    let walk = (0..5).map(|_| bare_walk(&dir.path().join("employees.csv"))).min().unwrap();
    let first = measure(dir.path());
    let second = measure(dir.path());
    service.kill().unwrap();
    service.wait().unwrap();

    println!("rows {rows}, bare csv walk {:.3} s", walk.as_secs_f64());
    for (name, run) in [("first run, everybody matched", first), ("second run, nothing to do", second)] {
        println!(
            "{name}: peak {:.1} MiB, {:.2} s ({:.1} x the walk), {} requests, {} unchanged",
            run.peak_kib as f64 / 1024.0,
            run.time.as_secs_f64(),
            run.time.as_secs_f64() / walk.as_secs_f64(),
            run.job["requests"],
            run.job["unchanged"],
        );
    }
}

fn rosterd(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
    command.env_clear().current_dir(dir).args(["--json", "--config", "config.toml"]);
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

/// A file of just the people whom the service has.
fn file(dir: &Path) -> String {
    let output = rosterd(dir).args(["api", "staff.list", "--all"]).stderr(Stdio::inherit()).output().unwrap();
    let people: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let mut text = "Employee No,Name,Email,Title,Site,Mobile\n".to_owned();
    for person in people {
        let cell = |name: &str| person[name].as_str().unwrap_or_default().replace('"', "\"\"");
        let cells =
            ["employee_id", "name", "email", "title", "location", "mobile"].map(|name| format!("\"{}\"", cell(name)));
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    text
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
    time: Duration,
    job: Value,
}

/// One `sync`; its peak is the kernel's high-water mark of resident memory (VmHWM), read until it ends.
fn measure(dir: &Path) -> Run {
    let started = Instant::now();
    let mut child = rosterd(dir).arg("sync").stdout(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok()).unwrap_or(0);
        peak_kib = peak_kib.max(now);
        std::thread::sleep(Duration::from_millis(5));
    }
    let time = started.elapsed();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the sync failed");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    Run { peak_kib, time, job: document["jobs"][0].clone() }
}
