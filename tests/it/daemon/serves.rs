//! Commands over the socket.

use std::path::Path;
use std::process::Stdio;

use rosterd::daemon::{Answer, Brought, Call, Trusted, VERSION, ask};
use rosterd::sandbox::Options;
use rustix::process::{Pid, Signal, kill_process};

use crate::inbox::{Inbox, inbox_of};
use crate::support::config::OfAFolder;
use crate::support::daemon::eventually;
use crate::support::held::EIGHT_IN_FLIGHT;
use crate::support::{Config, World, people, row};

/// A world whose push has eight requests in flight; of the creates twelve are answered, until the faults are other ones.
fn stuck(people_count: usize) -> World {
    let config = Config { api: EIGHT_IN_FLIGHT.into(), ..Config::served("", "") };
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, config);
    world.csv(people(0..people_count));
    world.faults(&[STUCK]);
    world
}

const STUCK: &str = "staff.create hold after=12";

/// Twenty people; ten of them are held as leavers.
fn held() -> World {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let world = World::of(Config::served("", rest));
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
fn what_is_released_is_sent_at_once_and_the_audit_file_says_who_did_it() {
    let world = held();
    let _daemon = world.daemon();
    let approved = world.run(&["approve", "staff"]).expect(0);
    assert!(approved.err.contains("sent now"), "{approved:?}");
    eventually("they are removed", || world.staff().len() == 10);
    let user = rosterd::history::user_named(rustix::process::getuid().as_raw(), None);
    let audit = world.audit();
    let line = audit.lines().find(|line| line.contains("\"approved\"")).unwrap();
    assert!(line.contains(&format!("\"by\":\"{}\"", world.recorded(&user))), "{line}");
}

#[test]
fn what_is_rejected_is_shown_by_every_view_at_once_too() {
    let rest = "[job.leavers]\naction = \"delete\"\n";
    let world = inbox_of(World::of(Config::served("", rest)));
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..40));
    world.sync().expect(0);
    inbox.drop("b.csv", people(1..30));
    world.sync().expect(4);
    let _daemon = world.daemon();
    world.run(&["reject", "staff"]).expect(0);
    eventually("status says so", || {
        let job = world.run(&["status", "--json"]).job();
        job["last"]["status"] == "done" && job["missing"]["too_many"] == false && job["missing"]["people"] == 10
    });
    eventually("so does the report", || inbox.text("processed", "b.csv.report.csv").contains(",rejected,"));
}

#[test]
fn a_sync_over_the_socket_is_a_run_like_any_other() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..4));
    let _daemon = world.daemon();
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.csv(people(1..4) + "P00009,Nobody,nobody,Clerk,surplus\n");
    assert_eq!(world.sync().code, Some(3));
}

#[test]
fn a_pause_over_the_socket_acts_at_once_and_a_resume_sends_what_waits() {
    let world = stuck(90);
    let daemon = world.daemon();
    daemon.signal(Signal::USR1);
    world.until_held(8);
    world.run(&["pause"]).expect(0);
    world.faults(&[]);
    eventually("the run is over", || daemon.runs() == 1);
    assert_eq!(world.service().writes(), 20, "only what was in flight was finished");
    world.run(&["resume"]).expect(0);
    eventually("the rest is sent", || world.staff().len() == 90);
    world.expect_people(0..90);
}

#[test]
fn a_caller_who_is_interrupted_ends_the_run_and_not_the_daemon() {
    let world = stuck(90);
    let daemon = world.daemon();
    let mut caller = world.start(&["sync"]);
    world.until_held(8);
    // What it waits for does not come, so that it is its grace which ends the run.
    kill_process(Pid::from_child(&caller), Signal::INT).unwrap();
    assert_eq!(caller.wait().unwrap().code(), Some(130));
    assert_eq!(world.service().writes(), 20);
    // So does a daemon that ends: the caller gets the exit code of the command.
    world.csv(people(0..120));
    world.faults(&[STUCK]);
    let mut caller = world.start(&["sync"]);
    world.until_held(8);
    let ended = daemon.stop();
    assert_eq!(caller.wait().unwrap().code(), Some(130));
    assert!(ended.success(), "{ended:?}");
    assert_eq!(world.service().writes(), 40);
    // One that is killed has asked for the same.
    let daemon = world.daemon();
    world.faults(&[STUCK]);
    let mut caller = world.start(&["sync"]);
    world.until_held(8);
    caller.kill().unwrap();
    caller.wait().unwrap();
    world.faults(&[]);
    world.sync().expect(0);
    world.expect_people(0..120);
    assert_eq!(world.count("staff.create"), 120);
    assert!(daemon.stop().success());
}

