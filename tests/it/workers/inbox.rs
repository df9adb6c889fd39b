//! An inbox that several workers share: what one has laid out, another files.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use super::{Worker, config};
use crate::inbox::{Inbox, inbox_of};
use crate::support::config::UNLIMITED;
use crate::support::daemon::eventually;
use crate::support::{Config, Ran, World, people, postgres};

const THREE: [&str; 3] = ["staff.csv", "staff.csv.report.csv", "staff.csv.report.html"];

fn world() -> World {
    inbox_of(World::of(config(UNLIMITED)))
}

/// As long as this lives nothing can be filed: the folder for it can't be written to.
struct Barred(PathBuf);

impl Barred {
    /// `None` where this user may not mount.
    fn new(world: &World) -> Option<Self> {
        let place = Inbox(world).path("processed");
        let mount = |options: &[&str]| {
            let ran = Command::new("mount").args(options).arg(&place).output();
            ran.is_ok_and(|ran| ran.status.success())
        };
        let source = place.display().to_string();
        if !mount(&["--bind", &source]) {
            assert!(std::env::var_os("CI").is_none(), "CI must be able to mount");
            let _ = writeln!(std::io::stderr(), "left out: this user may not mount a folder");
            return None;
        }
        let barred = Self(place.clone());
        assert!(mount(&["-o", "remount,ro,bind"]));
        Some(barred)
    }
}

impl Drop for Barred {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// What the database holds of inboxes.
fn kept(world: &World) -> String {
    let names = "select string_agg(name, ' ' order by name) from (
        select name from rosterd.file union select name from rosterd.document where name like 'inbox/%'
        union select 'a part' from rosterd.blob b where not exists (select from rosterd.file f where f.blob = b.id)) as all_names";
    world.database().sql(names)
}

/// A run on another machine: nothing of what the first one has on its disk is there.
fn elsewhere(world: &World, arguments: &[&str]) -> Ran {
    let mut command = world.command(arguments);
    command.env("ROSTERD__STATE__SPILL_DIR", world.dir().join("elsewhere"));
    let ran = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: ran.status.code(), out: text(ran.stdout), err: text(ran.stderr) }
}

#[test]
fn a_file_that_a_killed_worker_had_done_is_filed_by_the_next_one_and_not_read_again() {
    if !postgres::is_there() {
        return;
    }
    let world = world();
    let inbox = Inbox(&world);
    world.sync().expect(0);
    let Some(barred) = Barred::new(&world) else { return };
    inbox.drop("staff.csv", people(1..31));
    let mut first = Worker::start(&world, "first");
    first.says("it could not be filed");
    let second = Worker::start(&world, "second");
    second.says("the daemon waits until it can have its state");
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    assert_eq!((world.staff().len(), inbox.waiting()), (30, vec!["staff.csv".to_owned()]));
    fs::remove_dir_all(world.dir().join("first")).unwrap();
    drop(barred);
    let requests = world.service().writes();
    world.database().sql("update rosterd.account set expires_at = clock_timestamp() - interval '1 s'");
    eventually("the file is filed", || inbox.waiting().is_empty() && inbox.names("processed") == THREE);
    eventually("nothing is kept", || kept(&world).is_empty());
    second.signal(Signal::TERM);
    second.wait();
    assert_eq!(world.service().writes(), requests, "what is done is not sent again");
    assert!(inbox.text("processed", "staff.csv").starts_with("Employee No,"));
    assert_eq!(inbox.text("processed", "staff.csv.report.csv").matches(",added,").count(), 30);
}

