//! Commands over the socket.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rosterd::daemon::{Answer, Call, VERSION, ask};
use rosterd::sandbox::Options;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::daemon::eventually;
use crate::support::{Config, World, people, row};

/// Twenty people, of whom ten are held as leavers.
fn held() -> World {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let world = World::with(Options::default(), Config::served("", rest));
    world.csv(people(1..21));
    world.sync().expect(0);
    world.csv(people(1..11));
    world.sync().expect(4);
    world
}

#[test]
fn a_command_prints_the_same_with_a_daemon_and_without_one() {
    let world = held();
    let commands: &[&[&str]] = &[
        &["queue", "list"],
        &["queue", "list", "--json"],
        &["history"],
        &["history", "--json"],
        &["history", "1"],
        &["history", "999"],
        &["explain", "staff", "P00001"],
        &["explain", "staff", "P00019", "--json", "--show-values"],
        &["explain", "staff", "nobody"],
        &["explain", "stuff", "P00001"],
        &["plan"],
        &["plan", "--json", "--exit-code"],
        &["plan", "staff", "--color", "always"],
        &["plan", "stuff"],
        &["approve", "stuff"],
        &["approve", "staff", "--set", "99"],
        &["queue", "drop", "staff", "P00001"],
        &["resume", "--json"],
    ];
    let alone: Vec<_> = commands.iter().map(|command| world.run(command)).collect();
    let _daemon = world.daemon();
    for (command, alone) in commands.iter().zip(&alone) {
        let served = world.run(command);
        assert!(!served.out.is_empty() || !served.err.is_empty(), "{command:?}");
        served.same_as(alone);
    }
    assert_eq!(world.run(&["status", "--json"]).expect(4).json()["daemon"], true);
}

#[test]
fn what_is_released_is_sent_at_once_and_the_audit_file_says_by_whom() {
    let world = held();
    let _daemon = world.daemon();
    let approved = world.run(&["approve", "staff"]).expect(0);
    assert!(approved.err.contains("sent now"), "{approved:?}");
    eventually("they are removed", || world.staff().len() == 10);
    let user = rosterd::history::user_named(rustix::process::getuid().as_raw(), None);
    let audit = std::fs::read_to_string(world.audit_file()).unwrap();
    let line = audit.lines().find(|line| line.contains("\"approved\"")).unwrap();
    assert!(line.contains(&format!("\"by\":\"{user}\"")), "{line}");
}

#[test]
fn a_sync_over_the_socket_is_a_run_like_any_other() {
    let world = World::with(Options::default(), Config::served("", ""));
    world.csv(people(1..4));
    let _daemon = world.daemon();
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.csv(people(1..4) + "P00009,Nobody,nobody,Clerk,surplus\n");
    assert_eq!(world.sync().code, Some(3));
}

#[test]
fn a_pause_over_the_socket_acts_at_once_and_a_resume_sends_what_waits() {
    let options = Options { delay: Duration::from_millis(60), ..Options::default() };
    let world = World::with(options, Config::served("", ""));
    world.csv(people(0..90));
    let daemon = world.daemon();
    daemon.signal(Signal::USR1);
    eventually("some are sent", || world.service().writes() > 5);
    world.run(&["pause"]).expect(0);
    let at_pause = world.service().writes();
    sleep(Duration::from_secs(1));
    let sent = world.service().writes();
    assert!(sent < 90 && sent <= at_pause + 32, "only what was in flight was finished: {at_pause}, then {sent}");
    world.run(&["resume"]).expect(0);
    eventually("the rest is sent", || world.staff().len() == 90);
    world.expect_people(0..90);
}

#[test]
fn a_caller_who_is_interrupted_ends_the_run_and_not_the_daemon() {
    let options = Options { delay: Duration::from_millis(60), ..Options::default() };
    let world = World::with(options, Config::served("", ""));
    world.csv(people(0..90));
    let daemon = world.daemon();
    let mut caller = world.start(&["sync"]);
    eventually("some are sent", || world.service().writes() > 5);
    kill_process(Pid::from_child(&caller), Signal::INT).unwrap();
    assert_eq!(caller.wait().unwrap().code(), Some(130));
    let sent = world.service().writes();
    assert!(sent < 90, "{sent}");
    // So does a daemon that ends: the caller is told how the command ended.
    world.csv(people(0..120));
    let mut caller = world.start(&["sync"]);
    eventually("some more are sent", || world.service().writes() > sent + 2);
    let ended = daemon.stop();
    assert_eq!(caller.wait().unwrap().code(), Some(130));
    assert!(ended.0.success(), "{ended:?}");
    let daemon = world.daemon();
    let sent = world.service().writes();
    assert!(sent < 90, "{sent}");
    // One that is killed has asked for the same.
    let mut caller = world.start(&["sync"]);
    eventually("some more are sent", || world.service().writes() > sent + 5);
    caller.kill().unwrap();
    caller.wait().unwrap();
    world.sync().expect(0);
    world.expect_people(0..120);
    assert_eq!(world.count("staff.create"), 120);
    assert!(daemon.stop().0.success());
}

