//! Which accounts run: those of the folder, each by itself.

use std::fs;

use rustix::process::Signal;

use crate::monitoring::notices::Listener;
use crate::support::accounts::Accounts;
use crate::support::daemon::{Manager, eventually};
use crate::support::looked::get;
use crate::support::{Config, people};

/// A job of an inbox.
fn of_an_inbox() -> Config {
    Config { path: "inbox".into(), ..Config::default() }
}

#[test]
fn two_accounts_take_from_two_inboxes_to_two_services() {
    let mut accounts = Accounts::new();
    for name in ["north", "south"] {
        accounts.add(name, of_an_inbox());
        fs::create_dir(accounts.dir().join(name).join("inbox")).unwrap();
    }
    let daemon = accounts.daemon();
    accounts.put("north/inbox/a.csv", &people(1..4));
    accounts.put("south/inbox/a.csv", &people(11..16));
    eventually("both are in step", || (accounts.people("north"), accounts.people("south")) == (3, 5));
    for (name, known) in [("north", 3), ("south", 5)] {
        eventually("the run has ended", || accounts.status(name)["last"]["status"] == "done");
        assert_eq!(accounts.status(name)["known"], known);
        let filed = accounts.dir().join(name).join("inbox/processed");
        assert!(fs::read_dir(filed).unwrap().count() >= 2, "the file and its report");
        let history = accounts.run_of(name, &["history", "--json"]).expect(0).json();
        assert_eq!(history["events"].as_array().unwrap().len(), 1, "{history}");
    }
    let log = daemon.log();
    assert!(log.contains("account{account=north}") && log.contains("account{account=south}"), "{log}");
    assert!(daemon.stop().success());
}

#[test]
fn a_broken_account_disturbs_no_other_and_begins_when_it_is_mended() {
    let web = Listener::start(Listener::http);
    let mut accounts = Accounts::of(&["south"]);
    accounts.add("north", Config::rest(&format!("[notify]\nwebhook = \"http://{}/hook\"\n", web.address)));
    accounts.put("north/staff.csv", &people(1..3));
    accounts.put("south/staff.csv", &people(1..4));
    accounts.edit("north", "match_on", "match_onn");
    let daemon = accounts.daemon();
    daemon.signal(Signal::USR1);
    eventually("the other works", || accounts.people("south") == 3);
    let told = |what: &str, text: &str| {
        let mut heard = String::new();
        eventually(what, || {
            heard.extend(web.heard());
            heard.contains(text) && heard.contains("\"account\":\"north\"")
        });
    };
    told("the broken one is told", "did you mean match_on?");
    let (status, _, health) = get(accounts.address, "/healthz");
    assert!(status == 503 && health.starts_with("north: it does not run: ") && health.lines().count() == 1, "{health}");
    assert_eq!(get(accounts.address, "/livez").0, 200);
    let (_, _, page) = get(accounts.address, "/");
    assert!(page.contains("does not run") && page.contains("href=\"/account/south\""), "{page}");
    let (status, _, page) = get(accounts.address, "/account/north");
    assert!(status == 503 && page.contains("match_onn"), "{page}");
    assert_eq!(get(accounts.address, "/account/south").0, 200);
    let (_, _, metrics) = get(accounts.address, "/metrics");
    for line in ["rosterd_account_running{account=\"north\"} 0", "rosterd_account_running{account=\"south\"} 1"] {
        assert!(metrics.lines().any(|written| written == line), "{line}: {metrics}");
    }

    let ran = accounts.run_of("north", &["reload"]).expect(2);
    assert!(ran.err.contains("match_onn"), "{ran:?}");
    accounts.edit("north", "match_onn", "match_on");
    let ran = accounts.run_of("north", &["reload", "--json"]).expect(0);
    assert_eq!(ran.json()["reloaded"], accounts.config("north").to_str().unwrap());
    told("it is told that it works", "rosterd works again");
    accounts.run_of("north", &["sync"]).expect(0);
    assert_eq!((accounts.people("north"), accounts.people("south")), (2, 3));
    eventually("all is well", || get(accounts.address, "/healthz").0 == 200);
    assert_eq!(get(accounts.address, "/account/north").0, 200);
    assert!(daemon.stop().success());
}

