//! A file that was read before, and one that is older than the last.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::SignedDuration;
use rosterd::clock::Clock;
use rosterd::push::Outcome;
use rosterd::queue::Change;
use rosterd::reconcile::{RunObserver, Stage, Status};
use rosterd::record::JobName;

use super::{Inbox, LEAVE_AT_ONCE, inbox_of, reason_has, three, world};
use crate::support::{Config, HEADER, Ran, World, people, row};

/// Asks a run to stop for another once this number of changes was sent.
struct PreemptAfter(AtomicUsize);

impl RunObserver for PreemptAfter {
    fn stage(&self, _: &JobName, _: Stage) {}

    fn outcome(&self, _: &Change, _: &Outcome) {
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    }

    fn interrupted(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }

    fn will_resume(&self) -> bool {
        true
    }
}

#[test]
fn a_file_whose_run_is_preempted_stays_and_is_reported_as_a_whole_once_it_is_sent() {
    let world = world("", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    inbox.drop("staff.csv", people(1..40));
    let ran = world.sync_watched(&Clock::system(), &PreemptAfter(AtomicUsize::new(5)));
    assert!(ran.details.preempted && ran.status != Status::Failed, "{ran:?}");
    assert!(ran.reason().unwrap().contains("wait for the next run"), "{ran:?}");
    assert!((5..39).contains(&ran.counts.created), "{ran:?}");
    assert_eq!((inbox.waiting(), inbox.names("processed")), (vec!["staff.csv".to_owned()], vec![]));
    let rest = world.sync_watched(&Clock::system(), &PreemptAfter(AtomicUsize::new(39)));
    assert_eq!((rest.status, ran.counts.created + rest.counts.created), (Status::Done, 39), "{rest:?}");
    assert_eq!(world.count("staff.create"), 39);
    assert_eq!((inbox.waiting(), inbox.names("processed")), (vec![], three("staff.csv").to_vec()));
    let table = inbox.text("processed", ".report.csv");
    assert_eq!(table.matches(",added,").count(), 39, "{table}");
    world.expect_people(1..40);
}

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
fn law_1_who_was_rejected_in_an_older_file_comes_with_a_later_one() {
    for mode in ["full", "changes"] {
        let world = world(&format!("mode = \"{mode}\"\n"), "");
        let inbox = Inbox(&world);
        inbox.drop("staff-2027-01-04.csv", people(1..19));
        world.sync().expect(0);
        inbox.drop("staff-2026-01-05.csv", people(19..21));
        assert_eq!(world.sync().expect(4).job()["held"], 2, "{mode}");
        world.run(&["reject", "staff"]).expect(0);
        let rejected = world.sync().expect(0);
        assert_eq!((rejected.writes(), rejected.job()["held"].as_u64()), ((0, 0, 0), Some(0)), "{mode}: {rejected:?}");
        inbox.drop("staff-2027-01-06.csv", people(if mode == "full" { 1..21 } else { 19..21 }));
        let ran = world.sync().expect(0);
        assert_eq!((ran.writes(), world.staff().len()), ((2, 0, 0), 20), "{mode}: {ran:?}");
    }
}

#[test]
fn what_the_newest_list_left_open_counts_again_once_nothing_of_an_older_one_waits() {
    for is_rejected in [false, true] {
        let clock = Clock::fixed("2027-01-04T09:00:00Z".parse().unwrap());
        let config = Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"24h\"\n");
        let config = Config {
            source: "settle = \"0s\"\n".into(),
            job: config.job.clone() + "active_from = \"{{ start }}\"\n",
            ..config
        };
        let world = inbox_of(World::at(&clock, config));
        let inbox = Inbox(&world);
        let after = |hours: i64| {
            clock.advance(SignedDuration::from_hours(hours));
            world.sync_at(&clock);
            world.sync_at(&clock);
        };
        let header = HEADER.trim_end().to_owned() + ",Start\n";
        let list = |numbers: std::ops::Range<usize>, title: &str, start: &str| {
            let dated = |number| format!("{},{start}\n", row(number, title).trim_end());
            numbers.map(dated).collect::<String>()
        };
        inbox.drop("staff-2027-01-04.csv", header.clone() + &list(1..19, "Clerk", ""));
        after(0);
        inbox.drop(
            "staff-2027-01-05.csv",
            header.clone() + &list(2..19, "Clerk", "") + &list(19..20, "Clerk", "2027-01-08"),
        );
        after(24);
        let title = if is_rejected { "Baker" } else { "Clerk" };
        inbox.drop("staff-2026-12-01.csv", header + &list(1..4, title, "") + &list(4..19, "Clerk", ""));
        after(0);
        if is_rejected {
            world.run(&["reject", "staff"]).expect(0);
        }
        after(0);
        assert_eq!(world.staff().len(), 18, "rejected: {is_rejected}");
        after(30);
        assert_eq!((world.staff().len(), world.held_as(1)), (17, None), "rejected: {is_rejected}");
        after(48);
        assert!(world.held_as(19).is_some(), "rejected: {is_rejected}");
    }
}