#[test]
fn forgetting_and_rebuilding_make_the_daemon_s_runs_give_way_and_it_works_on() {
    let options = Options { delay: Duration::from_millis(40), ..Options::default() };
    let world = World::with(options, Config::served("", ""));
    world.csv(people(0..100));
    let daemon = world.daemon();
    daemon.signal(Signal::USR1);
    eventually("some are sent", || world.service().writes() > 20);
    let forgotten = world.run(&["forget", "P00001"]).expect(0);
    assert!(forgotten.out.contains("forgot P00001"), "{forgotten:?}");
    eventually("the run goes on by itself", || world.staff().len() == 100);
    world.run(&["rebuild"]).expect(0);
    world.sync().expect(0);
    world.expect_people(0..100);
    assert_eq!(world.count("staff.create"), 100, "nobody was made twice");
}

#[test]
fn a_plan_uses_the_caller_s_configuration_and_its_file_is_the_caller_s() {
    let world = World::with(Options::default(), Config::served("", ""));
    world.csv(people(1..4));
    let _daemon = world.daemon();
    world.sync().expect(0);
    let text = std::fs::read_to_string(world.dir().join("config.toml")).unwrap();
    world.put("mine.toml", text.replace("{{ title }}", "{{ title }}!").as_bytes());
    let mine = world.run(&["plan", "--json", "--config", "mine.toml"]).expect(0).job();
    assert_eq!(mine["changes"].as_array().unwrap().len(), 3, "{mine}");
    assert_eq!(world.plan().expect(0).job()["changes"].as_array().unwrap().len(), 0, "the daemon's own");
    world.put("other.toml", text.replace("/v1\"", "/v2\"").as_bytes());
    assert!(world.run(&["plan", "--config", "other.toml"]).expect(2).err.contains("names another"));

    world.csv(people(1..4) + &row(4, "Clerk"));
    world.run(&["plan", "--out", "saved.plan"]).expect(0);
    assert!(world.dir().join("saved.plan").exists());
    world.run(&["apply", "saved.plan"]).expect(0);
    world.expect_people(1..5);
    assert!(world.run(&["apply", "saved.plan"]).expect(2).err.contains("saved.plan"));
    assert!(world.run(&["apply", "none.plan"]).expect(2).err.contains("can't be read"));
    assert_eq!(world.run(&["plan", "--out", "no/such/folder"]).code, Some(1));
}

struct Nothing;

impl Answer for Nothing {
    fn out(&mut self, _: &[u8]) {}
    fn err(&mut self, _: &[u8]) {}
    fn file(&mut self, _: &[u8]) {}
}

/// How long a command takes over the socket, without the start of a process.
fn timed(socket: &Path, config: &Path, arguments: &[&str]) -> (u8, Duration) {
    let call = Call {
        version: VERSION,
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        config: config.to_owned(),
        state_dir: None,
        given: None,
        file: None,
        paints: (false, false),
        sudo: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let begin = Instant::now();
    let code = runtime.block_on(ask(socket, &call, &mut Nothing, std::future::pending())).unwrap().unwrap();
    (code, begin.elapsed())
}

#[test]
fn commands_are_answered_while_a_run_is_going_and_do_not_wait_for_it() {
    let options = Options { delay: Duration::from_millis(50), ..Options::default() };
    let world = World::with(options, Config::served("", ""));
    world.csv(people(0..300));
    let daemon = world.daemon();
    daemon.signal(Signal::USR1);
    eventually("the run sends", || world.service().writes() > 5);
    let (socket, config) = (world.dir().join("control.sock"), world.dir().join("config.toml"));
    for command in [vec!["status"], vec!["queue", "list"], vec!["history"], vec!["resume"], vec!["approve", "staff"]] {
        let mut times: Vec<Duration> = (0..9).map(|_| timed(&socket, &config, &command).1).collect();
        times.sort();
        eprintln!("{command:?}: {:?} in the middle of nine, {:?} at most", times[4], times[8]);
    }
    assert!(world.service().writes() < 300, "the run was going all the while");
}

#[test]
fn another_version_is_told_so_and_nothing_is_done() {
    let world = World::with(Options::default(), Config::served("", ""));
    world.csv(people(1..3));
    let _daemon = world.daemon();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let call = Call {
        version: VERSION + 1,
        arguments: vec!["sync".into()],
        config: world.dir().join("config.toml"),
        state_dir: None,
        given: None,
        file: None,
        paints: (false, false),
        sudo: None,
    };
    let (socket, mut nothing) = (world.dir().join("control.sock"), Nothing);
    let asked = ask(&socket, &call, &mut nothing, std::future::pending());
    let error = runtime.block_on(asked).unwrap_err();
    assert!(error.to_string().contains("another version"), "{error}");
    assert_eq!(world.staff().len(), 0);
}
