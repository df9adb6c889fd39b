//! A database that is away for longer than a lease, or takes no writes for a while: each worker goes on, or ends so that it is
//! started again, and no account stays without one.

use std::collections::BTreeMap;
use std::time::Duration;
use std::{fs, thread};

use rustix::process::Signal;

use crate::support::accounts::Accounts;
use crate::support::config::Config;
use crate::support::daemon::{Daemon, eventually};
use crate::support::postgres::{self, Database, Server};
use crate::support::{World, people};
use crate::worker::{self, DIVISOR, Worker, command};

const EVERY_SECOND: &str = "schedule = \"* * * * * *\"\n";

/// A world whose job runs each second, its state on a server of its own, and a worker that has created three people.
fn in_step() -> (World, Database, Worker) {
    let world = World::of(Config::default().job(EVERY_SECOND).in_database());
    world.csv(people(1..4));
    let database = Server::own().database();
    let first = begin(&world, &database, "first");
    eventually("three people", || world.staff().len() == 3);
    (world, database, first)
}

fn begin(world: &World, database: &Database, node: &str) -> Worker {
    let mut command = command(world, node, &["run"]);
    command.env("ROSTERD__STATE__URL", database.url());
    Worker::start(world, node, command)
}

#[test]
fn a_worker_whose_account_was_taken_while_the_database_was_away_ends_and_stands_by_when_it_is_started_again() {
    if !postgres::is_there() {
        return;
    }
    let (world, database, first) = in_step();
    let server = database.server;
    server.stop_at_once();
    // It has tried to go on, and lost its store by that.
    eventually("a run can't be made", || worker::log(&world, "first").contains("the run could not be made"));
    first.signal(Signal::STOP);
    server.run();
    let second = begin(&world, &database, "second");
    eventually("the second worker has the account", || worker::log(&world, "second").contains("the daemon is ready"));
    first.signal(Signal::CONT);
    assert_eq!(first.wait().code(), Some(1), "{}", worker::log(&world, "first"));
    let again = begin(&world, &database, "again");
    eventually("it stands by", || worker::log(&world, "again").contains("waits until it can have its state"));
    world.csv(people(1..6));
    eventually("five people", || world.staff().len() == 5);
    for worker in [again, second] {
        worker.signal(Signal::TERM);
        assert_eq!(worker.wait().code(), Some(0));
    }
}

#[test]
fn what_was_being_sent_when_the_database_went_away_is_sent_once_it_is_back_whatever_the_schedule() {
    if !postgres::is_there() {
        return;
    }
    let config = Config::rest("[job.guard]\nmax_updates = \"off\"\n").job("schedule = \"0 0 1 1 *\"\n");
    let world = World::of(config.in_database());
    world.csv(people(1..9));
    let database = Server::own().database();
    worker::sync_prepared(&world, "before", |command| _ = command.env("ROSTERD__STATE__URL", database.url()));
    // Changes that a run left behind are sent by a worker that begins.
    world.csv(people(1..9).replace("Clerk", "Baker"));
    world.faults(&["staff.update status=503"]);
    let mut command = command(&world, "before", &["sync"]);
    command.env("ROSTERD__STATE__URL", database.url());
    assert_eq!(Worker::start(&world, "before", command).wait().code(), Some(1), "they stay queued");
    world.faults(&["staff.update hold-before nth=1"]);
    let mut first = begin(&world, &database, "first");
    world.until_any_is_held();
    database.server.stop_at_once();
    world.release();
    eventually("the run breaks off", || worker::log(&world, "first").contains("the run could not be made"));
    database.server.run();
    let bakers = || world.staff().iter().filter(|person| person["title"] == "Baker").count();
    eventually("all are sent", || first.has_ended() || bakers() == 8);
    assert!(!first.has_ended(), "by the same worker: {}", worker::log(&world, "first"));
    first.signal(Signal::TERM);
    assert_eq!(first.wait().code(), Some(0), "{}", worker::log(&world, "first"));
}

#[test]
fn a_worker_goes_on_once_a_database_that_took_no_writes_takes_them_again() {
    if !postgres::is_there() {
        return;
    }
    let (world, database, mut worker) = in_step();
    let server = database.server;
    let name = &database.name;
    let others = format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'");
    assert!(server.sql("postgres", &format!("alter database {name} set default_transaction_read_only = on")).1);
    assert!(server.sql("postgres", &others).1);
    eventually("it takes no writes", || worker::log(&world, "first").contains("it takes no writes"));
    // Longer than a lease.
    thread::sleep(Duration::from_secs(45) / DIVISOR);
    assert!(server.sql("postgres", &format!("alter database {name} reset default_transaction_read_only")).1);
    world.csv(people(1..6));
    eventually("five people", || {
        // As a service manager does.
        if worker.has_ended() {
            worker = begin(&world, &database, "first");
        }
        world.staff().len() == 5
    });
    worker.signal(Signal::TERM);
    assert_eq!(worker.wait().code(), Some(0), "{}", worker::log(&world, "first"));
}

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// How many of the accounts each process has, by the leases that hold.
fn shares(server: &Server, database: &str) -> BTreeMap<String, usize> {
    let holders = "select holder from rosterd.account where holder is not null and expires_at > clock_timestamp()";
    let mut shares = BTreeMap::new();
    for holder in server.sql(database, holders).0.lines() {
        *shares.entry(holder.to_owned()).or_default() += 1;
    }
    shares
}

#[test]
fn accounts_that_are_shared_all_have_a_worker_again_after_the_database_was_away() {
    if !postgres::is_there() {
        return;
    }
    let server = Server::own();
    let database = server.database();
    let mut accounts = Accounts::new();
    for name in NAMES {
        accounts.add(name, Config::default().job(EVERY_SECOND).in_database());
        accounts.put(&format!("{name}/staff.csv"), &people(1..4));
    }
    let process = |name: &str| -> Daemon {
        accounts.worker_with(name, "accounts", |command| {
            command.env("ROSTERD_TERMS_DIVIDED_BY", DIVISOR.to_string()).env("ROSTERD__STATE__URL", database.url());
        })
    };
    let all = [process("one"), process("two"), process("three")];
    let even = || shares(server, &database.name).values().copied().collect::<Vec<_>>() == [2, 2, 2];
    eventually("each has two", even);
    eventually("everybody is there", || NAMES.iter().all(|name| accounts.people(name) == 3));
    // One of them wakes up late: the others have what was its own by then.
    all[0].signal(Signal::STOP);
    server.stop_at_once();
    eventually("runs can't be made", || accounts.log("two").contains("the run could not be made"));
    thread::sleep(Duration::from_secs(45) / DIVISOR);
    server.run();
    eventually("others have some", || !shares(server, &database.name).is_empty());
    all[0].signal(Signal::CONT);
    for name in NAMES {
        fs::write(accounts.dir().join(name).join("staff.csv"), people(1..6)).unwrap();
    }
    eventually("everybody who is new is there", || NAMES.iter().all(|name| accounts.people(name) == 5));
    eventually("each has two again", even);
    for process in all {
        assert!(process.stop().success());
    }
}
