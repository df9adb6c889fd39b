//! What is open of earlier files while none waits, and who looks at the next without moving it.

use jiff::SignedDuration;
use rosterd::clock::Clock;

use super::{Inbox, LEAVE_AT_ONCE, inbox_of, reason_has, three, world};
use crate::source::forms::windows_1252;
use crate::support::{Config, World, people, row};

#[test]
fn what_is_held_is_reported_as_waiting_and_sent_once_approved_though_no_file_waits() {
    for mode in ["full", "changes"] {
        let world = world(&format!("mode = \"{mode}\"\n"), "[job.guard]\nmax_updates = 0\n");
        let inbox = Inbox(&world);
        inbox.drop("a.csv", people(1..20));
        world.sync().expect(0);
        inbox.drop("b.csv", people(1..20).replace("Clerk", "Baker"));
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(19)), "{mode}: {}", ran.reason());
        assert_eq!(inbox.waiting(), [] as [String; 0], "{mode}");
        let page = inbox.text("processed", "b.csv.report.html");
        assert!(page.contains("has to approve it first"), "{mode}: {page}");
        let planned = world.plan().expect(0).job();
        assert_eq!(planned["inbox"]["file"], serde_json::Value::Null, "{mode}");
        let planned = || {
            let changes = world.run(&["plan", "--json", "--exit-code"]).expect(5).job()["changes"].clone();
            let held = changes.as_array().unwrap().iter().filter(|change| !change["held"].is_null()).count();
            let title = &changes[0]["fields"]["title"];
            assert_eq!((&title["from"], &title["to"]), (&"Clerk".into(), &"Baker".into()), "{mode}: {changes}");
            (changes.as_array().unwrap().len(), held)
        };
        assert_eq!(planned(), (19, 19), "{mode}: whoever decides sees whom");
        if mode == "changes" {
            world.run(&["sync", "--json", "--key", "P00003"]);
            assert_eq!(planned(), (19, 19), "no row says it a second time");
        }
        world.run(&["approve", "staff"]).expect(0);
        assert_eq!(planned(), (19, 0), "{mode}: and what is sent next");
        let ran = world.sync().expect(0);
        assert_eq!(ran.writes(), (0, 19, 0), "{mode}: {}", ran.reason());
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{mode}");
        assert_eq!(inbox.kept(), [] as [String; 0], "{mode}: nothing is open, so nothing is kept");
        inbox.drop("c.csv", people(1..21).replace("Clerk", "Baker"));
        assert_eq!(world.sync().expect(0).writes(), (1, 0, 0), "{mode}: the form of files is still known");
    }
}

#[test]
fn fault_84_what_is_sent_while_no_file_waits_leaves_the_form_of_files_as_it_was() {
    let world = world("mode = \"changes\"\n", "[job.guard]\nmax_updates = 0\n");
    let inbox = Inbox(&world);
    let drop = |name: &str, title: &str| {
        let text = people(1..20).replace("Person 2,", "Zo\u{eb} 2,").replace("Clerk", title).replace(',', ";");
        inbox.drop(name, windows_1252(&text));
        world.sync()
    };
    drop("a.csv", "Clerk").expect(0);
    drop("b.csv", "Baker").expect(4);
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 19, 0));
    let ran = drop("c.csv", "Baker");
    assert_eq!((ran.code, ran.writes()), (Some(0), (0, 0, 0)), "{ran:?}");
    assert_eq!(world.held_as(2).unwrap()["name"], "Zo\u{eb} 2");
}

#[test]
fn what_an_earlier_file_of_changes_held_is_shown_beside_the_next_file() {
    let world = world("mode = \"changes\"\n", "[job.guard]\nmax_updates = 2\n");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..20));
    world.sync().expect(0);
    inbox.drop("b.csv", people(1..7).replace("Clerk", "Baker"));
    world.sync().expect(4);
    inbox.drop("c.csv", people(6..8).replace("Clerk", "Cook"));
    let planned = world.plan().expect(0).job();
    let changes = planned["changes"].as_array().unwrap();
    let of = |key: &str| changes.iter().find(|change| change["key"] == key).unwrap().clone();
    assert_eq!(changes.len(), 7, "{planned}");
    assert_eq!(of("P00001")["fields"]["title"]["to"], "Baker", "only the earlier file has it");
    assert_eq!(of("P00006")["fields"]["title"]["to"], "Cook", "the later file counts");
    world.sync();
    let page = inbox.text("processed", "b.csv.report.html");
    assert!(page.contains("something waits") && !page.contains("Another file was read since"), "{page}");
    let table = inbox.text("processed", "b.csv.report.csv");
    let said = |what: &str| table.matches(&format!(",{what},")).count();
    assert_eq!((said("waiting"), said("replaced by the next file")), (5, 1), "{table}");
    let explained = world.run(&["explain", "staff", "P00001"]).expect(0);
    assert!(explained.out.contains("what is left of earlier files"), "{explained:?}");
}

