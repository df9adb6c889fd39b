//! A disk that is full at any moment: an error that says so, and all is as it was once there is room.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rosterd::record::{JobName, Key};
use rosterd::store::{Batch, ErrorKind, Keyspace, Store, Table};
use rustix::process::Signal;

use crate::monitoring::notices::Listener;
use crate::support::config::{OfAFolder, UNLIMITED};
use crate::support::daemon::eventually;
use crate::support::looked::get;
use crate::support::ports::free_address;
use crate::support::postgres::{self, Server};
use crate::support::{Config, World, people};

/// A small file system of its own over a folder, gone when it is dropped.
pub(crate) struct Mounted(pub(crate) PathBuf);

impl Mounted {
    /// None where this user may not mount.
    pub(crate) fn over(path: &Path, options: &str) -> Option<Self> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(path).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(path.to_owned()));
        }
        assert!(
            !rustix::process::geteuid().is_root() || std::env::var_os("CI").is_none(),
            "root must be able to mount in CI"
        );
        None
    }

    fn resize(&self, size: &str) {
        let options = format!("remount,size={size}");
        let resized = Command::new("mount").args(["-o", &options]).arg(&self.0).status();
        assert!(resized.unwrap().success(), "{size}");
    }

    /// Leaves so many bytes free.
    fn fill(&self, free: usize) {
        let mut file = File::create(self.0.join("filler")).unwrap();
        while file.write_all(&[7; 4096]).is_ok() {}
        let length = file.metadata().unwrap().len();
        file.set_len(length.saturating_sub(free as u64)).unwrap();
    }

    fn free(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

const ROWS: Table<Key, u32> = Table::new(Keyspace::Synced);

fn put(store: &Store, name: &str, value: u32) -> Result<(), ErrorKind> {
    let mut batch = Batch::default();
    ROWS.put(&mut batch, &JobName::new("employees").unwrap(), &Key::new(name).unwrap(), &value);
    store.commit(batch).map_err(|error| error.kind)
}

#[test]
fn fault_9_a_disk_that_is_full_while_the_state_is_made_or_opened_damages_nothing_however_much_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    fs::create_dir(&state).unwrap();
    let opened = |what: &str, pages: usize| loop {
        match Store::open(&state).map_err(|error| error.kind) {
            Ok(store) => return Some(store),
            // Another test's child has the lock until it becomes another program.
            Err(ErrorKind::InUse { .. }) => std::thread::yield_now(),
            Err(kind) => {
                assert!(matches!(kind, ErrorKind::Full), "{what}, {pages} pages free: {kind}");
                return None;
            }
        }
    };
    let whole = |pages: usize| {
        let mut store = None;
        // Another test's child has what filled the disk until it becomes another program.
        eventually(&format!("{pages} pages free: there is room"), || {
            store = opened("with room", pages);
            store.is_some()
        });
        store.unwrap()
    };
    for pages in (1..16).chain((16..200).step_by(12)) {
        let Some(mounted) = Mounted::over(&state, &format!("size={}k,mode=0700", pages * 4)) else { return };
        drop(opened("made", pages));
        drop(opened("made again", pages));
        mounted.resize("64m");
        put(&whole(pages), "a", 1).unwrap();
    }
    // sled fills its segment of 512 KiB up, and then writes its snapshot.
    for pages in (0..3).chain(122..136) {
        let Some(mounted) = Mounted::over(&state, "size=16m,mode=0700") else { return };
        let store = whole(pages);
        (0..40).for_each(|number| put(&store, &format!("{number:02}"), number).unwrap());
        drop(store);
        fs::remove_file(state.join("reserve")).unwrap();
        mounted.fill(pages * 4096);
        let mut written = 40;
        for _ in 0..3 {
            let Some(store) = opened("opened", pages) else { continue };
            while written < 400 && put(&store, &format!("{written:02}"), written).is_ok() {
                written += 1;
            }
        }
        mounted.free();
        let store = whole(pages);
        let rows = ROWS.list::<Vec<_>>(&store, &JobName::new("employees").unwrap()).unwrap().len();
        assert!(rows >= written as usize, "{pages} pages free: {rows} of {written}");
        put(&store, "more", 1).unwrap();
    }
}

#[test]
fn fault_9_a_daemon_whose_disk_was_full_goes_on_by_itself_once_there_is_room() {
    let every_second = "schedule = \"* * * * * *\"\n";
    let world = World::of(Config::served(every_second, "").in_a_folder(OfAFolder::Disk));
    fs::create_dir(world.state()).unwrap();
    let Some(mounted) = Mounted::over(&world.state(), "size=24m,mode=0700") else { return };
    world.csv(people(1..10));
    let daemon = world.daemon();
    eventually("the first run ends", || world.staff().len() == 9);
    // Another program takes at once whatever comes free: the reserve too.
    fs::remove_file(world.state().join("reserve")).unwrap();
    mounted.fill(0);
    world.csv(people(1..20));
    eventually("it says so", || daemon.log().contains("the disk is full"));
    mounted.fill(0);
    // Another look at the full disk, as sled leaves it where its snapshot does not fit.
    fs::write(world.state().join("store/snap.FFFFFFFFFFFFFFFF.generating"), "").unwrap();
    mounted.free();
    eventually("it goes on", || world.staff().len() == 19);
    assert!(!daemon.log().contains("damaged"), "{}", daemon.log());
    assert!(daemon.stop().success());
    world.expect_people(1..20);
}

