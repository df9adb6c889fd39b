//! A worker stops at each of its points in turn, as a machine that is frozen does; another takes over; the first goes on.
//!
//! A kill shows what is left behind. Only a pause shows what comes late: a commit, a line of the log, a request.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, thread};

use rustix::process::Signal;

use crate::roster::{End, Work, check_end};
use crate::support::daemon::eventually;
use crate::support::postgres;
use crate::worker::{self, Halt, Worker, command, sync_when_free};

/// When the first worker goes on.
#[derive(Clone, Copy, Debug)]
enum Wakes {
    /// As soon as another has the account, while its own deadline is not over yet: the fence alone keeps it from writing.
    AtTheClaim,
    /// When the other has done all: its deadline is long over.
    AfterTheEnd,
}

/// Each of so many points is taken; all of them unless the environment names another share.
pub(crate) fn share() -> usize {
    std::env::var("ROSTERD_WORKERS_SHARE").map_or(1, |share| share.parse().expect("a number"))
}

/// Points that a sync passes where nothing stops.
fn points(work: Work) -> usize {
    let world = work.world();
    let log = world.dir().join("points");
    let mut first = command(&world, "first", &["sync"]);
    first.env("ROSTERD_CRASH_LOG", &log);
    assert!(Worker::start(&world, "first", first).wait().success());
    fs::read_to_string(log).unwrap().lines().count()
}

/// Stops a worker at a point, lets another take over, and goes on with the first. Tells whether the point was reached.
fn check(work: Work, point: usize, wakes: Wakes, expected: &End) -> bool {
    let what = format!("{work:?}, stopped at point {point}, woken {wakes:?}");
    let world = work.world();
    let log = world.dir().join("points");
    let mut command = command(&world, "first", &["sync"]);
    command.env("ROSTERD_CRASH_LOG", &log).env("ROSTERD_STOP_AT", point.to_string());
    let first = Worker::start(&world, "first", command);
    if first.halt() == Halt::Ended {
        check_end(&world, expected, &what);
        return false;
    }
    let epoch = || world.database().sql("select epoch from rosterd.account");
    let before = epoch();
    let has_claimed = world.database().sql("select holder is not null from rosterd.account") == "t";
    thread::scope(|scope| {
        let second = scope.spawn(|| sync_when_free(&world, "second"));
        if matches!(wakes, Wakes::AtTheClaim) {
            world.database().sql("update rosterd.account set expires_at = clock_timestamp() - interval '1 ms'");
            eventually("the second worker has the account", || second.is_finished() || epoch() != before);
            first.signal(Signal::CONT);
        }
        second.join().unwrap();
    });
    let passed = || fs::read_to_string(&log).unwrap();
    if matches!(wakes, Wakes::AfterTheEnd) {
        let writes = world.service().writes();
        first.signal(Signal::CONT);
        let _ = first.halt();
        assert_eq!(world.service().writes(), writes, "{what}: it wrote after its deadline");
    }
    let late = passed().lines().skip(point).any(|name| name == "store: before a batch");
    let code = first.wait().code();
    // One that had nothing more to write, or had not begun, ends as if nothing had been.
    let expected_code = if late && has_claimed { Some(1) } else { code.filter(|code| [0, 1, 11].contains(code)) };
    assert_eq!(code, expected_code, "{what}: {}", worker::log(&world, "first"));
    check_end(&world, expected, &what);
    true
}

/// Worlds side by side: most of the time they wait.
const SIDE_BY_SIDE: usize = 8;

/// Checks all of a list side by side; those that failed, and how many said yes.
pub(crate) fn side_by_side<T: Sync>(todo: &[T], check: impl Fn(&T) -> bool + Sync) -> (Vec<&T>, usize) {
    let (next, reached, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                while let Some(one) = todo.get(next.fetch_add(1, Ordering::SeqCst)) {
                    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(one))) {
                        Ok(yes) => drop(reached.fetch_add(usize::from(yes), Ordering::SeqCst)),
                        Err(_) => failed.lock().unwrap().push(one),
                    }
                }
            });
        }
    });
    (failed.into_inner().unwrap(), reached.into_inner())
}

#[test]
fn law_3_a_worker_that_stands_still_at_any_point_writes_nothing_when_it_goes_on() {
    if !postgres::is_there() {
        return;
    }
    for work in [Work::Changes, Work::First] {
        let expected = work.end();
        let all = points(work);
        let mut todo: Vec<(usize, Wakes)> =
            (1..=all).flat_map(|point| [(point, Wakes::AtTheClaim), (point, Wakes::AfterTheEnd)]).collect();
        todo.retain(|(point, _)| point.is_multiple_of(share()));
        let (failed, stopped) = side_by_side(&todo, |(point, wakes)| check(work, *point, *wakes, &expected));
        assert!(failed.is_empty(), "{work:?}: {failed:?} of {}", todo.len());
        println!("{work:?}: {all} points, {} pauses, {stopped} of them came to pass", todo.len());
    }
}

/// With the real terms: nothing is divided here.
#[test]
fn law_3_a_worker_that_stood_still_for_a_minute_and_a_half_sends_nothing_more() {
    if !postgres::is_there() {
        return;
    }
    let work = Work::Changes;
    let expected = work.end();
    let world = work.world();
    let real = |node: &str| {
        let mut command = command(&world, node, &["sync"]);
        command.env_remove("ROSTERD_TERMS_DIVIDED_BY");
        command
    };
    let names = world.dir().join("points");
    let mut command = real("first");
    // In the midst of its changes, right before a request leaves.
    command.env("ROSTERD_CRASH_LOG", &names).env("ROSTERD_STOP_AT", stop_before_a_write(work).to_string());
    let first = Worker::start(&world, "first", command);
    assert_eq!(first.halt(), Halt::Stopped);
    let begun = std::time::Instant::now();
    let mut refused = 0;
    let code = loop {
        match Worker::start(&world, "second", real("second")).wait().code() {
            Some(11) => refused += 1,
            code => break code,
        }
        thread::sleep(Duration::from_secs(1));
    };
    assert_eq!((code, refused > 0), (Some(0), true));
    println!("the second worker was done {} s after the first stood still", begun.elapsed().as_secs());
    let writes = world.service().writes();
    first.signal(Signal::CONT);
    assert_eq!(first.wait().code(), Some(1), "{}", worker::log(&world, "first"));
    assert_eq!(world.service().writes(), writes);
    check_end(&world, &expected, "real terms");
}

/// The number of the point before the last request of a sync that is not a read at its end.
fn stop_before_a_write(work: Work) -> usize {
    let world = work.world();
    let log = world.dir().join("points");
    let mut first = command(&world, "first", &["sync"]);
    first.env("ROSTERD_CRASH_LOG", &log);
    assert!(Worker::start(&world, "first", first).wait().success());
    let passed = fs::read_to_string(log).unwrap();
    let names: Vec<&str> = passed.lines().collect();
    // The intent is committed, and its request is about to leave.
    let found = names.windows(2).rposition(|pair| pair == ["store: committed", "request: before it is sent"]);
    found.expect("something is sent") + 2
}