#[test]
fn a_paused_inbox_says_so_though_no_file_waits_and_a_key_that_is_nowhere_is_refused() {
    let world = world("", "");
    Inbox(&world).drop("a.csv", people(1..20));
    world.sync().expect(0);
    let unknown = world.run(&["sync", "--key", "P99999"]).expect(1);
    assert!(unknown.err.contains("no job that ran ever knew key P99999"), "{unknown:?}");
    world.run(&["sync", "--key", "P00003"]).expect(0);
    world.run(&["pause"]).expect(0);
    let ran = world.sync().expect(4);
    assert!(ran.reason().contains("paused"), "{ran:?}");
    let plan = world.run(&["plan"]).expect(0);
    assert!(plan.out.contains("paused"), "{plan:?}");
    world.run(&["resume"]).expect(0);
    world.sync().expect(0);
}

#[test]
fn who_was_removed_or_edited_at_the_service_is_put_right_though_no_file_comes() {
    let config = Config { state: "full_pull = \"1s\"\n".into(), ..Config::default() };
    let world = inbox_of(World::of(config));
    Inbox(&world).drop("a.csv", people(1..20));
    world.sync().expect(0);
    let gone = world.held_as(3).unwrap()["id"].as_i64().unwrap();
    let edited = world.held_as(5).unwrap()["id"].as_i64().unwrap();
    assert!(world.service().remove("staff", gone));
    world.service().edit("staff", edited, serde_json::json!({"title": "By hand"}));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let planned = world.plan().expect(0).job();
    assert_eq!(planned["changes"].as_array().unwrap().len(), 2, "{planned}");
    let ran = world.sync().expect(0);
    assert_eq!(ran.writes(), (1, 1, 0), "{ran:?}");
    assert_eq!((world.staff().len(), &world.held_as(5).unwrap()["title"]), (19, &"Clerk".into()));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "law 4");
}

#[test]
fn the_rows_that_were_not_used_are_listed_until_the_next_file_is_read() {
    for mode in ["full", "changes"] {
        let world = world(&format!("mode = \"{mode}\"\n"), "[job.guard]\nmax_updates = 0\n");
        let inbox = Inbox(&world);
        let listed = || world.snapshot().jobs[0].rejected.clone();
        inbox.drop("a.csv", people(1..20));
        world.sync().expect(0);
        inbox.drop("b.csv", people(1..20).replace("Clerk", "Baker").replace("Person 5,", ","));
        world.sync().expect(4);
        let before = listed();
        assert_eq!((before.count, before.first.len()), (1, 1), "{mode}");
        world.run(&["approve", "staff"]).expect(0);
        assert_eq!(world.sync().writes().1, 18, "{mode}: what is open is sent");
        assert_eq!(listed(), before, "{mode}: after a run without a file");
        world.sync();
        assert_eq!(listed(), before, "{mode}: after a run without anything");
        inbox.drop("c.pdf", "not a table");
        world.sync().expect(1);
        assert_eq!(listed(), before, "{mode}: after a file that is never read");
        inbox.drop("d.csv", people(1..20).replace("Clerk", "Baker"));
        world.sync().expect(0);
        assert_eq!(listed().count, 0, "{mode}");
    }
}

#[test]
fn a_grace_ends_though_no_file_waits() {
    let clock = Clock::fixed(Clock::system().now() - SignedDuration::from_hours(3));
    let world = inbox_of(World::at(&clock, Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"1h\"\n")));
    let inbox = Inbox(&world);
    for (hours, text) in [(1, people(1..20)), (2, people(2..20))] {
        inbox.drop("a.csv", text);
        assert_eq!(world.sync_at(&clock).counts.deleted, 0);
        clock.advance(SignedDuration::from_hours(hours));
    }
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.expect_people(2..20);
}

