//! Who may use the daemon's socket.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use crate::support::config::OfAFolder;
use crate::support::daemon::eventually;
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
    open_world_of(Config::served("", ""))
}

fn open_world_of(config: Config) -> Option<World> {
    let world = World::of(config);
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
fn a_caller_who_is_neither_root_nor_the_owner_is_refused_with_a_hint() {
    // Who may use a database that a state lies in is served by way of that.
    let Some(world) = open_world_of(Config::served("", "").in_a_folder(OfAFolder::Rights)) else { return };
    let _daemon = world.daemon();
    for arguments in COMMANDS {
        let ran = as_nobody(&world, NOBODY, "config.toml", arguments).expect(2).hides(&["sandbox-key"]);
        let words = "control.sock is for root and the group root: run this as one of them";
        assert!(ran.err.contains(words) && ran.out.is_empty(), "{arguments:?}: {ran:?}");
    }
    assert_eq!(world.service().requests(), [], "nothing of it was done");
    assert_eq!(world.home().list("paused").unwrap(), [] as [String; 0]);
    world.sync().expect(0);
}

#[test]
fn a_socket_in_a_folder_that_is_closed_is_reported_all_the_same() {
    let Some(world) = open_world() else { return };
    let text = world.config_text();
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
    let audit = world.audit();
    let line = audit.lines().find(|line| line.contains("\"paused\"")).unwrap_or_else(|| panic!("{audit}"));
    let user = rosterd::history::user_named(NOBODY, None);
    assert!(line.contains(&format!("\"by\":\"{}\"", world.recorded(&user))), "{line}");
}

/// As many silent callers as that: more than are served at a time, and than may be silent.
const MANY: usize = 100;

#[test]
fn callers_who_say_nothing_or_too_much_keep_no_one_out() {
    let Some(world) = open_world() else { return };
    let daemon = world.daemon();
    let socket = world.dir().join("control.sock");
    for begin in [&b""[..], b"c", b"c\0\0\x01\0{"] {
        let said = |_| {
            let mut stream = UnixStream::connect(&socket).unwrap();
            stream.write_all(begin).unwrap();
            stream
        };
        let silent: Vec<UnixStream> = (0..MANY).map(said).collect();
        assert_eq!(world.status()["name"], "staff", "after {begin:?}");
        drop(silent);
    }
    // More than a command line is not even read, and other frames are none of a caller's.
    for begin in [&b"c\x20\0\0\0"[..], b"c\0\x40\0\0", b"b\0\0\0\x02{}", b"o\0\0\0\0"] {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(begin).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, b"a\0\0\0\0", "{begin:?}: it shows that it lives, and no more");
    }
    assert!(daemon.stop().success());
}

/// Listens as another user does, and keeps what arrives.
fn impostor(socket: &Path) -> std::process::Child {
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={NOBODY}")).arg(format!("--regid={NOBODY}")).args(["--clear-groups", "perl", "-e"]);
    let child = command.arg(IMPOSTOR).arg(socket).stdout(std::process::Stdio::piped()).spawn().unwrap();
    eventually("it listens", || socket.exists());
    child
}

/// Prints what it receives, and writes to the caller's terminal.
const IMPOSTOR: &str = r#"
use IO::Socket::UNIX;
$SIG{PIPE} = "IGNORE";
my $server = IO::Socket::UNIX->new(Type => SOCK_STREAM(), Local => $ARGV[0], Listen => 5) or die;
$| = 1;
while (my $caller = $server->accept()) {
    syswrite($caller, "o\0\0\0\x05owned");
    sysread($caller, my $heard, 65536);
    print "heard ", length($heard), "\n";
}
"#;

#[test]
fn a_caller_says_nothing_to_another_user_s_process() {
    let Some(world) = open_world() else { return };
    world.edit_config("control.sock", "drop/control.sock");
    let drop_box = world.dir().join("drop");
    fs::create_dir(&drop_box).unwrap();
    fs::set_permissions(&drop_box, fs::Permissions::from_mode(0o1777)).unwrap();
    let mut listener = impostor(&drop_box.join("control.sock"));
    let nobody = rosterd::history::user_named(NOBODY, None);
    for arguments in [&["status"][..], &["plan"], &["sync"]] {
        let ran = world.run(arguments);
        assert_eq!((ran.code, ran.out.contains("owned")), (Some(0), false), "{arguments:?}: {ran:?}");
    }
    let ran = world.run(&["reload"]).expect(2);
    assert!(ran.err.contains(&format!("{nobody} listens there")) && ran.err.contains("state.user"), "{ran:?}");
    listener.kill().unwrap();
    let heard = listener.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&heard.stdout).lines().any(|line| line != "heard 0"), "{heard:?}");
}

#[test]
fn a_socket_in_a_folder_that_all_may_write_to_is_not_used() {
    let Some(world) = open_world() else { return };
    let _daemon = world.daemon();
    fs::set_permissions(world.dir(), fs::Permissions::from_mode(0o777)).unwrap();
    let ran = world.run(&["reload"]).expect(2);
    assert!(ran.err.contains("every user of this machine may write to its folder"), "{ran:?}");
    fs::set_permissions(world.dir(), fs::Permissions::from_mode(0o755)).unwrap();
    world.run(&["reload"]).expect(0);
}
