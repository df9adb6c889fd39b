//! What `rosterd check` says of the database in which the state lies.

use std::process::Command;

use jiff::SignedDuration;
use rosterd::clock::Clock;

use crate::support::World;
use crate::support::config::Config;
use crate::support::daemon::eventually;
use crate::support::faked::Faked;
use crate::support::people;
use crate::support::postgres::{self, Database, Server};
use crate::worker::sync_prepared;

/// The findings about the database: verdict and words of each.
fn findings(world: &World, url: &str, clock: Option<&Faked>) -> Vec<String> {
    let mut command = world.command(&["check", "--json"]);
    command.env("ROSTERD__STATE__URL", url);
    clock.iter().for_each(|clock| clock.tell(&mut command));
    let out = command.output().unwrap();
    let shown: serde_json::Value =
        serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&out.stderr)));
    let checks = shown["checks"].as_array().unwrap().iter();
    let own = checks.filter(|check| check["what"] == "database of the state");
    own.map(|check| format!("{}: {}", check["verdict"].as_str().unwrap(), check["message"].as_str().unwrap())).collect()
}

/// A world with three people, and a server of its own with a database.
fn beside_a_server() -> (World, &'static Server, Database) {
    let server = Server::own();
    let world = World::of(Config::default().in_database());
    world.csv(people(1..4));
    (world, server, server.database())
}