#[test]
fn plan_preview_check_and_explain_look_at_the_next_file_and_move_nothing() {
    let world = world("", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    let ran = world.run(&["plan"]).expect(0);
    assert!(
        ran.out.contains("no file waits in the inbox") && ran.out.contains("0 to delete")
            || ran.out.contains("No changes"),
        "{ran:?}"
    );
    assert!(world.run(&["preview", "staff"]).expect(0).err.contains("no file waits"));
    assert!(world.run(&["check"]).expect(0).out.contains("no file waits"));
    inbox.drop("a.csv", people(1..9));
    world.sync().expect(0);
    assert_eq!(world.plan().expect(0).job()["changes"], serde_json::json!([]));
    inbox.drop("b.csv", people(1..10));
    inbox.drop("c.csv", people(1..20));
    inbox.drop("d.xls", "PK");
    let planned = world.plan().expect(0).job();
    assert_eq!(planned["changes"].as_array().unwrap().len(), 1, "{planned}");
    assert_eq!(planned["inbox"]["file"], "b.csv");
    assert_eq!(planned["inbox"]["waiting"], serde_json::json!(["b.csv", "c.csv"]));
    assert_eq!(world.run(&["preview", "staff", "--json"]).expect(0).json()["rows"].as_array().unwrap().len(), 9);
    assert!(world.run(&["check"]).expect(0).out.contains("2 files wait (b.csv, c.csv)"));
    let told = world.run(&["explain", "staff", "P00009"]).expect(0);
    assert!(told.out.contains("this is about b.csv"), "{told:?}");
    assert!(world.run(&["status"]).expect(0).out.contains("in the inbox: b.csv, c.csv"));
    assert_eq!(inbox.waiting(), ["b.csv", "c.csv", "d.xls"]);
    world.expect_people(1..9);
}

#[test]
fn what_is_reverted_is_not_done_again_by_the_same_content() {
    let world = world("", "");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..9));
    world.sync().expect(0);
    inbox.drop("b.csv", people(1..9).replacen("Clerk", "Baker", 1));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    world.run(&["revert", "2"]).expect(0);
    assert_eq!(world.held_as(1).unwrap()["title"], "Clerk");
    world.sync().expect(0);
    inbox.drop("c.csv", people(1..10).replacen("Clerk", "Baker", 1));
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0), "that was decided against");
    assert_eq!(world.held_as(1).unwrap()["title"], "Clerk");
}

#[test]
fn a_narrowed_run_and_an_applied_plan_leave_the_file_where_it_is() {
    let world = world("", "");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..9));
    assert_eq!(world.run(&["sync", "--json", "--key", "P00003"]).expect(0).writes(), (1, 0, 0));
    assert_eq!(inbox.waiting(), ["a.csv"]);
    world.run(&["plan", "--out", "plan.json"]).expect(0);
    let ran = world.run(&["apply", "plan.json", "--json"]).expect(0);
    assert_eq!(inbox.waiting(), ["a.csv"], "{ran:?}");
    world.expect_people(1..9);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!((inbox.waiting(), inbox.names("processed")), (vec![], three("a.csv").to_vec()));
}

/// What every view says of those who are missing: how many, and whether they are too many.
fn missing(world: &World) -> [(u64, bool); 3] {
    let told = |told: &serde_json::Value| {
        (told["people"].as_u64().unwrap_or_default(), told["too_many"].as_bool().unwrap_or_default())
    };
    let status = world.run(&["status", "--json"]).job()["missing"].clone();
    let planned = world.plan().expect(0).job()["missing"].as_array().unwrap().len() as u64;
    let synced = world.sync().job()["missing"].as_u64().unwrap();
    let (_, too_many) = told(&status);
    [told(&status), (planned, too_many), (synced, too_many)]
}

