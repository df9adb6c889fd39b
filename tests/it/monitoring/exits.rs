//! How `status` ends, for monitors: 0, 1 where a job fails or is overdue, 4 where something is held; alone, at the daemon, and for
//! all accounts of a machine.

use jiff::SignedDuration;

use crate::support::config::CONTROL;
use crate::support::{Config, HEADER, World, people};

const BAD: &str = "P00100,,x@example.com,Clerk\n";

/// A world whose job was brought into a state, and how its status ends.
fn worlds() -> Vec<(&'static str, World, i32)> {
    let guarded =
        format!("{CONTROL}[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = 3\n");
    let synced = || World::synced(Config::rest(&guarded), 20);
    let never = World::of(Config::rest(&guarded));
    never.csv(HEADER);
    let partial = synced();
    partial.sync_of(people(1..21) + BAD).expect(3);
    let held = synced();
    held.sync_of(people(1..11)).expect(4);
    let failed = synced();
    failed.sync_of("no header of ours\n").expect(1);
    // Held, and nothing new for too long besides: the worse of the two counts.
    let source = format!("{}expect_every = \"1d\"\n", Config::default().source);
    let overdue = World::of(Config { source, ..Config::rest(&guarded) });
    for people in [people(1..21), people(1..11)] {
        overdue.csv(people);
        overdue.sync_ago(SignedDuration::from_hours(25));
    }
    vec![
        ("never ran", never, 0),
        ("done", synced(), 0),
        ("partial", partial, 0),
        ("held", held, 4),
        ("failed", failed, 1),
        ("overdue and held", overdue, 1),
    ]
}

#[test]
fn status_ends_with_0_1_or_4_with_a_daemon_and_without_one() {
    for (case, world, code) in worlds() {
        let alone = world.run(&["status"]);
        assert_eq!(alone.code, Some(code), "{case}: {alone:?}");
        assert_eq!(world.run(&["status", "--json"]).code, Some(code), "{case}");
        let daemon = world.daemon();
        let served = world.run(&["status", "--json"]);
        assert_eq!((served.code, &served.json()["daemon"]), (Some(code), &true.into()), "{case}: {served:?}");
        assert!(daemon.stop().success());
    }
}

#[test]
fn status_of_all_accounts_ends_as_the_worst_of_them() {
    let held = World::synced(Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n"), 20);
    let text = held.config_text();
    let account = |name: &str| {
        let text =
            text.replace("dir = \"state\"", &format!("dir = \"{name}\"")).replace("staff.csv", &format!("{name}.csv"));
        held.put(&format!("{name}.toml"), text.as_bytes());
        held.put(&format!("{name}.csv"), people(1..21).as_bytes());
    };
    let of_all = || held.run(&["status", "--all", "--json"]);
    account("north");
    assert_eq!(of_all().code, Some(0));
    held.sync_of(people(1..11)).expect(4);
    let seen = of_all();
    assert_eq!(seen.code, Some(4), "{seen:?}");
    let exits = |seen: &serde_json::Value| -> Vec<i64> {
        seen["instances"].as_array().unwrap().iter().map(|one| one["exit"].as_i64().unwrap()).collect()
    };
    assert_eq!(exits(&seen.json()), [4, 0]);
    account("south");
    held.put("south.csv", b"no header of ours\n");
    let south = held.dir().join("south.toml");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rosterd"));
    command.env_clear().args(["sync", "--config"]).arg(&south);
    assert_eq!(command.output().unwrap().status.code(), Some(1));
    let seen = of_all();
    assert_eq!((seen.code, exits(&seen.json())), (Some(1), vec![4, 0, 1]), "{seen:?}");
}
