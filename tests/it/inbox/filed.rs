//! Where files and their reports go, how long they are kept, and what is in them.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use jiff::SignedDuration;
use memchr::memmem;

use super::{Inbox, reason_has, three, world};
use crate::support::{Config, HEADER, people};

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
    reason_has(&ran, "4 changes could not be delivered and will be tried again (P00001, P00002, P00003 and 1 more): ");
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
    Inbox(&world).drop("c.xls", "PK");
    assert_eq!(world.sync().expect(1).writes(), (4, 0, 0));
    assert_eq!(
        (Inbox(&world).names("processed"), Inbox(&world).names("failed")),
        (vec!["mine.txt".to_owned()], vec![])
    );
    assert_eq!(Inbox(&world).waiting(), [] as [String; 0]);
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
        table.contains("\r\n2;'=cmd();added;;\r\n") && table.contains("<script>alert(1)</script>;not used;"),
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
            let holds = |canary: &str| memmem::find(&bytes, canary.as_bytes()).is_some();
            all.extend(CANARIES.iter().filter(|canary| holds(canary)).map(|_| entry.display().to_string()));
        }
        all
    }
    let world = world("", "[job.guard]\nmax_updates = 0\n[job.leavers]\naction = \"delete\"\n");
    let inbox = Inbox(&world);
    let kept = || CANARIES.iter().flat_map(|canary| world.kept_with(canary)).collect::<Vec<_>>();
    let canary = "CANARYKEY,Canaryname,canarymail@example.com,Clerk\n";
    inbox.drop("a.csv", people(1..9) + canary);
    world.sync().expect(0);
    inbox.drop("b.csv", people(1..9).replace("Clerk", "Baker") + &canary.replace("Clerk", "Baker"));
    inbox.drop("c.csv", HEADER.replace("Title", "Position") + canary);
    inbox.drop("d.csv", people(1..9) + &canary.replace("Canaryname", ""));
    world.sync().expect(1);
    inbox.drop("e.csv", people(1..9).replace("Clerk", "Baker") + &canary.replace("Clerk", "Boss"));
    world.sync().expect(4);
    assert!(found(&inbox.path("")).len() >= 8 && kept().len() >= 3, "the canaries are there before");
    let told = world.run(&["forget", "CANARYKEY", "--json"]).expect(0).json();
    assert!(told["files"].as_u64().unwrap() >= 8, "{told}");
    assert_eq!((found(&inbox.path("")), kept()), (vec![], vec![]));
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

/// What was filed is rewritten in a form of rosterd's own, and the job's next files come in theirs.
#[test]
fn law_1_a_file_out_of_which_someone_was_taken_is_read_again_whatever_the_form_of_the_jobs_files() {
    let titled = |text: String| format!("All staff,,,\n,,,\n{text}").into_bytes();
    let by_semicolon = |text: String| text.replace(',', ";").into_bytes();
    let latin = |text: String| text.replace("Person", "Pérson").chars().map(|one| one as u8).collect::<Vec<u8>>();
    type Form<'a> = &'a dyn Fn(String) -> Vec<u8>;
    for (at, (lines, form)) in [
        ("header = 3\n", &titled as Form<'_>),
        ("", &titled),
        ("", &by_semicolon),
        ("delimiter = \";\"\n", &by_semicolon),
        ("", &latin),
    ]
    .into_iter()
    .enumerate()
    {
        let world = world(lines, "[job.guard]\nmax_updates = 1\n");
        let inbox = Inbox(&world);
        inbox.drop("a.csv", form(people(1..9)));
        world.sync().expect(0);
        let bakers = people(1..9).replacen("Clerk", "Baker", 4);
        inbox.drop("b.csv", form(bakers.clone()));
        assert_eq!(world.sync().expect(4).job()["held"], 4, "form {at}");
        world.run(&["forget", "P00008"]).expect(0);
        world.run(&["approve", "staff", "P00001"]).expect(0);
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), &ran.job()["held"]), ((0, 1, 0), &3.into()), "form {at}: {ran:?}");
        inbox.drop("c.csv", form(bakers.replacen("Clerk", "Cook", 1)));
        world.run(&["approve", "staff"]).expect(0);
        let ran = world.sync();
        assert!(ran.writes().1 >= 3 && ran.job()["rejected"] == 0, "form {at}: {ran:?}");
    }
}
