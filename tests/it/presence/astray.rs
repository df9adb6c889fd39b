//! A person whose presence is wrong and can't be restored is named, alone, until someone has corrected it (law 10).

use rosterd::record::{RemoteId, Target};
use rosterd::store::{Batch, Keyspace, Table};
use serde_json::{Value, json};

use crate::support::{Config, World, people};

const TOTAL: usize = 12;

/// People that a process updated before it was killed, and who all signed in meanwhile; the last of them by a movement
/// that names no location. Returns that one's id.
fn world() -> (World, i64) {
    let world = World::synced(Config::default(), TOTAL);
    let quay = world.service().put("location", json!({"name": "Quay"}));
    let ids: Vec<i64> = world.staff().iter().map(|person| person["id"].as_i64().unwrap()).collect();
    let last = *ids.last().unwrap();
    ids.iter().for_each(|id| sign_in(&world, *id, if *id == last { Value::Null } else { quay.into() }));
    (world, last)
}

/// Has a person sign in after an update that no process saw the end of.
fn sign_in(world: &World, id: i64, location: Value) {
    let mut batch = Batch::default();
    let person = RemoteId::new(id).unwrap();
    Table::new(Keyspace::Echo).put(&mut batch, &Target::Staff, &person, &json!({"since": "2020-01-01T00:00:00Z"}));
    world.store().commit(batch).unwrap();
    let signed = json!({"staff_id": id, "location_id": location, "signed_in": "2026-01-02T09:30:00+00:00"});
    world.service().put("staff.movement", signed);
}

fn onsite(world: &World) -> usize {
    world.staff().iter().filter(|person| person["onsite_status"] == "onsite").count()
}

fn key_of(world: &World, id: i64) -> String {
    let staff = world.staff();
    staff.iter().find(|person| person["id"] == id).unwrap()["employee_id"].as_str().unwrap().to_owned()
}

#[test]
fn law_10_who_can_t_be_put_right_is_held_alone_in_every_run_until_they_stand_as_they_signed() {
    let (world, astray) = world();
    for _ in 0..3 {
        let ran = world.sync().expect(4);
        assert_eq!((onsite(&world), ran.job()["held"].as_u64()), (TOTAL - 1, Some(1)), "{ran:?}");
        assert_eq!(world.count("staff.movement.put"), TOTAL - 1, "each of the others once");
        assert_eq!(world.run(&["status", "--json"]).job()["held"].as_u64(), Some(1));
        let told = world.run(&["explain", "staff", &key_of(&world, astray)]).expect(0);
        assert!(told.out.contains("sign them in at the service"), "{told:?}");
    }
    let ran = world.run(&["approve", "staff", &key_of(&world, astray)]);
    assert!(ran.code != Some(0) && ran.err.contains("sign them in at the service"), "{ran:?}");
    world.service().edit("staff", astray, json!({"onsite_status": "onsite"}));
    let ran = world.sync().expect(0);
    assert_eq!(ran.job()["held"].as_u64(), Some(0), "{ran:?}");
    assert_eq!(world.run(&["status", "--json"]).job()["held"].as_u64(), Some(0));
}

#[test]
fn law_10_the_job_of_who_can_t_be_put_right_holds_them_and_no_other_and_who_has_none_is_named_by_id() {
    let (mut world, astray) = world();
    world.put("other.csv", people(20..22).as_bytes());
    world.reconfigure(|config| Config { rest: Config::OTHER_JOB.into(), ..config });
    let visitor = world.service().put("staff", json!({"name": "Visitor"}));
    sign_in(&world, visitor, Value::Null);
    let ran = world.sync().expect(4);
    let held: Vec<_> = ran.json()["jobs"].as_array().unwrap().iter().map(|job| job["held"].clone()).collect();
    assert_eq!(held, [1, 0], "{ran:?}");
    let reason = ran.reason();
    assert!(reason.contains(&format!("id {visitor} ")) && !reason.contains(&format!("id {astray} ")), "{ran:?}");
}

#[test]
fn law_10_a_movement_without_a_location_is_repeated_where_the_person_is_shown() {
    let (world, astray) = world();
    world.service().edit("staff", astray, json!({"cur_location": "Quay"}));
    world.sync().expect(0);
    assert_eq!((onsite(&world), world.count("staff.movement.put")), (TOTAL, TOTAL));
}

#[test]
fn law_10_a_refused_movement_is_the_trouble_of_its_person_alone() {
    let (world, _) = world();
    world.faults(&["staff.movement.put status=422 times=1"]);
    let ran = world.sync().expect(4);
    assert!(ran.err.contains("presence of 1 person could not be verified"), "{ran:?}");
    assert_eq!(onsite(&world), TOTAL - 1, "the same run asks once more");
    assert_eq!(world.count("staff.movement.put"), TOTAL, "for that one alone");
}
