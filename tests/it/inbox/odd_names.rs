//! What lies in an inbox and is no file that anybody meant: it concerns nothing but itself.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use memchr::memmem;

use crate::inbox::{Inbox, world};
use crate::support::{Ran, World, people};

/// A user who runs the program, since this process may read everything.
const NOBODY: u32 = 65_534;
/// What the program may have of memory and write into a file, in KiB and in blocks of 512 bytes: less than a sparse file claims.
const LIMITS: &str = "ulimit -v 2500000; ulimit -f 400000; exec \"$@\"";
const CANARY: &str = "CANARYKEY,Canaryname,canarymail@example.com,Clerk\n";

type Lay = fn(&Path);

/// Things that are no plain file, or none that can be read, by name.
const ODD: [(&str, Lay); 8] = [
    ("folder", |path| fs::create_dir(path).unwrap()),
    ("full folder", |path| {
        fs::create_dir(path).unwrap();
        fs::write(path.join("inner"), "x").unwrap();
    }),
    ("link", |path| symlink("/etc/passwd", path).unwrap()),
    ("link to nothing", |path| symlink("/nowhere/at/all", path).unwrap()),
    ("pipe", |path| rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR).unwrap()),
    ("socket", |path| drop(UnixListener::bind(path).unwrap())),
    ("sparse file", |path| fs::File::create(path).unwrap().set_len(3 << 30).unwrap()),
    ("unreadable file", |path| {
        fs::write(path, CANARY).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }),
];

/// A world whose program runs as a user who may not read everything, under [`LIMITS`].
struct Plain(World, PathBuf);

impl Plain {
    fn new(state: &str) -> Self {
        let mut world = world("size_max = \"1MB\"\n", "[job.leavers]\naction = \"delete\"\n");
        world.reconfigure(|config| crate::support::Config { state: state.into(), ..config });
        let program = world.dir().join("program");
        let built = env!("CARGO_BIN_EXE_rosterd");
        fs::hard_link(built, &program).or_else(|_| fs::copy(built, &program).map(drop)).unwrap();
        Self(world, program)
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let Self(world, program) = self;
        let mut command = Command::new("sh");
        command.args(["-c", LIMITS, "sh"]).arg(program).args(world.command(arguments).get_args());
        command.env_clear().env("ROSTERD__STATUS__LISTEN", "").current_dir(world.dir());
        if rustix::process::geteuid().is_root() {
            hand_over(world.dir(), program);
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        Ran { code: output.status.code(), out, err }
    }

    fn inbox(&self) -> Inbox<'_> {
        Inbox(&self.0)
    }
}

/// Gives all files of a folder to the user that the program runs as.
fn hand_over(dir: &Path, program: &Path) {
    std::os::unix::fs::lchown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path != program) {
        match fs::symlink_metadata(&path).unwrap().is_dir() {
            true => hand_over(&path, program),
            false => std::os::unix::fs::lchown(&path, Some(NOBODY), Some(NOBODY)).unwrap(),
        }
    }
}

/// The files below a folder that name a person.
fn named(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        let about = fs::symlink_metadata(&path).unwrap();
        if about.is_dir() {
            found.extend(named(&path));
        } else if about.is_file() && about.len() < 1 << 30 {
            let bytes = fs::read(&path).unwrap();
            found.extend(memmem::find(&bytes, b"CANARYKEY").map(|_| path));
        }
    }
    found
}

#[test]
fn no_odd_thing_in_an_inbox_keeps_the_files_behind_it_from_being_read() {
    for (kind, lay) in ODD {
        let plain = Plain::new("");
        lay(&plain.inbox().path("a.csv"));
        plain.inbox().drop("b.csv", people(1..5));
        let ran = plain.run(&["sync", "--json"]);
        assert!(matches!(ran.code, Some(0 | 1)), "{kind}: {ran:?}");
        plain.0.expect_people(1..5);
        let folder = kind.contains("folder");
        let failed = plain.inbox().names("failed");
        assert_eq!(failed.contains(&"a.csv".to_owned()), !folder, "{kind}: {failed:?}");
        let told = if folder { "is a folder" } else { "a.csv was refused" };
        assert!(ran.reason().contains(told), "{kind}: {ran:?}");
    }
}