#[test]
fn forgetting_and_rebuilding_make_the_daemon_s_runs_give_way_and_it_works_on() {
    let world = stuck(100);
    let daemon = world.daemon();
    daemon.signal(Signal::USR1);
    world.until_held(8);
    let forgets = world.command(&["forget", "P00001"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("it is asked to forget", || daemon.log().contains("command=\"forget\""));
    world.faults(&[]);
    let forgotten = forgets.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&forgotten.stdout).contains("forgot P00001"), "{forgotten:?}");
    eventually("the run goes on by itself", || world.staff().len() == 100);
    world.run(&["rebuild"]).expect(0);
    world.sync().expect(0);
    world.expect_people(0..100);
    assert_eq!(world.count("staff.create"), 100, "nobody was made twice");
}

#[test]
fn a_plan_uses_the_caller_s_configuration_and_its_file_is_the_caller_s() {
    let world = World::of(Config::served("", "").in_a_folder(OfAFolder::Place));
    world.csv(people(1..4));
    let _daemon = world.daemon();
    world.sync().expect(0);
    let text = world.config_text();
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

/// Root and this user.
const TRUSTED: Trusted = Trusted { account: None };

struct Nothing;

impl Answer for Nothing {
    fn out(&mut self, _: &[u8]) {}
    fn err(&mut self, _: &[u8]) {}
    fn file(&mut self, _: &[u8]) {}
}

/// How a command ends over the socket, without the start of a process.
fn asked(socket: &Path, config: &Path, arguments: &[&str]) -> u8 {
    let call = Call {
        version: VERSION,
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        config: config.to_owned(),
        state_dir: None,
        paints: (false, false),
        sudo: None,
        brings: false,
        brought: Brought::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(ask(socket, TRUSTED, &call, &mut Nothing, std::future::pending::<()>)).unwrap().unwrap()
}

#[test]
fn commands_are_answered_while_a_run_is_going_and_do_not_wait_for_it() {
    let world = stuck(60);
    let daemon = world.daemon();
    daemon.signal(Signal::USR1);
    world.until_held(8);
    let (socket, config) = (world.dir().join("control.sock"), world.config_path());
    for (command, code) in [
        (vec!["status"], 0),
        (vec!["queue", "list"], 0),
        (vec!["history"], 0),
        (vec!["resume"], 0),
        (vec!["approve", "staff"], 1),
    ] {
        assert_eq!(asked(&socket, &config, &command), code, "{command:?}");
    }
    assert_eq!((world.service().held(), daemon.runs()), (8, 0), "the run was going all the while");
    world.faults(&[]);
    eventually("it ends", || daemon.runs() == 1);
    world.expect_people(0..60);
}

#[test]
fn another_version_is_refused_and_nothing_is_done() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..3));
    let _daemon = world.daemon();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let call = Call {
        version: VERSION + 1,
        arguments: vec!["sync".into()],
        config: world.config_path(),
        state_dir: None,
        paints: (false, false),
        sudo: None,
        brings: false,
        brought: Brought::default(),
    };
    let (socket, mut nothing) = (world.dir().join("control.sock"), Nothing);
    let asked = ask(&socket, TRUSTED, &call, &mut nothing, std::future::pending::<()>);
    let error = runtime.block_on(asked).unwrap_err();
    assert!(error.to_string().contains("another version"), "{error}");
    assert_eq!(world.staff().len(), 0);
}
