//! What must not be lost on the way: by a service that is down, by one that rewrites.

use rosterd::sandbox::Options;

use crate::support::{Config, World, people};

#[test]
fn a_service_that_fails_every_create_is_left_alone_soon() {
    let world = World::default();
    world.csv(people(0..150));
    world.faults(&["staff.create status=500"]);
    world.sync().expect(1);
    assert!(world.count("staff.create") <= 30, "{} creates", world.count("staff.create"));
}

#[test]
fn law_4_a_number_that_the_service_rewrites_to_what_it_had_is_taken() {
    let map = "name = \"{{ name }}\"\nemployee_id = \"{{ employee_no }}\"\nmobile = \"{{ mobile }}\"\n".to_owned();
    let config =
        Config { job: "key = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\"]\n".into(), map, ..Config::default() };
    let world = World::with(Options { normalize: true, ..Options::default() }, config);
    for number in 1..4 {
        let person = serde_json::json!({
            "name": format!("Person {number}"), "employee_id": format!("P{number:05}"), "mobile": "64 211234567",
        });
        world.service().put("staff", person);
    }
    world.csv("Employee No,Name,Mobile\nP00001,Person 1,021 1234567\nP00002,Person 2,+64 (0)21 1234567\n");
    let ran = world.sync().expect(0);
    assert_eq!(ran.job()["parked"], 0, "{ran:?}");
    world.sync().expect(0);
}

#[test]
fn a_field_that_the_service_never_shows_is_taken() {
    let mut world = World::default();
    let id = world.service().put("location", serde_json::json!({"name": "Auckland"}));
    world.reconfigure(|config| config.map(&format!("globalroaming_locations = \"{id}\"\n")));
    world.person(1, "Clerk");
    world.csv(people(1..3));
    let ran = world.sync();
    assert_eq!((ran.code, ran.job()["parked"].as_u64()), (Some(0), Some(0)), "{ran:?}");
    let id = world.held_as(1).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, serde_json::json!({"onsite_status": "onsite"}));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "a movement is no reason to write");
}

/// The service refuses the whole person for one of them.
#[test]
fn law_8_a_further_value_that_the_service_can_not_take_keeps_no_one_out() {
    let id = |world: &World| world.service().put("location", serde_json::json!({"name": "Auckland"}));
    let mut world = World::default();
    let known = id(&world);
    world.reconfigure(|config| config.map("globalroaming_locations = \"{{ title }}\"\n"));
    world.csv(people(1..3).replacen("Clerk", "999999", 1).replace("Clerk", &known.to_string()));
    let ran = world.sync().expect(0);
    assert_eq!(ran.writes(), (2, 0, 0), "{ran:?}");
    assert!(ran.reason().contains("1 value could not be used"), "{ran:?}");
}

#[test]
fn law_8_a_further_email_that_is_none_keeps_no_contractor_out() {
    let config = Config {
        target: "contractor".into(),
        job: "key = \"{{ employee_no }}\"\nmatch_on = [\"service_provider_id\"]\n".into(),
        map: "name = \"{{ name }}\"\nservice_provider_id = \"{{ employee_no }}\"\naltemail = \"{{ title }}\"\n".into(),
        ..Config::default()
    };
    let world = World::of(config);
    world.csv(people(1..4).replacen("Clerk", "kim at example.com", 1).replace("Clerk", "kim@example.com"));
    let ran = world.sync().expect(0);
    assert_eq!(ran.writes(), (3, 0, 0), "{ran:?}");
    assert!(ran.reason().contains("1 value could not be used"), "{ran:?}");
}

#[test]
fn law_4_a_short_number_that_the_service_rewrites_is_taken_after_a_lost_state() {
    let map = "name = \"{{ name }}\"\nemployee_id = \"{{ employee_no }}\"\nphone = \"{{ title }}\"\n".to_owned();
    let job = Config::default().job.replace(", \"email\"", "");
    let world =
        World::with(Options { normalize: true, ..Options::default() }, Config { job, map, ..Config::default() });
    world.csv(people(0..3).replace("Clerk", "09 200"));
    world.sync().expect(0);
    assert!(world.staff()[0]["phone"].as_str().unwrap().ends_with("9200"), "{}", world.staff()[0]);
    world.lose_state();
    let ran = world.sync().expect(0);
    assert_eq!(ran.job()["parked"], 0, "{ran:?}");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

/// Where someone may roam is in no answer, so a PUT sends what is wanted of it, or was sent last.
#[test]
fn law_2_who_roams_is_updated_whatever_becomes_of_edits_at_the_service() {
    for on_drift in ["overwrite", "keep", "report"] {
        let mut world = World::default();
        let place = world.service().put("location", serde_json::json!({"name": "Auckland"}));
        world.reconfigure(|config| {
            let map = format!("globalroaming = \"1\"\nglobalroaming_locations = \"{place}\"\n");
            config.job(&format!("on_drift = \"{on_drift}\"\n")).map(&map)
        });
        world.csv(people(1..9));
        world.sync().expect(0);
        let roams = |number: usize| world.held_as(number).unwrap();
        let there = roams(2)["globalroaming_locations"].clone();
        let ran = world.sync_of(people(1..9).replace("Person 2,", "Person Two,")).expect(0);
        assert_eq!((ran.writes(), &roams(2)["globalroaming_locations"]), ((0, 1, 0), &there), "{on_drift}: {ran:?}");
        // Someone takes it away there.
        let id = world.held_as(3).unwrap()["id"].as_i64().unwrap();
        world.service().edit("staff", id, serde_json::json!({"globalroaming": false, "globalroaming_locations": []}));
        let ran = world.sync().expect(0);
        let set_back = u64::from(on_drift == "overwrite");
        assert_eq!(ran.writes(), (0, set_back, 0), "{on_drift}: {ran:?}");
        assert_eq!(roams(3)["globalroaming_locations"] == there, set_back == 1, "{on_drift}: {}", roams(3));
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{on_drift}");
    }
}
