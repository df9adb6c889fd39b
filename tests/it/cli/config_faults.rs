//! Mistakes in the configuration: exit 2, with file, line, key and the nearest known key, before anything is read or sent.

use std::fs;

use crate::support::config::OfAFolder;
use crate::support::{Config, World, people};

fn world() -> World {
    world_of(Config::default())
}

/// The same whose state lies in a folder.
fn in_a_folder() -> World {
    world_of(Config::default().in_a_folder(OfAFolder::Place))
}

fn world_of(config: Config) -> World {
    let rest = "[job.leavers]\naction = \"keep\"\ngrace = \"24h\"\n[job.guard]\nmax_leavers = \"2%\"\n";
    let world = World::of(Config { rest: rest.into(), ..config });
    world.csv(people(1..4));
    world
}

fn text(world: &World) -> String {
    world.config_text()
}

/// Puts `wrong` in place of `right` in a good configuration; gives the text and the line of `wrong`.
fn spoiled(world: &World, right: &str, wrong: &str) -> (String, usize) {
    let good = text(world);
    let at = good.find(right).unwrap_or_else(|| panic!("no {right:?} in the configuration"));
    (good.replacen(right, wrong, 1), good[..at].lines().count().max(1) + usize::from(good[..at].ends_with('\n')))
}

#[test]
fn fault_101_a_mistake_is_named_with_line_and_key() {
    // what, in place of which text, and words of the message
    let table: &[(&str, &str, &[&str])] = &[
        ("dir = \"state\"", "dri = \"state\"", &["state.dri", "did you mean dir?"]),
        ("target = ", "taget = ", &["taget", "did you mean target?"]),
        ("settle = ", "setle = ", &["setle", "did you mean settle?"]),
        ("title = \"{{", "titel = \"{{", &["titel", "did you mean title?"]),
        ("max_leavers = ", "max_leaver = ", &["max_leaver", "did you mean max_leavers?"]),
        ("grace = ", "graze = ", &["graze", "did you mean grace?"]),
        ("[state]", "[stat]", &["stat", "did you mean"]),
        ("[job.guard]", "[job.gaurd]", &["gaurd", "did you mean guard?"]),
        ("target = \"staff\"", "target = \"staf\"", &["target", "staf", "staff"]),
        ("type = \"csv\"", "type = \"cvs\"", &["type", "csv"]),
        ("type = \"csv\"", "type = \"excel\"", &["type", "no kind of source"]),
        ("settle = \"0s\"", "settle = \"soon\"", &["settle", "soon"]),
        ("settle = \"0s\"", "mode = \"partial\"", &["mode", "full", "changes"]),
        ("settle = \"0s\"", "encoding = \"utf-9\"", &["encoding", "utf-9"]),
        ("settle = \"0s\"", "delimiter = \"::\"", &["delimiter"]),
        ("settle = \"0s\"", "header = 0", &["header"]),
        ("settle = \"0s\"", "size_max = \"large\"", &["size_max"]),
        ("grace = \"24h\"", "grace = \"-1h\"", &["grace"]),
        ("grace = \"24h\"", "grace_reads = -1", &["grace_reads"]),
        ("action = \"keep\"", "action = \"remove\"", &["action", "delete"]),
        ("action = \"keep\"", "action = \"update\"", &["action", "leavers.set"]),
        ("action = \"keep\"", "set.title = \"{{ title }}\"\naction = \"update\"", &["set.title", "no row"]),
        ("requests_per_minute = 3000", "requests_per_minute = 0", &["requests_per_minute"]),
        ("requests_per_minute = 3000", "timeout = 60", &["timeout"]),
        ("requests_per_minute = 3000", "page_size = 0", &["page_size"]),
        ("match_on = [", "match_on = [\"shoe_size\", ", &["match_on", "shoe_size"]),
        ("match_on = [", "schedule = \"61 * * * *\"\nmatch_on = [", &["schedule", "minute"]),
        ("match_on = [", "schedule = \"* * *\"\nmatch_on = [", &["schedule"]),
        ("match_on = [", "time_zone = \"Mars/Base\"\nmatch_on = [", &["time_zone", "Mars/Base"]),
        ("match_on = [", "writes = \"maybe\"\nmatch_on = [", &["writes", "approve"]),
        ("match_on = [", "prefer = \"{{ fte | nubmer }}\"\nmatch_on = [", &["prefer", "nubmer"]),
        ("match_on = [", "protect = \"x@example.com\"\nmatch_on = [", &["protect", "brackets"]),
        ("match_on = [", "seed_only = [\"shoe_size\"]\nmatch_on = [", &["seed_only", "shoe_size"]),
        ("match_on = [", "active_until = \"{{ end | date('dd') }}\"\nmatch_on = [", &["active_until", "dd"]),
        ("match_on = [", "on_drift = \"ask\"\nmatch_on = [", &["on_drift", "report"]),
        ("max_leavers = \"2%\"", "segment = \"{{ title \"", &["segment"]),
        ("key = \"{{ employee_no }}\"", "key = \"{{ employee_no \"", &["key"]),
        ("name = \"{{ name }}\"", "name = \"{{ name | uper }}\"", &["name", "uper"]),
        ("name = \"{{ name }}\"", "name = \"{% if name %}x\"", &["name"]),
        ("name = \"{{ name }}\"", "name = \"{{ name | lookup('sites') }}\"", &["name", "sites"]),
        ("name = \"{{ name }}\"", "name = 7", &["name"]),
        ("title = \"{{ title }}\"", "onsite_status = \"onsite\"", &["onsite_status"]),
        ("name = \"staff\"", "name = \"\"", &["name"]),
    ];
    for (right, wrong, words) in table {
        let world = in_a_folder();
        let (spoiled, line) = spoiled(&world, right, wrong);
        world.put_config(&spoiled);
        let ran = world.run(&["sync"]);
        assert_eq!(ran.code, Some(2), "{wrong}: {ran:?}");
        let message = ran.err.lines().find(|message| words.iter().all(|word| message.contains(word)));
        let message = message.unwrap_or_else(|| panic!("{wrong}: {words:?} are not in {ran:?}"));
        assert!(message.contains("config.toml:"), "{wrong}: no file in {message:?}");
        assert!(message.contains(&format!("config.toml:{line}:")), "{wrong}: not line {line}: {message:?}");
        assert!(!world.state().exists(), "{wrong}: nothing is begun");
        assert_eq!(world.service().requests(), [], "{wrong}: nothing is asked");
    }
}

