//! One bad record, job or request stops no other.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rosterd::sandbox::Options;

use crate::support::{Config, HEADER, World, people, row};

fn titled(count: usize, chiefs: usize) -> String {
    (0..count).fold(HEADER.to_owned(), |text, at| text + &row(at, if at < chiefs { "Chief" } else { "Clerk" }))
}

fn chiefs(world: &World) -> usize {
    world.texts("title").iter().filter(|title| *title == "Chief").count()
}

#[test]
fn law_8_one_person_who_cant_be_read_stops_no_one_else() {
    let world = World::of(Config::rest("[job.guard]\nmax_updates = \"off\"\n"));
    world.csv(titled(30, 0));
    world.sync().expect(0);
    let id = world.held_as(0).unwrap()["id"].as_i64().unwrap();
    world.csv(titled(30, 30));
    world.service().set_faults(vec![format!("GET /staff/{id} status=500").parse().unwrap()]);
    let ran = world.sync().expect(1);
    assert_eq!(chiefs(&world), 29, "{ran:?}");
    world.service().set_faults(vec![]);
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
}

#[test]
fn law_8_joiners_that_the_service_fails_stop_no_mover() {
    let world = World::default();
    world.csv(titled(30, 0));
    world.sync().expect(0);
    world.csv(titled(40, 3));
    world.service().set_faults(vec!["staff.create status=500".parse().unwrap()]);
    let ran = world.sync().expect(1);
    assert_eq!(chiefs(&world), 3, "{ran:?}");
    world.service().set_faults(vec![]);
    assert_eq!(world.sync().expect(0).writes(), (10, 0, 0));
}

#[test]
fn law_2_a_write_that_the_service_ignored_is_not_done() {
    let world = World::new(Options { put_without_body: true, ..Options::default() });
    world.csv(titled(3, 0));
    world.sync().expect(0);
    world.csv(titled(3, 1));
    world.service().set_faults(vec!["staff.update status=204".parse().unwrap()]);
    let ran = world.sync().expect(3);
    assert!(ran.job()["reason"].as_str().unwrap().contains("did not take the new title"), "{ran:?}");
    assert_eq!(world.sync().expect(3).job()["parked"], 1, "it is not forgotten, and not repeated for ever");
}

#[test]
fn what_a_narrowed_run_holds_can_be_approved() {
    let world = World::of(Config::default().job("writes = \"approve\"\n"));
    world.csv(people(0..3));
    world.run(&["sync", "--json", "--key", "P00001"]).expect(4);
    world.run(&["approve", "staff", "P00001"]).expect(0);
    assert_eq!(world.run(&["sync", "--json", "--key", "P00001"]).expect(0).writes(), (1, 0, 0));
}

#[test]
fn a_plan_of_a_job_that_fails_keeps_the_others() {
    let world = World::of(Config::rest(Config::OTHER_JOB));
    world.csv(people(0..5));
    let ran = world.plan().expect(1);
    assert!(ran.out.contains("P00001") && ran.json()["jobs"][1]["error"].is_string(), "{ran:?}");
}

#[test]
fn law_3_a_look_up_that_fails_keeps_the_counts() {
    let world = World::default();
    world.csv(people(0..5));
    let faults = ["staff.create status=409 nth=5", "list status=500 after=2"];
    world.service().set_faults(faults.map(|fault| fault.parse().unwrap()).to_vec());
    assert_eq!(world.sync().expect(1).writes(), (4, 0, 0));
}

#[test]
fn fault_31_constant_429_ends_the_run() {
    let world = World::default();
    world.csv(people(0..2));
    world.service().set_faults(vec!["/staff status=429 retry-after=1".parse().unwrap()]);
    let ran = world.sync().expect(1);
    assert!(ran.job()["reason"].as_str().unwrap().contains("429"), "{ran:?}");
    assert!(world.service().requests().len() < 20);
}

#[test]
fn law_11_a_state_folder_with_bits_for_others_is_closed() {
    let world = World::default();
    world.csv(people(0..2));
    fs::create_dir(world.state()).unwrap();
    fs::set_permissions(world.state(), fs::Permissions::from_mode(0o755)).unwrap();
    world.sync().expect(0);
    assert_eq!(fs::metadata(world.state()).unwrap().permissions().mode() & 0o777, 0o700);
}
