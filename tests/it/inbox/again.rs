//! A file that was read before, and one that is older than the last.

use std::fs;
use std::time::Duration;

use super::{Inbox, LEAVE_AT_ONCE, reason_has, world};
use crate::support::people;

#[test]
fn fault_94_the_same_file_again_is_skipped_and_an_older_one_is_held() {
    let world = world("", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    inbox.drop("staff-2026-11-20.csv", people(1..30));
    world.sync().expect(0);
    inbox.drop("staff-again.csv", people(1..30));
    let ran = world.sync().expect(0);
    reason_has(&ran, "staff-again.csv is the same file as staff-2026-11-20.csv");
    assert_eq!(inbox.waiting(), [] as [String; 0]);
    assert!(inbox.names("processed").contains(&"staff-again.csv".to_owned()));

    inbox.drop("staff-2026-11-13.csv", people(1..29).replace("Clerk", "Baker"));
    let ran = world.sync().expect(4);
    reason_has(&ran, "older export");
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(29)));
    assert_eq!(inbox.waiting(), [] as [String; 0]);
    let again = world.sync().expect(4);
    assert_eq!(again.job()["held"], 29, "it stays held as long as nobody decides");
    world.run(&["approve", "staff", "P00003"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (0, 1, 0), "a person may want it all the same");

    inbox.drop("staff-2026-11-27.csv", people(1..31));
    assert_eq!(world.sync().expect(0).writes(), (1, 1, 0), "the next export settles all that was held");
}

#[test]
fn fault_94_with_order_modified_an_earlier_time_is_an_older_export() {
    let world = world("order = \"modified\"\n", "");
    let inbox = Inbox(&world);
    let dated = |name: &str, text: String, days: u64| {
        inbox.drop(name, text);
        let now = fs::metadata(inbox.path(name)).unwrap().modified().unwrap();
        let time = now - Duration::from_secs(days * 86_400);
        fs::File::options().write(true).open(inbox.path(name)).unwrap().set_modified(time).unwrap();
    };
    dated("b.csv", people(1..5), 3);
    dated("a.csv", people(1..6), 2);
    assert_eq!(world.sync().expect(0).writes(), (5, 0, 0), "the one written first came first");
    dated("z.csv", people(1..9), 4);
    let ran = world.sync().expect(4);
    reason_has(&ran, "the time of writing of z.csv lies before that of a.csv");
}
