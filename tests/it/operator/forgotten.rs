//! Who is forgotten is gone from this machine, and from nowhere else.

use std::fs;

use rosterd::sandbox::Options;
use serde_json::json;

use crate::support::{Config, HEADER, World, people, row};

const CANARIES: [&str; 4] = ["Canaryname", "canarymail", "Canarytitle", "CANARYKEY"];

/// The canaries that some part of what is kept holds.
fn found(world: &World) -> Vec<String> {
    let parts = |canary: &&str| world.kept_with(canary).into_iter().map(|part| format!("{canary} in {part}")).collect();
    CANARIES.iter().flat_map(|canary: &&str| -> Vec<String> { parts(canary) }).collect()
}

fn canary(title: &str) -> String {
    format!("CANARYKEY,Canaryname,canarymail@example.com,{title}\n")
}

#[test]
fn fault_114_nothing_of_a_forgotten_person_is_left_in_any_file_of_the_state() {
    let world = World::default();
    for title in ["Canarytitle", "Canarytitle 2", "Canarytitle 3"] {
        world.sync_of(people(1..30) + &canary(title)).expect(0);
    }
    // Another record that is held names the key as its reason.
    let twin = "P00099,Canaryname,canarymail@example.com,Canarytitle\n";
    world.sync_of(people(1..30) + &canary("Canarytitle 3") + twin).expect(4);
    assert!(!world.audit().is_empty());
    assert!(found(&world).len() > 4, "the canaries are there before");
    world.run(&["forget", "P00099"]).expect(0);
    let document = world.run(&["forget", "CANARYKEY", "--json"]).expect(0).json();
    assert_eq!((&document["version"], &document["jobs"]), (&1.into(), &json!(["staff"])));
    assert_eq!(found(&world), [] as [String; 0]);
    assert!(world.texts("name").contains(&"Canaryname".to_owned()), "the service is left alone");

    world.run(&["forget", "CANARYKEY"]).expect(1);
    let document = world.run(&["history", "2", "--json"]).expect(0).json();
    assert_eq!(document["changes"], json!([]), "the run is told of without it");
    let events = world.run(&["history", "--json"]).expect(0).json()["events"].clone();
    assert_eq!(events[0]["decision"], "forgot a person");
    assert!(!events.to_string().contains("CANARYKEY"));
}

