//! A push wipes nothing: what the job does not own stays as it was.

use rosterd::sandbox::Options;
use serde_json::{Value, json};

use crate::support::{Config, HEADER, World, people};

/// A person with a value in every field.
fn full(world: &World, number: usize) -> i64 {
    let id = world.person(number, "Clerk");
    let fields = json!({
        "altname": "Pip", "phone": "64 95551234", "mobile": "64 211234567", "ice": "64 277654321",
        "role_types": [["Manager", "Fire warden"]], "location": "Auckland Office", "customfields": {"3": "L 17", "5": "1"},
        "department": "Logistics", "roles": [["Admin"]], "onsite_status": "onsite", "cur_location": "Auckland Office",
        "tokens": [{"type": "card", "number": 991, "issued": "2026-01-01T00:00:00+00:00", "expiry": null}],
        "account_status": "active", "remote": 1, "setup_method": "import",
    });
    world.service().edit("staff", id, fields);
    id
}

/// A job that may change everybody.
fn unguarded() -> Config {
    Config::rest("[job.guard]\nmax_updates = \"off\"\n")
}

/// All fields but those of the update.
fn rest(person: &Value) -> Value {
    let mut rest = person.clone();
    for moved in ["modified", "title"] {
        rest.as_object_mut().unwrap().remove(moved);
    }
    rest
}

fn check_update(options: Options) {
    let world = World::new(options);
    let ids: Vec<i64> = (0..5).map(|number| full(&world, number)).collect();
    let before: Vec<Value> = ids.iter().map(|id| world.one(*id)).collect();
    world.csv(people(0..5).replacen("Clerk", "Baker", 2));
    assert_eq!(world.sync().expect(0).writes(), (0, 2, 0));
    for (at, (id, old)) in ids.iter().zip(&before).enumerate() {
        let new = world.one(*id);
        assert_eq!(rest(&new), rest(old));
        assert_eq!(new["title"], if at < 2 { "Baker" } else { "Clerk" });
    }
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(world.service().writes(), 2);
}

#[test]
fn law_2_fault_48_every_unowned_field_stays_as_it_was() {
    check_update(Options::default());
}

#[test]
fn law_2_every_unowned_field_stays_as_it_was_where_a_put_answers_without_a_body() {
    check_update(Options { put_without_body: true, ..Options::default() });
}

#[test]
fn law_2_every_unowned_field_stays_as_it_was_where_the_service_normalizes() {
    check_update(Options { normalize: true, ..Options::default() });
}

#[test]
fn law_2_an_edit_of_an_unowned_field_between_two_syncs_survives_an_update() {
    let world = World::default();
    world.csv(people(0..5));
    world.sync().expect(0);
    let id = world.staff()[0]["id"].as_i64().unwrap();
    world.service().edit(
        "staff",
        id,
        json!({ "mobile": "64 211111111", "customfields": {"3": "L 99"}, "ice": "64 222222222" }),
    );
    let before = world.one(id);
    world.csv(people(0..5).replacen("Clerk", "Baker", 1));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!((rest(&world.one(id)), world.one(id)["title"].as_str()), (rest(&before), Some("Baker")));
}

const PHONES: &str = "name = \"{{ name }}\"\nemail = \"{{ email }}\"\nemployee_id = \"{{ employee_no }}\"\n\
                      mobile = \"{{ title | phone('NZ') }}\"\n";

#[test]
fn law_4_a_service_that_normalizes_causes_no_endless_rewriting() {
    let world = World::with(
        Options { normalize: true, ..Options::default() },
        Config { map: PHONES.into(), ..Config::default() },
    );
    let file = |tail: &str| {
        (0..20).fold(HEADER.to_owned(), |file, number| {
            file + &format!("P{number:05},Person {number},Person.{number}@Example.COM,021 555 10{number:02}{tail}\n")
        })
    };
    world.csv(file(""));
    assert_eq!(world.sync().expect(0).writes(), (20, 0, 0));
    assert!(world.texts("mobile")[0].starts_with("64 "), "{:?}", world.texts("mobile"));
    for _ in 0..2 {
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    }
    world.csv(file("").replacen("021 555 1000", "021 555 7000", 1));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(world.service().writes(), 21);
}