#[test]
fn who_is_missing_is_shown_by_every_view_though_no_file_waits() {
    for action in ["keep", "delete"] {
        let world = world("", &format!("[job.leavers]\naction = \"{action}\"\n"));
        let inbox = Inbox(&world);
        assert_eq!(missing(&world), [(0, false); 3]);
        inbox.drop("a.csv", people(1..20));
        world.sync().expect(0);
        inbox.drop("b.csv", people(3..20));
        world.sync().expect(0);
        for _ in 0..2 {
            assert_eq!(missing(&world), [(2, false); 3], "{action}");
        }
        let planned = world.run(&["plan"]).expect(0).out;
        assert!(planned.contains("P00002  Person 2  missing since"), "{action}: {planned}");
        // The private copy of the last file may be lost; who is missing is not.
        inbox.put_kept("kept_copy", None);
        assert_eq!(missing(&world), [(2, false); 3], "{action}");
        inbox.drop("c.csv", people(5..20));
        world.sync();
        assert_eq!(missing(&world), [(4, true); 3], "{action}");
        inbox.drop("d.csv", people(1..20));
        world.sync().expect(0);
        assert_eq!(missing(&world), [(0, false); 3], "{action}");
    }
}

#[test]
fn what_was_decided_on_who_is_missing_is_shown_by_every_view() {
    for (decision, outcome, due) in [("approve", ",missing from the file,", true), ("reject", ",rejected,", false)] {
        let world = world("", "[job.leavers]\naction = \"delete\"\n");
        let inbox = Inbox(&world);
        inbox.drop("a.csv", people(1..40));
        world.sync().expect(0);
        inbox.drop("b.csv", people(1..30));
        world.sync().expect(4);
        assert_eq!(missing(&world), [(10, true); 3], "{decision}");
        world.run(&[decision, "staff"]).expect(0);
        let ran = world.sync().expect(0);
        assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(0)), "{decision}: {ran:?}");
        assert_eq!(missing(&world), [(10, false); 3], "{decision}");
        let planned = world.plan().expect(0).job()["missing"].clone();
        assert!(planned.as_array().unwrap().iter().all(|one| one["due"].is_string() == due), "{decision}: {planned}");
        let table = inbox.text("processed", "b.csv.report.csv");
        assert_eq!(table.matches(outcome).count(), 10, "{decision}: {table}");
        let page = inbox.text("processed", "b.csv.report.html");
        assert!(page.contains("people are missing from it") && !page.contains("too many"), "{decision}: {page}");
        assert_eq!(page.contains("10 of 39 people are not in this file"), decision == "approve", "{decision}: {page}");
    }
    // Who was removed is missing no more.
    let world = world("", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..40));
    world.sync().expect(0);
    inbox.drop("b.csv", people(1..30));
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 10));
    let page = inbox.text("processed", "b.csv.report.html");
    assert!(page.contains("<h1>The file was used</h1>") && page.contains("Removed (10)"), "{page}");
    assert!(!page.contains("are not in this file"), "{page}");
}

/// No other file says what the last one said.
#[test]
fn what_another_mapping_makes_of_the_last_list_is_held_and_what_it_would_of_changes_is_named() {
    let loud = |config: Config| Config { map: config.map.replace("{{ title }}", "{{ title | upper }}"), ..config };
    let mut world = world("", "");
    Inbox(&world).drop("a.csv", people(1..20));
    world.sync().expect(0);
    world.reconfigure(loud);
    assert_eq!(world.plan().job()["changes"].as_array().map(Vec::len), Some(19));
    for _ in 0..2 {
        assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
    }
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 19, 0));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    Inbox(&world).drop("b.csv", people(1..20).replace(&row(3, "Clerk"), &row(3, "Boss")));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0), "the mapping is settled");

    let mut world = self::world("mode = \"changes\"\n", "");
    Inbox(&world).drop("a.csv", people(1..20).replace("Person 5,", ","));
    world.sync().expect(3);
    world.reconfigure(loud);
    for _ in 0..2 {
        reason_has(&world.sync().expect(0), "drop those rows once more");
    }
}

#[test]
fn law_1_a_list_is_not_read_again_after_the_job_read_something_newer_elsewhere() {
    for mode in ["", "mode = \"changes\"\n"] {
        let config = Config { state: "full_pull = \"1s\"\n".into(), ..Config::rest(LEAVE_AT_ONCE) };
        let mut world = inbox_of(World::of(config));
        let source = |config: Config, path: &str, mode: &str| Config {
            path: path.into(),
            source: format!("settle = \"0s\"\n{mode}"),
            ..config
        };
        world.reconfigure(|config| source(config, "inbox", ""));
        Inbox(&world).drop("a.csv", people(1..20));
        world.sync().expect(0);
        let newer = people(2..20).replace("Clerk", "Boss") + &row(20, "Boss");
        match mode {
            "" => world.csv(newer),
            _ => Inbox(&world).drop("b.csv", newer),
        }
        let path = if mode.is_empty() { "staff.csv" } else { "inbox" };
        world.reconfigure(|config| source(config, path, mode));
        world.sync();
        world.run(&["approve", "staff"]);
        world.sync();
        let before = world.staff();
        world.reconfigure(|config| source(config, "inbox", ""));
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        assert_eq!(world.sync().writes(), (0, 0, 0), "{mode:?}");
        assert_eq!(world.staff(), before);
    }
}

