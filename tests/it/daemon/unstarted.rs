//! A daemon that can't start tells of it: once, however often it is started, and once when it works again.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::monitoring::notices::Listener;
use crate::support::config::{CONTROL, OfAFolder};
use crate::support::daemon::eventually;
use crate::support::{Config, World, people};

/// A world that is in step, with notices, and the listener that receives them.
fn world() -> (World, Listener) {
    world_of(Config::default())
}

/// The same whose state lies in a folder.
fn in_a_folder() -> (World, Listener) {
    world_of(Config::default().in_a_folder(OfAFolder::Damage))
}

fn world_of(config: Config) -> (World, Listener) {
    let web = Listener::start(Listener::http);
    let rest = format!("{CONTROL}[notify]\nwebhook = \"http://{}/hook\"\n", web.address);
    (World::synced(Config { rest, ..config }, 3), web)
}

/// The notices since the last call.
fn told(web: &Listener) -> Vec<Value> {
    let body = |heard: String| serde_json::from_str(heard.split_once('\n').unwrap().1).unwrap();
    web.heard().into_iter().map(body).collect()
}

/// Starts the daemon three times, as a service manager does, and returns all notices.
fn started_thrice(world: &World, web: &Listener, code: i32) -> Vec<Value> {
    for _ in 0..3 {
        world.run(&["run"]).expect(code);
    }
    told(web)
}

/// The daemon starts, and there is one notice of that.
fn expect_recovery(world: &World, web: &Listener) {
    let daemon = world.daemon();
    let mut all = Vec::new();
    eventually("the recovery is told", || {
        all.extend(told(web));
        !all.is_empty()
    });
    assert!(daemon.stop().success());
    all.extend(told(web));
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!((&all[0]["event"], &all[0]["summary"]), (&"recovered".into(), &"rosterd works again".into()));
    assert!(world.daemon().stop().success());
    assert_eq!(told(web), [Value::Null; 0], "once");
}

#[test]
fn fault_12_a_damaged_state_is_notified_once_and_so_is_its_recovery() {
    let (world, web) = in_a_folder();
    let commits = world.state().join("commits");
    let whole = fs::read(&commits).unwrap();
    fs::write(&commits, [0xff; 64]).unwrap();
    let all = started_thrice(&world, &web, 1);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!((&all[0]["event"], &all[0]["job"]), (&"down".into(), &Value::Null));
    let text = all[0]["text"].as_str().unwrap();
    assert!(text.starts_with("the daemon could not start, and nothing is synchronized\n- state folder "), "{text}");
    assert!(text.contains(": damaged; `rosterd status` says where"), "{text}");
    fs::write(&commits, whole).unwrap();
    expect_recovery(&world, &web);
}

#[test]
fn fault_17_a_state_of_a_later_version_is_notified_once() {
    let (world, web) = world();
    world.make_later();
    let all = started_thrice(&world, &web, 1);
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0]["text"].as_str().unwrap().contains("later version"), "{all:?}");
}

