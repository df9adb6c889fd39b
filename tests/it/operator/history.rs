//! What `history` shows of past runs and decisions.

use std::fs;

use serde_json::{Value, json};

use crate::support::config::OfAFolder;
use crate::support::{Config, World, people, row};

fn events(world: &World) -> Vec<Value> {
    world.run(&["history", "--json"]).expect(0).json()["events"].as_array().unwrap().clone()
}

#[test]
fn every_run_is_shown_newest_first_and_what_one_changed_with_before_and_after() {
    let world = World::of(Config::default().map("mobile = \"{{ title }}1\"\n"));
    world.sync_of(people(1..4).replace("Clerk", "021 555 01")).expect(0);
    world.sync_of(people(1..4).replace("Clerk", "021 555 02")).expect(0);
    world.sync_of("").expect(1);

    let events = events(&world);
    let told: Vec<(u64, &str, u64)> = events
        .iter()
        .map(|event| {
            (event["run"].as_u64().unwrap(), event["status"].as_str().unwrap(), event["changes"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(told, [(3, "failed", 0), (2, "done", 3), (1, "done", 3)]);
    assert_eq!((&events[1]["counts"]["updated"], &events[1]["job"]), (&3.into(), &"staff".into()));
    assert!(events[0]["reason"].as_str().unwrap().contains("empty"), "{events:?}");

    let document = world.run(&["history", "2", "--json"]).expect(0).json();
    assert_eq!((&document["version"], &document["status"]), (&1.into(), &"done".into()));
    let change = &document["changes"][0];
    assert_eq!((&change["key"], &change["action"]), (&"P00001".into(), &"update".into()));
    assert_eq!(change["fields"]["title"], json!({"from": "021 555 01", "to": "021 555 02"}));

    let shown = world.run(&["history", "2"]).expect(0);
    assert!(shown.out.contains("title: \"021 555 01\" → \"021 555 02\""), "{shown:?}");
    assert!(shown.out.contains("mobile: *** → ***"), "a telephone number is not shown unasked: {shown:?}");
    let shown = world.run(&["history", "2", "--show-values"]).expect(0);
    assert!(shown.out.contains("mobile: \"021 555 011\" → \"021 555 021\""), "{shown:?}");
    world.run(&["history", "9"]).expect(1).hides(&["run 1"]);
    world.run(&["history"]).expect(0).hides(&["Person ", "@example.com", "021"]);
}

#[test]
fn who_approved_and_who_rejected_is_shown_with_the_run() {
    let world = World::of(Config::default().job("writes = \"approve\"\n"));
    world.sync_of(people(1..6)).expect(4);
    world.run(&["approve", "staff", "P00001", "P00002"]).expect(0);
    let rejected = world.command(&["reject", "staff", "P00003"]).env("SUDO_USER", "ana").output().unwrap();
    assert!(rejected.status.success());
    world.sync().expect(4);

    let events = events(&world);
    let told: Vec<&Value> = events.iter().map(|event| &event["what"]).collect();
    assert_eq!(told, ["run", "decision", "decision", "run"]);
    assert_eq!(
        (&events[2]["decision"], &events[2]["keys"]),
        (&"approved".into(), &json!(["P00001", "P00002"])),
        "what was decided together is one line"
    );
    assert_eq!(events[1]["decision"], "rejected");
    let by = rosterd::history::user_named(rustix::process::getuid().as_raw(), Some("ana"));
    assert_eq!(events[1]["by"], world.recorded(&by));
    let shown = world.run(&["history", "2"]).expect(0);
    for word in ["approved 2 of staff: P00001, P00002 by ", "rejected 1 of staff: P00003 by "] {
        assert!(shown.out.contains(word), "{word}: {shown:?}");
    }
    let shown = world.run(&["history", "1"]).expect(0);
    assert!(shown.out.contains("rejected 1 of staff"), "what it held was decided on: {shown:?}");
}

#[test]
fn law_9_history_and_the_numbers_of_runs_survive_the_store() {
    let world = World::synced(Config::default(), 3);
    world.sync_of(people(1..3) + &row(3, "Baker")).expect(0);
    world.lose_rows();
    world.sync_of(people(1..3) + &row(3, "Cook")).expect(0);
    let runs: Vec<Value> = events(&world).iter().map(|event| event["run"].clone()).collect();
    assert_eq!(runs, [3, 2, 1], "no number is given twice");
    let before =
        |run: &str| world.run(&["history", run, "--json"]).json()["changes"][0]["fields"]["title"]["from"].clone();
    assert_eq!((before("2"), before("3")), (json!("Clerk"), json!("Baker")));
}

#[test]
fn a_line_that_can_t_be_read_is_named_and_old_lines_are_taken() {
    let world = World::synced(Config::default().in_a_folder(OfAFolder::Damage), 2);
    let path = world.audit_file();
    let text = fs::read_to_string(&path).unwrap();
    // As earlier versions wrote them: no run has an end.
    let old: String =
        text.lines().filter(|line| !line.contains("\"what\":\"run\"")).map(|line| format!("{line}\n")).collect();
    fs::write(&path, format!("{old}{{\"what\":\"cha")).unwrap();
    world.sync_of(people(1..2) + &row(2, "Baker")).expect(0);

    let ran = world.run(&["history", "--json"]).expect(0);
    let document = ran.json();
    assert_eq!(document["damaged"], json!([{"file": path, "line": 3}]));
    assert!(ran.err.contains(":3: the line can't be read"), "{ran:?}");
    assert_eq!(document["events"].as_array().unwrap().len(), 2);
    assert_eq!((&document["events"][1]["status"], &document["events"][1]["changes"]), (&Value::Null, &2.into()));
    assert!(world.run(&["history"]).out.contains("cut off, 2 changes"));
}

#[test]
fn a_run_without_an_end_may_be_that_of_a_process_that_has_the_state() {
    let world = World::synced(Config::default().in_a_folder(OfAFolder::Lock), 2);
    let path = world.audit_file();
    let text = fs::read_to_string(&path).unwrap();
    let lines = text.lines().filter(|line| !line.contains("\"what\":\"run\""));
    fs::write(&path, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let shown = || (world.run(&["history"]).out.contains("under way"), events(&world)[0]["under_way"].clone());
    let store = world.store();
    assert_eq!(shown(), (true, json!(true)));
    drop(store);
    assert_eq!(shown(), (false, json!(false)), "nobody is at work");
}

#[test]
fn history_is_shown_while_a_run_holds_the_store_and_where_nothing_has_happened() {
    let world = World::default();
    assert_eq!(events(&world), [] as [Value; 0]);
    world.sync_of(people(1..4)).expect(0);
    let _store = world.store();
    world.run(&["status"]).expect(11);
    assert_eq!(events(&world).len(), 1);
}
