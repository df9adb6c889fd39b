//! Several workers on one state in a database.

mod inbox;
mod requests;

use std::fs::File;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::config::{Config, OfAFolder, UNLIMITED};
use crate::support::daemon::eventually;
use crate::support::{World, people, postgres};

/// A worker beside the others: it has no socket, and a spill folder of its own.
struct Worker {
    child: Child,
    log: std::path::PathBuf,
}

impl Worker {
    fn start(world: &World, name: &str) -> Self {
        Self::with(world, name, &[])
    }

    /// With these variables besides.
    fn with(world: &World, name: &str, variables: &[(&str, &str)]) -> Self {
        let log = world.dir().join(format!("{name}.log"));
        let mut command: Command = world.command(&["run"]);
        command
            .env("ROSTERD__CONTROL__SOCKET", "")
            .env("ROSTERD__STATE__SPILL_DIR", world.dir().join(name))
            .env("ROSTERD__STATE__NODE", name)
            .envs(variables.iter().copied())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap());
        Self { child: command.spawn().unwrap(), log }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    fn says(&self, text: &str) {
        eventually(text, || self.log().contains(text));
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A daily job, which the tests ask for by a file that changes, and this limit of requests.
fn config(api: &str) -> Config {
    Config { api: api.into(), ..Config::default() }.job("schedule = \"* * * * * *\"\n").in_database()
}

/// The emails at the service, in order.
fn emails(world: &World) -> Vec<String> {
    let mut emails: Vec<String> =
        world.staff().iter().map(|person| person["email"].as_str().unwrap_or_default().to_owned()).collect();
    emails.sort();
    emails
}

fn expected(count: usize) -> Vec<String> {
    let mut emails: Vec<String> = (1..=count).map(|number| format!("person{number}@example.com")).collect();
    emails.sort();
    emails
}

/// How the worker of that name shows itself to the service, while it is the holder of that epoch.
fn agent(worker: &str, epoch: u64) -> String {
    format!("rosterd/{} ({worker}; epoch {epoch})", env!("CARGO_PKG_VERSION"))
}

#[test]
fn one_worker_works_while_the_other_stands_by_and_takes_over_at_once_when_it_ends() {
    if !postgres::is_there() {
        return;
    }
    let begun = Instant::now();
    let world = World::of(config(UNLIMITED));
    world.csv(people(1..11));
    let first = Worker::start(&world, "first");
    eventually("ten people", || world.staff().len() == 10);
    let second = Worker::start(&world, "second");
    second.says("the daemon waits until it can have its state");
    let ran = world.run(&["sync"]).expect(0);
    assert!(ran.err.contains("carried out by process") && ran.err.contains("on first, which has"), "{ran:?}");
    first.signal(Signal::TERM);
    assert!(first.wait().success());
    second.says("is ready, with");
    let used = world.run(&["status", "--json"]).expect(0).json()["budget"]["used"].as_u64().unwrap();
    let minute_ago = begun.elapsed().as_millis().saturating_sub(60_000);
    let (one, other) = (agent("first", 1), agent("second", 2));
    let requests = world.service().requests();
    let of_first = requests.iter().filter(|sent| sent.agent == one && u128::from(sent.at_millis) >= minute_ago).count();
    assert!(used >= of_first as u64, "law 12: the first sent {of_first} in this minute, the second knows of {used}");
    world.csv(people(1..16));
    eventually("fifteen people", || world.staff().len() == 15);
    second.signal(Signal::TERM);
    assert!(second.wait().success());
    assert_eq!(emails(&world), expected(15));
    let requests = world.service().requests();
    let agents: Vec<&str> = requests.iter().map(|request| request.agent.as_str()).collect();
    let of_first = agents.iter().take_while(|agent| **agent == one).count();
    assert!(of_first >= 10 && agents[of_first..].iter().all(|agent| *agent == other), "{agents:?}");
    world.sync().expect(0);
}

/// It may have stood by for months: what was written into its file since is what its people want.
#[test]
fn a_worker_takes_over_by_the_configuration_as_it_is_then_or_not_at_all() {
    if !postgres::is_there() {
        return;
    }
    for (now, what) in [("writes = \"approve\"\n", "4 held"), ("wrties = \"approve\"\n", "wrties")] {
        let world = World::of(config(UNLIMITED));
        world.csv(people(1..11));
        let first = Worker::start(&world, "first");
        eventually("ten people", || world.staff().len() == 10);
        let second = Worker::start(&world, "second");
        second.says("the daemon waits until it can have its state");
        let text = std::fs::read_to_string(world.config_path()).unwrap();
        world.put_config(&text.replace("[[job]]\n", &format!("[[job]]\n{now}")));
        first.signal(Signal::TERM);
        assert!(first.wait().success());
        world.csv(people(1..15));
        second.says(what);
        assert_eq!(world.staff().len(), 10, "{now}");
        if now.starts_with("writes") {
            second.says("was changed while this worker stood by");
            second.signal(Signal::TERM);
        }
        assert_eq!(second.wait().success(), now.starts_with("writes"));
    }
}

#[test]
fn law_3_a_worker_that_is_killed_between_its_requests_leaves_no_one_twice_and_no_one_out() {
    if !postgres::is_there() {
        return;
    }
    let world = World::of(config(UNLIMITED));
    world.csv(people(1..21));
    world.faults(&["staff.create hold after=5"]);
    let mut first = Worker::start(&world, "first");
    // Requests under way: whether they were carried out, the first worker will never know.
    eventually("creates under way", || world.count("staff.create") > 5);
    let second = Worker::start(&world, "second");
    second.says("the daemon waits until it can have its state");
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    world.faults(&[]);
    // The lease runs out at once; what follows from that takes its time.
    world.database().sql("update rosterd.account set expires_at = clock_timestamp() - interval '1 s'");
    second.says("did not end in good order");
    eventually("twenty people", || world.staff().len() >= 20);
    second.signal(Signal::TERM);
    second.wait();
    assert_eq!(emails(&world), expected(20));
}

#[test]
fn a_worker_that_lost_its_lease_ends_and_writes_nothing_more() {
    if !postgres::is_there() {
        return;
    }
    let world = World::of(config(UNLIMITED));
    world.csv(people(1..6));
    let first = Worker::start(&world, "first");
    eventually("five people", || world.staff().len() == 5);
    world.database().sql("update rosterd.account set holder = 'another', epoch = epoch + 1");
    world.csv(people(1..9));
    first.says("another worker may have taken it over");
    assert_eq!(first.wait().code(), Some(1));
    assert_eq!(world.staff().len(), 5);
}

#[test]
fn a_state_that_is_named_twice_or_wrongly_is_refused() {
    for (state, expected) in [
        ("dir = \"state\"\nurl = \"postgresql://r@db.example.com/r\"\n", "state.dir"),
        ("url = \"postgresql://r:canary@db.example.com/r\"\n", "state.url"),
        ("url = \"https://db.example.com/r\"\n", "state.url"),
        ("dir = \"state\"\nspill_dir = \"x\"\n", "state.spill_dir"),
    ] {
        let world = World::of(Config::default().in_a_folder(OfAFolder::Place));
        world.put_config(&world.config_text().replace("dir = \"state\"\n", state));
        let refused = world.run(&["check", "--offline"]).expect(2).hides(&["canary"]);
        assert!(refused.err.contains(expected), "{state}: {refused:?}");
    }
}
