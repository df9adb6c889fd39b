//! The power fails: what was not flushed to the disk is gone, whatever the process thought of it.
//!
//! The state lies on a file system of its own, which is shut down without writing its log: the kernel then drops what only
//! its memory holds, as a machine without power does. Wants root, a loop device, ext4 and `xfs_io` (package xfsprogs).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use rosterd::sandbox::Options;

use crate::support::config::OfAFolder;
use crate::support::daemon::eventually;
use crate::support::held::EIGHT_IN_FLIGHT;
use crate::support::{Config, World, people};

const ROUNDS: u64 = 8;
const IMAGE_BYTES: u64 = 64 * 1024 * 1024;

/// A disk of its own under a folder.
struct Disk {
    image: PathBuf,
    folder: PathBuf,
}

fn tool(name: &str, arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> bool {
    let mut command = Command::new(name);
    arguments.iter().for_each(|argument| {
        command.arg(argument.as_ref());
    });
    let path = std::env::var("PATH").unwrap_or_default();
    let output = command.env("PATH", format!("{path}:/usr/sbin:/sbin")).output();
    output.is_ok_and(|output| output.status.success())
}

impl Disk {
    /// None where this machine or user can't have one.
    fn under(world: &World) -> Option<Self> {
        let disk = Self { image: world.dir().join("disk.img"), folder: world.state() };
        File::create(&disk.image).unwrap().set_len(IMAGE_BYTES).unwrap();
        fs::create_dir(&disk.folder).unwrap();
        let made = tool("mkfs.ext4", &[&"-q", &"-F", &disk.image]) && tool("xfs_io", &[&"-V"]);
        (made && disk.on()).then_some(disk)
    }

    fn on(&self) -> bool {
        tool("mount", &[&"-o", &"loop", &self.image, &self.folder])
    }

    fn cut(&self) {
        assert!(tool("xfs_io", &[&"-x", &"-c", &"shutdown", &self.folder]), "the disk could not be shut down");
    }

    fn off(&self) {
        eventually("the disk is not in use", || tool("umount", &[&self.folder]));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        tool("umount", &[&"-l", &self.folder]);
    }
}

fn own(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn fault_8_the_power_fails_again_and_again_and_no_one_is_lost_or_doubled() {
    const PEOPLE: usize = 120;
    let options = Options { accept_duplicates: true, ..Options::default() };
    let rest = "[job.guard]\nmax_updates = \"off\"\n";
    let mut world =
        World::with(options, Config { api: EIGHT_IN_FLIGHT.into(), ..Config::rest(rest) }.in_a_folder(OfAFolder::Disk));
    let Some(disk) = Disk::under(&world) else {
        assert!(std::env::var_os("CI").is_none(), "in CI root must have loop devices, mkfs.ext4 and xfs_io");
        eprintln!("skipped: needs root, a loop device, mkfs.ext4 and xfs_io (package xfsprogs)");
        return;
    };
    own(&world.state());
    world.csv(people(0..PEOPLE));
    for round in 0..ROUNDS {
        let (operation, baker) = if round > ROUNDS / 2 { ("staff.update", "Baker") } else { ("staff.create", "Clerk") };
        world.csv(people(0..PEOPLE).replace("Clerk", baker));
        // Everything up to the eight that are carried out and not answered is confirmed, and these are intended.
        world.faults(&[&format!("{operation} hold after={}", 9 + round * 7 % 11)]);
        let mut child = world.start(&["sync"]);
        world.until_held(8);
        disk.cut();
        child.kill().unwrap();
        child.wait().unwrap();
        world.faults(&[]);
        disk.off();
        assert!(disk.on(), "round {round}: the disk can't be mounted again");
        // What it counted of the limit may be damaged, which costs a minute each time and is another test's matter.
        let _ = fs::remove_file(world.state().join("budget"));
        assert_eq!(world.sent().len(), 8, "round {round}: of what was sent, the store knows");
        world.expect_intents();
    }
    world.reconfigure(|config| Config { api: Config::default().api, ..config });
    world.sync().expect(0);
    world.expect_people(0..PEOPLE);
    assert!(world.texts("title").iter().all(|title| title == "Baker"));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    disk.off();
}
