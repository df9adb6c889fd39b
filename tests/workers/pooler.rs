//! A pooler between workers and database that gives each transaction to whichever session is free.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::roster::{Work, check_end};
use crate::support::config::{Config, UNLIMITED};
use crate::support::daemon::eventually;
use crate::support::postgres::{self, Server};
use crate::support::{World, people};
use crate::worker::{self, DIVISOR, Halt, Worker, command, sync_when_free};

/// PgBouncer in transaction mode, with fewer sessions than a worker has connections.
struct Pooler {
    dir: TempDir,
    child: Child,
}

/// Where the program is; none where this machine has not got it, which only a machine without duties may.
fn program() -> Option<&'static Path> {
    let found = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(Path::new).into_iter().find(|path| path.is_file());
    assert!(found.is_some() || std::env::var_os("CI").is_none(), "pgbouncer must be there in CI");
    found
}

impl Pooler {
    fn start(program: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().display();
        fs::write(dir.path().join("users"), "\"postgres\" \"\"\n").unwrap();
        let settings = format!(
            "[databases]\n* = host={} port=5432\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = {folder}\n\
             listen_port = 6432\nauth_type = trust\nauth_file = {folder}/users\npool_mode = transaction\n\
             default_pool_size = 2\nmax_client_conn = 100\nlogfile = {folder}/log\n",
            Server::shared().socket().display()
        );
        fs::write(dir.path().join("ini"), settings).unwrap();
        assert!(Command::new("chmod").args(["-R", "a+rwX"]).arg(dir.path()).status().unwrap().success());
        let mut command = postgres::as_server(program);
        let child = command.arg(dir.path().join("ini")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("the pooler listens", || dir.path().join(".s.PGSQL.6432").exists());
        Self { dir, child }
    }

    fn url(&self, world: &World) -> String {
        let folder = self.dir.path().display().to_string().replace('/', "%2F");
        format!("postgresql://postgres@{folder}:6432/{}", world.database().name)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn workers_behind_a_pooler_in_transaction_mode_load_commit_renew_and_take_over() {
    let Some(program) = program().filter(|_| postgres::is_there()) else { return };
    let pooler = Pooler::start(program);
    let through = |world: &World, node: &str, what: &str| {
        let mut command = command(world, node, &[what]);
        command.env("ROSTERD__STATE__URL", pooler.url(world));
        command
    };
    for work in [Work::First, Work::Changes] {
        let expected = work.end();
        let world = work.world();
        let first = Worker::start(&world, "first", through(&world, "first", "sync"));
        assert_eq!(first.wait().code(), Some(0), "{work:?}: {}", worker::log(&world, "first"));
        check_end(&world, &expected, "whole");
        // One that stops in the middle, and is taken over.
        let world = work.world();
        let mut command = through(&world, "first", "sync");
        command.env("ROSTERD_STOP_AT", "16");
        let first = Worker::start(&world, "first", command);
        assert_eq!(first.halt(), Halt::Stopped);
        loop {
            match Worker::start(&world, "second", through(&world, "second", "sync")).wait().code() {
                Some(11) => {}
                code => break assert_eq!(code, Some(0), "{}", worker::log(&world, "second")),
            }
        }
        first.signal(Signal::CONT);
        assert_eq!(first.wait().code(), Some(1), "{}", worker::log(&world, "first"));
        check_end(&world, &expected, "taken over");
    }
    // One that renews its lease many times.
    let config =
        Config { api: UNLIMITED.into(), ..Config::default() }.job("schedule = \"* * * * * *\"\n").in_database();
    let world = World::of(config);
    world.csv(people(1..4));
    let daemon = Worker::start(&world, "daemon", through(&world, "daemon", "run"));
    eventually("three people", || world.staff().len() == 3);
    let epoch = || world.database().sql("select epoch from rosterd.account");
    let before = epoch();
    let later = format!("select clock_timestamp() + interval '{} ms'", 3 * 30_000 / DIVISOR);
    let until = world.database().sql(&later);
    eventually("three leases are over", || {
        world.database().sql(&format!("select expires_at > '{until}' from rosterd.account")) == "t"
    });
    world.csv(people(1..6));
    eventually("five people", || world.staff().len() == 5);
    assert_eq!(epoch(), before, "it had one tenure: {}", worker::log(&world, "daemon"));
    daemon.signal(Signal::TERM);
    assert!(daemon.wait().success());
    assert!(!worker::log(&world, "daemon").contains("could not be renewed"), "{}", worker::log(&world, "daemon"));
    sync_when_free(&world, "last");
}