#[test]
fn a_damaged_state_and_a_missing_credential_stop_their_accounts_only() {
    let accounts = Accounts::of(&["damaged", "keyless", "well"]);
    for name in ["damaged", "keyless", "well"] {
        accounts.put(&format!("{name}/staff.csv"), &people(1..3));
        accounts.run_of(name, &["sync"]).expect(0);
    }
    let (key, commits) = (accounts.dir().join("keyless/api_key"), accounts.dir().join("damaged/state/commits"));
    let (secret, whole) = (fs::read_to_string(&key).unwrap(), fs::read(&commits).unwrap());
    fs::remove_file(&key).unwrap();
    fs::write(&commits, [0xff; 64]).unwrap();
    let daemon = accounts.daemon();
    assert_eq!(accounts.status("well")["known"], 2);
    let (_, _, health) = get(accounts.address, "/healthz");
    assert!(health.contains("damaged: it does not run: ") && health.contains("keyless: it does not run: "), "{health}");

    accounts.put("keyless/api_key", &secret);
    fs::write(&commits, whole).unwrap();
    daemon.signal(Signal::HUP);
    for name in ["damaged", "keyless"] {
        eventually("it begins", || accounts.run_of(name, &["status"]).code == Some(0));
        assert_eq!(accounts.status(name)["known"], 2);
    }
    assert!(daemon.stop().success());
}

#[test]
fn a_reload_takes_up_new_accounts_and_ends_those_whose_files_are_gone() {
    let mut accounts = Accounts::of(&["north", "south"]);
    let mut manager = Manager::at(accounts.dir().join("notify.sock"));
    let socket = manager.path.clone();
    let daemon = accounts.daemon_with(|command| {
        command.env("NOTIFY_SOCKET", socket);
    });
    manager.expect("STATUS=2 accounts; 0 runs under way");
    accounts.add("east", Config::default());
    accounts.put("east/staff.csv", &people(1..6));
    let north = fs::read_to_string(accounts.config("north")).unwrap();
    fs::remove_file(accounts.config("north")).unwrap();
    daemon.signal(Signal::HUP);
    manager.expect("RELOADING=1");
    manager.expect("READY=1");
    eventually("the new one is there", || accounts.dir().join("east/control.sock").exists());
    accounts.run_of("east", &["sync"]).expect(0);
    assert_eq!(accounts.people("east"), 5);
    eventually("the removed one has ended", || !accounts.dir().join("north/control.sock").exists());
    let (_, _, metrics) = get(accounts.address, "/metrics");
    assert!(metrics.contains("account=\"east\"") && !metrics.contains("account=\"north\""), "{metrics}");
    // Its state is free: a command has it for itself.
    accounts.put("accounts/north.toml", &north);
    accounts.put("north/staff.csv", &people(1..3));
    assert_eq!(accounts.run_of("north", &["status", "--json"]).expect(0).json()["daemon"], false);
    accounts.run_of("north", &["sync"]).expect(0);
    daemon.signal(Signal::HUP);
    eventually("it is back", || accounts.dir().join("north/control.sock").exists());
    assert_eq!(accounts.status("north")["known"], 2);
    assert!(daemon.stop().success());
}

#[test]
fn a_reload_of_an_account_that_does_not_run_says_why_and_never_to_start_another_process() {
    let mut accounts = Accounts::of(&["alpha", "beta"]);
    let (own, other) = (accounts.service("beta").url(), accounts.service("alpha").url());
    accounts.edit("beta", &own, &other);
    let daemon = accounts.daemon();
    eventually("it can be asked why", || accounts.dir().join("beta/control.sock").exists());
    let refused = |what: &str| {
        let ran = accounts.run_of("beta", &["reload"]).expect(2);
        let says = format!("account alpha has {what}");
        assert!(ran.err.contains(&says) && !ran.err.contains("rosterd run"), "{says}: {ran:?}");
    };
    refused("the same credential");
    accounts.edit("beta", &other, &own);
    accounts.edit("beta", "../beta/state", "../alpha/state");
    refused("the state");
    accounts.edit("beta", "../alpha/state", "../beta/state");
    accounts.run_of("beta", &["reload"]).expect(0);
    accounts.add("gamma", Config::default());
    let ran = accounts.run_of("gamma", &["reload"]).expect(1);
    assert!(ran.err.contains("this file is new to their process") && ran.err.contains("SIGHUP"), "{ran:?}");
    assert!(daemon.stop().success());
}