#[test]
fn who_is_not_at_the_service_since_they_were_rejected_is_named_in_each_run() {
    let world = world("", "[job.guard]\nmax_creates = 3\n");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..4));
    world.sync().expect(0);
    inbox.drop("b.csv", people(1..9));
    world.sync().expect(4);
    world.run(&["reject", "staff"]).expect(0);
    for (name, title) in [("c.csv", "Baker"), ("d.csv", "Boss")] {
        inbox.drop(name, people(1..9).replacen("Clerk", title, 1));
        let ran = world.sync().expect(0);
        assert_eq!(ran.writes(), (0, 1, 0), "{ran:?}");
        reason_has(&ran, "5 people (key P00004, key P00005, key P00006, key P00007, key P00008)");
    }
    world.run(&["approve", "staff", "P00004"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
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
    reason_has(
        &ran,
        "z.csv: this seems to be an older export than the last one: its time of writing lies before that of a.csv",
    );
}

#[test]
fn the_right_file_again_puts_a_wrong_one_right() {
    let world = world("", "[job.guard]\nmax_updates = 5\n");
    let inbox = Inbox(&world);
    let right = people(1..30);
    inbox.drop("staff.csv", &right);
    world.sync().expect(0);
    inbox.drop("staff.csv", right.replacen("Clerk", "Baker", 3));
    assert_eq!(world.sync().expect(0).writes(), (0, 3, 0));
    inbox.drop("staff.csv", right.replace("Clerk", "Boss"));
    assert_eq!(world.sync().expect(4).job()["held"], 29);
    inbox.drop("staff.csv", &right);
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), ran.reason()), ((0, 3, 0), String::new()));
}

#[test]
fn an_older_export_is_held_however_often_it_is_dropped_and_reported_once() {
    let world = world("", "");
    let inbox = Inbox(&world);
    let export = |title: &str| people(1..30).replacen("Clerk", title, 3);
    for title in ["Clerk", "Baker", "Boss"] {
        inbox.drop("staff.csv", export(title));
        world.sync().expect(0);
    }
    for _ in 0..2 {
        inbox.drop("staff.csv", export("Clerk"));
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(3)));
        assert_eq!(ran.reason().matches("is the very file that was read").count(), 1, "{}", ran.reason());
    }
    assert_eq!(inbox.names("processed").len(), 15);
}

#[test]
fn the_same_file_again_is_held_as_long_as_what_it_says_is() {
    let world = world("", "[job.guard]\nmax_updates = 5\n");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..30));
    world.sync().expect(0);
    for name in ["b.csv", "c.csv"] {
        inbox.drop(name, people(1..30).replace("Clerk", "Boss"));
        assert_eq!(world.sync().expect(4).job()["held"], 29, "{name}");
    }
}

#[test]
fn several_files_in_one_run_are_added_up_and_the_last_says_how_the_job_stands() {
    let world = world("", "[job.leavers]\naction = \"delete\"\n[job.guard]\nmax_updates = 5\n");
    let inbox = Inbox(&world);
    let numbers = |ran: &Ran| ["missing", "held", "updated"].map(|name| ran.job()[name].as_u64().unwrap());
    inbox.drop("a.csv", people(1..40));
    world.sync().expect(0);
    inbox.drop("b.csv", people(1..30).replacen("Clerk", "Boss", 9));
    inbox.drop("c.csv", people(1..39).replacen("Clerk", "Baker", 2));
    assert_eq!(numbers(&world.sync().expect(0)), [1, 0, 2], "what the first has held, the second settles");
    inbox.drop("d.csv", people(1..30).replacen("Clerk", "Boss", 9));
    inbox.drop("e.xls", "PK");
    assert_eq!(numbers(&world.sync().expect(1)), [10, 19, 0], "what is refused says nothing of how the job stands");
    let status = world.run(&["status", "--json"]).job();
    assert_eq!((&status["held"], &status["missing"]["people"]), (&19.into(), &10.into()), "{status}");
}

#[test]
fn a_file_that_was_used_completely_is_read_again_while_something_is_held() {
    let mut world = world("", "");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..9));
    world.sync().expect(0);
    world.reconfigure(|config| {
        Config { state: config.state + "full_pull = \"1s\"\n", ..config }.job("writes = \"approve\"\n")
    });
    let id = world.held_as(3).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, serde_json::json!({"title": "Edited"}));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    world.sync().expect(4);
    Inbox(&world).drop("again.csv", people(1..9));
    let ran = world.sync().expect(4);
    assert_eq!(ran.job()["held"], 1, "{ran:?}");
    assert!(Inbox(&world).text("processed", "again.csv.report.csv").contains("P00003"), "{ran:?}");
}
