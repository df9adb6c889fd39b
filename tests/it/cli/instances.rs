//! Several accounts on one machine.

use std::process::Command;

use serde_json::json;

use crate::support::{World, people};

/// Runs the binary with just these arguments: its exit code and what it says.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_rosterd")).env_clear().args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A world whose folder holds a second account, `north`, with a state of its own.
fn two() -> World {
    let world = World::default();
    world.csv(people(1..4));
    let text = world.config_text();
    world.put("north.toml", text.replace("dir = \"state\"", "dir = \"north\"").as_bytes());
    world
}

#[test]
fn status_all_shows_every_account_and_exits_as_the_worst() {
    let world = two();
    world.sync().expect(0);
    // What lies there besides is no account.
    world.put("North.toml.bak", b"nonsense");
    world.put("store.toml", b"nonsense");
    let seen = world.run(&["status", "--all", "--json"]).expect(0).json();
    let of = |number: usize| &seen["instances"][number];
    assert_eq!(seen["instances"].as_array().unwrap().len(), 2, "{seen}");
    assert_eq!((&of(0)["name"], &of(1)["name"]), (&json!(""), &json!("north")));
    for (number, known) in [(0, 3), (1, 0)] {
        assert_eq!((&of(number)["exit"], &of(number)["error"]), (&json!(0), &json!(null)), "{seen}");
        assert_eq!(of(number)["status"]["jobs"][0]["known"], known, "each account has a state of its own: {seen}");
    }
    let told = world.run(&["status", "--all"]).expect(0).out;
    assert!(
        told.contains("config.toml\n") && told.contains("\nnorth (") && told.matches("staff").count() >= 2,
        "{told}"
    );

    world.put("north.toml", b"nonsense = 1");
    let seen = world.run(&["status", "--all", "--json"]).expect(2).json();
    assert_eq!((&seen["instances"][0]["exit"], &seen["instances"][1]["exit"]), (&json!(0), &json!(2)), "{seen}");
    assert_eq!(seen["instances"][1]["status"], json!(null));
    assert!(seen["instances"][1]["error"]["message"].as_str().unwrap().contains("nonsense"), "{seen}");
    let ran = world.run(&["status", "--all"]).expect(2);
    assert!(ran.err.contains("nonsense") && ran.out.contains("config.toml\n"), "one wrong account hides no other");
}

#[test]
fn a_folder_without_accounts_is_said() {
    let empty = tempfile::tempdir().unwrap();
    let config = empty.path().join("config.toml");
    let (code, told) = run(&["--config", config.to_str().unwrap(), "status", "--all"]);
    assert!(code == Some(2) && told.contains("no configuration"), "{told}");
}

#[test]
fn an_instance_is_a_file_of_its_name() {
    let world = World::default();
    let (code, told) = run(&["--instance", "nowhere-at-all", "check", "--offline"]);
    assert!(code == Some(2) && told.contains("/etc/rosterd/nowhere-at-all.toml"), "{told}");
    let config = world.config_path();
    let (code, told) = run(&["--instance", "north", "--config", config.to_str().unwrap(), "status"]);
    assert!(code == Some(2) && told.contains("two configurations"), "{told}");
    for name in ["../north", "North", "store"] {
        let (code, told) = run(&["--instance", name, "status"]);
        assert!(code == Some(2) && told.contains("instance"), "{name}: {told}");
    }
}