#[test]
fn a_database_that_can_t_be_reached_is_notified_once_and_so_is_its_recovery() {
    if !crate::support::postgres::is_there() {
        return;
    }
    let (world, web) = world_of(Config::default().in_database());
    let nowhere = format!("postgresql://postgres@{}/rosterd", world.dir().display().to_string().replace('/', "%2F"));
    for _ in 0..3 {
        let ended = world.command(&["run"]).env("ROSTERD__STATE__URL", &nowhere).output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let all = told(&web);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!((&all[0]["event"], &all[0]["job"]), (&"down".into(), &Value::Null));
    assert!(all[0]["reasons"][0].as_str().unwrap().contains("database"), "{all:?}");
    expect_recovery(&world, &web);
}

#[test]
fn fault_101_a_broken_configuration_is_notified_once_and_another_trouble_again() {
    let (world, web) = in_a_folder();
    let path = world.config_path();
    let whole = fs::read_to_string(&path).unwrap();
    for broken in [
        whole.replace("match_on", "match_onn"),
        whole.replace("[job.map]", "[job.map"),
        whole.replace("{{ title }}", "{{ title"),
    ] {
        world.put_config(&broken);
        let all = started_thrice(&world, &web, 2);
        assert!(all.len() <= 1, "{all:?}");
        for notice in all {
            assert_eq!(notice["event"], "down");
            let reason = notice["reasons"][0].as_str().unwrap();
            assert!(reason.contains("config.toml:") && reason.contains("did you mean match_on?"), "{notice}");
        }
    }
    // Another trouble is news.
    world.put_config(&whole);
    let commits = world.state().join("commits");
    let sound = fs::read(&commits).unwrap();
    fs::write(&commits, [0xff; 64]).unwrap();
    assert_eq!(started_thrice(&world, &web, 1).len(), 1);
    fs::write(&commits, sound).unwrap();
    expect_recovery(&world, &web);
}

#[test]
fn a_configuration_that_is_no_toml_gives_a_notice_where_its_notify_table_can_be_read() {
    let (world, web) = world();
    let whole = world.config_text();
    world.put_config(&whole.replace("[job.map]", "[job.map"));
    let all = started_thrice(&world, &web, 2);
    assert_eq!(all.len(), 1, "{all:?}");
    expect_told_of_configuration(&all[0], &world.config_path());
    world.put_config(&whole);
    expect_recovery(&world, &web);
    // Where others could have written it, its receivers of notices are not used.
    let path = world.put_config(&whole.replace("match_on", "match_onn"));
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    assert_eq!(started_thrice(&world, &web, 2), [Value::Null; 0]);
}

fn expect_told_of_configuration(notice: &Value, path: &Path) {
    let reason = notice["reasons"][0].as_str().unwrap();
    assert!(reason.starts_with(&format!("{}:", path.display())), "{notice}");
}

#[test]
fn fault_20_a_state_that_a_command_has_for_itself_is_no_news_before_five_minutes() {
    let (world, web) = world_of(Config::default().in_a_folder(OfAFolder::Lock));
    let store = world.store();
    world.run(&["run"]).expect(11);
    assert_eq!(told(&web), [Value::Null; 0]);
    // As it is when that has gone on for long.
    let mut book: Value = serde_json::from_str(&world.document("notices.json")).unwrap();
    let since = rosterd::clock::Clock::system().now() - jiff::SignedDuration::from_mins(6);
    book["told"]["down"]["since"] = since.to_string().into();
    world.home().replace("notices.json", book.to_string().as_bytes()).unwrap();
    let all = started_thrice(&world, &web, 11);
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0]["text"].as_str().unwrap().contains("in use by process"), "{all:?}");
    drop(store);
    expect_recovery(&world, &web);
}

#[test]
fn a_second_daemon_that_is_refused_is_no_news() {
    let (world, web) = world();
    let _daemon = world.daemon();
    assert_eq!(started_thrice(&world, &web, 11), [Value::Null; 0]);
    assert_eq!(world.status()["last"]["status"], "done");
}

#[test]
fn a_notice_that_is_on_its_way_when_the_daemon_ends_is_not_sent_again() {
    let (world, web) = world();
    web.hold(true);
    let daemon = world.daemon();
    world.csv("no header of ours\n");
    world.run(&["sync"]).expect(1);
    let mut all = Vec::new();
    eventually("it is on its way", || {
        all.extend(told(&web));
        !all.is_empty()
    });
    daemon.signal(Signal::TERM);
    // All but this is over by then.
    std::thread::sleep(Duration::from_millis(500));
    web.hold(false);
    assert!(daemon.stop().success());
    let daemon = world.daemon();
    world.csv(people(1..4));
    world.run(&["sync"]).expect(0);
    eventually("what comes next is notified", || {
        all.extend(told(&web));
        all.iter().any(|notice| notice["event"] == "recovered")
    });
    let events: Vec<&str> = all.iter().map(|notice| notice["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["failed", "recovered"], "{all:?}");
    assert!(daemon.stop().success());
}

#[test]
fn fault_109_people_are_notified_by_the_settings_that_are_in_force_after_a_reload() {
    let (first, second) = (Listener::start(Listener::http), Listener::start(Listener::http));
    let config = |web: &Listener| Config::served("", &format!("[notify]\nwebhook = \"http://{}/hook\"\n", web.address));
    let mut world = World::of(config(&first));
    world.csv(people(1..4));
    let daemon = world.daemon();
    world.csv("no header of ours\n");
    world.run(&["sync"]).expect(1);
    eventually("the first is told", || !first.heard().is_empty());
    world.reconfigure(|_| config(&second));
    world.csv(people(1..4));
    world.run(&["reload"]).expect(0);
    world.run(&["sync"]).expect(0);
    eventually("the second is told", || second.heard().iter().any(|heard| heard.contains("recovered")));
    assert!(first.heard().is_empty(), "{}", daemon.log());
}
