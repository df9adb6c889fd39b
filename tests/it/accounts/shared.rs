//! Accounts in a database, which several processes share.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rustix::process::Signal;

use crate::support::accounts::Accounts;
use crate::support::daemon::{Daemon, eventually};
use crate::support::looked::get;
use crate::support::ports::free_address;
use crate::support::{Config, people, postgres};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn config() -> Config {
    Config::default().job("schedule = \"* * * * * *\"\n").in_database()
}

fn accounts() -> Accounts {
    let mut accounts = Accounts::new();
    for name in NAMES {
        accounts.add(name, config());
        accounts.put(&format!("{name}/staff.csv"), &people(1..4));
    }
    accounts
}

/// How many accounts each process has, and which process has each.
fn shares(accounts: &Accounts) -> (Vec<usize>, BTreeMap<String, String>) {
    if accounts.database().sql("select to_regclass('rosterd.account') is not null") != "t" {
        return (Vec::new(), BTreeMap::new());
    }
    let held = "select name || ' ' || node from rosterd.account where expires_at > clock_timestamp()";
    let shown = accounts.database().sql(held);
    let holders: BTreeMap<String, String> =
        shown.lines().filter_map(|line| line.split_once(' ')).map(|(name, node)| (name.into(), node.into())).collect();
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    holders.values().for_each(|node| *counts.entry(node).or_default() += 1);
    (counts.into_values().collect(), holders)
}

/// The services have these people, each once.
fn expect_people(accounts: &Accounts, last: usize) {
    for name in NAMES {
        accounts.put(&format!("{name}/staff.csv"), &people(1..last));
    }
    for name in NAMES {
        eventually("all are there", || accounts.people(name) == last - 1);
        let mut numbers: Vec<String> =
            accounts.service(name).all("staff").iter().map(|person| person["employee_id"].to_string()).collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), last - 1, "{name}");
    }
}

fn node_of(daemon: &Daemon) -> String {
    format!("process {} on ", daemon.id())
}

#[test]
fn law_3_workers_share_accounts_take_over_from_one_that_goes_and_no_one_is_there_twice() {
    if !postgres::is_there() {
        return;
    }
    let accounts = accounts();
    let first = accounts.worker("first", "accounts");
    expect_people(&accounts, 5);
    assert_eq!(shares(&accounts).0, [6]);
    let second = accounts.worker("second", "accounts");
    eventually("each has its share", || shares(&accounts).0 == [3, 3]);
    expect_people(&accounts, 8);
    // Nothing is handed over while nothing changes.
    let epochs = || accounts.database().sql("select name, epoch from rosterd.account order by name");
    let looks = |after: &str| {
        let statement =
            format!("select count(*) from rosterd.worker where seen_at > timestamptz '{after}' + interval '9 s'");
        accounts.database().sql(&statement)
    };
    let (before, now) = (epochs(), accounts.database().sql("select clock_timestamp()"));
    eventually("both have looked a few times", || looks(&now) == "2");
    assert_eq!(epochs(), before);
    // One that ends lets all go at once.
    assert!(first.stop().success());
    assert_eq!(accounts.database().sql("select count(*) from rosterd.worker"), "1");
    eventually("the other one has all", || shares(&accounts).0 == [6]);
    let log = accounts.log("second");
    assert!(!log.contains("did not end in good order"), "{log}");
    expect_people(&accounts, 11);
    // One that is killed is missed after its leases.
    let third = accounts.worker("third", "accounts");
    eventually("each has its share", || shares(&accounts).0 == [3, 3]);
    let dead = node_of(&second);
    second.kill();
    let expire = format!("update rosterd.account set expires_at = clock_timestamp() where node like '{dead}%'");
    accounts.database().sql(&expire);
    accounts.database().sql(&format!("delete from rosterd.worker where node like '{dead}%'"));
    eventually("what is left has all", || {
        let (counts, holders) = shares(&accounts);
        counts == [6] && holders.values().all(|node| node.starts_with(&node_of(&third)))
    });
    expect_people(&accounts, 14);
    assert!(third.stop().success());
    assert_eq!(shares(&accounts).0, [0_usize; 0]);
}

#[test]
fn an_account_that_one_worker_does_not_know_is_run_by_one_that_does() {
    if !postgres::is_there() {
        return;
    }
    let accounts = accounts();
    fs::create_dir(accounts.dir().join("fewer")).unwrap();
    for name in ["a", "b"] {
        fs::copy(accounts.config(name), accounts.dir().join(format!("fewer/{name}.toml"))).unwrap();
    }
    let fewer = accounts.worker("fewer", "fewer");
    eventually("it has what it knows", || shares(&accounts).0 == [2]);
    let all = accounts.worker("all", "accounts");
    eventually("the other has the rest", || shares(&accounts).1.len() == 6);
    let (_, holders) = shares(&accounts);
    for (name, node) in &holders {
        let expected = if ["a", "b"].contains(&name.as_str()) { &fewer } else { &all };
        assert!(node.starts_with(&node_of(expected)), "{name}: {holders:?}");
    }
    expect_people(&accounts, 5);
    assert!(all.stop().success());
    eventually("no one else knows the others", || shares(&accounts).0 == [2]);
    // One that is broken here is another's.
    accounts.put("fewer/b.toml", "nonsense = 1\n");
    fewer.signal(Signal::HUP);
    let all = accounts.worker("all", "accounts");
    eventually("the other has the rest", || shares(&accounts).1.len() == 6);
    assert!(fewer.stop().success());
    eventually("one has all", || shares(&accounts).0 == [6]);
    expect_people(&accounts, 7);
    assert!(all.stop().success());
}