#[test]
fn no_odd_thing_that_is_filed_keeps_the_rest_from_being_swept_searched_or_written() {
    const OLD: [&str; 4] = [
        "20200101T000000Z_odd.csv",
        "20200101T000000Z_odd.csv.report.csv",
        "20200101T000000Z_odd.csv.report.html",
        ".rosterd-20200101T000000Z_odd.csv",
    ];
    const NEW: [&str; 3] =
        ["29990101T000000Z_odd.csv", "29990101T000000Z_odd.csv.report.csv", "29990101T000000Z_odd.csv.report.html"];
    for (kind, lay) in ODD {
        let plain = Plain::new("");
        let inbox = plain.inbox();
        inbox.drop("odd.csv", people(1..5) + CANARY);
        plain.run(&["sync", "--json"]).expect(0);
        for shelf in ["processed", "failed"] {
            OLD.iter().chain(&NEW).for_each(|name| lay(&inbox.path(shelf).join(name)));
            fs::write(inbox.path(shelf).join("20200102T000000Z_old.csv"), "x").unwrap();
        }
        let told = plain.run(&["explain", "staff", "P00003"]).expect(0);
        assert!(told.out.contains("Person 3") || told.out.contains("***"), "{kind}: the last file: {told:?}");

        let told = plain.run(&["forget", "CANARYKEY"]).expect(0);
        assert_eq!(named(plain.0.dir()), [] as [PathBuf; 0], "{kind}: {told:?}");
        let rest = inbox.names("processed");
        assert!(rest.contains(&"odd.csv".to_owned()), "{kind}: the others stay: {rest:?}");

        inbox.drop("next.csv", people(1..9));
        plain.run(&["sync", "--json"]).expect(0);
        for shelf in ["processed", "failed"] {
            let old = inbox.path(shelf).join("20200102T000000Z_old.csv");
            assert!(!old.exists(), "{kind}: what is old goes: {:?}", inbox.names(shelf));
        }
        let processed = inbox.names("processed");
        for name in ["next.csv", "next.csv.report.csv", "next.csv.report.html"] {
            assert!(processed.contains(&name.to_owned()), "{kind}: {processed:?}");
        }
    }
}

#[test]
fn a_file_named_like_a_report_is_searched_as_the_file_that_it_is() {
    let plain = Plain::new("");
    for name in ["a.report.csv", "b.report.csv"] {
        plain.inbox().drop(name, people(1..5) + CANARY);
        plain.run(&["sync", "--json"]).expect(0);
    }
    plain.run(&["forget", "CANARYKEY"]).expect(0);
    assert_eq!(named(plain.0.dir()), [] as [PathBuf; 0]);
    let left = plain.inbox().text("processed", "Z_a.report.csv");
    assert!(left.contains("P00003"), "the others stay: {left}");
}

#[test]
fn an_inbox_that_is_open_to_more_than_it_needs_is_named_and_closed() {
    let world = world("", "");
    let inbox = Inbox(&world);
    fs::set_permissions(inbox.path(""), fs::Permissions::from_mode(0o2770)).unwrap();
    let told = world.run(&["check"]).expect(0);
    assert!(told.out.contains("chmod 3770"), "{told:?}");
    world.sync().expect(0);
    let mode = |name: &str| fs::metadata(inbox.path(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(["", "processed", "failed"].map(mode), [0o3770, 0o2750, 0o2750]);
    assert!(!world.run(&["check"]).expect(0).out.contains("chmod"));
    fs::set_permissions(inbox.path("processed"), fs::Permissions::from_mode(0o2770)).unwrap();
    let told = world.run(&["check"]).expect(0);
    assert!(told.out.contains("chmod 2750"), "{told:?}");
    inbox.drop("a.csv", people(1..5));
    world.sync().expect(0);
    assert_eq!(mode("processed"), 0o2750);
}
