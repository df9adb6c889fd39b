//! The client as a library of its own, and the examples that show it.

use std::path::Path;
use std::process::Command;

use rosterd::sandbox::Options;

use crate::support::{Ran, World};

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).env_remove("RUSTFLAGS");
    // What says which package is tested would have crates compiled again, here and by whatever is built next.
    let is_of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_of_package)) {
        command.env_remove(name);
    }
    command
}

fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    Ran { code: output.status.code(), out, err }
}

#[test]
fn the_client_alone_brings_nothing_of_the_engine() {
    let tree = |features: &[&str]| {
        let arguments = [&["tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"], features];
        ran(&mut cargo(&arguments.concat())).expect(0).out
    };
    let names = |text: String| -> Vec<String> {
        text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    };
    let alone = names(tree(&["--package", "rosterd-client"]));
    let whole = names(tree(&[]));
    for package in ["sled", "minijinja", "axum", "clap", "csv", "cron", "config", "quick-xml", "signal-hook", "ldap3"] {
        assert!(whole.contains(&package.to_owned()), "{package} is in no tree at all");
        assert!(!alone.contains(&package.to_owned()), "the client alone brings {package}");
    }
    assert!(alone.contains(&"reqwest".to_owned()), "{alone:?}");
}

#[test]
fn the_examples_do_what_they_say() {
    let world = World::new(Options { seed_contractors: 12, ..Options::default() });
    let ids: Vec<i64> = (1..4).map(|number| world.person(number, "Clerk")).collect();
    // All tests of the workspace are built with them; of one test alone they are built here, as those are.
    let mut build = cargo(&["build", "--quiet", "--locked", "--workspace", "--examples"]);
    if cfg!(feature = "crash-points") {
        build.args(["--features", "crash-points"]);
    }
    ran(&mut build).expect(0);
    let built = Path::new(env!("CARGO_BIN_EXE_rosterd")).with_file_name("examples");
    let example = |name: &str, arguments: &[&str]| {
        let mut command = Command::new(built.join(name));
        command.args(arguments).env("BASE_URL", world.service().url()).env("API_KEY", "sandbox-key");
        ran(&mut command)
    };

    let listed = example("list_people", &["Person 2"]).expect(0).out;
    assert!(listed.contains("Person 2") && !listed.contains("Person 1"), "{listed}");
    assert!(listed.contains("1 people in 2 requests"), "{listed}");

    let changed = example("changes_since", &["2020-01-31T12:00:00Z"]).expect(0).out;
    assert_eq!(changed.lines().count(), world.service().all("sp.member").len(), "{changed}");
    assert!(example("changes_since", &["2199-01-31T12:00:00Z"]).expect(0).out.is_empty());

    let before = world.one(ids[0]);
    let said = example("update_person", &[&ids[0].to_string(), "Fire warden"]).expect(0).out;
    assert!(said.contains("Fire warden"), "{said}");
    let after = world.one(ids[0]);
    let changed: Vec<&String> =
        before.as_object().unwrap().keys().filter(|name| before[*name] != after[*name]).collect();
    assert!(changed.iter().all(|name| ["title", "modified"].contains(&name.as_str())), "{changed:?}");
    assert_eq!(after["title"], "Fire warden");
    assert!(example("update_person", &["999999", "x"]).expect(1).err.contains("Missing"));
}
