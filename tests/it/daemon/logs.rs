//! Where the daemon's log goes: to the journal where systemd started it, else to stderr.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use crate::support::daemon::{Daemon, eventually};
use crate::support::{Config, World, people};

/// Lays the folder `$1` over the one in which the journal listens, for this process alone; runs the rest.
const OVER_JOURNAL: &str = "mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal \
     && mount --bind \"$1\" /run/systemd/journal && shift && exec \"$@\"";

fn world() -> World {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..4));
    fs::create_dir(world.dir().join("journal")).unwrap();
    world
}

/// Whether this user may lay one folder over another.
fn may_mount() -> bool {
    let tried = Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
    let may = tried.is_ok_and(|output| output.status.success());
    assert!(may || std::env::var_os("CI").is_none(), "root must be able to mount in CI");
    may
}

/// The daemon, as systemd starts it: stderr leads to the journal, whose socket is in a folder of the test.
fn started_by_systemd(world: &World) -> Daemon {
    let log = world.dir().join("daemon.log");
    let daemon = world.daemon_with(&["run"], |command| {
        let mut confined = Command::new("unshare");
        confined.args(["--mount", "sh", "-c", OVER_JOURNAL, "sh"]).arg(world.dir().join("journal"));
        confined.arg(command.get_program()).args(command.get_args()).env_clear().current_dir(world.dir());
        confined.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("ROSTERD__STATUS__LISTEN", "");
        let found = fs::metadata(&log).unwrap();
        confined.env("JOURNAL_STREAM", format!("{}:{}", found.dev(), found.ino()));
        confined.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::options().append(true).open(&log).unwrap());
        *command = confined;
    });
    daemon.signal(Signal::USR1);
    daemon
}

/// The fields of one entry, as the journal's own protocol writes them: `NAME=value`, or `NAME`, a length and the value.
fn fields(mut entry: &[u8]) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    while let Some(end) = entry.iter().position(|byte| matches!(byte, b'=' | b'\n')) {
        let name = String::from_utf8(entry[..end].to_vec()).unwrap();
        let rest = &entry[end + 1..];
        let (value, rest) = if entry[end] == b'=' {
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
            (&rest[..end], &rest[end + 1..])
        } else {
            let length = usize::try_from(u64::from_le_bytes(rest[..8].try_into().unwrap())).unwrap();
            (&rest[8..8 + length], &rest[8 + length + 1..])
        };
        fields.insert(name, String::from_utf8(value.to_vec()).unwrap());
        entry = rest;
    }
    fields
}

#[test]
fn a_daemon_of_systemd_logs_to_the_journal_with_fields() {
    if !may_mount() {
        return;
    }
    let world = world();
    let journal = UnixDatagram::bind(world.dir().join("journal/socket")).unwrap();
    journal.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let daemon = started_by_systemd(&world);
    let mut entries = Vec::new();
    eventually("the run is told of", || {
        let mut bytes = [0; 16 * 1024];
        if let Ok(length) = journal.recv(&mut bytes) {
            entries.push(fields(&bytes[..length]));
        }
        entries.iter().any(|entry| entry.contains_key("REQUESTS"))
    });
    let ended = entries.iter().find(|entry| entry.contains_key("REQUESTS")).unwrap();
    for (name, value) in [
        ("MESSAGE", "staff: done: 3 created (3 records)"),
        ("JOB", "staff"),
        ("RUN", "1"),
        ("STATUS", "done"),
        ("CREATED", "3"),
        ("PRIORITY", "5"),
        ("SYSLOG_IDENTIFIER", "rosterd"),
    ] {
        assert_eq!(ended.get(name).map(String::as_str), Some(value), "{name}: {entries:#?}");
    }
    assert_eq!(daemon.log(), "", "nothing is told twice");
    let all = format!("{entries:?}");
    assert!(!all.contains("example.com") && !all.contains("Person"), "{all}");
}

#[test]
fn a_journal_that_does_not_listen_costs_no_line_of_the_log() {
    if !may_mount() {
        return;
    }
    let world = world();
    let daemon = started_by_systemd(&world);
    eventually("the run is told of", || !daemon.ended().is_empty());
}

#[test]
fn without_systemd_the_log_is_lines_that_people_read() {
    let world = world();
    // As where a daemon is started by hand from a unit's shell: systemd's variable is about another stream.
    let daemon = world.daemon_with(&["run"], |command| {
        command.env("JOURNAL_STREAM", "1:1");
    });
    daemon.signal(Signal::USR1);
    eventually("the run is told of", || !daemon.ended().is_empty());
    let line = &daemon.ended()[0];
    for text in ["INFO", "staff: done: 3 created", "job=\"staff\"", "status=\"done\"", "created=3"] {
        assert!(line.contains(text), "{text}: {line}");
    }
}

#[test]
fn each_change_has_a_line_at_debug_and_none_otherwise() {
    for (level, lines) in [("debug", 3), ("info", 0)] {
        let world = world();
        let daemon = world.daemon_with(&["run"], |command| {
            command.env("ROSTERD_LOG", level);
        });
        daemon.signal(Signal::USR1);
        eventually("the run is told of", || !daemon.ended().is_empty());
        let log = daemon.log();
        let changes: Vec<&str> = log.lines().filter(|line| line.contains("staff: create of P0000")).collect();
        assert_eq!(changes.len(), lines, "{level}: {log}");
        assert!(changes.iter().all(|line| line.contains("confirmed") && line.contains("action=\"create\"")), "{log}");
    }
}

/// A reader of `journalctl` sees messages alone: what an entry has in its fields stands in its message too.
#[test]
fn no_message_leaves_what_it_tells_to_its_fields() {
    let mut silent = Vec::new();
    for path in sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))) {
        let text = fs::read_to_string(&path).unwrap();
        let calls = ["info", "warn", "error", "debug"].map(|level| format!("tracing::{level}!("));
        for (at, call) in calls.iter().flat_map(|call| text.match_indices(call.as_str())) {
            let body = &text[at + call.len()..];
            let body = &body[..body.find(");").or_else(|| body.find("),\n")).unwrap_or(body.len())];
            let Some(message) = body.find('"') else { continue };
            if body[..message].contains(',') && !body[message..].contains('{') {
                silent.push(format!("{}: {}", path.display(), body.trim()));
            }
        }
    }
    assert_eq!(silent, Vec::<String>::new());
}

/// All files with Rust code below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    found.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}