#[test]
fn law_9_phones_that_the_service_normalized_are_no_differences_after_a_lost_state() {
    let config = Config { map: PHONES.into(), ..Config::default() };
    let world = World::with(Options { normalize: true, ..Options::default() }, config);
    world.csv(people(0..20).replace("Clerk", "021 555 1000"));
    assert_eq!(world.sync().expect(0).writes(), (20, 0, 0));
    world.lose_state();
    let plan = world.plan().expect(0);
    assert_eq!(plan.job()["changes"], json!([]));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn custom_fields_are_set_by_title_and_their_neighbours_stay() {
    let map = "name = \"{{ name }}\"\nemail = \"{{ email }}\"\nemployee_id = \"{{ employee_no }}\"\n\
               \"cf.Locker\" = \"{{ title }}\"\n\"cf.First aider\" = \"{{ 'yes' if title == 'L2' else 'no' }}\"\n";
    let world = World::of(Config { map: map.into(), ..Config::default() });
    let id = full(&world, 0);
    world.service().edit("staff", id, json!({ "customfields": {"3": "L 17", "4": "XL", "5": "1"} }));
    world.csv(people(0..3).replacen("Clerk", "L1", 1).replacen("Clerk", "L2", 1));
    assert_eq!(world.sync().expect(0).writes(), (2, 1, 0));
    let fields = |at: usize, id: &str| {
        let value = &world.staff()[at]["customfields"][id];
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    };
    assert_eq!((fields(0, "3"), fields(0, "4"), fields(0, "5")), ("L1".into(), "XL".into(), "0".into()));
    assert_eq!((fields(1, "3"), fields(1, "5")), ("L2".into(), "1".into()));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn law_8_an_unknown_location_is_not_used_and_all_the_rest_flows() {
    let map = "name = \"{{ name }}\"\nemail = \"{{ email }}\"\nemployee_id = \"{{ employee_no }}\"\nlocation = \"{{ title }}\"\n";
    let world = World::of(Config { map: map.into(), ..Config::default() });
    world.csv(people(0..10).replace("Clerk", "Auckland Office").replacen("Auckland Office", "Moon Base", 1));
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), ran.job()["rejected_values"].as_u64()), ((10, 0, 0), Some(1)), "{ran:?}");
    let plan = world.plan();
    let rejected = plan.job()["rejected_values"][0].clone();
    assert_eq!((&rejected["key"], &rejected["field"]), (&"P00000".into(), &"location".into()), "{plan:?}");
    let located = world.staff().iter().filter(|person| person["location"] == "Auckland Office").count();
    assert_eq!(located, 9, "the tenth is there without one");
    let again = world.sync().expect(0);
    assert_eq!(
        (again.writes(), again.job()["rejected_values"].as_u64()),
        ((0, 0, 0), Some(1)),
        "told again: {again:?}"
    );
    world.csv(people(0..10).replace("Clerk", "Auckland Office"));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
}

#[test]
fn law_2_someone_who_roams_where_that_cannot_be_read_is_parked_and_not_sent() {
    let world = World::of(unguarded());
    let id = full(&world, 0);
    world.service().edit("staff", id, json!({ "globalroaming": 1, "globalroaming_locations": [11, 12] }));
    let before = world.one(id);
    world.csv(people(0..4).replace("Clerk", "Baker"));
    for run in 0..3 {
        let ran = world.sync().expect(3);
        assert_eq!(
            (ran.job()["parked"].as_u64(), ran.job()["status"].as_str()),
            (Some(1), Some("partial")),
            "run {run}: {ran:?}"
        );
        assert_eq!((world.one(id), world.count("staff.update")), (before.clone(), 0), "run {run}");
    }
    assert_eq!(world.staff().len(), 4);
    world.csv(people(0..4).replace("Clerk", "Cook"));
    world.service().edit("staff", id, json!({ "globalroaming": 0 }));
    assert_eq!(world.sync().expect(0).writes(), (0, 4, 0));
    assert_eq!(world.one(id)["title"], "Cook");
}

#[test]
fn law_2_someone_who_roams_keeps_their_locations_where_they_can_be_read() {
    let world = World::new(Options { show_roaming: true, ..Options::default() });
    let id = full(&world, 0);
    world.service().edit("staff", id, json!({ "globalroaming": 1, "globalroaming_locations": [11, 12] }));
    let before = world.one(id);
    world.csv(people(0..1).replace("Clerk", "Baker"));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!(rest(&world.one(id)), rest(&before));
}