#[test]
fn a_list_that_is_to_be_looked_at_again_and_can_not_be_is_named() {
    let mut world = world("", LEAVE_AT_ONCE);
    Inbox(&world).drop("s-2026-11-20.csv", people(1..20));
    world.sync().expect(0);
    std::fs::remove_dir_all(Inbox(&world).path("processed")).unwrap();
    std::fs::create_dir(Inbox(&world).path("processed")).unwrap();
    world.reconfigure(|config| Config { map: config.map.replace("{{ title }}", "{{ title | upper }}"), ..config });
    world.sync().expect(0);
    reason_has(&world.sync().expect(0), "so it is not looked at again");
}

#[test]
fn another_mapping_looks_at_the_newest_list_again_once_an_older_one_is_rejected() {
    let mut world = world("", LEAVE_AT_ONCE);
    Inbox(&world).drop("s-2026-11-20.csv", people(1..20));
    world.sync().expect(0);
    Inbox(&world).drop("s-2026-11-10.csv", people(1..20).replace("Clerk", "Boss"));
    world.sync().expect(4);
    world.run(&["reject", "staff"]).expect(0);
    world.reconfigure(|config| Config { map: config.map.replace("{{ title }}", "{{ title | upper }}"), ..config });
    world.sync();
    assert_eq!(world.sync().expect(4).job()["held"], 19);
    world.run(&["approve", "staff"]).expect(0);
    world.sync().expect(0);
    assert_eq!(world.held_as(1).unwrap()["title"], "CLERK");
}

#[test]
fn a_list_that_could_not_be_looked_at_again_is_read_where_it_is_dropped_once_more() {
    let world = inbox_of(World::of(Config { state: "full_pull = \"1s\"\n".into(), ..Config::default() }));
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..20));
    world.sync().expect(0);
    std::fs::remove_dir_all(inbox.path("processed")).unwrap();
    std::fs::create_dir(inbox.path("processed")).unwrap();
    assert!(world.service().remove("staff", world.held_as(3).unwrap()["id"].as_i64().unwrap()));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let ran = world.sync().expect(0);
    reason_has(&ran, "drop the newest one once more");
    inbox.drop("a.csv", people(1..20));
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
}

#[test]
fn fault_94_an_equal_file_with_a_later_date_makes_others_older() {
    let world = world("", LEAVE_AT_ONCE);
    for (name, exit) in [("s-2026-11-01.csv", 0), ("s-2026-11-20.csv", 0)] {
        Inbox(&world).drop(name, people(1..20));
        world.sync().expect(exit);
    }
    Inbox(&world).drop("s-2026-11-10.csv", people(1..19));
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
}

#[test]
fn a_grace_runs_on_though_someone_is_forgotten_meanwhile() {
    for encoded in ["utf-8", "windows-1252"] {
        let clock = Clock::fixed("2027-01-04T09:00:00Z".parse().unwrap());
        let config = Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"24h\"\n");
        let world = inbox_of(World::at(&clock, Config { source: "settle = \"0s\"\n".into(), ..config }));
        let inbox = Inbox(&world);
        let list = |numbers: std::ops::Range<usize>| {
            let text = people(numbers).replace("Clerk", "Köchin");
            if encoded == "utf-8" { text.into_bytes() } else { windows_1252(&text) }
        };
        inbox.drop("a.csv", list(1..19));
        world.sync_at(&clock);
        clock.advance(SignedDuration::from_hours(1));
        inbox.drop("b.csv", list(2..19));
        world.sync_at(&clock);
        world.run(&["forget", "P00007"]).expect(0);
        clock.advance(SignedDuration::from_hours(30));
        world.sync_at(&clock);
        world.sync_at(&clock);
        assert_eq!((world.held_as(1), world.staff().len()), (None, 17), "{encoded}");
        assert_eq!(world.held_as(8).unwrap()["title"], "Köchin", "{encoded}");
    }
}
