//! What is done often and is small: a run over 500 people in which nothing has changed, a file that is dropped into an inbox, and
//! an answer of 1,000 people.
//!
//! `cargo bench --bench small`. Each is shown beside something of the same run: the program that only says its version, the time
//! that a file takes to get its name, and serde_json reading the same answer into plain structs. The service is in this process.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that can't go on fails, and prints")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use rosterd::api::{Answer as _, Received, Staff};
use rosterd::sandbox::{Options, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

const PEOPLE: u32 = 500;
const IN_AN_ANSWER: u32 = 1000;
const RUNS: usize = 41;
const FILES: usize = 41;
const ANSWERS: usize = 101;

const CONFIG: &str = r#"[api]
base_url = "BASE_URL"
api_key_file = "api_key"
requests_per_minute = 100000
[state]
dir = "STATE"
[control]
socket = "SOCKET"
[status]
listen = ""
[[job]]
name = "employees"
target = "staff"
key = "{{ employee_no }}"
match_on = ["employee_id"]
[job.source]
type = "csv"
path = "SOURCE"
settle = "0s"
[job.map]
name = "{{ name }}"
email = "{{ email }}"
title = "{{ title }}"
employee_id = "{{ employee_no }}"
"#;

/// A person as the service shows it, and as serde's derive reads it.
#[derive(Deserialize)]
#[expect(dead_code, reason = "it is only read")]
struct Plain {
    id: i64,
    created: Option<String>,
    modified: Option<String>,
    account_status: Option<String>,
    last_login: Option<String>,
    setup_method: Option<String>,
    cur_location: Option<String>,
    department: Option<String>,
    roles: Vec<Vec<String>>,
    tokens: Vec<PlainToken>,
    remote: u8,
    name: String,
    title: Option<String>,
    altname: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    mobile: Option<String>,
    ice: Option<String>,
    onsite_status: Option<String>,
    location: Option<String>,
    employee_id: Option<String>,
    role_types: Vec<Vec<String>>,
    customfields: BTreeMap<String, Option<String>>,
    globalroaming: u8,
}

/// A card of such a person.
#[derive(Deserialize)]
#[expect(dead_code, reason = "it is only read")]
struct PlainToken {
    r#type: Option<String>,
    number: Option<u64>,
    issued: Option<String>,
    expiry: Option<String>,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let start = |seed_staff| {
        let options = Options { rate: 0, seed_staff, ..Options::default() };
        runtime.block_on(Sandbox::start(options)).unwrap()
    };
    answers(&start(IN_AN_ANSWER));
    let dir = tempfile::tempdir().unwrap();
    put(&dir.path().join("api_key"), "sandbox-key");
    runs(dir.path(), &start(PEOPLE));
    files(dir.path(), &start(PEOPLE));
}

/// An answer of many people, read by the client and by serde's derive.
fn answers(service: &Sandbox) {
    let body = serde_json::to_vec(&service.all("staff")).unwrap();
    let received = Received::of_list(body.clone());
    let (mut plain, mut own) = (Vec::new(), Vec::new());
    for _ in 0..ANSWERS {
        let begun = Instant::now();
        assert_eq!(serde_json::from_slice::<Vec<Plain>>(&body).unwrap().len(), IN_AN_ANSWER as usize);
        plain.push(begun.elapsed());
        let begun = Instant::now();
        assert_eq!(Vec::<Staff>::read(&received).unwrap().len(), IN_AN_ANSWER as usize);
        own.push(begun.elapsed());
    }
    let (plain, own) = (middle(plain), middle(own));
    println!(
        "an answer of {IN_AN_ANSWER} people, {} KiB: {:.2} ms, {:.1} times serde_json into plain structs ({:.2} ms)",
        body.len() / 1024,
        millis(own),
        own.as_secs_f64() / plain.as_secs_f64(),
        millis(plain),
    );
}

/// Runs in which nothing has changed, from the start of the process to its end.
fn runs(dir: &Path, service: &Sandbox) {
    put(&dir.join("run.toml"), &config(service, "run-state", "", "staff.csv"));
    put(&dir.join("staff.csv"), &rows(service, ""));
    let sync = || rosterd(dir, "run", &["sync"]).status().unwrap();
    assert!(sync().success());
    let (mut whole, mut work, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (begun, before) = (Instant::now(), worked());
        assert!(sync().success());
        whole.push(begun.elapsed());
        work.push(worked() - before);
        let begun = Instant::now();
        assert!(rosterd(dir, "run", &["--version"]).status().unwrap().success());
        alone.push(begun.elapsed());
    }
    println!(
        "a run over {PEOPLE} people with nothing to do: {:.1} ms from start to exit, {:.1} ms of the processor; to say its version \
         takes {:.1} ms; {} requests a run",
        millis(middle(whole)),
        millis(middle(work)),
        millis(middle(alone)),
        (service.requests().len() - 1) / (RUNS + 1),
    );
}

/// Files that are dropped into an inbox, until the service is asked and until they are filed.
fn files(dir: &Path, service: &Sandbox) {
    put(&dir.join("inbox.toml"), &config(service, "inbox-state", "inbox.sock", "inbox"));
    fs::create_dir(dir.join("inbox")).unwrap();
    let mut daemon = rosterd(dir, "inbox", &["run"]).spawn().unwrap();
    let (mut asked, mut filed) = (Vec::new(), Vec::new());
    for number in 0..=FILES {
        put(&dir.join("beside"), &rows(service, &format!("{number}")));
        let before = service.requests().len();
        let name = format!("staff-{number:03}.csv");
        fs::rename(dir.join("beside"), dir.join("inbox").join(&name)).unwrap();
        let begun = Instant::now();
        while service.requests().len() == before {
            sleep(Duration::from_micros(200));
        }
        asked.push(begun.elapsed());
        while dir.join("inbox").join(&name).exists() {
            sleep(Duration::from_micros(200));
        }
        filed.push(begun.elapsed());
        sleep(Duration::from_millis(300));
    }
    // The daemon may have come up while the first one lay there.
    let slowest = asked[1..].iter().max().copied().unwrap();
    println!(
        "a file in an inbox: the run has read it and asks the service after {:.1} ms, {:.1} the slowest of {FILES}; it is filed after \
         {:.1} ms",
        millis(middle(asked.split_off(1))),
        millis(slowest),
        millis(middle(filed.split_off(1))),
    );
    kill_process(Pid::from_child(&daemon), Signal::TERM).unwrap();
    assert!(daemon.wait().unwrap().success());
}

fn config(service: &Sandbox, state: &str, socket: &str, source: &str) -> String {
    let config = CONFIG.replace("BASE_URL", &service.url()).replace("STATE", state);
    config.replace("SOCKET", socket).replace("SOURCE", source)
}

/// The people of the service as a file of HR, in which `remark` is used for nothing.
fn rows(service: &Sandbox, remark: &str) -> String {
    let mut text = "Employee No,Name,Email,Title,Remark\n".to_owned();
    for person in service.all("staff") {
        let field = |name: &str| person[name].as_str().unwrap().to_owned();
        let (number, name, email, title) = (field("employee_id"), field("name"), field("email"), field("title"));
        writeln!(text, "{number},{name},{email},{title},{remark}").unwrap();
    }
    text
}

fn rosterd(dir: &Path, name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
    command.env_clear().current_dir(dir).args(["--config", &format!("{name}.toml")]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn put(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// The processor's time of all children that have ended.
fn worked() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(micros.unsigned_abs())
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
