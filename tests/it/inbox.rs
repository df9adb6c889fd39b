//! An inbox: each dropped file is read once, in order, and filed with its reports.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::sleep;
use std::time::Duration;

use jiff::SignedDuration;
use rosterd::clock::Clock;
use rosterd::run::Report;
use rosterd::sandbox::Options;

use crate::support::{Config, HEADER, Ran, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

/// What lies in a world's inbox.
pub(crate) struct Inbox<'a>(pub(crate) &'a World);

impl Inbox<'_> {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.dir().join("inbox").join(name)
    }

    /// Puts a file into it in one step, as a careful program does.
    pub(crate) fn drop(&self, name: &str, content: impl AsRef<[u8]>) {
        let beside = self.0.put("beside", content.as_ref());
        fs::rename(beside, self.path(name)).unwrap();
    }

    /// The names in one of its folders, the times in front of them left out.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).map(|entries| entries.map(|entry| entry.unwrap()).collect());
        let entries: Vec<fs::DirEntry> = entries.unwrap_or_default();
        let mut names: Vec<String> =
            entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names.iter().map(|name| name.split_once("Z_").map_or(name.as_str(), |(_, name)| name).to_owned()).collect()
    }

    /// What waits in it.
    pub(crate) fn waiting(&self) -> Vec<String> {
        let mut names = self.names("");
        names.retain(|name| name != "processed" && name != "failed");
        names
    }

    /// The text of the only file in a folder whose name ends so.
    pub(crate) fn text(&self, folder: &str, end: &str) -> String {
        let mut found: Vec<PathBuf> =
            fs::read_dir(self.path(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.retain(|path| path.to_string_lossy().ends_with(end));
        assert_eq!(found.len(), 1, "{end} in {folder}: {found:?}");
        String::from_utf8(fs::read(&found[0]).unwrap()).unwrap()
    }
}

/// A world whose job reads an inbox; `source` are further lines of its source.
pub(crate) fn world(source: &str, rest: &str) -> World {
    let config = Config { source: format!("settle = \"0s\"\n{source}"), rest: rest.into(), ..Config::default() };
    inbox_of(World::with(Options::default(), config))
}

pub(crate) fn inbox_of(mut world: World) -> World {
    fs::create_dir(world.dir().join("inbox")).unwrap();
    world.reconfigure(|config| Config { path: "inbox".into(), ..config });
    world
}

fn three(name: &str) -> [String; 3] {
    [name.to_owned(), format!("{name}.report.csv"), format!("{name}.report.html")]
}

fn reason_has(ran: &Ran, words: &str) {
    assert!(ran.reason().contains(words), "{words:?} is missing in {:?}", ran.reason());
}

#[test]
fn a_dropped_file_is_read_filed_and_reported() {
    let world = world("", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    assert_eq!(world.sync().expect(0).ended(), ("done".into(), false, String::new()), "an empty inbox is no failure");
    assert_eq!(world.service().requests().len(), 0);

    inbox.drop("staff.csv", people(1..40) + "P00040,,nobody@example.com,Clerk\n");
    let ran = world.sync().expect(3);
    assert_eq!(ran.writes(), (39, 0, 0));
    assert_eq!(inbox.waiting(), [] as [String; 0]);
    assert_eq!(inbox.names("processed"), three("staff.csv"));
    let table = inbox.text("processed", ".report.csv");
    assert!(table.starts_with("\u{feff}row,key,outcome,reason\r\n"), "{table}");
    assert!(
        table.contains("\r\n2,P00001,added,\r\n") && table.contains("\r\n41,P00040,not used,\"name: it is empty"),
        "{table}"
    );
    assert_eq!(table.matches(",added,").count(), 39);
    let page = inbox.text("processed", ".report.html");
    assert!(
        page.contains("The file was used in part") && page.contains("P00040") && !page.contains("nobody@"),
        "{page}"
    );

    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), ran.job()["records"].as_u64()), ((0, 0, 0), Some(0)), "nobody has left");
    world.expect_people(1..40);

    inbox.drop("staff.csv", people(2..40).replace("Person 7,", "Person Seven,"));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 1));
    assert_eq!(inbox.names("processed").len(), 6);
    let history = world.run(&["history", "--json"]).expect(0).json();
    assert_eq!(
        history["events"].as_array().unwrap().len(),
        4,
        "one run for each file, and one for each look at nothing"
    );
}