#[test]
fn who_is_still_in_the_source_is_matched_again_and_no_one_is_doubled_or_removed() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let world = World::of(Config::rest(rest));
    world.sync_of(people(1..30) + &canary("Canarytitle")).expect(0);
    world.run(&["forget", "CANARYKEY"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(world.staff().len(), 30);
    assert_eq!(world.sync_of(people(1..30) + &canary("Other")).expect(0).writes(), (0, 1, 0), "it is known again");

    world.run(&["forget", "CANARYKEY"]).expect(0);
    assert_eq!(world.sync_of(people(1..30)).expect(0).writes(), (0, 0, 0), "who is forgotten is nobody's leaver");
    assert_eq!(world.sync_of(people(1..30)).expect(0).writes(), (0, 0, 0));
    assert_eq!(world.staff().len(), 30);
    assert_eq!(world.sync_of(HEADER.to_owned() + &people(1..29)[HEADER.len()..]).expect(0).writes(), (0, 0, 1));
}

#[test]
fn what_is_held_parked_or_decided_of_a_person_is_forgotten_too() {
    let world = World::of(Config::default().job("writes = \"approve\"\n"));
    world.sync_of(people(1..3) + &canary("Canarytitle") + &row(9, "Clerk")).expect(4);
    world.run(&["reject", "staff", "CANARYKEY"]).expect(0);
    world.sync().expect(4);
    world.run(&["forget", "CANARYKEY"]).expect(0);
    assert_eq!(found(&world), [] as [String; 0]);
    assert_eq!(world.sync().expect(4).job()["held"], 4, "it is held anew");
    world.run(&["approve", "staff", "CANARYKEY"]).expect(0);
    world.faults(&["staff.create status=422"]);
    world.sync().expect(4);
    assert_eq!(world.run(&["status", "--json"]).job()["parked"], 1);
    world.run(&["forget", "CANARYKEY"]).expect(0);
    assert_eq!(found(&world), [] as [String; 0]);
    assert_eq!(world.run(&["status", "--json"]).job()["parked"], 0);
}

/// What the audit files tell of, by job and key.
fn told(world: &World) -> Vec<(String, String)> {
    let text = world.audit();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let changes = lines.filter(|line| line["what"] == "change");
    let name = |line: &serde_json::Value, field: &str| line[field].as_str().unwrap().to_owned();
    changes.map(|line| (name(&line, "job"), name(&line, "key"))).collect()
}

#[test]
fn a_person_who_is_forgotten_goes_altogether_and_takes_no_one_along_whatever_keys_hold() {
    const KEYS: [&str; 16] = [
        "Z1",
        "Z1 @ Q",
        "Z1 @ Q2 @ x",
        "Z1 \\@ Q",
        "Z1 @",
        "@ Q",
        "Z1@Q",
        "Z1\\",
        "Z1/Q",
        "Z1/membership",
        "membership Z1",
        "Z1:Q",
        "Z1|Q",
        "Z1, Q",
        "key Z1 \"é\"",
        "2",
    ];
    let world = crate::contractors::jobs::world(Options::default(), "", "");
    fs::create_dir(world.dir().join("staff.csv")).unwrap();
    let row = |(number, key): (usize, &&str)| {
        let key = key.replace('"', "\"\"");
        format!("\"{key}\",Worker {number},worker{number}@example.com,Roofer,Q{number} @ x,Company {number} Ltd,61\n")
    };
    let text =
        KEYS.iter().enumerate().map(row).fold(crate::contractors::jobs::HEADER.to_owned(), |text, row| text + &row);
    fs::write(world.dir().join("staff.csv/all.csv"), text).unwrap();
    assert_eq!(world.sync().expect(0).writes(), (3 * KEYS.len() as u64, 0, 0));
    let report = || {
        let files = fs::read_dir(world.dir().join("staff.csv/processed")).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files.filter(|path| path.to_string_lossy().contains(".report.")).collect();
        files.sort();
        let texts: Vec<String> = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        [texts[0].matches(",added,").count(), texts[1].matches("<tr><td ").count()]
    };
    let mut left = told(&world);
    // A line for each of the people, and one for each organization.
    assert_eq!((left.len(), report()), (3 * KEYS.len(), [2 * KEYS.len(); 2]));
    for (number, key) in KEYS.iter().enumerate() {
        let shown = world.run(&["explain", "sites", key]).expect(0);
        assert!(shown.out.contains(&format!("Worker {number}")) || shown.out.contains("***"), "{key}: {shown:?}");
        assert_eq!(world.run(&["sync", "--key", key, "--json"]).expect(0).writes(), (0, 0, 0), "{key}");
        let gone = world.run(&["forget", key, "--json"]).expect(0).json();
        assert_eq!((&gone["rows"], &gone["lines"]), (&json!(2), &json!(2)), "{key}: the person and one membership");
        let pair = format!(" @ Q{number} @ x");
        left.retain(|(job, own)| own != key && !(job == "sites/membership" && own.ends_with(&pair)));
        assert_eq!(told(&world), left, "{key}");
        assert_eq!(report(), [2 * KEYS.len() - number - 1; 2], "{key}");
        world.run(&["forget", key]).expect(1);
    }
}

#[test]
fn the_key_that_someone_had_before_is_named_to_be_forgotten_too() {
    let world = World::synced(Config::default(), 10);
    world.sync_of(people(1..11).replace("P00003", "N3"));
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    let forgot = world.run(&["forget", "N3"]).expect(0);
    assert!(forgot.out.contains("rosterd forget \"P00003\""), "{forgot:?}");
    assert!(!world.run(&["forget", "P00003"]).expect(0).out.contains("other keys"));
}