/// Where a run meets the full disk.
enum Meets {
    /// The store is written.
    Store,
    /// A dropped file is copied.
    Copy,
}

#[test]
fn fault_9_a_full_disk_is_shown_and_notified_and_a_pause_works_wherever_the_disk_is_full() {
    for meets in [Meets::Store, Meets::Copy] {
        let address = free_address();
        let hook = Listener::start(Listener::http);
        let rest = format!("[status]\nlisten = \"{address}\"\n[notify]\nwebhook = \"http://{}/hook\"\n", hook.address);
        let path = if matches!(meets, Meets::Copy) { "inbox" } else { "staff.csv" };
        let world = World::of(Config { path: path.into(), ..Config::served("", &rest) }.in_a_folder(OfAFolder::Disk));
        fs::create_dir(world.state()).unwrap();
        fs::create_dir(world.dir().join("inbox")).unwrap();
        let Some(mounted) = Mounted::over(&world.state(), "size=24m,mode=0700") else { return };
        let give = |name: &str, count: usize| match meets {
            Meets::Store => drop(world.put("staff.csv", people(1..count).as_bytes())),
            Meets::Copy => drop(world.put(&format!("inbox/{name}.csv"), people(1..count).as_bytes())),
        };
        give("a", 30);
        world.sync().expect(0);
        let daemon = world.daemon();
        let is_full = |flag: u8| get(address, "/metrics").2.contains(&format!("\nrosterd_disk_full {flag}\n"));
        assert!(is_full(0));
        mounted.fill(0);
        give("b", 300);
        daemon.signal(Signal::USR1);
        eventually("the metric says so", || is_full(1));
        assert!(get(address, "/").2.contains("The disk of the state is full"));
        assert_eq!(get(address, "/healthz").0, 503);
        let mut heard = Vec::new();
        eventually("people are told", || {
            heard.extend(hook.heard());
            heard.iter().any(|notice| notice.contains("\"event\":\"disk_full\""))
        });
        world.run(&["pause"]).expect(0);
        assert_eq!(world.run(&["status", "--json"]).json()["disk_full"], true);
        mounted.free();
        world.run(&["resume"]).expect(0);
        eventually("it goes on by itself", || is_full(0) && world.staff().len() == 299);
    }
}

/// A database that lies elsewhere. It goes before that place does: the server writes to it at its next checkpoint otherwise, and
/// makes no database for another test where it can't.
struct Moved {
    server: &'static Server,
    database: String,
}

impl Moved {
    /// Its log of writes stays where it was: where that is full, the whole server ends.
    fn to(place: &Path, server: &'static Server, database: &str) -> Self {
        server.sql("postgres", &format!("create tablespace small location '{}'", place.display()));
        let moved = Self { server, database: database.to_owned() };
        let statement = format!("alter database {database} set tablespace small");
        assert_eq!(server.sql("postgres", &statement), (String::new(), true));
        moved
    }
}

impl Drop for Moved {
    fn drop(&mut self) {
        let drops = [format!("drop database {} with (force)", self.database), "drop tablespace small".into()];
        let done = drops.map(|statement| self.server.sql("postgres", &statement).1);
        assert!(done == [true, true] || std::thread::panicking(), "{done:?}");
    }
}

#[test]
fn fault_9_a_database_whose_disk_is_full_is_shown_and_notified_and_the_daemon_goes_on_once_there_is_room() {
    if !postgres::is_there() {
        return;
    }
    let server = Server::shared();
    let small = server.path("small");
    fs::create_dir(&small).unwrap();
    let owner = fs::metadata(server.path("data")).unwrap();
    let Some(mounted) = Mounted::over(&small, &format!("size=48m,mode=0700,uid={},gid={}", owner.uid(), owner.gid()))
    else {
        return;
    };
    let address = free_address();
    let hook = Listener::start(Listener::http);
    let rest = format!("[status]\nlisten = \"{address}\"\n[notify]\nwebhook = \"http://{}/hook\"\n", hook.address);
    let config = Config { api: UNLIMITED.into(), ..Config::served("schedule = \"* * * * * *\"\n", &rest) };
    let world = World::of(config.in_database());
    let _moved = Moved::to(&small, server, &world.database().name);
    world.csv(people(1..10));
    let daemon = world.daemon();
    eventually("the first run ends", || world.staff().len() == 9);
    mounted.fill(0);
    world.csv(people(1..500));
    eventually("it says so", || daemon.log().contains("the disk is full"));
    let is_full = |flag: u8| get(address, "/metrics").2.contains(&format!("\nrosterd_disk_full {flag}\n"));
    eventually("the metric says so", || is_full(1));
    assert!(get(address, "/").2.contains("The disk of the state is full"));
    assert_eq!(get(address, "/healthz").0, 503);
    let mut heard = Vec::new();
    eventually("people are notified", || {
        heard.extend(hook.heard());
        heard.iter().any(|notice| notice.contains("\"event\":\"disk_full\""))
    });
    assert_eq!(world.run(&["status", "--json"]).json()["disk_full"], true);
    mounted.free();
    eventually("it goes on", || world.staff().len() == 499);
    eventually("nothing is full any more", || is_full(0));
    assert!(daemon.stop().success());
    world.expect_people(1..500);
}
