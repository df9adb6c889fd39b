//! Who may use the daemon's socket.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::process::Command;

use rosterd::sandbox::Options;

use crate::support::{Config, Ran, World, people};

/// An account that owns nothing here, and a group that the socket is given to.
const NOBODY: u32 = 65_534;
const GROUP: u32 = 64_242;

/// A command as another user of this machine, with the configuration of that name.
fn as_nobody(world: &World, group: u32, config: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new("setpriv");
    command
        .arg(format!("--reuid={NOBODY}"))
        .arg(format!("--regid={group}"))
        .args(["--clear-groups", env!("CARGO_BIN_EXE_rosterd"), "--color", "never", "--config"])
        .arg(world.dir().join(config))
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .current_dir("/");
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A world whose folder and configuration all may read, and whether this is root.
fn open_world() -> Option<World> {
    let world = World::with(Options::default(), Config::served("", ""));
    world.csv(people(1..4));
    for (path, mode) in [("", 0o755), ("config.toml", 0o644)] {
        fs::set_permissions(world.dir().join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let is_root = rustix::process::geteuid().is_root();
    assert!(is_root || std::env::var_os("CI").is_none(), "in CI root is wanted");
    is_root.then_some(world)
}

const COMMANDS: &[&[&str]] = &[
    &["status"],
    &["sync"],
    &["approve", "staff"],
    &["queue", "list"],
    &["pause"],
    &["forget", "P00001"],
    &["reload"],
];

#[test]
fn a_caller_who_is_neither_root_nor_the_owner_is_refused_and_told_what_to_do() {
    let Some(world) = open_world() else { return };
    let _daemon = world.daemon();
    for arguments in COMMANDS {
        let ran = as_nobody(&world, NOBODY, "config.toml", arguments).expect(2).hides(&["sandbox-key"]);
        let words = "control.sock is for root and the group root: run this as one of them";
        assert!(ran.err.contains(words) && ran.out.is_empty(), "{arguments:?}: {ran:?}");
    }
    assert_eq!(world.service().requests(), [], "nothing of it was done");
    assert!(!world.state().join("paused").exists());
    world.sync().expect(0);
}

#[test]
fn a_socket_in_a_folder_that_is_closed_is_told_of_all_the_same() {
    let Some(world) = open_world() else { return };
    let text = fs::read_to_string(world.dir().join("config.toml")).unwrap();
    let other = world.put("other.toml", text.replace("control.sock", "closed/control.sock").as_bytes());
    fs::set_permissions(other, fs::Permissions::from_mode(0o644)).unwrap();
    let closed = world.dir().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o750)).unwrap();
    chown(&closed, None, Some(GROUP)).unwrap();
    let ran = as_nobody(&world, NOBODY, "other.toml", &["status"]).expect(2);
    assert!(ran.err.contains(&format!("is for root and the group gid {GROUP}")), "{ran:?}");
    assert!(as_nobody(&world, NOBODY, "other.toml", &["reload"]).expect(2).err.contains("can't reach the daemon"));
}

#[test]
fn a_member_of_the_socket_s_group_is_served_and_named_in_the_audit_file() {
    let Some(world) = open_world() else { return };
    let _daemon = world.daemon();
    chown(world.dir().join("control.sock"), None, Some(GROUP)).unwrap();
    assert_eq!(as_nobody(&world, GROUP, "config.toml", &["sync", "--json"]).expect(0).writes(), (3, 0, 0));
    as_nobody(&world, GROUP, "config.toml", &["pause"]).expect(0);
    let audit = fs::read_to_string(world.audit_file()).unwrap();
    let line = audit.lines().find(|line| line.contains("\"paused\"")).unwrap_or_else(|| panic!("{audit}"));
    let user = rosterd::history::user_named(NOBODY, None);
    assert!(line.contains(&format!("\"by\":\"{user}\"")), "{line}");
}