#[test]
fn an_account_begins_once_the_one_that_has_its_credential_is_gone_however_long_that_takes() {
    let accounts = Accounts::of(&["alpha", "beta"]);
    let url = accounts.service("alpha").url();
    accounts.edit("beta", &accounts.service("beta").url(), &url);
    accounts.put("alpha/staff.csv", &people(1..2));
    accounts.put("beta/staff.csv", &people(1..3));
    let daemon = accounts.daemon();
    accounts.faults("alpha", &["staff.create delay=2s"]);
    daemon.signal(Signal::USR1);
    eventually("a change is made, and not answered", || accounts.people("alpha") == 1);
    fs::remove_file(accounts.config("alpha")).unwrap();
    daemon.signal(Signal::HUP);
    eventually("the other one has begun", || accounts.run_of("beta", &["sync"]).code == Some(0));
    let log = daemon.log();
    assert_eq!(log.matches("account beta does not run").count(), 1, "only before: {log}");
    assert_eq!(accounts.people("alpha"), 2);
    assert!(daemon.stop().success());
}

#[test]
fn law_2_what_one_account_has_is_refused_to_a_second_by_name() {
    let mut accounts = Accounts::of(&["alpha"]);
    accounts.configure("alpha", of_an_inbox());
    fs::create_dir(accounts.dir().join("alpha/inbox")).unwrap();
    for (name, from, to) in [
        ("state", "../state/state", "../alpha/state"),
        ("socket", "../socket/control.sock", "../alpha/control.sock"),
        ("inbox", "../inbox/staff.csv", "../alpha/inbox"),
    ] {
        // A state and a socket have names that no instance has.
        let name = &format!("{name}-too");
        accounts.add(name, Config::default());
        let from = from.replacen(&format!("../{}", name.trim_end_matches("-too")), &format!("../{name}"), 1);
        accounts.edit(name, &from, to);
    }
    accounts.add("key-too", Config::default());
    let url = accounts.service("alpha").url();
    accounts.edit("key-too", &accounts.service("key-too").url(), &url);
    let daemon = accounts.daemon();
    let log = daemon.log();
    for (name, what) in [
        ("state-too", "the state in "),
        ("socket-too", "the control socket "),
        ("inbox-too", "the inbox "),
        ("key-too", "the same credential for "),
    ] {
        let told = log.lines().filter(|line| line.contains(&format!("account {name} does not run: ")));
        let told: Vec<&str> = told.collect();
        assert!(told.len() == 1 && told[0].contains(&format!("account alpha has {what}")), "{name}: {log}");
    }
    accounts.put("alpha/inbox/a.csv", &people(1..4));
    eventually("the first goes on", || accounts.people("alpha") == 3);
    assert!(daemon.stop().success());
}

#[test]
fn a_process_without_any_account_that_can_begin_exits_2() {
    let mut accounts = Accounts::new();
    let ran = accounts.run(&["run", "--accounts", "accounts"]).expect(2);
    assert!(ran.err.contains("there is no account in "), "{ran:?}");
    let ran = accounts.run(&["run", "--accounts", "nowhere"]).expect(2);
    assert!(ran.err.contains("can't be read"), "{ran:?}");
    accounts.add("north", Config::default());
    accounts.edit("north", "match_on", "match_onn");
    let ran = accounts.run(&["run", "--accounts", "accounts"]).expect(2);
    assert!(ran.err.contains("none of the accounts in ") && ran.err.contains("north: "), "{ran:?}");
}

#[test]
fn killed_in_the_middle_all_accounts_go_on_and_no_one_is_there_twice() {
    let accounts = Accounts::of(&["north", "south"]);
    for name in ["north", "south"] {
        accounts.put(&format!("{name}/staff.csv"), &people(1..30));
        accounts.faults(name, &["staff.create hold after=5"]);
    }
    let daemon = accounts.daemon();
    daemon.signal(Signal::USR1);
    eventually("both stand in the middle", || ["north", "south"].iter().all(|name| accounts.service(name).held() > 0));
    daemon.kill();
    for name in ["north", "south"] {
        accounts.faults(name, &[]);
        accounts.service(name).release();
    }
    let daemon = accounts.daemon();
    daemon.signal(Signal::USR1);
    for name in ["north", "south"] {
        eventually("it is in step", || accounts.status(name)["known"] == 29);
        let mut numbers: Vec<String> =
            accounts.service(name).all("staff").iter().map(|person| person["employee_id"].to_string()).collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!((numbers.len(), accounts.people(name)), (29, 29), "{name}");
    }
    assert!(daemon.stop().success());
}