/// How commands end against a database: exit code and what is said.
fn ends(world: &World, url: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let out = world.command(arguments).env("ROSTERD__STATE__URL", url).output().unwrap();
    (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
}

#[test]
fn check_leaves_nothing_in_a_database_in_which_the_account_is_not_there_yet() {
    if !postgres::is_there() {
        return;
    }
    let world = World::of(Config::default().in_database());
    world.csv(people(1..4));
    let url = world.database().url();
    let check = || ends(&world, &url, &["check"]);
    let (code, said) = check();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(world.database().sql("select count(*) from pg_namespace where nspname = 'rosterd'"), "0");
    let asked = world.service().requests().len();
    assert!(asked > 0, "the service is asked all the same");
    // With the tables of another account.
    assert_eq!(ends(&world, &url, &["sync"]).0, Some(0));
    world.database().sql("update rosterd.account set name = 'other'");
    let (code, said) = check();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(world.database().sql("select string_agg(name, ',') from rosterd.account"), "other");
}

#[test]
fn commands_say_that_a_database_takes_no_writes_or_can_t_be_reached() {
    if !postgres::is_there() {
        return;
    }
    let (world, server, database) = beside_a_server();
    let url = database.url();
    assert_eq!(ends(&world, &url, &["sync"]).0, Some(0));
    // A worker has the account as the standby sees it: it takes no requests there.
    let sql = |statement: &str| assert!(server.sql(&database.name, statement).1, "{statement}");
    let held = "update rosterd.account set holder = 'x', node = 'x', serves = 1, since = now(), expires_at = now() + interval '1 h'";
    let standby = server.standby();
    let there = url.replace(
        &server.socket().display().to_string().replace('/', "%2F"),
        &standby.socket().display().to_string().replace('/', "%2F"),
    );
    let reads_only = format!("{url}?options=-c%20default_transaction_read_only%3Don");
    let nowhere = "postgresql://plain@%2Fnowhere/state";
    for held in [None, Some(held)] {
        held.into_iter().for_each(sql);
        for command in ["status", "plan", "sync"] {
            for (url, expected) in
                [(&there[..], "it takes no writes"), (&reads_only, "it takes no writes"), (nowhere, "can't be reached")]
            {
                let (code, said) = ends(&world, url, &[command]);
                assert!(code == Some(1) && said.contains(expected), "{command} at {url}: {code:?} {said}");
            }
        }
        for url in [&there[..], &reads_only] {
            // What only reads does without writing.
            let (code, said) = ends(&world, url, &["history"]);
            assert_eq!(code, Some(0), "{url}: {said}");
            let found = findings(&world, url, None);
            assert!(found[0].starts_with("wrong: "), "{found:?}");
        }
    }
    let (code, said) = ends(&world, nowhere, &["history"]);
    assert!(code == Some(1) && said.contains("can't be reached"), "{code:?} {said}");
}

#[test]
fn a_role_that_lacks_rights_is_told_which_by_check_and_what_to_look_at_by_others() {
    if !postgres::is_there() {
        return;
    }
    let (world, server, database) = beside_a_server();
    assert!(server.sql("postgres", "create role weak login").1);
    let weak = database.url().replace("postgres@", "weak@");
    let expect = |url: &str, finding: &str, refusal: &str| {
        let found = findings(&world, url, None);
        assert!(found.iter().any(|text| text.starts_with("wrong: ") && text.contains(finding)), "{url}: {found:?}");
        let (code, said) = ends(&world, url, &["sync"]);
        assert!(code == Some(1) && said.contains(refusal) && said.contains("hint: state.url names"), "{url}: {said}");
    };
    let name = &database.name;
    let grant = format!("the role may not make the tables: grant create on database \"{name}\" to \"weak\"");
    expect(&weak, &grant, "permission denied for database");
    assert_eq!(ends(&world, &database.url(), &["sync"]).0, Some(0));
    expect(
        &weak,
        "the role \"weak\" lacks rights on the tables, which belong to \"postgres\"",
        "permission denied for schema",
    );
    let lost = database.url().replace(name, "lost");
    expect(&lost, "database \"lost\" does not exist", "the database refuses this role");
    let strange = database.url().replace("postgres@", "strange@");
    expect(&strange, "role \"strange\" does not exist", "the database refuses this role");
}

#[test]
fn check_tells_what_of_a_database_is_not_as_it_should_be() {
    if !postgres::is_there() {
        return;
    }
    let (world, server, database) = beside_a_server();
    let sql = |statement: &str| assert!(server.sql(&database.name, statement).1, "{statement}");
    sql("create role plain login");
    sql(&format!("alter database {} owner to plain", database.name));
    let url = database.url().replace("postgres@", "plain@");
    let plain = |clock: Option<&Faked>| findings(&world, &url, clock);
    let mut command = world.command(&["sync"]);
    assert!(command.env("ROSTERD__STATE__URL", &url).output().unwrap().status.success());
    let good = plain(None);
    // The servers of the tests run with these two off, and with nothing else that is to be said.
    let expected = ["ok: PostgreSQL ", "warning: fsync is off", "warning: full_page_writes is off"];
    assert!(good.len() == 3 && expected.iter().zip(&good).all(|(begin, text)| text.starts_with(begin)), "{good:?}");
    let expect = |change: &str, back: &str, expected: &str| {
        change.split(';').for_each(sql);
        let found = plain(None);
        assert!(found.iter().any(|text| text.contains(expected)), "{change}: {found:?}");
        back.split(';').for_each(sql);
        assert_eq!(plain(None), good, "{back}");
    };
    for (change, back, expected) in [
        ("alter role plain superuser", "alter role plain nosuperuser", "warning: the role has superuser"),
        (
            "alter role plain createdb createrole replication bypassrls",
            "alter role plain nocreatedb nocreaterole noreplication nobypassrls",
            "warning: the role has createdb, createrole, bypassrls, replication",
        ),
        (
            "create table public.other (); alter table public.other owner to plain",
            "drop table public.other",
            "warning: the role owns one thing more than the state's tables",
        ),
        (
            "grant select on rosterd.rows to public",
            "revoke select on rosterd.rows from public",
            "warning: others have rights on the tables, which hold people's data: everyone",
        ),
        (
            "alter role plain set synchronous_commit = off",
            "alter role plain reset synchronous_commit",
            "warning: synchronous_commit is off",
        ),
        (
            "alter role plain set default_transaction_read_only = on",
            "alter role plain reset default_transaction_read_only",
            "wrong: default_transaction_read_only is on",
        ),
        (
            "update rosterd.meta set version = 9",
            "update rosterd.meta set version = 1",
            "wrong: a later version of the program made its tables (version 9)",
        ),
    ] {
        expect(change, back, expected);
    }
    let day = (Clock::system().now() + SignedDuration::from_hours(24)).strftime("%Y-%m-%d %H:%M:%S").to_string();
    if let Some(clock) = Faked::at(&world, &day) {
        let found = plain(Some(&clock));
        assert!(found.iter().any(|text| text.contains("s ahead of the database's")), "{found:?}");
    }
    let standby = server.standby();
    let found = plain(None);
    assert!(found.iter().any(|text| text.contains("it has a standby without synchronous_standby_names")), "{found:?}");
    let there = url.replace(
        &server.socket().display().to_string().replace('/', "%2F"),
        &standby.socket().display().to_string().replace('/', "%2F"),
    );
    let found = findings(&world, &there, None);
    assert!(found[0].starts_with("wrong: it is a standby, which takes no writes"), "{found:?}");
    let found = findings(&world, "postgresql://plain@%2Fnowhere/state", None);
    assert!(found[0].starts_with("wrong: ") && found[0].contains("can't be reached"), "{found:?}");
}

/// A primary that was replaced and comes back as it was, or a standby that was promoted beside it.
#[test]
fn law_3_no_account_is_claimed_while_two_servers_of_the_url_take_writes() {
    if !postgres::is_there() {
        return;
    }
    let (world, server, database) = beside_a_server();
    let standby = server.standby();
    let socket = |server: &Server| server.socket().display().to_string().replace('/', "%2F");
    let url = format!(
        "postgresql://postgres@{},{}/{}?target_session_attrs=read-write",
        socket(&standby),
        socket(server),
        database.name
    );
    let there = |command: &mut Command| {
        command.env("ROSTERD__STATE__URL", &url);
    };
    // Twice the same server is one.
    let twice = url.replace(&socket(&standby), &socket(server));
    assert_eq!(ends(&world, &twice, &["plan"]).0, Some(0));
    sync_prepared(&world, "first", there);
    assert_eq!(world.staff().len(), 3);
    eventually("the standby has it", || {
        standby.sql(&database.name, "select count(*) from rosterd.account where holder is null").0 == "1"
    });
    standby.promote();
    eventually("it takes writes", || standby.sql("postgres", "select pg_is_in_recovery()").0 == "f");
    world.csv(people(1..6));
    for arguments in [&["sync"][..], &["plan"], &["approve", "staff"]] {
        let (code, said) = ends(&world, &url, arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert!(said.contains("several of its servers take writes") && said.contains("make it a standby"), "{said}");
    }
    let found = findings(&world, &url, None);
    assert!(found.iter().any(|text| text.starts_with("wrong: several servers of state.url take writes")), "{found:?}");
    assert_eq!(world.staff().len(), 3);
    server.stop_at_once();
    sync_prepared(&world, "first", there);
    world.expect_people(1..6);
    standby.stop_at_once();
}