#[test]
fn fault_95_fifty_files_at_once_are_read_once_each_and_in_order() {
    let world = world("", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    for number in (0..50).rev() {
        inbox.drop(&format!("staff-{number:02}.csv"), people(1..20) + &row(99, &format!("Title {number}")));
    }
    let ran = world.sync().expect(0);
    assert_eq!(ran.writes(), (20, 49, 0), "{}", ran.reason());
    assert_eq!(world.held_as(99).unwrap()["title"], "Title 49");
    assert_eq!(inbox.names("processed").len(), 150);
    let history = world.run(&["history", "--json"]).expect(0).json();
    let runs: Vec<u64> = history["events"].as_array().unwrap().iter().map(|run| run["run"].as_u64().unwrap()).collect();
    assert_eq!(runs, (1..51).rev().collect::<Vec<_>>());
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

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
    // A file that nobody writes to for so long is taken for whole.
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
fn a_file_that_does_not_fit_goes_to_failed_with_what_to_do() {
    for (name, content, words) in [
        ("staff.xlsx", "PK\u{3}\u{4}", "save it as \"CSV UTF-8"),
        ("notes.txt", "hello", "Only files whose names fit *.csv"),
        ("staff.csv", "PK\u{3}\u{4}", "Excel workbook"),
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
        assert!(page.contains("The file was not used") && page.contains(words), "{name}: {page}");
        assert!(inbox.text("failed", ".report.csv").contains("\r\n,,file,"), "{name}");
        world.sync().expect(0);
        world.expect_people(1..9);
    }
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

#[test]
fn fault_96_a_missing_unmounted_or_other_folder_is_an_error_and_never_empty() {
    let world = world("", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    inbox.drop("staff.csv", people(1..9));
    world.sync().expect(0);
    let aside = world.dir().join("aside");
    fs::rename(inbox.path(""), &aside).unwrap();
    let config = |text: &str| text.to_owned();
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
        let ran = world.sync().expect(1);
        assert!(ran.reason().contains(&config(words)), "{words}: {ran:?}");
        assert_eq!(ran.writes(), (0, 0, 0));
        world.run(&["plan", "--json"]).expect(1);
        world.expect_people(1..9);
    }
    fs::remove_file(world.dir().join("inbox")).unwrap();
    fs::rename(&aside, inbox.path("")).unwrap();
    world.sync().expect(0);
}

#[test]
fn fault_97_what_can_not_be_filed_is_a_warning_and_is_filed_later() {
    let world = world("", "");
    let inbox = Inbox(&world);
    inbox.drop("one.csv", people(1..5));
    world.sync().expect(0);
    fs::remove_dir_all(inbox.path("processed")).unwrap();
    std::os::unix::fs::symlink(world.dir(), inbox.path("processed")).unwrap();
    inbox.drop("two.csv", people(1..9));
    let ran = world.sync();
    assert_eq!(ran.code, Some(1), "a link in its place is another folder: {ran:?}");
    fs::remove_file(inbox.path("processed")).unwrap();
    fs::create_dir(inbox.path("processed")).unwrap();
    assert_eq!(world.sync().expect(0).writes(), (4, 0, 0));
    // Two files of one name within one second.
    inbox.drop("two.csv", people(1..10));
    world.sync().expect(0);
    inbox.drop("two.csv", people(1..11));
    world.sync().expect(0);
    let names: Vec<String> = inbox.names("processed").into_iter().filter(|name| !name.contains("report")).collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn fault_6_a_file_whose_run_was_killed_is_known_again_and_not_sent_again() {
    let world = world("", "");
    let inbox = Inbox(&world);
    inbox.drop("staff.csv", people(1..60));
    world.kill_held("staff.create hold after=12", &[]);
    assert_eq!(inbox.waiting(), ["staff.csv"], "it stays until all of it is done");
    world.sync().expect(0);
    world.expect_people(1..60);
    assert_eq!(world.count("staff.create"), 59);
    assert_eq!(inbox.names("processed"), three("staff.csv"));
    let table = inbox.text("processed", ".report.csv");
    assert_eq!(table.matches(",added,").count(), 59, "what was done before the kill is told too: {table}");
}

#[test]
fn a_file_stays_while_its_changes_can_not_be_delivered() {
    let mut world = world("", "");
    Inbox(&world).drop("a.csv", people(1..5));
    Inbox(&world).drop("b.csv", people(1..9));
    world.faults(&["staff.create status=500"]);
    let ran = world.sync().expect(1);
    reason_has(&ran, "could not be delivered");
    assert_eq!(Inbox(&world).waiting(), ["a.csv", "b.csv"]);
    world.faults(&[]);
    world.sync().expect(0);
    assert_eq!(Inbox(&world).waiting(), [] as [String; 0]);
    world.expect_people(1..9);
    Inbox(&world).drop("c.csv", people(1..12));
    world.stop_service();
    world.sync().expect(1);
    assert_eq!(Inbox(&world).waiting(), ["c.csv"]);
}

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
        world.run(&["approve", "staff"]).expect(0);
        let ran = world.sync().expect(0);
        assert_eq!(ran.writes(), (0, 19, 0), "{mode}: {}", ran.reason());
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{mode}");
        let left: Vec<_> = fs::read_dir(world.state().join("inbox/staff")).unwrap().collect();
        assert!(left.is_empty(), "{mode}: nothing is open, so nothing is kept: {left:?}");
        inbox.drop("c.csv", people(1..21).replace("Clerk", "Baker"));
        assert_eq!(world.sync().expect(0).writes(), (1, 0, 0), "{mode}: the form of files is still known");
    }
}

#[test]
fn a_grace_ends_though_no_file_waits() {
    let world = world("", "[job.leavers]\naction = \"delete\"\ngrace = \"1h\"\n");
    let inbox = Inbox(&world);
    for (hours, text) in [(3, people(1..20)), (2, people(2..20))] {
        inbox.drop("a.csv", text);
        assert_eq!(world.sync_ago(SignedDuration::from_hours(hours)).counts.deleted, 0);
    }
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.expect_people(2..20);
}

#[test]
fn changes_are_upserts_and_nobody_leaves_by_them() {
    let world = world("mode = \"changes\"\n", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..20));
    inbox.drop("b.csv", HEADER.to_owned() + &row(3, "Baker") + &row(77, "New"));
    assert_eq!(world.sync().expect(0).writes(), (20, 1, 0));
    assert_eq!(world.staff().len(), 20);
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
    inbox.drop("d.xlsx", "PK");
    let planned = world.plan().expect(0).job();
    assert_eq!(planned["changes"].as_array().unwrap().len(), 1, "{planned}");
    assert_eq!(planned["inbox"]["file"], "b.csv");
    assert_eq!(planned["inbox"]["waiting"], serde_json::json!(["b.csv", "c.csv"]));
    assert_eq!(world.run(&["preview", "staff", "--json"]).expect(0).json()["rows"].as_array().unwrap().len(), 9);
    assert!(world.run(&["check"]).expect(0).out.contains("2 files wait (b.csv, c.csv)"));
    let told = world.run(&["explain", "staff", "P00009"]).expect(0);
    assert!(told.out.contains("this is about b.csv"), "{told:?}");
    assert!(world.run(&["status"]).expect(0).out.contains("in the inbox: b.csv, c.csv"));
    assert_eq!(inbox.waiting(), ["b.csv", "c.csv", "d.xlsx"]);
    world.expect_people(1..9);
}

#[test]
fn what_was_filed_is_kept_as_long_as_it_says() {
    let mut world = world("", "");
    world.reconfigure(|config| Config { state: "[retention]\nprocessed = \"6h\"\n".into(), ..config });
    for (hours, name) in [(7, "a.csv"), (5, "b.csv")] {
        Inbox(&world).drop(name, people(1..5));
        world.sync_ago(SignedDuration::from_hours(hours));
    }
    assert_eq!(Inbox(&world).names("processed").len(), 6);
    fs::write(Inbox(&world).path("processed/mine.txt"), "x").unwrap();
    world.sync().expect(0);
    let kept = [three("b.csv").to_vec(), vec!["mine.txt".to_owned()]].concat();
    assert_eq!(Inbox(&world).names("processed"), kept, "what is not old stays, and what somebody else put there");
    world.reconfigure(|config| Config { state: "[retention]\nprocessed = \"0s\"\n".into(), ..config });
    Inbox(&world).drop("d.csv", people(1..9));
    Inbox(&world).drop("c.xlsx", "PK");
    assert_eq!(world.sync().expect(1).writes(), (4, 0, 0));
    assert_eq!(
        (Inbox(&world).names("processed"), Inbox(&world).names("failed")),
        (vec!["mine.txt".to_owned()], vec![])
    );
    assert_eq!(Inbox(&world).waiting(), [] as [String; 0]);
}

/// How many of a run's reasons say that its job is overdue.
fn overdue_in(report: &Report) -> usize {
    report.reasons.iter().filter(|reason| reason.contains("overdue")).count()
}

#[test]
fn without_new_content_for_too_long_a_job_is_overdue() {
    let world = world("expect_every = \"1d\"\n", "");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..5));
    assert_eq!(overdue_in(&world.sync_ago(SignedDuration::from_hours(25))), 0);
    inbox.drop("b.csv", people(1..5));
    let ran = world.sync().expect(0);
    reason_has(&ran, "overdue: no new content since");
    assert!(world.run(&["status"]).expect(1).out.contains("overdue: "));
    inbox.drop("c.csv", people(1..6));
    assert_eq!(world.sync().expect(0).reason(), "");
    assert_eq!(world.run(&["status", "--json"]).job()["overdue"], serde_json::Value::Null);
}

