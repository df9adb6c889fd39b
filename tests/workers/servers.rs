//! A server that crashes and comes back, and a standby that takes over without what was committed last.

use std::fs;

use rosterd::sandbox::Options;
use rustix::process::Signal;

use crate::pauses::share;
use crate::roster::Work;
use crate::support::config::{Config, UNLIMITED};
use crate::support::daemon::eventually;
use crate::support::postgres::{self, Server};
use crate::support::{World, people};
use crate::worker::{self, Halt, Worker, command, sync_prepared};

impl Server {
    /// A server of one test, which others don't use.
    pub(crate) fn own() -> &'static Self {
        Box::leak(Box::new(Self::start()))
    }

    /// A standby of this server, which gets what is committed a little later.
    pub(crate) fn standby(&self) -> Self {
        let standby = Self::laid_out();
        let copied = postgres::as_server(&postgres::program("pg_basebackup").unwrap())
            .args(["-R", "-X", "stream", "-c", "fast", "-U", "postgres", "-h"])
            .arg(self.socket())
            .arg("-D")
            .arg(standby.path("data"))
            .output()
            .unwrap();
        assert!(copied.status.success(), "{copied:?}");
        standby.run();
        standby
    }

    /// Has this standby get nothing more of its primary.
    pub(crate) fn sever(&self) {
        for statement in ["alter system set primary_conninfo = ''", "select pg_reload_conf()"] {
            assert!(self.sql("postgres", statement).1);
        }
    }

    /// Makes this standby a primary.
    pub(crate) fn promote(&self) {
        assert!(self.sql("postgres", "select pg_promote()").1);
    }

    /// Ends the server in the middle of everything, as a crash does.
    pub(crate) fn stop_at_once(&self) {
        let mut command = postgres::as_server(&postgres::program("pg_ctl").unwrap());
        let stopped = command.args(["stop", "-w", "-m", "immediate", "-D"]).arg(self.path("data")).output().unwrap();
        assert!(stopped.status.success(), "{stopped:?}");
    }
}

/// The changes that the log in a database tells of.
fn changes(server: &Server, database: &str) -> usize {
    let told = server.sql(database, "select count(*) from rosterd.audit where line like '%\"what\":\"change\"%'").0;
    told.parse().unwrap()
}

/// Every so many of its points.
const STEP: usize = 6;

#[test]
fn law_3_a_database_that_crashes_at_any_moment_of_a_sync_costs_nobody() {
    if !postgres::is_there() {
        return;
    }
    let server = Server::own();
    let mut restarts = 0;
    for point in (STEP..).step_by(STEP * share()) {
        let (world, database) = (Work::First.world(), server.database());
        let there = |command: &mut std::process::Command| {
            command.env("ROSTERD__STATE__URL", database.url());
        };
        let mut command = command(&world, "first", &["sync"]);
        there(&mut command);
        command.env("ROSTERD_STOP_AT", point.to_string());
        let first = Worker::start(&world, "first", command);
        let halt = first.halt();
        if halt == Halt::Stopped {
            server.stop_at_once();
            server.run();
            first.signal(Signal::CONT);
            restarts += 1;
        }
        let code = first.wait().code();
        assert!(matches!(code, Some(0 | 1)), "{point}: {code:?}, {}", worker::log(&world, "first"));
        sync_prepared(&world, "last", there);
        let writes = world.service().writes();
        sync_prepared(&world, "last", there);
        assert_eq!(world.service().writes(), writes, "{point}: a run on unchanged input writes");
        world.expect_people(1..20);
        // Two joiners, and six that became bakers, the two joiners among them.
        assert_eq!(changes(server, &database.name), 6, "{point}");
        if halt == Halt::Ended {
            break;
        }
    }
    println!("{restarts} crashes of the database in the middle of a sync");
    assert!(restarts > 0);
}

