//! Commands on one machine while a worker on another one has the account.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::Worker;
use crate::support::config::{Config, UNLIMITED};
use crate::support::daemon::eventually;
use crate::support::{Ran, World, people, postgres, row};

const HOLDER: &str = "holder.sock";
const REST: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_updates = \"off\"\n";

/// A world with a worker that has the account and runs nothing by itself.
fn held() -> (World, Worker) {
    let world = World::of(Config { api: UNLIMITED.into(), ..Config::rest(REST) }.in_database());
    let worker = worker(&world, "holder", HOLDER);
    worker.says("the daemon is ready");
    serves(&world);
    (world, worker)
}

fn worker(world: &World, name: &str, socket: &str) -> Worker {
    Worker::with(world, name, &[("ROSTERD__CONTROL__SOCKET", socket)])
}

/// Waits until the worker that has the account takes requests.
fn serves(world: &World) {
    eventually("requests are taken", || {
        world.database().sql("select count(*) from rosterd.account where serves is not null and holder is not null")
            == "1"
    });
}

/// A command on the machine of that socket; without one on a machine that has no daemon.
fn command(world: &World, socket: &str, arguments: &[&str]) -> Command {
    let mut command = world.command(arguments);
    command.env("ROSTERD__CONTROL__SOCKET", socket).env("ROSTERD__STATE__NODE", "other");
    command
}

fn on(world: &World, socket: &str, arguments: &[&str]) -> Ran {
    let Output { status, stdout, stderr } = command(world, socket, arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code(), out: text(stdout), err: text(stderr) }
}

fn elsewhere(world: &World, arguments: &[&str]) -> Ran {
    on(world, "", arguments)
}