#[test]
fn without_new_content_a_file_read_in_place_is_overdue_too() {
    let source = "settle = \"0s\"\nexpect_every = \"1d\"\n".into();
    let world = World::with(Options::default(), Config { source, ..Config::default() });
    world.csv(people(1..5));
    assert_eq!(overdue_in(&world.sync_ago(SignedDuration::from_hours(25))), 0);
    reason_has(&world.sync_of(people(1..5)).expect(0), "overdue: ");
    assert_eq!(world.sync_of(people(1..6)).expect(0).reason(), "");
}

#[test]
fn fault_90_reports_show_what_stands_in_a_file_and_obey_none_of_it() {
    let world = world("delimiter = \";\"\n", "");
    let inbox = Inbox(&world);
    let text = "Employee No;Name;Email;Title\n=cmd();Ana;a@example.com;x\n<script>alert(1)</script>;;b@example.com;y\n";
    inbox.drop("a&b<i>.csv", text);
    world.sync().expect(3);
    assert!(world.texts("employee_id").contains(&"=cmd()".to_owned()), "what is sent is as it stands in the file");
    let table = inbox.text("processed", ".report.csv");
    assert!(
        table.contains("\r\n2;'=cmd();added;\r\n") && table.contains("<script>alert(1)</script>;not used;"),
        "{table}"
    );
    let page = inbox.text("processed", ".report.html");
    assert!(!page.contains("<script") && !page.contains("<i>") && page.contains("a&amp;b&lt;i&gt;.csv"), "{page}");
}