/// F9: what was committed last is lost with the primary, and with it the claim of the worker that committed it.
#[test]
fn law_3_a_standby_that_takes_over_without_the_last_commits_doubles_no_one() {
    if !postgres::is_there() {
        return;
    }
    let primary = Server::own();
    let database = primary.database();
    let rest = "[job.guard]\nmax_updates = \"off\"\n";
    let config = Config { api: UNLIMITED.into(), ..Config::rest(rest) }.in_database();
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, config);
    world.csv(people(1..6));
    let url = |standby: &str| {
        let hosts = [primary.socket().display().to_string(), standby.to_owned()].map(|path| path.replace('/', "%2F"));
        format!("postgresql://postgres@{}/{}?target_session_attrs=read-write", hosts.join(","), database.name)
    };
    sync_prepared(&world, "before", |command| {
        command.env("ROSTERD__STATE__URL", database.url());
    });
    assert_eq!(changes(primary, &database.name), 5);
    let standby = primary.standby();
    let there = |command: &mut std::process::Command| {
        command.env("ROSTERD__STATE__URL", url(&standby.socket().display().to_string()));
    };
    // From here on the standby gets nothing more.
    eventually("the standby has the state", || changes(&standby, &database.name) == 5);
    standby.sever();
    eventually("the standby is cut off", || {
        primary.sql("postgres", "select count(*) from pg_stat_replication").0 == "0"
    });
    world.csv(people(1..10).replacen(",Clerk", ",Baker", 2));
    let points = world.dir().join("points");
    let mut command = command(&world, "first", &["sync"]);
    there(&mut command);
    // The joiners have arrived, and are known to the primary alone.
    let first = {
        command
            .env("ROSTERD_CRASH_LOG", &points)
            .env("ROSTERD_STOP_AT", stops_after_creates(&world, &url, primary).to_string());
        Worker::start(&world, "first", command)
    };
    assert_eq!(first.halt(), Halt::Stopped, "{}", worker::log(&world, "first"));
    let (known, there_already) = (changes(primary, &database.name), world.staff().len());
    assert!(known > 5 && there_already == 9, "{known} changes told, {there_already} people");
    primary.stop_at_once();
    standby.promote();
    first.signal(Signal::CONT);
    let mark = world.service().requests().len();
    assert_eq!(first.wait().code(), Some(1), "{}", worker::log(&world, "first"));
    sync_prepared(&world, "second", there);
    assert!(worker::log(&world, "second").contains("did not end in good order"));
    let requests = world.service().requests();
    let second = requests[mark..].iter().filter(|request| request.agent.contains("(second;"));
    let methods: Vec<&str> = second.map(|request| request.method.as_str()).collect();
    assert_eq!(methods.first(), Some(&"GET"), "it looks before it writes: {methods:?}");
    world.expect_people(1..10);
    assert_eq!(world.staff().iter().filter(|person| person["title"] == "Baker").count(), 2);
    let writes = world.service().writes();
    sync_prepared(&world, "second", there);
    assert_eq!(world.service().writes(), writes);
    // As the book says: the lines of the lost commits are lost.
    let told = changes(&standby, &database.name);
    assert!(told < 5 + 4 + 2, "{told}");
    println!("{known} changes told before the failover, {told} after it; nobody twice");
}

/// The number of a point of such a sync at which the last create has been committed. Found with a world of its own.
fn stops_after_creates(world: &World, _: &dyn Fn(&str) -> String, primary: &'static Server) -> usize {
    let database = primary.database();
    let rest = "[job.guard]\nmax_updates = \"off\"\n";
    let config = Config { api: UNLIMITED.into(), ..Config::rest(rest) }.in_database();
    let other = World::with(Options { accept_duplicates: true, ..Options::default() }, config);
    let there = |command: &mut std::process::Command| {
        command.env("ROSTERD__STATE__URL", database.url());
    };
    other.csv(people(1..6));
    sync_prepared(&other, "before", there);
    other.csv(fs::read_to_string(world.dir().join("staff.csv")).unwrap());
    let log = other.dir().join("points");
    sync_prepared(&other, "first", |command| {
        there(command);
        command.env("ROSTERD_CRASH_LOG", &log);
    });
    let passed = fs::read_to_string(log).unwrap();
    let names: Vec<&str> = passed.lines().collect();
    // Right before the last write of the sync, an update, leaves.
    let found = names.windows(2).rposition(|pair| pair == ["store: committed", "request: before it is sent"]);
    found.expect("something is sent") + 1
}
