//! What is no file to be read, and a folder that is no inbox.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{Inbox, LEAVE_AT_ONCE, inbox_of, reason_has, three, world};
use crate::support::daemon::eventually;
use crate::support::looked::Served;
use crate::support::{Config, HEADER, World, people};

#[test]
fn a_file_that_does_not_fit_goes_to_failed_with_what_to_do() {
    for (name, content, words) in [
        ("staff.xls", "PK\u{3}\u{4}", "save it as \"Excel Workbook"),
        ("notes.txt", "hello", "Only files whose names fit *.csv or *.xlsx"),
        ("staff.csv", "PK\u{3}\u{4}", "the workbook is cut or damaged"),
        ("empty.csv", "", "it is empty"),
        ("other.csv", "Name,Mail\nAna,a@example.com\n", "is missing"),
        ("header.csv", HEADER, "the source holds 0 records"),
    ] {
        let world = world("", LEAVE_AT_ONCE);
        let inbox = Inbox(&world);
        inbox.drop("first.csv", people(1..9));
        world.sync().expect(0);
        inbox.drop(name, content);
        let ran = world.sync();
        assert_eq!(ran.code, Some(if name == "header.csv" { 4 } else { 1 }), "{name}: {ran:?}");
        assert_eq!(ran.writes(), (0, 0, 0));
        reason_has(&ran, name);
        reason_has(&ran, words);
        assert_eq!((inbox.names("failed"), inbox.waiting()), (three(name).to_vec(), vec![]), "{name}");
        let page = inbox.text("failed", ".report.html").replace("&quot;", "\"");
        assert!(
            page.contains("The file was not used")
                && page.contains(words.replace("it is empty", "The file is empty").as_str()),
            "{name}: {page}"
        );
        assert!(inbox.text("failed", ".report.csv").contains("\r\n,,file,"), "{name}");
        world.sync().expect(0);
        world.expect_people(1..9);
    }
}

