//! The laws, over everything that a job can manage.

use std::collections::BTreeSet;
use std::process::Stdio;

use jiff::SignedDuration;
use rosterd::api::{Api, MemberMovement, MemberMovementInput};
use rosterd::sandbox::Options;
use serde_json::{Value, json};

use crate::contractors::jobs;
use crate::support::caller::{client, key_options};
use crate::support::config::UNLIMITED;
use crate::support::{Config, World};

/// What a job can manage, and where it lies at the service.
struct Case {
    target: &'static str,
    map: &'static str,
    /// The list at the service, what tells its entities apart, and a field that the job maps and one that it doesn't.
    list: &'static str,
    apart: &'static str,
    owned: &'static str,
    unowned: (&'static str, &'static str),
}

const CASES: [Case; 4] = [
    Case {
        target: "staff",
        map: "name = \"{{ name }}\"\nemployee_id = \"{{ no }}\"\ntitle = \"{{ note }}\"",
        list: "staff",
        apart: "employee_id",
        owned: "title",
        unowned: ("altname", "Own"),
    },
    Case {
        target: "contractor",
        map: "name = \"{{ name }}\"\nservice_provider_id = \"{{ no }}\"\ntitle = \"{{ note }}\"",
        list: "sp.member",
        apart: "service_provider_id",
        owned: "title",
        unowned: ("extension", "77"),
    },
    Case {
        target: "contractor-organization",
        map: "name = \"{{ name }}\"\nlegalid = \"{{ no }}\"\ntradingas = \"{{ note }}\"",
        list: "sp.org",
        apart: "legalid",
        owned: "tradingas",
        unowned: ("address", "1 Quay"),
    },
    Case {
        target: "certification-holder",
        map: "certification = \"First Aid\"\nrecord_type = \"staff\"\nholder = \"{{ no }}\"\ncertification_number = \"{{ note }}\"",
        list: "certification.holder",
        apart: "record_id",
        owned: "certification_number",
        unowned: ("validto", "2030-01-01"),
    },
];

const PEOPLE: usize = 12;

fn job(case: &Case, name: &str) -> Config {
    Config {
        name: name.into(),
        target: case.target.into(),
        job: "key = \"{{ no }}\"\n".into(),
        api: UNLIMITED.into(),
        path: format!("{name}.csv"),
        map: case.map.into(),
        ..Config::rest("[job.guard]\nmax_updates = \"off\"\n")
    }
}

fn world(case: &Case, jobs: &[&str]) -> World {
    let jobs = jobs.iter().map(|name| job(case, name)).reduce(|all, job| all.and(&job));
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, jobs.unwrap());
    if case.list == "certification.holder" {
        world.service().put("certification", json!({"name": "First Aid"}));
        for number in 0..PEOPLE + 1 {
            world.person(number, "Clerk");
        }
    }
    world
}

fn put(world: &World, name: &str, note: &str) {
    let rows = (0..PEOPLE).map(|number| format!("P{number:05},Name {number},{note}\n"));
    world.put(&format!("{name}.csv"), ("No,Name,Note\n".to_owned() + &rows.collect::<String>()).as_bytes());
}

fn expect_each_once(world: &World, case: &Case, note: &str) {
    let all = world.service().all(case.list);
    let apart: BTreeSet<String> = all.iter().map(|one| one[case.apart].to_string()).collect();
    assert_eq!((all.len(), apart.len()), (PEOPLE, PEOPLE), "{}: somebody is missing or twice", case.target);
    assert!(all.iter().all(|one| one[case.owned] == note), "{}", case.target);
}

fn expect_rest(world: &World, case: &Case) {
    let writes = world.service().writes();
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), world.service().writes()), ((0, 0, 0), writes), "law 4: {}", case.target);
}

#[test]
fn law_1_a_list_that_lies_fails_the_run_before_any_write_of_any_target() {
    for case in &CASES {
        // Nothing is a lie only of a list of all, which comes once a day; the holders of a certification come as a whole each
        // time.
        let is_whole_each_time = case.list == "certification.holder";
        for (fault, hours, is_lie) in [
            ("empty-list", 25, true),
            ("empty-list", 1, is_whole_each_time),
            ("not-found", 25, true),
            ("not-found", 1, is_whole_each_time),
            ("html", 25, true),
            ("status=500", 25, true),
        ] {
            let world = world(case, &["one"]);
            put(&world, "one", "a");
            // An empty list has no time to use, so what is made first is listed as a whole once more.
            world.sync_ago(SignedDuration::from_hours(hours));
            world.sync_ago(SignedDuration::from_hours(hours));
            put(&world, "one", "b");
            let writes = world.service().writes();
            world.faults(&[&format!("{}.list {fault}", case.list)]);
            let ran = world.sync().expect(if is_lie { 1 } else { 0 });
            if is_lie {
                assert_eq!(world.service().writes(), writes, "{} {fault}: {ran:?}", case.target);
            }
            world.faults(&[]);
            world.sync().expect(0);
            expect_each_once(&world, case, "b");
        }
    }
}

