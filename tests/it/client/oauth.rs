//! Client credentials: tokens that expire, secrets that change, permissions that lack.

use std::time::Duration;

use rosterd::sandbox::Options;

use crate::support::held::IN_FLIGHT_MAX;
use crate::support::{Config, World, people};

/// A job that calls by client credentials.
fn world(options: Options, scopes: &str) -> World {
    let mut world = World::new(options);
    let credential = format!(
        "auth_url = \"{}\"\nclient_id = \"sandbox-client\"\nclient_secret_file = \"secret\"\n{scopes}",
        world.service().auth_url()
    );
    world.put("secret", b"sandbox-secret\n");
    world.reconfigure(|config| Config { credential, ..config });
    world
}

#[test]
fn tokens_that_expire_during_a_run_are_renewed_and_nothing_is_lost() {
    let options = Options {
        token_lifetime: Duration::from_secs(6),
        delay: Duration::from_millis(400),
        accept_duplicates: true,
        ..Options::default()
    };
    let world = world(options, "");
    world.csv(people(0..600));
    assert_eq!(world.sync().expect(0).writes(), (600, 0, 0));
    world.expect_people(0..600);
    let tokens = world.service().token_requests();
    assert!((2..300).contains(&tokens), "it takes longer than one token, and a token serves many requests: {tokens}");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn a_token_is_asked_for_once_in_a_run_that_ends_before_it_expires() {
    let world = world(Options::default(), "scopes = [\"staff:read\", \"staff:write\"]\n");
    world.csv(people(0..60));
    assert_eq!(world.sync().expect(0).writes(), (60, 0, 0));
    assert_eq!(world.service().token_requests(), 1, "single flight");
}

#[test]
fn a_secret_rotated_in_the_middle_of_a_run_is_read_again_from_its_file() {
    let world = world(Options { accept_duplicates: true, ..Options::default() }, "");
    world.csv(people(0..200));
    world.faults(&["staff.create hold after=20"]);
    let mut child = world.start(&["sync"]);
    world.until_held(IN_FLIGHT_MAX);
    world.put("secret", b"another-secret");
    world.service().rotate_secret("another-secret");
    world.faults(&[]);
    let status = child.wait().unwrap();
    assert!(status.success(), "{status:?}");
    world.expect_people(0..200);
    assert!(world.service().token_requests() <= 6, "{} tokens", world.service().token_requests());
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn fault_34_a_secret_rotated_without_the_file_ends_the_run_and_the_next_one_finishes() {
    let world = world(Options { accept_duplicates: true, ..Options::default() }, "");
    world.csv(people(0..120));
    world.faults(&["staff.create hold after=20"]);
    let mut child = world.start(&["sync"]);
    world.until_held(IN_FLIGHT_MAX);
    world.service().rotate_secret("another-secret");
    world.faults(&[]);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(world.service().token_requests() <= 6, "no storm: {} tokens", world.service().token_requests());
    world.put("secret", b"another-secret");
    world.sync().expect(0);
    world.expect_people(0..120);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn fault_34_a_credential_that_may_only_read_writes_nothing_and_loses_nothing() {
    let read_only = Options { scopes: vec!["staff:read".into()], ..Options::default() };
    let world = world(read_only, "");
    world.csv(people(0..50));
    let ran = world.sync().expect(1);
    assert_eq!(ran.job()["status"], "failed");
    let told = format!("{} {}", ran.reason(), ran.err).to_lowercase();
    assert!(told.contains("403") || told.contains("permi") || told.contains("scope"), "names the permission: {told}");
    assert!(told.contains("staff"), "names the operation: {told}");
    assert_eq!(world.service().writes(), 0);
    assert!(world.count("staff.create") <= 20, "{} refused creates: no storm", world.count("staff.create"));
    assert!(world.service().token_requests() <= 4, "{} tokens", world.service().token_requests());
    assert_eq!(ran.job()["parked"], 0, "a missing permission parks nothing: {ran:?}");
    assert_eq!(world.sync().expect(1).job()["parked"], 0);
}

#[test]
fn fault_34_an_api_key_that_may_only_read_loses_nothing_and_is_not_tried_again_and_again() {
    let world = World::new(Options { api_key_scopes: vec!["staff:read".into()], ..Options::default() });
    world.csv(people(0..50));
    let ran = world.sync().expect(1);
    assert_eq!((ran.job()["status"].as_str(), ran.job()["parked"].as_u64()), (Some("failed"), Some(0)), "{ran:?}");
    assert!(world.count("staff.create") <= 10, "{} refused creates", world.count("staff.create"));
}

#[test]
fn a_wrong_secret_exits_1_with_few_token_requests() {
    let world = world(Options::default(), "");
    world.put("secret", b"wrong-secret-canary");
    world.csv(people(0..50));
    let ran = world.sync().expect(1);
    assert_eq!(ran.job()["status"], "failed");
    assert!(world.service().token_requests() <= 3, "{} token requests", world.service().token_requests());
    assert_eq!(world.service().requests().len(), 0);
    let told = format!("{}{}", ran.out, ran.err);
    assert!(told.contains("secret") || told.contains("client") || told.contains("401"), "{told}");
    assert!(!told.contains("canary"), "law 11");
}

#[test]
fn an_unknown_scope_exits_1_and_says_so() {
    let world = world(Options::default(), "scopes = [\"staff:read\", \"moon:write\"]\n");
    world.csv(people(0..5));
    let ran = world.sync().expect(1);
    assert!(format!("{}{}", ran.out, ran.err).contains("scope"), "{ran:?}");
    assert!(world.service().token_requests() <= 3);
}
