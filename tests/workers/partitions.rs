//! Nothing comes through between a worker and the database, one way, the other or both, and no connection ends: what a network
//! does that drops packets.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::proxy::{From, Proxy};
use crate::roster::{End, Work, check_end};
use crate::support::daemon::eventually;
use crate::support::{World, postgres};
use crate::worker::{self, Halt, Worker, command, sync_when_free};

const WAYS: [&[From]; 3] = [&[From::Worker], &[From::Database], &[From::Worker, From::Database]];

/// A worker that stands in the middle of its sync, behind a proxy that lets nothing through these ways.
fn cut_off(world: &World, ways: &[From], prepare: impl Fn(&mut std::process::Command)) -> (Worker, Proxy) {
    let proxy = Proxy::start(world.dir().join("proxy"), &postgres::Server::shared().socket(), None);
    let mut command = command(world, "first", &["sync"]);
    command.env("ROSTERD__STATE__URL", proxy.url(&world.database().name)).env("ROSTERD_STOP_AT", "40");
    prepare(&mut command);
    let first = Worker::start(world, "first", command);
    assert_eq!(first.halt(), Halt::Stopped, "{}", worker::log(world, "first"));
    ways.iter().for_each(|way| proxy.hold(*way, true));
    first.signal(Signal::CONT);
    (first, proxy)
}

fn heal(proxy: &Proxy) {
    [From::Worker, From::Database].into_iter().for_each(|way| proxy.hold(way, false));
}

/// Longer than a lease.
fn long(ways: &[From], expected: &End) {
    let world = Work::Changes.world();
    let (first, proxy) = cut_off(&world, ways, |_| {});
    sync_when_free(&world, "second");
    heal(&proxy);
    assert_eq!(first.wait().code(), Some(1), "{ways:?}: {}", worker::log(&world, "first"));
    let writes: Vec<String> = world
        .service()
        .requests()
        .into_iter()
        .filter(|request| request.method != "GET")
        .map(|request| request.agent)
        .collect();
    let theirs = writes.iter().position(|agent| agent.contains("(second;"));
    let late = theirs.is_some_and(|at| writes[at..].iter().any(|agent| agent.contains("(first;")));
    assert!(!late, "{ways:?}: {writes:?}");
    check_end(&world, expected, &format!("{ways:?} for long"));
}

/// Much shorter than a lease: with the real terms.
fn short(ways: &[From], expected: &End) {
    let world = Work::Changes.world();
    let (first, proxy) = cut_off(&world, ways, |command| {
        command.env_remove("ROSTERD_TERMS_DIVIDED_BY");
    });
    thread::sleep(Duration::from_secs(3));
    heal(&proxy);
    assert_eq!(first.wait().code(), Some(0), "{ways:?}: {}", worker::log(&world, "first"));
    check_end(&world, expected, &format!("{ways:?} for a moment"));
}

#[test]
fn law_3_a_worker_that_is_cut_off_sends_nothing_after_its_deadline_and_is_refused_when_it_is_back() {
    if !postgres::is_there() {
        return;
    }
    let expected = Work::Changes.end();
    for ways in WAYS {
        long(ways, &expected);
        short(ways, &expected);
    }
}

#[test]
fn a_renewal_without_an_answer_does_not_cost_the_lease() {
    if !postgres::is_there() {
        return;
    }
    let world = Work::Changes.world();
    let proxy = Proxy::start(world.dir().join("proxy"), &postgres::Server::shared().socket(), None);
    let mut command = command(&world, "first", &["run"]);
    command.env_remove("ROSTERD_TERMS_DIVIDED_BY").env("ROSTERD__STATE__URL", proxy.url(&world.database().name));
    let _first = Worker::start(&world, "first", command);
    // The database, by its own clock: the tenure, and whether it was renewed a short time ago.
    let ask = || {
        world.database().sql(
            "select holder || epoch || ' ' || (expires_at > clock_timestamp() + interval '22 s') from rosterd.account
              where holder is not null",
        )
    };
    let mut before = ask();
    eventually("the first worker has the account", || {
        before = ask();
        !before.is_empty()
    });
    proxy.lose("update rosterd.account a set expires_at");
    eventually("a renewal is lost", || proxy.has_lost());
    // By then it is late, and it would be for a minute.
    thread::sleep(Duration::from_secs(9));
    let mut after = String::new();
    eventually("it is renewed", || {
        after = ask();
        after.ends_with("true")
    });
    assert_eq!(after, before, "{}", worker::log(&world, "first"));
}