#[test]
fn fault_114_who_is_forgotten_is_gone_from_what_was_filed_too() {
    const CANARIES: [&str; 3] = ["CANARYKEY", "Canaryname", "canarymail"];
    fn found(folder: &std::path::Path) -> Vec<String> {
        let mut all = Vec::new();
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                all.extend(found(&entry));
                continue;
            }
            let bytes = fs::read(&entry).unwrap();
            let holds = |canary: &str| bytes.windows(canary.len()).any(|window| window == canary.as_bytes());
            all.extend(CANARIES.iter().filter(|canary| holds(canary)).map(|_| entry.display().to_string()));
        }
        all
    }
    let world = world("", "[job.guard]\nmax_updates = 0\n[job.leavers]\naction = \"delete\"\n");
    let inbox = Inbox(&world);
    let canary = "CANARYKEY,Canaryname,canarymail@example.com,Clerk\n";
    inbox.drop("a.csv", people(1..9) + canary);
    world.sync().expect(0);
    inbox.drop("b.csv", people(1..9).replace("Clerk", "Baker") + &canary.replace("Clerk", "Baker"));
    inbox.drop("c.csv", HEADER.replace("Title", "Position") + canary);
    inbox.drop("d.csv", people(1..9) + &canary.replace("Canaryname", ""));
    world.sync().expect(1);
    inbox.drop("e.csv", people(1..9).replace("Clerk", "Baker") + &canary.replace("Clerk", "Boss"));
    world.sync().expect(4);
    assert!(found(&inbox.path("")).len() >= 8 && found(&world.state()).len() >= 3, "the canaries are there before");
    let told = world.run(&["forget", "CANARYKEY", "--json"]).expect(0).json();
    assert!(told["files"].as_u64().unwrap() >= 8, "{told}");
    assert_eq!((found(&inbox.path("")), found(&world.state())), (vec![], vec![]));
    let filed = inbox.text("processed", "a.csv");
    assert!(filed.contains("P00003,Person 3,person3@example.com,Clerk\r\n"), "the others stay: {filed}");
    assert!(inbox.text("processed", "a.csv.report.csv").contains("P00003,added"));
    assert!(inbox.text("processed", "a.csv.report.html").contains("<td>P00003</td>"));
    world.run(&["forget", "CANARYKEY"]).expect(1);
    world.sync();
    inbox.drop("f.csv", people(1..9).replace("Clerk", "Boss"));
    world.sync().expect(4);
    assert!(world.texts("name").contains(&"Canaryname".to_owned()), "who is forgotten is nobody's leaver");
}