#[test]
fn what_stands_by_is_shown_as_running_elsewhere_and_is_nothing_wrong() {
    if !postgres::is_there() {
        return;
    }
    let accounts = accounts();
    let first = accounts.worker("first", "accounts");
    eventually("it has all", || shares(&accounts).0 == [6]);
    let address = free_address();
    accounts.database().sql("update rosterd.worker set began_at = clock_timestamp() + interval '1 hour'");
    let second = accounts.worker_with("second", "accounts", |command| {
        command.env("ROSTERD__STATUS__LISTEN", address.to_string());
    });
    accounts.database().sql("update rosterd.worker set began_at = clock_timestamp() + interval '1 hour'");
    let standby = "rosterd_account_standby{account=\"f\"} 1";
    eventually("it stands by", || get(address, "/metrics").2.contains(standby));
    eventually("who has it", || get(address, "/account/f").2.contains(&node_of(&first)));
    let (status, _, page) = get(address, "/account/f");
    assert!(status == 200 && page.contains("This account runs elsewhere"), "{page}");
    assert_eq!(get(address, "/livez").0, 200);
    let (status, _, health) = get(address, "/healthz");
    assert_eq!(status, 200, "{health}");
    assert!(get(address, "/").2.contains("runs elsewhere"));
    let folder = accounts.folder();
    let all = accounts.run(&["status", "--accounts", folder.to_str().unwrap(), "--json"]).json();
    let of_f = all["instances"].as_array().unwrap().iter().find(|one| one["name"] == "f").unwrap();
    assert!(of_f["holder"]["node"].as_str().unwrap().starts_with(&node_of(&first)), "{all}");
    assert!(of_f["holder"]["since"].as_str().unwrap().starts_with("20"), "{all}");
    assert!(first.stop().success());
    eventually("they run here", || get(address, "/metrics").2.contains("rosterd_account_running{account=\"f\"} 1"));
    assert!(second.stop().success());
}

#[test]
fn law_12_two_accounts_with_one_credential_never_run_at_the_same_time_on_two_machines() {
    if postgres::is_there() {
        one_credential("api_key", |text, _| text);
    }
}

#[test]
fn law_12_nor_do_two_accounts_of_which_one_has_the_others_as_a_further_credential() {
    if postgres::is_there() {
        let further = |key: &Path| format!("[[api.credentials]]\napi_key_file = \"{}\"\n", key.display());
        one_credential("further_key", |text, key| text + &further(key));
    }
}

/// Two workers with two accounts; the second account has the key of the first one in a file of that name.
fn one_credential(file: &str, with: impl Fn(String, &Path) -> String) {
    let mut accounts = Accounts::new();
    for (name, folder) in [("north", "one"), ("south", "other")] {
        accounts.add(name, config());
        accounts.put(&format!("{name}/staff.csv"), &people(1..4));
        fs::create_dir(accounts.dir().join(folder)).unwrap();
        fs::copy(accounts.config(name), accounts.dir().join(format!("{folder}/{name}.toml"))).unwrap();
    }
    let url = accounts.service("north").url();
    let text = fs::read_to_string(accounts.dir().join("other/south.toml")).unwrap();
    let text = text.replace(&accounts.service("south").url(), &url);
    let path = accounts.dir().join("south").join(file);
    accounts.put("other/south.toml", &with(text, &path));
    let key = fs::read_to_string(accounts.dir().join("north/api_key")).unwrap();
    accounts.put("south/api_key", "another-key");
    accounts.put(&format!("south/{file}"), &key);
    let one = accounts.worker("one", "one");
    eventually("it runs", || accounts.people("north") == 3);
    let other = accounts.worker("other", "other");
    let refusal = "account north has the same credential for ";
    eventually("the second is refused", || accounts.log("other").contains(refusal));
    assert_eq!(shares(&accounts).1.into_keys().collect::<Vec<_>>(), ["north"]);
    let kept = accounts.database().sql("select config, credentials from rosterd.account where name = 'south'");
    assert!(kept.len() > 60 && !kept.contains(key.trim()), "{kept}");
    assert!(one.stop().success());
    other.signal(Signal::HUP);
    eventually("it runs now", || shares(&accounts).1.contains_key("south"));
    assert!(other.stop().success());
}
