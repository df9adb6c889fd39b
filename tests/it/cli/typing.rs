//! What a person types: completion, a job that is left out, how much is said.

use std::process::Stdio;

use crate::support::{Config, World, people, row};

/// What a shell is offered for the last word of a line.
fn offered(world: &World, line: &[&str]) -> Vec<String> {
    let config = world.config_path();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rosterd"));
    command.env_clear().current_dir(world.dir()).stdin(Stdio::null());
    command
        .env("_ROSTERD_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", (line.len() + 2).to_string())
        .env("_CLAP_IFS", "\n");
    let output = command.args(["--", "rosterd", "--config"]).arg(config).args(line).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let found = String::from_utf8(output.stdout).unwrap();
    found.lines().map(|word| word.trim_end().to_owned()).filter(|word| !word.starts_with('-')).collect()
}

/// Two people who were approved, and one whose change is held.
fn held() -> World {
    let job = format!("{}writes = \"approve\"\n", Config::default().job);
    let world = World::of(Config { job, ..Config::default() });
    world.sync_of(people(0..3)).expect(4);
    world.run(&["approve", "staff", "P00000", "P00001"]).expect(0);
    world.sync().expect(4);
    world
}

#[test]
fn a_shell_is_offered_jobs_and_the_keys_that_a_command_is_about() {
    let world = held();
    assert_eq!(offered(&world, &["sync", "s"]), ["staff"]);
    assert_eq!(offered(&world, &["explain", "staff", "P"]), ["P00000", "P00001"]);
    assert_eq!(offered(&world, &["explain", "P0000"]), ["P00000", "P00001"], "there is only one job");
    assert_eq!(offered(&world, &["approve", "staff", ""]), ["P00002"]);
    assert_eq!(offered(&world, &["queue", "drop", "staff", ""]), Vec::<String>::new());
}

#[test]
fn a_job_may_be_left_out_where_there_is_only_one() {
    let world = held();
    let refused = world.run(&["approve", "stuff"]).expect(2);
    assert!(refused.err.contains("there is no job \"stuff\"") && refused.err.contains("staff"), "{refused:?}");
    let ran = world.run(&["approve", "P00002", "--json"]).expect(0);
    assert_eq!(ran.json()["approved"], serde_json::json!(["P00002"]));
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
}

#[test]
fn quiet_leaves_out_notes_and_no_error() {
    let world = held();
    assert!(!world.run(&["approve", "P00002"]).expect(0).err.is_empty(), "a note says who sends it");
    let quiet = world.run(&["-q", "reject", "staff", "P00077"]).expect(1);
    assert!(quiet.err.contains("error:"), "{quiet:?}");
    let world = held();
    let quiet = world.run(&["approve", "P00002", "--quiet"]).expect(0);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("approved 1 of job staff: P00002\n", ""));
    let loud = world.run(&["-v", "sync"]).expect(0);
    assert!(loud.err.len() > world.run(&["sync"]).expect(0).err.len(), "{loud:?}");
}

#[test]
fn a_run_lists_rejected_rows_and_held_keys() {
    let world = World::default();
    let ran = world.sync_of(people(0..3) + &row(9, "Clerk").replace("Person 9", ""));
    let row = &ran.job()["rejected_rows"][0];
    assert_eq!((row["line"].as_u64(), row["key"].as_str()), (Some(5), Some("P00009")), "{ran:?}");
    assert!(!row["reason"].as_str().unwrap().is_empty());
    let job = held().sync().job();
    assert_eq!(job["held_changes"][0]["key"], "P00002");
}