#[test]
fn a_job_is_not_well_after_a_refused_file_before_one_is_used_whatever_runs_are_done() {
    let world = world("", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    let looks = |code: i32, unused: Option<&str>| {
        let (shown, json) = (world.run(&["status"]).expect(code), world.run(&["status", "--json"]).expect(code));
        assert_eq!(json.json()["jobs"][0]["unused_file"], serde_json::json!(unused));
        let says = format!("nothing of {} was used", unused.unwrap_or("any file"));
        let (_, _, metrics) = Served::of(&world).get("/metrics");
        let metric = format!("rosterd_job_last_file_unused{{job=\"staff\"}} {}\n", u8::from(unused.is_some()));
        assert!(metrics.contains(&metric), "{metrics}");
        shown.out.contains(&says)
    };
    inbox.drop("a.csv", people(1..9));
    world.sync().expect(0);
    assert!(!looks(0, None));
    inbox.drop("b.xls", "PK\u{3}\u{4}");
    world.sync().expect(1);
    for _ in 0..2 {
        world.sync().expect(0);
        assert!(looks(1, Some("b.xls")));
    }
    inbox.drop("c.csv", people(1..10));
    world.sync().expect(0);
    assert!(!looks(0, None));
    // Who drops the last good file again says that nothing is missing.
    inbox.drop("notes.txt", "hello");
    world.sync().expect(1);
    inbox.drop("c.csv", people(1..10));
    world.sync().expect(0);
    assert!(!looks(0, None));
    // An older list takes no place of one that was refused.
    inbox.drop("2026-11-20.csv", people(1..11));
    world.sync().expect(0);
    inbox.drop("2026-11-27.xls", "PK\u{3}\u{4}");
    world.sync().expect(1);
    inbox.drop("2026-11-13.csv", people(1..10));
    world.sync();
    assert!(looks(1, Some("2026-11-27.xls")));
}

#[test]
fn work_in_progress_is_left_alone() {
    let world = world("", "");
    let inbox = Inbox(&world);
    let names = [".staff.csv", "a.csv.part", "b.tmp", "c.csv.filepart", "~$staff.csv"];
    names.iter().for_each(|name| inbox.drop(name, people(1..5)));
    fs::create_dir(inbox.path("2026")).unwrap();
    let ran = world.sync().expect(0);
    reason_has(&ran, "2026 is a folder");
    let mut left = names.map(str::to_owned).to_vec();
    left.insert(1, "2026".into());
    assert_eq!(inbox.waiting(), left);
    assert_eq!(world.service().requests().len(), 0);
}

#[test]
fn fault_92_what_is_no_plain_file_is_refused_and_never_read() {
    let world = world("", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    let secret = world.put("secret.csv", people(1..5).as_bytes());
    let place = |name: &str| inbox.path(name);
    type Lay<'a> = &'a dyn Fn(&str);
    let cases: [(&str, &str, &str, Lay<'_>); 6] = [
        ("link.csv", "link.csv", "a link", &|name| std::os::unix::fs::symlink(&secret, place(name)).unwrap()),
        ("hard.csv", "hard.csv", "second name", &|name| fs::hard_link(&secret, place(name)).unwrap()),
        ("pipe.csv", "pipe.csv", "a pipe", &|name| {
            rustix::fs::mkfifoat(rustix::fs::CWD, place(name), rustix::fs::Mode::RUSR).unwrap();
        }),
        ("open.csv", "open.csv", "every user of this machine", &|name| {
            inbox.drop(name, people(1..5));
            fs::set_permissions(place(name), fs::Permissions::from_mode(0o666)).unwrap();
        }),
        ("a\nb.csv", "a_b.csv", "line break", &|name| inbox.drop(name, people(1..5))),
        ("\u{1b}[2J.csv", "_[2J.csv", "line break", &|name| inbox.drop(name, people(1..5))),
    ];
    for (number, (name, filed, words, lay)) in cases.into_iter().enumerate() {
        lay(name);
        let ran = world.sync().expect(1);
        reason_has(&ran, words);
        assert_eq!(world.service().requests().len(), 0, "{name:?}");
        assert_eq!(inbox.waiting(), [] as [String; 0], "{name:?}");
        let names = inbox.names("failed");
        assert!(names.contains(&filed.to_owned()) && names.len() == 3 * (number + 1), "{name:?}: {names:?}");
        assert!(ran.err.contains("refused") || ran.reason().contains("refused"), "{ran:?}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), people(1..5), "what a link led to is as it was");
}

#[test]
fn fault_96_a_missing_unmounted_or_other_folder_is_an_error_and_never_empty() {
    let world = world("", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    inbox.drop("staff.csv", people(1..9));
    world.sync().expect(0);
    let aside = world.dir().join("aside");
    fs::rename(inbox.path(""), &aside).unwrap();
    for (lay, words) in [
        (&(|| {}) as &dyn Fn(), "does not exist"),
        (&|| fs::create_dir(inbox.path("")).unwrap(), "has no processed/ any more"),
        (
            &|| {
                fs::remove_dir(inbox.path("")).unwrap();
                fs::write(world.dir().join("inbox"), "").unwrap();
            },
            "",
        ),
    ] {
        lay();
        // Before a run has met it: the views look at the folder themselves.
        for view in ["status", "check"] {
            let shown = world.run(&[view, "--json"]).expect(1);
            assert!(shown.json().to_string().contains(words), "{view}: {words}: {shown:?}");
        }
        let ran = world.sync().expect(1);
        assert!(ran.reason().contains(words), "{words}: {ran:?}");
        assert_eq!(ran.writes(), (0, 0, 0));
        world.run(&["plan", "--json"]).expect(1);
        world.expect_people(1..9);
    }
    fs::remove_file(world.dir().join("inbox")).unwrap();
    fs::rename(&aside, inbox.path("")).unwrap();
    world.sync().expect(0);
}

#[test]
fn an_inbox_without_its_folders_is_doubted_where_a_daemon_has_the_state() {
    let config = Config { source: "settle = \"0s\"\n".into(), ..Config::served("", "") };
    let world = inbox_of(World::of(config));
    let inbox = Inbox(&world);
    inbox.drop("staff.csv", people(1..9));
    let daemon = world.daemon();
    eventually("the file is filed", || !inbox.names("processed").is_empty());
    let doubt = "it has no processed/";
    assert!(!world.run(&["check"]).expect(0).out.contains(doubt));
    fs::rename(inbox.path("processed"), world.dir().join("aside")).unwrap();
    assert!(world.run(&["check"]).expect(0).out.contains(doubt));
    assert!(world.run(&["status"]).expect(1).out.contains("has no processed/ any more"));
    daemon.stop();
}

#[test]
fn law_1_a_folder_in_the_place_of_a_file_is_no_empty_inbox() {
    let world = World::of(Config { source: "settle = \"0s\"\n".into(), ..Config::default() });
    world.sync_of(people(1..4)).expect(0);
    let place = world.dir().join("staff.csv");
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    for view in ["status", "check", "plan", "sync"] {
        let ran = world.run(&[view]).expect(1);
        assert!((ran.out.clone() + &ran.err).contains("or was a file until now"), "{view}: {ran:?}");
    }
    fs::create_dir(place.join("processed")).unwrap();
    fs::write(place.join("more.csv"), people(1..5)).unwrap();
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
}

#[test]
fn a_plan_shows_what_a_file_wanted_that_was_taken_back_no_more() {
    let world = world("", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..9));
    world.sync().expect(0);
    world.run(&["pause"]).expect(0);
    inbox.drop("b.csv", people(2..10));
    world.sync().expect(4);
    fs::remove_file(inbox.path("b.csv")).unwrap();
    world.run(&["resume"]).expect(0);
    let plan = world.plan().expect(0).job();
    assert_eq!(plan["changes"].as_array().map(Vec::len), Some(0), "{plan}");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.expect_people(1..9);
}
