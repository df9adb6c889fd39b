//! What docs/backup.md and docs/security.md say of backups, of moving to another machine and of rotating secrets, carried out as written.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::config::OfAFolder;
use crate::support::daemon::{Daemon, eventually};
use crate::support::held::EIGHT_IN_FLIGHT;
use crate::support::{Config, Ran, World, people};

/// Runs the binary by the configuration of another folder, as on another machine.
fn at(folder: &Path, arguments: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_rosterd"))
        .env_clear()
        .env("ROSTERD__STATUS__LISTEN", "")
        .args(["--color", "never", "--config"])
        .arg(folder.join("config.toml"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    Ran { code: output.status.code(), out, err }
}

/// Copies files as `cp -a` does, which keeps owners and modes as `rsync -a` does.
fn copy(from: &Path, to: &Path) -> bool {
    Command::new("cp").arg("-a").arg(from).arg(to).stderr(Stdio::null()).status().unwrap().success()
}

/// A daemon that is in the middle of sending 80 people: 20 were carried out, of which 8 are not answered.
fn busy() -> (World, Daemon) {
    let config = Config { api: EIGHT_IN_FLIGHT.into(), ..Config::served("", "") };
    let world = World::of(config.in_a_folder(OfAFolder::Disk));
    world.csv(people(1..81));
    world.faults(&["staff.create hold after=12"]);
    let daemon = world.daemon();
    daemon.signal(rustix::process::Signal::USR1);
    world.until_held(8);
    (world, daemon)
}

#[test]
fn moving_to_another_machine_in_the_middle_of_a_run_loses_and_doubles_no_one() {
    let (world, daemon) = busy();
    world.run(&["pause"]).expect(0);
    world.faults(&[]);
    assert!(daemon.stop().success());
    let sent = world.service().writes();
    assert_eq!(sent, 20, "what was in flight was finished");

    let other = tempfile::tempdir().unwrap();
    for name in ["config.toml", "api_key", "staff.csv", "state"] {
        assert!(copy(&world.dir().join(name), other.path()), "{name}");
    }
    at(other.path(), &["check"]).expect(0);
    let planned = at(other.path(), &["plan"]).expect(0).out;
    assert!(planned.contains(&format!("{} to create", 80 - sent)), "{planned}");
    let waits = at(other.path(), &["sync"]).expect(4);
    assert!(waits.out.contains("paused"), "{waits:?}");
    assert_eq!(world.service().writes(), sent, "nothing is sent before somebody says so");
    at(other.path(), &["resume"]).expect(0);
    at(other.path(), &["sync"]).expect(0);
    world.expect_people(1..81);
    let again = at(other.path(), &["sync", "--json"]).expect(0);
    assert_eq!(again.writes(), (0, 0, 0));
}

#[test]
fn a_copy_of_the_state_made_in_the_middle_of_a_run_doubles_no_one() {
    let (world, daemon) = busy();
    let other = tempfile::tempdir().unwrap();
    let _ = copy(&world.state(), other.path());
    for name in ["config.toml", "api_key", "staff.csv"] {
        assert!(copy(&world.dir().join(name), other.path()), "{name}");
    }
    world.faults(&[]);
    eventually("all are sent", || world.staff().len() == 80);
    assert!(daemon.stop().success());
    let writes = world.service().writes();
    let mut ran = at(other.path(), &["sync"]);
    if ran.code == Some(1) {
        assert!(ran.err.contains("damaged") && ran.err.contains("rebuild"), "{ran:?}");
        at(other.path(), &["rebuild", "--damaged"]).expect(0);
        ran = at(other.path(), &["sync"]);
    }
    ran.expect(0);
    world.expect_people(1..81);
    assert_eq!(world.service().writes(), writes, "all are there as they are to be");
    // What is worth keeping for people is readable whatever became of the rest.
    at(other.path(), &["history"]).expect(0);
}

#[test]
fn secrets_are_rotated_as_the_guide_says() {
    let mut world = World::of(Config::served("", ""));
    let credential = format!(
        "auth_url = \"{}\"\nclient_id = \"sandbox-client\"\nclient_secret_file = \"secret\"",
        world.service().auth_url()
    );
    world.put("secret", b"sandbox-secret\n");
    world.reconfigure(|config| Config { credential, ..config });
    world.csv(people(1..4));
    let daemon = world.daemon();
    world.run(&["sync"]).expect(0);
    // The file first, then the service: the daemon goes on by itself.
    world.put("secret", b"another-secret\n");
    world.service().rotate_secret("another-secret");
    world.csv(people(1..6));
    world.run(&["sync"]).expect(0);
    world.expect_people(1..6);
    assert!(daemon.stop().success());

    // A secret that the service does not know any more is said, and the new one is taken without a restart.
    let daemon = world.daemon();
    world.service().rotate_secret("a-third-secret");
    world.csv(people(1..7));
    let refused = world.run(&["sync"]).expect(1);
    assert!(refused.out.contains("refuses the client"), "{refused:?}");
    world.put("secret", b"a-third-secret\n");
    world.run(&["sync"]).expect(0);
    world.expect_people(1..7);
    assert!(daemon.stop().success());
}
