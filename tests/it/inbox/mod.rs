//! An inbox: each dropped file is read once, in order, and filed with its reports.

mod again;
mod filed;
mod odd_names;
mod open;
mod overdue;
mod refused;
mod reports;
mod said_once;
mod settling;
mod waiting;
mod worked_out_again;

use std::fs;
use std::path::PathBuf;

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

    /// The names of what the state keeps of it.
    pub(crate) fn kept(&self) -> Vec<String> {
        let home = self.0.home();
        let all = home.files("inbox/staff").unwrap().into_iter().chain(home.list("inbox/staff").unwrap());
        all.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }

    /// Puts this in place of what the state keeps of it under that name; nothing: removes it.
    pub(crate) fn put_kept(&self, name: &str, content: Option<&str>) {
        let store = rosterd::store::Store::open(self.0.home()).unwrap();
        let name = format!("inbox/staff/{name}");
        match content {
            None => store.drop_file(&name).unwrap(),
            Some(content) => store.take_file(&name, &self.0.put("beside", content.as_bytes())).unwrap(),
        }
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
        // What is being put in its place has a dot in front.
        let is_hidden = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with('.');
        found.retain(|path| path.to_string_lossy().ends_with(end) && !is_hidden(path));
        assert_eq!(found.len(), 1, "{end} in {folder}: {found:?}");
        String::from_utf8(fs::read(&found[0]).unwrap()).unwrap()
    }
}

/// A world whose job reads an inbox; `source` are further lines of its source.
pub(crate) fn world(source: &str, rest: &str) -> World {
    let config = Config { source: format!("settle = \"0s\"\n{source}"), ..Config::rest(rest) };
    inbox_of(World::of(config))
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
    assert!(table.starts_with("\u{feff}row,key,outcome,reason,value\r\n"), "{table}");
    assert!(
        table.contains("\r\n2,P00001,added,,\r\n") && table.contains("\r\n41,P00040,not used,\"Name: it is empty"),
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
fn changes_are_upserts_and_no_one_leaves_by_them() {
    let world = world("mode = \"changes\"\n", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..20));
    inbox.drop("b.csv", HEADER.to_owned() + &row(3, "Baker") + &row(77, "New"));
    assert_eq!(world.sync().expect(0).writes(), (20, 1, 0));
    assert_eq!(world.staff().len(), 20);
}

#[test]
fn faults_81_83_86_90_91_a_damaged_dropped_file_makes_no_one_leave() {
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