#[test]
fn law_2_what_no_job_owns_stays_in_every_target() {
    for case in &CASES {
        let world = world(case, &["one"]);
        put(&world, "one", "a");
        world.sync().expect(0);
        let (field, value) = case.unowned;
        for one in world.service().all(case.list) {
            world.service().edit(case.list, one["id"].as_i64().unwrap(), json!({ field: value }));
        }
        put(&world, "one", "b");
        assert_eq!(world.sync().expect(0).writes(), (0, PEOPLE as u64, 0), "{}", case.target);
        expect_each_once(&world, case, "b");
        assert!(world.service().all(case.list).iter().all(|one| one[field] == value), "{}", case.target);
        expect_rest(&world, case);
    }
}

#[test]
fn law_3_lost_answers_and_a_kill_make_nothing_twice_in_any_target() {
    for case in &CASES {
        let world = world(case, &["one"]);
        put(&world, "one", "a");
        let create = format!("{}.create", case.list);
        world.kill_held(&format!("{create} hold after=4"), &[&format!("{create} cut-after every=3")]);
        let made = world.service().all(case.list).len();
        assert!((5..PEOPLE).contains(&made), "{}: {made} were made before the kill", case.target);
        world.sync().expect(0);
        world.faults(&[]);
        expect_each_once(&world, case, "a");
        expect_rest(&world, case);
    }
}

#[test]
fn law_6_two_jobs_never_own_one_entity_of_any_target() {
    for case in &CASES {
        let world = world(case, &["one", "other"]);
        put(&world, "one", "a");
        put(&world, "other", "b");
        let ran = world.sync().expect(4);
        expect_each_once(&world, case, "a");
        let other = ran.json()["jobs"][1].clone();
        assert_eq!(other["held"].as_u64(), Some(PEOPLE as u64), "{}: {ran:?}", case.target);
        assert!(other["reason"].as_str().unwrap().contains("of job one"), "{}: {ran:?}", case.target);
    }
}

#[test]
fn law_9_an_empty_state_folder_makes_nothing_twice_in_any_target() {
    for case in &CASES {
        let world = world(case, &["one"]);
        put(&world, "one", "a");
        world.sync().expect(0);
        world.lose_state();
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{}", case.target);
        expect_each_once(&world, case, "a");
    }
}

/// How many members are updated, one alone and then all others together.
const MEMBERS: usize = 6;

#[test]
fn law_10_members_who_sign_in_while_they_are_updated_stand_as_they_signed() {
    let world = jobs::world(Options::default(), "", "[job.guard]\nmax_updates = \"off\"\n");
    let file = |trade: &str| {
        let rows = (0..MEMBERS).map(|number| jobs::row(number, 1, trade)).collect::<String>();
        jobs::HEADER.to_owned() + &rows
    };
    world.sync_of(file("Roofer")).expect(0);
    let location = world.service().put("location", json!({"name": "Quay"}));
    let org = world.service().all("sp.org")[0]["id"].as_i64().unwrap();
    let ids: Vec<i64> = world.service().all("sp.member").iter().map(|one| one["id"].as_i64().unwrap()).collect();
    world.csv(file("Plumber"));
    // Between the copy that a PUT is built from and the PUT, everybody signs in.
    world.faults(&["sp.member.update hold-before"]);
    let child = world.command(&["sync", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mover = client(&key_options(world.service()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let sign_in = |id: &i64| {
        let input = MemberMovementInput {
            onsite_status: Some("onsite".into()),
            location_id: Some(location),
            sp_org_id: Some(org),
            ..MemberMovementInput::default()
        };
        let member = rosterd::record::RemoteId::new(*id).unwrap();
        runtime.block_on(mover.send(Api::<MemberMovement>::root().put_for(member, &input))).unwrap();
    };
    world.until_held(1);
    sign_in(&ids[0]);
    world.release();
    world.until_held(MEMBERS - 1);
    ids[1..].iter().for_each(sign_in);
    world.release();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let shown: Vec<Value> = world.service().all("sp.member");
    assert!(shown.iter().all(|one| one["title"] == "Plumber"));
    let wrong = shown.iter().filter(|one| one["onsite_status"] != "onsite").count();
    let put_back = world.count("sp.member.movement.put") - MEMBERS;
    assert_eq!((wrong, put_back), (0, MEMBERS), "law 10: an update signed somebody out");
}
