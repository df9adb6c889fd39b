//! Secrets and people stay out of what is printed and logged; what is not mapped is not stored.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rosterd::sandbox::Options;
use serde_json::json;

use crate::support::{Config, Ran, World};

const HEAD: &str = "Employee No,Name,Email,Title,Salary\n";
const KEY: &str = "key-canary-7f3a";
const UNMAPPED: &str = "salary-canary";
/// Unmapped fields of people at the service.
const REMOTE: [&str; 4] = ["ice-canary", "altname-canary", "locker-canary", "640001112223"];
const PEOPLE: [&str; 3] = ["Namecanary", "mailcanary", "Titlecanary"];

fn row(number: usize, email: &str) -> String {
    format!("P{number:05},Namecanary {number},{email}@example.com,Titlecanary {number},{UNMAPPED}-{number}\n")
}

/// Rows of all sorts: good, without a name, with a cell too many, twice with a difference.
fn file(numbers: std::ops::Range<usize>) -> String {
    let good = numbers.fold(HEAD.to_owned(), |file, number| file + &row(number, &format!("mailcanary{number}")));
    good + "P90001,,mailcanary-noname@example.com,Titlecanary,salary-canary\n"
        + "P90002,Namecanary,mailcanary-cells@example.com,Titlecanary,salary-canary,more\n"
        + &row(90_003, "mailcanary-twice")
        + &row(90_003, "mailcanary-two")
}

fn world(rest: &str) -> World {
    let options = Options { api_key: KEY.into(), accept_duplicates: false, ..Options::default() };
    let world = World::with(options, Config::rest(rest));
    for number in 0..5 {
        let id = world.person(number, "Titlecanary old");
        let fields =
            json!({"ice": REMOTE[0], "altname": REMOTE[1], "customfields": {"3": REMOTE[2]}, "mobile": REMOTE[3]});
        world.service().edit("staff", id, fields);
    }
    world.service().put("staff", json!({"name": "Other", "email": "mailcanary9@example.com", "employee_id": "X9"}));
    world.csv(file(0..20));
    world
}

/// Runs it with all the logging that the environment might ask for, under an open umask.
fn loud(world: &World, arguments: &[&str]) -> Ran {
    let output = Command::new("/bin/sh")
        .env_clear()
        .envs([("RUST_LOG", "trace"), ("RUST_BACKTRACE", "1"), ("ROSTERD_LOG", "trace")])
        .current_dir(world.dir())
        .args(["-c", "umask 000; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_rosterd"))
        .args(["--color", "never", "--config", "config.toml"])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        }
        found.push(path);
    }
    found
}

fn expect_silent(ran: &Ran, secrets_only: bool) {
    let told = format!("{}{}", ran.out, ran.err);
    let people: &[&str] = if secrets_only { &[] } else { &PEOPLE };
    for canary in people.iter().chain(&REMOTE).chain(&[KEY, UNMAPPED]) {
        assert!(!told.contains(canary), "law 11: {canary} is in what is printed: {told}");
    }
}

fn expect_clean_state(world: &World) {
    let state = world.state();
    assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700, "law 11: the state folder");
    for path in files(&state) {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "law 11: {} has mode {mode:o}", path.display());
    }
    assert!(world.kept().len() > 2);
    for canary in REMOTE.iter().chain(&[KEY, UNMAPPED]) {
        assert_eq!(world.kept_with(canary), [] as [String; 0], "law 11: {canary} is stored");
    }
}

#[test]
fn law_11_runs_with_every_sort_of_trouble_print_keys_and_no_people() {
    let job = "key = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\"]\n";
    let world = world("[job.guard]\nmax_updates = \"off\"\n");
    world.configure(Config { job: job.into(), ..Config::rest("[job.guard]\nmax_updates = \"off\"\n") });
    for arguments in [["sync", "--json"], ["sync", "--color=never"]] {
        let ran = loud(&world, &arguments);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        expect_silent(&ran, false);
    }
    world.faults(&["staff.update status=400", "staff.create html"]);
    world.csv(file(0..24).replace("Titlecanary", "Titlecanary new"));
    expect_silent(&loud(&world, &["sync"]), false);
    world.faults(&["staff.list status=500"]);
    expect_silent(&loud(&world, &["sync"]).expect(1), false);
    world.faults(&[]);
    world.csv("Employee No,Name,Email,Salary\n".to_owned() + &row(1, "mailcanary"));
    expect_silent(&loud(&world, &["sync"]).expect(1), false);
    for arguments in [["status", "--json"], ["status", "--color=never"], ["check", "--json"], ["check", "--offline"]] {
        expect_silent(&loud(&world, &arguments), false);
    }
    expect_clean_state(&world);
}

#[test]
fn law_11_held_changes_and_their_approval_print_no_people() {
    let world = world("[job.guard]\nmax_creates = 3\n");
    expect_silent(&loud(&world, &["sync", "--json"]).expect(4), false);
    expect_silent(&loud(&world, &["status"]), false);
    expect_silent(&loud(&world, &["approve", "staff"]), false);
    expect_silent(&loud(&world, &["sync"]), false);
    expect_silent(&loud(&world, &["plan"]), true);
    expect_clean_state(&world);
}

#[test]
fn law_11_a_plan_shows_people_but_no_unmapped_value_and_no_secret() {
    let world = world("");
    let ran = loud(&world, &["plan", "--json"]);
    assert!(ran.out.contains("Namecanary"), "{ran:?}");
    expect_silent(&ran, true);
    expect_silent(&Ran { out: String::new(), ..ran }, false);
    assert_eq!(fs::metadata(world.state()).map_or(0o700, |found| found.permissions().mode() & 0o777), 0o700);
}

#[test]
fn law_11_client_secrets_and_tokens_are_neither_printed_nor_stored() {
    let secret = "client-secret-canary";
    let mut world = World::new(Options { client_secret: secret.into(), ..Options::default() });
    let credential = format!(
        "auth_url = \"{}\"\nclient_id = \"sandbox-client\"\nclient_secret = \"{secret}\"",
        world.service().auth_url()
    );
    world.reconfigure(|config| Config { credential, ..config });
    world.csv(file(0..10));
    let mut told = String::new();
    for faults in [&[][..], &["/oauth2/token status=500"], &["staff.list status=403"]] {
        world.faults(faults);
        for arguments in [["sync", "--json"], ["check", "--json"], ["status", "--json"]] {
            let ran = loud(&world, &arguments);
            told += &format!("{}{}", ran.out, ran.err);
        }
    }
    assert!(!told.contains(secret) && !told.contains("Bearer ") && !told.contains("Basic "), "law 11: {told}");
    assert_eq!(world.kept_with(secret), [] as [String; 0], "law 11");
}
