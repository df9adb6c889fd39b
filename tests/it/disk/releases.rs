//! What earlier releases left (tests/fixtures/releases) is opened by this one: nothing is lost, and no one is made twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rosterd::sandbox::{Options, Sandbox};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::support::Ran;
use crate::support::daemon::eventually;
use crate::support::postgres::{self, Server, program};

/// Where `packaging/keep-release` has the stand-in listen, to which the states belong.
const ADDRESS: &str = "127.71.0.1:8471";

/// What each release left: its state in a folder, and its state in a database.
const KINDS: [&str; 2] = ["folder", "database"];

/// The folders of all releases.
fn releases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/releases");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_dir());
    paths.sort();
    paths
}

/// The binary in a copy of what a release left.
fn run(folder: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
    command.env_clear().current_dir(folder).args(["--color", "never", "--config", "config.toml"]).args(arguments);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    Ran { code: output.status.code(), out, err }
}

/// The stand-in with the people that a release left there.
fn serve(runtime: &Runtime, people: &[Value]) -> Sandbox {
    let mut service = None;
    // Another run of these tests on this machine may have the address.
    eventually("the address is free", || {
        let options = Options { listen: ADDRESS.parse().unwrap(), rate: 0, ..Options::default() };
        service = runtime.block_on(Sandbox::start(options)).ok();
        service.is_some()
    });
    let service = service.unwrap();
    for person in people {
        assert_eq!(service.put("staff", person.clone()), person["id"]);
    }
    service
}

/// The changes of a plan as (key, action, held), in order.
fn changes(plan: &Value) -> Vec<(String, String, bool)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let job = &plan["jobs"][0];
    let changes = job["changes"].as_array().unwrap().iter();
    let mut changes: Vec<_> =
        changes.map(|change| (text(&change["key"]), text(&change["action"]), !change["held"].is_null())).collect();
    changes.sort();
    changes
}

/// Puts what a release left in a database of this server into one of this test's, and names that in the configuration.
fn restore(folder: &Path) {
    let database = Server::shared().database();
    let mut load = Command::new(program("psql").unwrap());
    load.args(["-X", "-q", "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-d", &database.name, "-f", "state.sql", "-h"]);
    let loaded = load.arg(database.server.socket()).current_dir(folder).output().unwrap();
    assert!(loaded.status.success(), "{loaded:?}");
    let config = folder.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.contains("\"URL\""), "{text}");
    fs::write(&config, text.replace("URL", &database.url())).unwrap();
}

#[test]
fn law_3_what_every_release_left_is_opened_and_goes_on() {
    let releases = releases();
    let own = releases.iter().any(|release| release.ends_with(env!("CARGO_PKG_VERSION")));
    assert!(own, "packaging/keep-release keeps what this version leaves");
    for release in releases.iter().flat_map(|release| KINDS.map(|kind| release.join(kind))) {
        let in_database = release.ends_with("database");
        if in_database && !postgres::is_there() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut copy = Command::new("sh");
        copy.args(["-c", "cp -r \"$0\"/. . && chmod -R go= ."]).arg(&release).current_dir(folder);
        assert!(copy.status().unwrap().success());
        if in_database {
            restore(folder);
        }
        let read = |name: &str| -> Value { serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap() };
        let (people, planned) = (read("service.json"), read("plan.json")["plan"].clone());
        let people = people.as_array().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let service = serve(&runtime, people);

        let status = run(folder, &["status", "--json"]).expect(4).json();
        assert_eq!(status["jobs"][0]["last"]["status"], "held", "{status}");
        let history = run(folder, &["history"]).expect(0).out;
        assert!(history.contains("8 created") && history.contains("1 created, 1 updated"), "{history}");
        let plan = run(folder, &["plan", "--json"]).expect(0).json();
        assert_eq!(changes(&plan), changes(&planned), "{}", release.display());
        assert_eq!(changes(&plan).iter().filter(|(_, _, held)| !held).count(), 1, "there is something to apply");

        let writes = service.writes();
        let applied = run(folder, &["apply", "plan.json", "--json"]);
        match applied.code {
            // A file whose form has changed since is refused, and nothing of it is sent.
            Some(2) => assert_eq!(service.writes(), writes, "{applied:?}"),
            _ => assert_eq!(applied.expect(0).writes(), (0, 1, 0)),
        }
        run(folder, &["sync"]).expect(4);
        let synced = run(folder, &["sync", "--json"]).expect(4);
        assert_eq!(synced.writes(), (0, 0, 0), "{synced:?}");
        let title = |person: &Value| (person["employee_id"] == "P00002").then(|| person["title"].clone());
        assert_eq!(service.all("staff").iter().find_map(title), Some("Engineer".into()));
        assert_eq!(service.all("staff").len(), people.len(), "no one is made twice");
        runtime.block_on(service.stop());
    }
}
