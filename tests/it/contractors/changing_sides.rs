//! People who move from staff to contractors, and sources that know nothing of each other.

use serde_json::Value;

use crate::support::{Config, Ran, World};

const STAFF: &str = "No,Name,Email\n";
const SITES: &str = "No,Name,Email,Company\n";
const REMOVING: &str =
    "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\nmin_records = 0\n";

/// A job of staff and, after it or before it, one of contractors.
fn world(contractors_first: bool) -> World {
    let job = |name: &str, target: &str, map: &str| Config {
        name: name.into(),
        target: target.into(),
        job: "key = \"{{ no }}\"\n".into(),
        path: format!("{name}.csv"),
        map: format!("name = \"{{{{ name }}}}\"\nemail = \"{{{{ email }}}}\"\n{map}"),
        ..Config::rest(REMOVING)
    };
    let (staff, sites) = (job("staff", "staff", ""), job("sites", "contractor", "\"org.name\" = \"{{ company }}\"\n"));
    World::of(if contractors_first { sites.and(&staff) } else { staff.and(&sites) })
}

fn put(world: &World, staff: &[&str], sites: &[&str]) {
    let rows = |header: &str, names: &[&str], rest: &str| {
        names
            .iter()
            .fold(header.to_owned(), |text, name| text + &format!("{name},{name} Jones,{name}@example.com{rest}\n"))
    };
    world.put("staff.csv", rows(STAFF, staff, "").as_bytes());
    world.put("sites.csv", rows(SITES, sites, ",Acme").as_bytes());
}

fn there(world: &World, what: &str) -> Vec<String> {
    let mut emails: Vec<String> = world
        .service()
        .all(what)
        .iter()
        .map(|one| one["email"].as_str().unwrap().split('@').next().unwrap().to_owned())
        .collect();
    emails.sort();
    emails
}

fn job(ran: &Ran, name: &str) -> Value {
    ran.json()["jobs"].as_array().unwrap().iter().find(|job| job["name"] == name).unwrap().clone()
}

fn expect_rest(world: &World) {
    let writes = world.service().writes();
    world.sync().expect(0);
    assert_eq!(world.service().writes(), writes, "law 4");
}

#[test]
fn fault_100_who_moves_from_staff_to_contractors_is_made_there_first() {
    let world = world(false);
    put(&world, &["ana", "bo"], &["cy"]);
    world.sync().expect(0);
    put(&world, &["bo"], &["cy", "ana"]);
    let ran = world.sync().expect(0);
    assert_eq!(
        (there(&world, "staff"), there(&world, "sp.member")),
        (vec!["ana".into(), "bo".into()], vec!["ana".into(), "cy".into()])
    );
    assert_eq!((&job(&ran, "staff")["deleted"], &job(&ran, "staff")["held"]), (&0.into(), &1.into()), "{ran:?}");
    let ran = world.sync().expect(0);
    assert_eq!(
        (there(&world, "staff"), there(&world, "sp.member")),
        (vec!["bo".into()], vec!["ana".into(), "cy".into()])
    );
    let told = job(&ran, "staff")["reason"].as_str().unwrap_or_default().to_owned();
    assert!(told.contains("moved to job sites and leave here: key ana"), "{ran:?}");
    expect_rest(&world);
}

#[test]
fn fault_100_no_one_leaves_while_they_can_t_be_made_on_the_other_side() {
    let world = world(true);
    put(&world, &["ana", "bo"], &["cy"]);
    world.sync().expect(0);
    world.faults(&["sp.member.create status=400"]);
    put(&world, &["bo"], &["cy", "ana"]);
    for _ in 0..2 {
        world.sync().expect(3);
        assert_eq!(there(&world, "staff"), ["ana", "bo"], "whoever is not there stays here");
    }
    world.faults(&[]);
    world.run(&["queue", "retry", "sites"]).expect(0);
    world.sync().expect(0);
    assert_eq!(
        (there(&world, "staff"), there(&world, "sp.member")),
        (vec!["bo".into()], vec!["ana".into(), "cy".into()])
    );
}

#[test]
fn fault_98_a_source_that_does_not_come_takes_no_one_of_the_other() {
    let world = world(false);
    put(&world, &["ana", "bo"], &["cy", "di"]);
    world.sync().expect(0);
    std::fs::remove_file(world.dir().join("staff.csv")).unwrap();
    let rest = SITES.to_owned() + "cy,cy Jones,cy@example.com,Acme\n";
    world.put("sites.csv", rest.as_bytes());
    let ran = world.sync().expect(1);
    assert_eq!(
        (there(&world, "staff"), there(&world, "sp.member")),
        (vec!["ana".into(), "bo".into()], vec!["cy".into()])
    );
    assert_eq!((&job(&ran, "staff")["status"], &job(&ran, "sites")["deleted"]), (&"failed".into(), &2.into()));
}

#[test]
fn fault_99_who_stands_in_both_sources_is_both_and_stays_so() {
    for contractors_first in [false, true] {
        let world = world(contractors_first);
        put(&world, &["ana", "bo"], &["ana"]);
        world.sync().expect(0);
        assert_eq!(
            (there(&world, "staff"), there(&world, "sp.member")),
            (vec!["ana".into(), "bo".into()], vec!["ana".into()])
        );
        let changes = |plan: &Ran| {
            let jobs = plan.json()["jobs"].as_array().unwrap().clone();
            jobs.iter().map(|job| job["changes"].as_array().unwrap().len()).sum::<usize>()
        };
        assert_eq!([world.plan(), world.plan()].map(|plan| changes(&plan)), [0, 0]);
        expect_rest(&world);
    }
}