#[test]
fn fault_101_all_mistakes_are_named_at_once_by_every_command() {
    let world = world();
    let spoiled = text(&world)
        .replacen("requests_per_minute = 3000", "timeuot = \"60s\"", 1)
        .replacen("dir = ", "dri = ", 1)
        .replacen("settle = \"0s\"", "settle = \"soon\"", 1)
        .replacen("{{ name }}", "{{ name | uper }}", 1)
        .replacen("{{ email }}", "{{ email", 1)
        .replacen("title = \"{{", "titel = \"{{", 1)
        .replacen("\"2%\"", "\"200%\"", 1);
    world.put_config(&spoiled);
    for arguments in [
        &["sync"][..],
        &["plan"],
        &["check"],
        &["check", "--offline"],
        &["status"],
        &["preview", "staff"],
        &["approve", "staff"],
        &["reject", "staff"],
        &["api", "staff.list"],
    ] {
        let ran = world.run(arguments).expect(2);
        for word in ["timeuot", "dri", "settle", "uper", "email", "titel", "max_leavers"] {
            assert!(ran.err.contains(word), "{arguments:?}: {word} is missing in {ran:?}");
        }
    }
    let ran = world.run(&["sync", "--json"]).expect(2);
    assert_eq!(ran.out, "", "no document of a run that wasn't");
    let last: serde_json::Value = serde_json::from_str(ran.err.lines().last().unwrap()).unwrap();
    assert_eq!(last["error"]["code"], 2, "{last}");
}

#[test]
fn a_configuration_that_is_missing_or_no_toml_exits_2() {
    let world = world();
    world.put("config.toml", b"[api]\nbase_url = [\n");
    let ran = world.run(&["sync"]).expect(2);
    assert!(ran.err.contains("config.toml:2"), "{ran:?}");
    fs::remove_file(world.config_path()).unwrap();
    let ran = world.run(&["sync"]).expect(2);
    assert!(ran.err.contains("config.toml"), "{ran:?}");
}

#[test]
fn what_is_turned_off_may_be_said() {
    let world = world();
    let job = "match_on = [";
    let good = text(&world).replacen(
        job,
        &format!("seed_only = []\nprotect = []\nactive_until = \"\"\norg_key = \"\"\n{job}"),
        1,
    );
    world.put_config(&good);
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0));
}

#[test]
fn an_address_without_encryption_is_taken_on_loopback_only() {
    let world = world();
    let url = world.service().url();
    for wrong in ["http://api.example.com/v1", "ftp://127.0.0.1/v1", "api.example.com/v1", ""] {
        world.put_config(&text(&world).replace(&url, wrong));
        let ran = world.run(&["sync"]).expect(2);
        assert!(ran.err.contains("config.toml:2: api.base_url"), "{wrong}: {ran:?}");
        world.put_config(&text(&world).replace(&format!("\"{wrong}\""), &format!("\"{url}\"")));
    }
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0));
}

#[test]
fn two_jobs_of_one_name_and_an_unknown_job_exit_2() {
    let world = world();
    for command in ["sync", "plan", "preview"] {
        let ran = world.run(&[command, "stuff"]).expect(2);
        assert!(ran.err.contains("stuff") && ran.err.contains("staff"), "{command}: {ran:?}");
    }
    assert_eq!(world.run(&["sync", "staff", "stuff"]).code, Some(2));
    assert_eq!(world.service().writes(), 0, "not even the job that is known was run");
    let good = text(&world);
    let twice = good.clone() + "\n" + &good[good.find("[[job]]").unwrap()..];
    world.put_config(&twice);
    let ran = world.run(&["sync"]).expect(2);
    assert!(ran.err.contains("staff"), "{ran:?}");
}

#[test]
fn unknown_commands_and_options_exit_2() {
    let world = world();
    for arguments in [&["snyc"][..], &["sync", "--all-of-it"], &["plan", "--exit-cod"], &["explain"], &["init"]] {
        assert_eq!(world.run(arguments).code, Some(2), "{arguments:?}");
    }
}
