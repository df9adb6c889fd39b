//! The connection to the database is cut at each message in turn: before the database has it, and after it did what was asked.

use crate::pauses::{share, side_by_side};
use crate::proxy::{Cut, From, Proxy};
use crate::roster::{End, Work, check_end};
use crate::support::{World, postgres};
use crate::worker::{self, Worker, command};

/// Syncs through a proxy; how many messages each side sent, and whether the cut came to pass.
fn sync(world: &World, cut: Option<Cut>) -> ([usize; 2], bool, Option<i32>) {
    let proxy = Proxy::start(world.dir().join("proxy"), &postgres::Server::shared().socket(), cut);
    let mut command = command(world, "first", &["sync"]);
    // With the real terms, so that no renewal comes in between: each run sends the same messages.
    command.env_remove("ROSTERD_TERMS_DIVIDED_BY").env("ROSTERD__STATE__URL", proxy.url(&world.database().name));
    let code = Worker::start(world, "first", command).wait().code();
    ([proxy.passed(From::Worker), proxy.passed(From::Database)], proxy.was_cut(), code)
}

fn check(work: Work, cut: Cut, expected: &End) -> bool {
    let what = format!("{work:?}, cut at {cut:?}");
    let world = work.world();
    let (_, was_cut, code) = sync(&world, Some(cut));
    let log = worker::log(&world, "first");
    assert!(matches!(code, Some(0 | 1)), "{what}: {code:?}, {log}");
    assert!(was_cut || code == Some(0), "{what}: {log}");
    assert!(!log.contains("panicked"), "{what}: {log}");
    // The lease of one that ended in the middle runs out at once; what follows from that takes its time.
    if world.database().sql("select to_regclass('rosterd.account') is not null") == "t" {
        world.database().sql("update rosterd.account set expires_at = clock_timestamp() - interval '1 ms'");
    }
    check_end(&world, expected, &what);
    was_cut
}

#[test]
fn law_3_a_cut_at_any_message_leaves_no_one_twice_and_each_change_told_of_once() {
    if !postgres::is_there() {
        return;
    }
    for work in [Work::Changes, Work::First] {
        let expected = work.end();
        let (sent, _, code) = sync(&work.world(), None);
        assert_eq!(code, Some(0));
        let mut todo: Vec<Cut> = (1..=sent[0]).map(|number| (From::Worker, number)).collect();
        todo.extend((1..=sent[1]).map(|number| (From::Database, number)));
        todo.retain(|(_, number)| number.is_multiple_of(share()));
        let (failed, cut) = side_by_side(&todo, |cut| check(work, *cut, &expected));
        assert!(failed.is_empty(), "{work:?}: {failed:?} of {}", todo.len());
        println!("{work:?}: {sent:?} messages, {} runs, {cut} cuts came to pass", todo.len());
    }
}
