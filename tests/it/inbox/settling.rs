//! When a dropped file is taken: once it stands still.

use std::fs;
use std::io::Write as _;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::sleep;
use std::time::Duration;

use jiff::SignedDuration;
use rosterd::clock::Clock;

use super::{Inbox, reason_has, three, world};
use crate::support::{Config, HEADER, people, row};

#[test]
fn fault_82_a_file_that_is_copied_slowly_is_read_when_it_is_whole() {
    let mut world = world("", "");
    world.reconfigure(|config| Config { source: "settle = \"1h\"\n".into(), ..config });
    let inbox = Inbox(&world);
    let (whole, clock) = (people(1..100), Clock::fixed(Clock::system().now()));
    let mut file = fs::File::create(inbox.path("staff.csv")).unwrap();
    file.write_all(&whole.as_bytes()[..1024]).unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| world.sync_at(&clock));
        for part in whole.as_bytes()[1024..].chunks(1024) {
            // Some looks at it.
            sleep(Duration::from_millis(120));
            assert_eq!(world.service().requests().len(), 0, "not before it is whole");
            file.write_all(part).unwrap();
        }
        assert!(!run.is_finished(), "it waits");
        clock.advance(SignedDuration::from_hours(2));
        assert_eq!(run.join().unwrap().counts.created, 99);
    });
    world.expect_people(1..100);
    assert_eq!(inbox.names("processed"), three("staff.csv"));
}

#[test]
fn fault_82_a_file_that_is_never_done_waits_and_so_do_those_behind_it() {
    let mut world = world("", "");
    // A file that is unchanged for so long is taken as whole.
    world.reconfigure(|config| Config { source: "settle = \"2s\"\n".into(), ..config });
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..5));
    inbox.drop("c.csv", people(1..9));
    let path = inbox.path("b.csv");
    let (stop, stopped) = channel::<()>();
    let writer = std::thread::spawn(move || {
        let mut file = fs::File::create(path).unwrap();
        file.write_all(HEADER.as_bytes()).unwrap();
        for number in 1.. {
            file.write_all(row(number, "Clerk").as_bytes()).unwrap();
            if stopped.recv_timeout(Duration::from_millis(10)) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
    });
    let ran = world.sync().expect(0);
    stop.send(()).unwrap();
    writer.join().unwrap();
    reason_has(&ran, "b.csv is still being written");
    assert_eq!((ran.writes(), inbox.waiting()), ((4, 0, 0), vec!["b.csv".to_owned(), "c.csv".to_owned()]));
}

#[test]
fn a_file_that_has_settled_is_not_waited_for() {
    let mut world = world("", "");
    world.reconfigure(|config| Config { source: "settle = \"1h\"\n".into(), ..config });
    Inbox(&world).drop("staff.csv", people(1..5));
    let clock = Clock::fixed(Clock::system().now() + SignedDuration::from_hours(2));
    assert_eq!(world.sync_at(&clock).counts.created, 4);
}

#[test]
fn fault_93_a_file_replaced_while_it_is_read_is_two_files_each_read_once() {
    let world = world("", "");
    let inbox = Inbox(&world);
    inbox.drop("staff.csv", people(1..30));
    world.faults(&["staff.list hold nth=1"]);
    let mut child = world.start(&["sync"]);
    world.until_held(1);
    inbox.drop("staff.csv", people(1..40));
    world.release();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    world.expect_people(1..40);
    let mut sizes: Vec<u64> = fs::read_dir(inbox.path("processed"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| !entry.file_name().to_string_lossy().contains("report"))
        .map(|entry| entry.metadata().unwrap().len())
        .collect();
    sizes.sort();
    assert_eq!(sizes, [people(1..30).len() as u64, people(1..40).len() as u64], "both are filed as they were");
}
