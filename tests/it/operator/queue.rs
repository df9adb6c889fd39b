//! What waits, and what a person decides about it.

use rosterd::sandbox::Options;
use serde_json::{Value, json};

use crate::support::{Config, World, people};

/// Five people; the service refuses the second and the fourth.
fn parked() -> World {
    let world = World::default();
    world.csv(people(0..5));
    world.faults(&["staff.create status=422 every=2"]);
    world.sync().expect(3);
    world.faults(&[]);
    world
}

fn listed(world: &World) -> Vec<Value> {
    let document = world.run(&["queue", "list", "--json"]).expect(0).json();
    assert_eq!(document["version"], 1);
    document["changes"].as_array().unwrap().clone()
}

#[test]
fn law_11_what_is_parked_is_listed_by_key_with_the_services_words() {
    let world = parked();
    let changes = listed(&world);
    let shown: Vec<_> = changes.iter().map(|change| (&change["state"], &change["action"], &change["status"])).collect();
    assert_eq!(json!(shown), json!([["parked", "create", 422], ["parked", "create", 422]]));
    assert!(changes.iter().all(|change| !change["reason"].as_str().unwrap().is_empty()), "{changes:?}");
    let ran = world.run(&["queue", "list", "staff"]).expect(0).hides(&["Person", "example.com"]);
    assert_eq!(ran.out.lines().filter(|line| line.starts_with("parked    staff  P0000")).count(), 2, "{ran:?}");
    assert_eq!(World::synced(Config::default(), 1).run(&["queue", "list"]).expect(0).out, "nothing is queued\n");
}

#[test]
fn a_parked_change_is_sent_again_after_a_retry_and_not_before() {
    let world = parked();
    world.sync().expect(3);
    assert_eq!(world.count("staff.create"), 5);
    let key = listed(&world)[0]["key"].as_str().unwrap().to_owned();
    world.run(&["queue", "retry", "staff", "P00099"]).expect(1);
    let ran = world.run(&["queue", "retry", "staff", &key, "--json"]).expect(0);
    assert_eq!(ran.json(), json!({"version": 1, "job": "staff", "retried": [key]}));
    assert_eq!(listed(&world)[0]["state"], "waiting");
    assert_eq!(world.sync().expect(3).writes(), (1, 0, 0));
    world.run(&["queue", "retry", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    world.expect_people(0..5);
    let ran = world.run(&["queue", "retry", "staff"]).expect(1);
    assert!(ran.err.contains("nothing of job staff is parked"), "{ran:?}");
    assert_eq!(world.audit().matches("\"retried\"").count(), 2);
}

#[test]
fn a_dropped_change_stays_dropped_until_its_record_changes() {
    let world = parked();
    world.run(&["queue", "drop", "staff"]).expect(0);
    assert_eq!((listed(&world), world.audit().matches("\"dropped\"").count()), (vec![], 2));
    for _ in 0..2 {
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    }
    world.run(&["queue", "drop", "staff"]).expect(1);
    world.csv(people(0..5).replace("Clerk", "Baker"));
    assert_eq!(world.sync().expect(0).writes(), (2, 3, 0));
    world.expect_people(0..5);
}

#[test]
fn law_3_a_create_of_unclear_fate_waits_until_a_person_drops_it() {
    let map = "name = \"{{ name }}\"\ntitle = \"{{ title }}\"\n";
    let job = "key = \"{{ employee_no }}\"\nmatch_on = [\"name\"]\n";
    let config = Config { map: map.into(), job: job.into(), ..Config::default() };
    let options = Options { accept_duplicates: true, ..Options::default() };
    let world = World::with(options, config);
    world.csv(people(1..2));
    // The request is lost, and meanwhile a user creates two people of that name.
    world.faults(&["staff.create cut-before", "staff.list status=500 after=2"]);
    world.sync().expect(1);
    world.faults(&[]);
    assert_eq!(listed(&world)[0]["state"], "sent");
    let ran = world.run(&["queue", "drop", "staff", "P00001"]).expect(1);
    assert!(ran.err.contains("it was sent"), "{ran:?}");
    let ids = [world.person(1, "One"), world.person(1, "Two")];
    for _ in 0..2 {
        world.sync().expect(4);
        let change = listed(&world).remove(0);
        assert_eq!((&change["state"], change["reason"].is_string()), (&json!("unclear"), true), "{change}");
    }
    world.run(&["queue", "retry", "staff", "P00001"]).expect(1);
    world.run(&["queue", "drop", "staff", "P00001"]).expect(0);
    assert_eq!(listed(&world), Vec::<Value>::new());
    // It is still unknown which of them it is, so no one is created; one of them gone, the other is taken.
    world.sync().expect(4);
    world.service().remove("staff", ids[0]);
    world.lose_rows();
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!(world.staff().len(), 1);
}