#[test]
fn a_worker_that_wakes_up_late_moves_no_file_that_came_since() {
    if !postgres::is_there() {
        return;
    }
    let world = world();
    let inbox = Inbox(&world);
    world.sync().expect(0);
    let Some(barred) = Barred::new(&world) else { return };
    inbox.drop("staff.csv", people(1..4));
    let first = Worker::start(&world, "first");
    first.says("it could not be filed");
    first.signal(Signal::STOP);
    drop(barred);
    world.database().sql("update rosterd.account set expires_at = clock_timestamp() - interval '1 s'");
    elsewhere(&world, &["sync", "--json"]).expect(0);
    assert_eq!(inbox.names("processed"), THREE);
    inbox.drop("staff.csv", people(1..6));
    first.signal(Signal::CONT);
    first.says("another worker may have taken it over");
    assert_eq!(first.wait().code(), Some(1));
    assert_eq!((inbox.waiting(), inbox.names("processed").len()), (vec!["staff.csv".to_owned()], 3));
    assert_eq!((world.staff().len(), kept(&world)), (3, String::new()));
}

#[test]
fn what_is_open_of_a_file_of_many_parts_is_sent_by_another_worker_and_then_nothing_is_kept() {
    if !postgres::is_there() {
        return;
    }
    const PEOPLE: usize = 2000;
    let world = inbox_of(World::of(
        Config { api: UNLIMITED.into(), ..Config::rest("[job.guard]\nmax_updates = 5\n") }.in_database(),
    ));
    let inbox = Inbox(&world);
    inbox.drop("staff.csv", people(1..PEOPLE));
    world.sync().expect(0);
    inbox.drop("next.csv", people(1..PEOPLE).replacen("Clerk", "Baker", 9));
    world.sync().expect(4);
    assert_eq!(kept(&world), "inbox/staff/kept_copy inbox/staff/waiting");
    let parts = world.database().sql("select count(*), count(distinct id) from rosterd.blob");
    let [parts, files] = parts.split('|').map(|number| number.parse::<u32>().unwrap()).collect::<Vec<_>>()[..] else {
        panic!()
    };
    assert!(parts > 20 && files == 2, "{parts} parts of {files} files");
    fs::remove_dir_all(world.state()).unwrap();
    elsewhere(&world, &["approve", "staff", "P00001", "P00002"]).expect(0);
    assert_eq!(elsewhere(&world, &["sync", "--json"]).expect(4).writes(), (0, 2, 0));
    let table = inbox.text("processed", "next.csv.report.csv");
    assert_eq!((table.matches(",changed,").count(), table.matches(",waiting,").count()), (2, 7), "{table}");
    elsewhere(&world, &["reject", "staff"]).expect(0);
    elsewhere(&world, &["sync", "--json"]).expect(0);
    assert_eq!(kept(&world), "");
    let left = |path: &str| fs::read_dir(world.dir().join("elsewhere").join(path)).unwrap().count();
    assert_eq!(left("inbox/staff"), 0, "no copy is left on the machine that looked");
}

#[test]
fn fault_114_who_is_forgotten_is_gone_from_what_the_database_keeps_of_an_inbox() {
    if !postgres::is_there() {
        return;
    }
    let world = inbox_of(World::of(Config::default().job("writes = \"approve\"\n").in_database()));
    let inbox = Inbox(&world);
    let canary = "CANARYKEY,Canaryname,canarymail@example.com,Clerk\n";
    inbox.drop("a.csv", people(1..9) + canary);
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    world.sync().expect(0);
    inbox.drop("b.csv", people(1..9).replacen("Clerk", "Baker", 1) + &canary.replace("Clerk", "Baker"));
    let Some(barred) = Barred::new(&world) else { return };
    world.sync().expect(4);
    let holding = "select count(*) from (select bytes from rosterd.blob union all select bytes from rosterd.document
        union all select payload from rosterd.rows union all select convert_to(line, 'UTF8') from rosterd.audit) as held(bytes)
        where position('anary' in encode(bytes, 'escape')) > 0 or position('CANARY' in encode(bytes, 'escape')) > 0";
    assert_ne!(world.database().sql(holding), "0");
    assert!(kept(&world).contains(".order"), "it is still on its way: {}", kept(&world));
    drop(barred);
    world.run(&["forget", "CANARYKEY"]).expect(0);
    assert_eq!(world.database().sql(holding), "0");
    world.sync();
    assert!(inbox.text("processed", "b.csv").contains("P00002,Person 2,person2@example.com,Clerk"));
    assert!(!inbox.text("processed", "b.csv.report.csv").contains("CANARY"));
}
