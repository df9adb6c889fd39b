//! Another credential may be another account's: the people known are looked for before anything is believed.

use rosterd::sandbox::Options;
use serde_json::json;

use crate::support::{Config, World, people, row};

/// Ten people synced with an API key, and a configuration that calls by client credentials from now on.
fn changed() -> World {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let mut world = World::synced(Config::rest(rest), 10);
    reconfigure(&mut world, true);
    world
}

fn reconfigure(world: &mut World, client: bool) {
    let options = world.service().options().clone();
    let credential = if client {
        let (url, id, secret) = (world.service().auth_url(), &options.client_id, &options.client_secret);
        format!("auth_url = \"{url}\"\nclient_id = \"{id}\"\nclient_secret = \"{secret}\"")
    } else {
        Config::default().credential
    };
    world.reconfigure(|config| Config { credential, ..config });
}

#[test]
fn law_2_a_changed_credential_brings_a_whole_listing_once() {
    let world = changed();
    let remove = |number| {
        let id = world.held_as(number).unwrap()["id"].as_i64().unwrap();
        assert!(world.service().remove("staff", id));
    };
    // Only a whole listing shows that a person was removed.
    remove(1);
    assert_eq!(world.plan().expect(0).job()["changes"].as_array().unwrap().len(), 1);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    remove(2);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "none once it is known");
}

#[test]
fn law_2_with_a_changed_credential_a_person_made_at_another_time_fails_the_run_before_any_write() {
    let mut world = changed();
    let id = world.held_as(3).unwrap()["id"].as_i64().unwrap();
    let before = world.held_as(3).unwrap()["created"].clone();
    world.service().edit("staff", id, json!({"created": "2019-01-01T00:00:00+00:00"}));
    world.csv(people(2..11).replace(&row(4, "Clerk"), &row(4, "Boss")));
    for _ in 0..2 {
        let ran = world.sync().expect(1);
        let reason = ran.reason();
        assert!(reason.contains("another account") && reason.contains("rosterd rebuild"), "{reason}");
        assert!(world.plan().expect(1).out.contains("another account"));
    }
    assert_eq!(world.service().writes(), 10);
    reconfigure(&mut world, false);
    world.service().edit("staff", id, json!({"created": before}));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 1), "with the old one all goes on: nothing was believed");
}

#[test]
fn law_2_with_a_changed_credential_that_misses_most_people_no_one_is_requested_or_created_again() {
    let world = changed();
    let gone: Vec<i64> = (1..8).map(|number| world.held_as(number).unwrap()["id"].as_i64().unwrap()).collect();
    gone.iter().for_each(|id| assert!(world.service().remove("staff", *id)));
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("of 10 people known 7 are missing"), "{ran:?}");
    assert_eq!((world.service().writes(), world.count("staff.get")), (10, 0));
    world.run(&["rebuild"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (7, 0, 0), "a person said that it is the same account");
}

#[test]
fn law_11_the_credential_is_not_in_the_state() {
    let world = World::with(Options { api_key: "canary-key-4711".into(), ..Options::default() }, Config::default());
    world.csv(people(1..3));
    world.sync().expect(0);
    assert!(!world.kept_with("P00001").is_empty());
    assert_eq!(world.kept_with("canary-key-4711"), [] as [String; 0]);
}