fn started(world: &World, arguments: &[&str]) -> Child {
    command(world, "", arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn ended(child: Child) -> Ran {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code(), out: text(stdout), err: text(stderr) }
}

fn requests(world: &World) -> String {
    world.database().sql("select (select count(*) from rosterd.request) + (select count(*) from rosterd.answer)")
}

/// The lease of the worker that has the account runs out at once.
fn expire(world: &World) {
    world.database().sql("update rosterd.account set expires_at = clock_timestamp() - interval '1 s'");
}

#[test]
fn every_command_answers_alike_wherever_it_is_given() {
    if !postgres::is_there() {
        return;
    }
    let (world, _worker) = held();
    world.csv(people(1..21));
    let first = elsewhere(&world, &["sync", "--json"]).expect(0);
    assert_eq!(first.writes(), (20, 0, 0));
    assert!(
        first.err.contains("carried out by process") && first.err.contains("on holder, which has the account since")
    );
    world.csv(people(1..11));
    elsewhere(&world, &["sync", "--json"]).expect(4);
    for arguments in [
        &["status", "--json"][..],
        &["plan", "--json"],
        &["plan", "--exit-code"],
        &["explain", "P00001"],
        &["explain", "P00001", "--json"],
        &["explain", "nobody"],
        &["queue", "list", "--json"],
        &["history"],
        &["history", "1", "--json"],
        &["keys", "staff"],
        &["approve", "staff", "nobody"],
        &["sync", "none"],
        &["revert", "1", "--plan"],
        &["api", "staff.list", "limit=2"],
        &["api", "staff.get", "id=424242"],
    ] {
        let (here, there) = (on(&world, HOLDER, arguments), elsewhere(&world, arguments));
        let err: String = there
            .err
            .lines()
            .filter(|line| !line.starts_with("carried out by"))
            .map(|line| format!("{line}\n"))
            .collect();
        let known = |text: &str| match serde_json::from_str::<Value>(text) {
            // Requests go out of the last minute as time passes.
            Ok(mut json) => {
                json.as_object_mut().map(|all| all.remove("budget"));
                json.to_string()
            }
            Err(_) => text.to_owned(),
        };
        assert_eq!((there.code, known(&there.out), &err), (here.code, known(&here.out), &here.err), "{arguments:?}");
    }
    assert_eq!(elsewhere(&world, &["status", "--json"]).expect(4).json()["daemon"], true);
    assert!(elsewhere(&world, &["status", "-q"]).err.is_empty());
    // What changes something.
    elsewhere(&world, &["approve", "staff", "P00011", "P00012"]).expect(0);
    elsewhere(&world, &["reject", "staff", "P00013"]).expect(0);
    eventually("they are sent at once", || world.staff().len() == 18);
    elsewhere(&world, &["pause"]).expect(0);
    world.csv(people(1..11).replace(&row(1, "Clerk"), &row(1, "Boss")));
    assert_eq!(elsewhere(&world, &["sync", "--json"]).writes(), (0, 0, 0), "a pause stops what any worker sends");
    elsewhere(&world, &["resume"]).expect(0);
    eventually("it goes on", || world.held_as(1).is_some_and(|one| one["title"] == "Boss"));
    world.csv(people(1..11).replace(&row(2, "Clerk"), &row(2, "Boss")));
    elsewhere(&world, &["plan", "--out", "plan.json"]).expect(0);
    assert_eq!(elsewhere(&world, &["apply", "plan.json", "--json"]).writes(), (0, 2, 0));
    elsewhere(&world, &["apply", "plan.json"]).expect(2);
    elsewhere(&world, &["forget", "P00020"]).expect(0);
    assert_eq!(elsewhere(&world, &["keys", "staff", "--prefix", "P00020"]).expect(0).out, "");
    elsewhere(&world, &["rebuild"]).expect(0);
    fs::write(world.dir().join("body.json"), r#"{"name": "Sent Alone"}"#).unwrap();
    elsewhere(&world, &["api", "staff.create", "--body", "@body.json"]).expect(0);
    assert!(world.staff().iter().any(|one| one["name"] == "Sent Alone"));
    let history = elsewhere(&world, &["history", "--json"]).expect(0).json();
    let by: Vec<&Value> = history["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["what"] == "decision")
        .map(|one| &one["by"])
        .collect();
    assert!(!by.is_empty() && by.iter().any(|by| by.as_str().is_some_and(|by| by.ends_with("@other"))), "{by:?}");
    assert_eq!(requests(&world), "0", "nothing is left of what was asked");
}

#[test]
fn who_decides_is_named_with_the_machine_whether_a_worker_has_the_account_or_none() {
    if !postgres::is_there() {
        return;
    }
    let world = World::of(Config::served("", "").in_database());
    elsewhere(&world, &["pause"]).expect(0);
    let shown = elsewhere(&world, &["status"]).out;
    assert!(shown.contains("@other; `rosterd resume` lets"), "{shown}");
    let _daemon = world.daemon_with(&["run"], |command| {
        command.env("ROSTERD__STATE__NODE", "own");
    });
    world.run(&["resume"]).expect(0);
    elsewhere(&world, &["pause", "staff"]).expect(0);
    let history = world.run(&["history", "--json"]).expect(0).json();
    let decisions = history["events"].as_array().unwrap().iter().filter(|one| one["what"] == "decision");
    let nodes: Vec<&str> = decisions.map(|one| one["by"].as_str().unwrap().split_once('@').unwrap().1).collect();
    assert_eq!(nodes.len(), 3, "{history}");
    assert_eq!((nodes.iter().filter(|node| **node == "own").count(), nodes.contains(&"other")), (1, true), "{nodes:?}");
}

#[test]
fn a_command_that_waits_for_a_worker_that_does_not_answer_says_so() {
    if !postgres::is_there() {
        return;
    }
    let (world, worker) = held();
    worker.signal(Signal::STOP);
    let asked = started(&world, &["status"]);
    // Longer than it waits without a word.
    thread::sleep(Duration::from_secs(5));
    worker.signal(Signal::CONT);
    let ran = ended(asked).expect(0);
    assert!(ran.err.contains("does not answer yet; where it is gone, its lease ends within 30 s"), "{ran:?}");
    assert!(!elsewhere(&world, &["status"]).expect(0).err.contains("does not answer"));
}

/// Whether a worker has the account is asked before, with the same body.
#[test]
fn a_body_from_standard_input_is_sent_whole_where_no_worker_has_the_account() {
    if !postgres::is_there() {
        return;
    }
    let world = World::of(Config::default().in_database());
    let mut asked = command(&world, "", &["api", "staff.create", "--body", "-"]);
    let mut child = asked.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(br#"{"name": "Sent Alone"}"#).unwrap();
    ended(child).expect(0);
    assert!(world.staff().iter().any(|one| one["name"] == "Sent Alone"));
}

#[test]
fn a_plan_of_another_configuration_is_not_made_by_the_worker() {
    if !postgres::is_there() {
        return;
    }
    let (world, _worker) = held();
    world.csv(people(1..3));
    let other = world.dir().join("other");
    fs::create_dir(&other).unwrap();
    for name in ["api_key", "staff.csv"] {
        fs::copy(world.dir().join(name), other.join(name)).unwrap();
    }
    let name = world.config_path().file_name().unwrap().to_owned();
    fs::write(other.join(&name), world.config_text().replace("{{ title }}", "{{ title | upper }}")).unwrap();
    fs::set_permissions(other.join(&name), fs::metadata(world.config_path()).unwrap().permissions()).unwrap();
    let given = |arguments: &[&str]| {
        let mut all = vec!["--config".to_owned(), other.join(&name).display().to_string()];
        all.extend(arguments.iter().map(|word| (*word).to_owned()));
        let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
        command.env_clear().args(&all).env("ROSTERD__CONTROL__SOCKET", "").stdin(Stdio::null());
        ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    for arguments in [&["plan"][..], &["api", "staff.list"]] {
        let refused = given(arguments).expect(2);
        assert!(refused.err.contains("has the account, and another configuration than this machine"), "{refused:?}");
    }
    given(&["status"]).expect(0);
}

#[test]
fn a_command_that_is_interrupted_or_whose_caller_is_killed_ends_at_the_worker() {
    if !postgres::is_there() {
        return;
    }
    let (world, _worker) = held();
    // More than are sent before the worker sees that its caller wants no more: of each that follows the answer takes a while.
    world.csv(people(1..401));
    world.faults(&["staff.create hold after=5"]);
    let child = started(&world, &["sync"]);
    eventually("creates under way", || world.count("staff.create") > 5);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    eventually("the worker hears of it", || world.database().sql("select bool_or(stops) from rosterd.request") == "t");
    world.faults(&["staff.create delay=1s"]);
    let stopped = ended(child).expect(130);
    assert!(stopped.err.contains("interrupted"), "{stopped:?}");
    let sent = world.staff().len();
    assert!(sent < 400, "{sent}");
    let runs = || !on(&world, HOLDER, &["status", "--json"]).json()["jobs"][0]["running_since"].is_null();
    assert!(!runs());
    world.faults(&["staff.create hold after=0"]);
    let creates = world.count("staff.create");
    let mut child = started(&world, &["sync"]);
    eventually("creates under way", || world.count("staff.create") > creates && runs());
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("the worker gives it up", || !runs());
    world.faults(&[]);
    elsewhere(&world, &["sync"]).expect(0);
    assert_eq!(world.staff().len(), 400);
}

#[test]
fn what_a_worker_did_that_went_away_is_said_to_be_unknown_and_is_not_repeated() {
    if !postgres::is_there() {
        return;
    }
    let (world, mut worker) = held();
    world.csv(people(1..21));
    elsewhere(&world, &["plan", "--out", "plan.json"]).expect(0);
    world.faults(&["staff.create hold after=5"]);
    let child = started(&world, &["apply", "plan.json"]);
    eventually("creates under way", || world.count("staff.create") > 5);
    let second = super::Worker::start(&world, "second");
    second.says("the daemon waits until it can have its state");
    worker.child.kill().unwrap();
    worker.child.wait().unwrap();
    expire(&world);
    let lost = ended(child).expect(1);
    assert!(lost.err.contains("what it did is not known") && lost.err.contains("rosterd history"), "{lost:?}");
    world.faults(&[]);
    serves(&world);
    let again = elsewhere(&world, &["apply", "plan.json"]);
    assert_eq!(again.code, Some(2), "{again:?}");
}

#[test]
fn a_worker_that_is_asked_to_end_answers_before_it_goes() {
    if !postgres::is_there() {
        return;
    }
    let (world, worker) = held();
    world.csv(people(1..21));
    world.faults(&["staff.create hold after=5"]);
    let child = started(&world, &["sync"]);
    eventually("creates under way", || world.count("staff.create") > 5);
    worker.signal(Signal::TERM);
    worker.says("the daemon ends");
    world.faults(&[]);
    let stopped = ended(child).expect(130);
    assert!(stopped.err.contains("interrupted"), "{stopped:?}");
    assert!(worker.wait().success());
    // No worker has the account: the command has it itself.
    elsewhere(&world, &["sync"]).expect(0);
    assert_eq!(world.staff().len(), 20);
    let used = elsewhere(&world, &["status", "--json"]).expect(0).json()["budget"]["used"].as_u64().unwrap();
    assert!(used >= 20, "what was sent in the last minute is known: {used}");
    assert_eq!(elsewhere(&world, &["api", "staff.list", "limit=1"]).expect(0).json().as_array().unwrap().len(), 1);
    let checked = elsewhere(&world, &["check"]).expect(0);
    assert!(checked.out.contains("the credential may read"), "{checked:?}");
}

#[test]
fn a_worker_of_another_version_or_without_requests_is_left_alone() {
    if !postgres::is_there() {
        return;
    }
    let (world, _worker) = held();
    world.csv(people(1..3));
    for (serves, expected) in
        [("99", "is of another version than this program"), ("null", "takes no requests of other machines")]
    {
        world.database().sql(&format!("update rosterd.account set serves = {serves}"));
        let refused = elsewhere(&world, &["sync"]).expect(11);
        assert!(refused.err.contains(expected) && refused.err.contains("on holder has it"), "{refused:?}");
    }
    let checked = elsewhere(&world, &["check"]).expect(0);
    assert!(checked.out.contains("on holder has the account"), "{checked:?}");
    assert_eq!(requests(&world), "0");
}

#[test]
fn two_commands_at_once_and_a_daemon_that_stands_by_reach_the_same_worker() {
    if !postgres::is_there() {
        return;
    }
    let (world, worker) = held();
    world.csv(people(1..21));
    let second = Worker::with(
        &world,
        "second",
        &[("ROSTERD__CONTROL__SOCKET", "second.sock"), ("ROSTERD__STATUS__LISTEN", "127.0.0.1:0")],
    );
    second.says("the daemon waits until it can have its state");
    let (one, other) = (started(&world, &["sync", "--json"]), started(&world, &["sync", "--json"]));
    let (one, other) = (ended(one).expect(0), ended(other).expect(0));
    assert_eq!(one.writes().0 + other.writes().0, 20, "{one:?} {other:?}");
    let by = on(&world, "second.sock", &["status", "--json"]).expect(0);
    assert!(by.json()["daemon"] == true && by.err.contains("on holder, which has"), "{by:?}");
    worker.says("@second called `rosterd status`");
    let reload = on(&world, "second.sock", &["reload"]).expect(0);
    assert!(
        reload.out.contains("on holder has the account") && reload.err.contains("when it takes over"),
        "{reload:?}"
    );
    // Its page says that it stands by, and who works.
    let address =
        second.log().split("the status page answers at http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    for (path, expected) in [
        ("/", "This account runs elsewhere"),
        ("/", "on holder has it"),
        ("/healthz", "ok"),
        ("/livez", "ok"),
        ("/metrics", "rosterd_account_standby 1"),
    ] {
        let answer = get(path);
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(expected), "{path}: {answer}");
    }
    assert!(!get("/metrics").contains("rosterd_state_readable"));
    worker.signal(Signal::TERM);
    assert!(worker.wait().success());
    second.says("the daemon is ready");
    eventually("its page is that of a worker", || get("/metrics").contains("rosterd_state_readable 1"));
    assert_eq!(on(&world, "second.sock", &["sync", "--json"]).expect(0).job()["status"], json!("done"));
}