/// A small file system of its own, gone when it is dropped.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn fault_10_without_space_for_the_reports_the_sync_stands_and_they_follow() {
    let world = world("", "");
    let inbox = Inbox(&world);
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs"])
        .arg(inbox.path(""))
        .output();
    if !mount.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("CI").is_none(), "CI must be able to mount");
        eprintln!("skipped: this user may not mount a small file system");
        return;
    }
    let _mounted = Mounted(inbox.path(""));
    world.sync().expect(0);
    fs::write(inbox.path("staff.csv"), people(1..30)).unwrap();
    let fill = |name: &str| {
        let mut file = fs::File::create(inbox.path(name)).unwrap();
        while file.write_all(&[0; 512]).is_ok() {}
    };
    fill(".full");
    let ran = world.sync().expect(0);
    assert_eq!(ran.writes(), (29, 0, 0));
    reason_has(&ran, "could not be filed");
    world.expect_people(1..30);
    let again = world.sync().expect(0);
    assert_eq!(again.writes(), (0, 0, 0));
    reason_has(&again, "could not be filed");
    fs::remove_file(inbox.path(".full")).unwrap();
    assert_eq!(world.sync().expect(0).reason(), "");
    assert_eq!((inbox.names("processed"), inbox.waiting()), (three("staff.csv").to_vec(), vec![]));
    assert!(inbox.text("processed", "staff.csv").contains("P00001,"));
}

#[test]
fn faults_81_83_86_90_91_a_damaged_dropped_file_makes_nobody_leave() {
    let whole = people(1..40);
    let cases: [(&str, Vec<u8>, i32, &str, &str); 7] = [
        ("81 one row of many", people(1..2).into(), 4, "processed", "max_leavers"),
        ("83 cut in a row", whole.as_bytes()[..whole.len() - 20].to_vec(), 3, "processed", "may be cut"),
        ("83 open quote", whole.replace("Person 30,", "\"Person 30,").into(), 3, "processed", "never closed"),
        ("83 cut in a character", [whole.as_bytes(), b"P1,Zo\xc3"].concat(), 3, "processed", "ends inside a character"),
        ("86 twice", whole.replace("Title\n", "Name\n").into(), 1, "failed", "is missing"),
        ("91 too large", [whole.as_bytes(), &vec![b'x'; 70_000]].concat(), 1, "failed", "more than the 65000"),
        ("90 NUL", whole.replace("Person 30,", "Person\0 30,").into(), 3, "processed", "1 row could not be read"),
    ];
    for (name, content, code, folder, words) in cases {
        let world = world("size_max = \"65kB\"\n", LEAVE_AT_ONCE);
        let inbox = Inbox(&world);
        inbox.drop("a.csv", &whole);
        world.sync().expect(0);
        inbox.drop("b.csv", content);
        let ran = world.sync();
        assert_eq!(ran.code, Some(code), "{name}: {ran:?}");
        reason_has(&ran, words);
        assert_eq!((ran.writes().2, inbox.waiting()), (0, vec![]), "{name}");
        assert!(inbox.names(folder).contains(&"b.csv.report.html".to_owned()), "{name}");
        world.expect_people(1..40);
        world.run(&["sync"]);
        world.expect_people(1..40);
        inbox.drop("c.csv", whole.clone() + &row(40, "Clerk"));
        assert_eq!(world.sync().expect(0).writes(), (1, 0, 0), "{name}");
    }
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
