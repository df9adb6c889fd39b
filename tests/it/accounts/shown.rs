//! The status of all accounts, and their files.

use std::fs;

use serde_json::{Value, json};

use crate::support::accounts::Accounts;
use crate::support::{Config, people};

/// The accounts of a status of all: name, exit, and whether a daemon answered.
fn seen(status: &Value) -> Vec<(String, u64, Value)> {
    let of = |one: &Value| {
        let name = one["name"].as_str().unwrap().to_owned();
        (name, one["exit"].as_u64().unwrap(), one["status"]["daemon"].clone())
    };
    status["instances"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn status_shows_every_account_wherever_it_runs() {
    let mut accounts = Accounts::of(&["east", "north", "south"]);
    accounts.put("north/staff.csv", &people(1..4));
    accounts.run_of("north", &["sync"]).expect(0);
    accounts.edit("south", "match_on", "match_onn");
    let daemon = accounts.daemon();
    // It came later, and the process does not know it yet.
    accounts.add("west", Config::default());
    let expected =
        [("east", 0, json!(true)), ("north", 0, json!(true)), ("south", 2, json!(null)), ("west", 0, json!(false))];
    let expected = expected.map(|(name, exit, daemon)| (name.to_owned(), exit, daemon));
    let folder = accounts.folder();
    let all = accounts.run(&["status", "--accounts", folder.to_str().unwrap(), "--json"]).expect(2).json();
    assert_eq!(seen(&all), expected);
    assert_eq!(all["instances"][1]["status"]["jobs"][0]["known"], 3);
    assert!(all["instances"][2]["error"]["message"].as_str().unwrap().contains("match_onn"), "{all}");
    let by_file = accounts.run_of("north", &["status", "--all", "--json"]).expect(2).json();
    assert_eq!(seen(&by_file), expected);
    // From the folder of all configurations as well.
    accounts.put("config.toml", "nonsense = 1");
    let above = accounts.run(&["status", "--all", "--json", "--config", "config.toml"]).expect(2).json();
    assert_eq!(seen(&above)[0].0, "");
    assert_eq!(seen(&above)[1..], expected);
    assert!(daemon.stop().success());
    let all = accounts.run(&["status", "--accounts", "accounts", "--json"]).expect(2).json();
    assert!(seen(&all).iter().all(|(_, _, daemon)| *daemon != json!(true)), "{all}");
}

#[test]
fn an_account_whose_file_names_what_another_has_is_not_taken_for_that_one() {
    let accounts = Accounts::of(&["north", "south"]);
    for (from, to) in [("../south/state", "../north/state"), ("../south/control.sock", "../north/control.sock")] {
        accounts.edit("south", from, to);
    }
    accounts.put("north/staff.csv", &people(1..4));
    let daemon = accounts.daemon();
    let all = accounts.run(&["status", "--accounts", "accounts", "--json"]).expect(11).json();
    assert_eq!(seen(&all), [("north".into(), 0, json!(true)), ("south".into(), 11, json!(null))], "{all}");
    let ran = accounts.run_of("south", &["sync"]).expect(11);
    assert!(ran.err.contains("is that of the account of ") && ran.err.contains("north.toml"), "{ran:?}");
    assert_eq!(accounts.people("north"), 0, "no command for one account is carried out for another");
    accounts.run_of("north", &["sync"]).expect(0);
    assert_eq!(accounts.people("north"), 3);
    // Its own file under another name reaches it, so that the new name can be taken up.
    fs::rename(accounts.config("north"), accounts.config("nord")).unwrap();
    assert_eq!(accounts.run_of("nord", &["status", "--json"]).expect(0).json()["daemon"], true);
    assert!(daemon.stop().success());
}

#[test]
fn a_folder_of_accounts_is_known_as_one_to_every_command() {
    let accounts = Accounts::of(&["north"]);
    let daemon = accounts.daemon();
    assert!(accounts.folder().join(".rosterd-accounts").exists());
    assert!(daemon.stop().success());
    // Without a place of its own, its state is the one of its name, and never that of the account without a name.
    let state = "dir = \"../north/state\"";
    accounts.edit("north", state, "");
    accounts.edit("north", "socket = \"../north/control.sock\"", "");
    let config = rosterd::config::locate(&accounts.config("north"), std::iter::empty()).unwrap();
    assert_eq!(config.state_dir.unwrap().to_str(), Some("/var/lib/rosterd/north"));
    assert_eq!(config.socket.unwrap().to_str(), Some("/run/rosterd/north/control.sock"));
    fs::remove_file(accounts.folder().join(".rosterd-accounts")).unwrap();
    let config = rosterd::config::locate(&accounts.config("north"), std::iter::empty()).unwrap();
    assert_eq!(config.state_dir.unwrap().to_str(), Some("/var/lib/rosterd"));
}
