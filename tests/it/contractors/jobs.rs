//! Contractors: organizations, members and memberships from one row.

use std::collections::BTreeSet;

use rosterd::sandbox::Options;
use serde_json::{Value, json};

use crate::support::{Config, Ran, World};

/// The header of a file of contractors.
pub(crate) const HEADER: &str = "No,Name,Email,Trade,Company No,Company,Role\n";

const MAP: &str = r#"
name = "{{ name }}"
email = "{{ email }}"
title = "{{ trade }}"
service_provider_id = "{{ no }}"
"org.name" = "{{ company }}"
"org.legalid" = "{{ company_no }}"
"membership.roles" = "{{ role }}"
"#;

pub(crate) const REMOVING: &str =
    "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\n";

/// A job of contractors, with these lines of `[job]` and these tables after it.
fn config(job: &str, rest: &str) -> Config {
    Config {
        api: "requests_per_minute = 100000\npage_size = 10000\n".into(),
        name: "sites".into(),
        target: "contractor".into(),
        job: format!("key = \"{{{{ no }}}}\"\n{job}"),
        map: MAP.into(),
        ..Config::rest(rest)
    }
}

/// A service with such a job.
pub(crate) fn world(options: Options, job: &str, rest: &str) -> World {
    World::with(options, config(job, rest))
}

/// A row of a person in a company.
pub(crate) fn row(person: usize, company: usize, trade: &str) -> String {
    format!("C{person:05},Worker {person},worker{person}@example.com,{trade},94{company:06},Company {company} Ltd,61\n")
}

pub(crate) fn file(rows: impl IntoIterator<Item = (usize, usize)>) -> String {
    rows.into_iter().fold(HEADER.to_owned(), |text, (person, company)| text + &row(person, company, "Roofer"))
}

pub(crate) fn all(world: &World, what: &str) -> Vec<Value> {
    world.service().all(what)
}

fn texts(world: &World, what: &str, field: &str) -> Vec<String> {
    let mut texts: Vec<String> =
        all(world, what).iter().map(|one| one[field].as_str().unwrap_or_default().to_owned()).collect();
    texts.sort();
    texts
}

/// The pairs at the service, by the names that the file gives them.
pub(crate) fn pairs(world: &World) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = all(world, "sp.membership")
        .iter()
        .map(|one| {
            let named = |what: &str, id: &Value, field: &str| {
                let found = all(world, what).into_iter().find(|other| other["id"] == *id).unwrap_or(Value::Null);
                found[field].as_str().unwrap_or_default().to_owned()
            };
            (named("sp.member", &one["member_id"], "service_provider_id"), named("sp.org", &one["org_id"], "legalid"))
        })
        .collect();
    pairs.sort();
    pairs
}

pub(crate) fn pair(person: usize, company: usize) -> (String, String) {
    (format!("C{person:05}"), format!("94{company:06}"))
}

fn expect_nothing_twice(world: &World, people: usize, companies: usize, memberships: usize) {
    let once = |texts: Vec<String>| texts.iter().collect::<BTreeSet<_>>().len();
    let (members, orgs) = (texts(world, "sp.member", "service_provider_id"), texts(world, "sp.org", "legalid"));
    assert_eq!((members.len(), once(members)), (people, people));
    assert_eq!((orgs.len(), once(orgs)), (companies, companies));
    let joined: Vec<(i64, i64)> = all(world, "sp.membership")
        .iter()
        .map(|one| (one["member_id"].as_i64().unwrap(), one["org_id"].as_i64().unwrap()))
        .collect();
    assert_eq!((joined.len(), joined.iter().collect::<BTreeSet<_>>().len()), (memberships, memberships));
}

fn expect_rest(world: &World, file: &str) -> Ran {
    let writes = world.service().writes();
    let requests = world.service().requests().len();
    let ran = world.sync_of(file).expect(0);
    assert_eq!((ran.writes(), world.service().writes()), ((0, 0, 0), writes), "law 4: {ran:?}");
    assert!(world.service().requests().len() - requests <= 9, "law 4: at most 3 requests a mirrored collection");
    ran
}

#[test]
fn one_row_makes_an_organization_a_member_and_a_membership() {
    let world = world(Options::default(), "", "");
    let text = file([(1, 1), (2, 1), (3, 2), (3, 1)]);
    world.csv(&text);
    let plan = world.plan().expect(0).job();
    let count = |target: &str| plan["changes"].as_array().unwrap().iter().filter(|one| one["target"] == target).count();
    assert_eq!((count("contractor-organization"), count("contractor"), count("membership")), (2, 3, 4), "{plan}");
    assert_eq!((&plan["records"], &plan["new"], world.service().writes()), (&json!(3), &json!(3), 0));

    assert_eq!(world.sync().expect(0).writes(), (9, 0, 0));
    expect_nothing_twice(&world, 3, 2, 4);
    assert_eq!(pairs(&world), [pair(1, 1), pair(2, 1), pair(3, 1), pair(3, 2)]);
    assert!(all(&world, "sp.membership").iter().all(|one| one["roles"] == json!([61])), "roles are carried");
    let order: Vec<&str> = world.service().requests().into_iter().map(|request| request.operation).collect();
    let last = |name: &str| order.iter().rposition(|operation| *operation == name).unwrap();
    let first = |name: &str| order.iter().position(|operation| *operation == name).unwrap();
    assert!(
        last("sp.org.create") < first("sp.member.create") && last("sp.member.create") < first("sp.membership.create")
    );
    assert_eq!(expect_rest(&world, &text).job()["unchanged"], 3);
    expect_rest(&world, &text);
}

#[test]
fn a_mover_is_put_right_and_what_the_job_does_not_own_stays() {
    let world = world(Options::default(), "", "");
    world.csv(file([(1, 1), (2, 1)]));
    world.sync().expect(0);
    let member = all(&world, "sp.member")[0]["id"].as_i64().unwrap();
    world.service().edit("sp.member", member, json!({"mobile": "64 211234567", "onsite_status": "onsite"}));
    let text = HEADER.to_owned() + &row(1, 1, "Plumber") + &row(2, 1, "Roofer");
    assert_eq!(world.sync_of(&text).expect(0).writes(), (0, 1, 0));
    let shown = all(&world, "sp.member").into_iter().find(|one| one["id"] == member).unwrap();
    let kept = ["title", "mobile", "onsite_status"].map(|field| shown[field].clone());
    assert_eq!(kept, [json!("Plumber"), json!("64 211234567"), json!("onsite")]);
    expect_rest(&world, &text);
}

#[test]
fn a_vanished_pair_ends_its_membership_and_the_last_one_makes_a_leaver() {
    let world = world(Options::default(), "", REMOVING);
    world.csv(file([(1, 1), (1, 2), (2, 1), (3, 2)]));
    assert_eq!(world.sync().expect(0).writes(), (9, 0, 0));

    let ran = world.sync_of(file([(1, 2), (2, 1), (3, 2)])).expect(0);
    assert_eq!(ran.writes(), (0, 0, 1), "{ran:?}");
    assert_eq!(pairs(&world), [pair(1, 2), pair(2, 1), pair(3, 2)]);
    assert_eq!(all(&world, "sp.member").len(), 3);

    world.sync_of(file([(2, 1), (3, 2)])).expect(0);
    assert_eq!(pairs(&world), [pair(2, 1), pair(3, 2)]);
    assert_eq!(texts(&world, "sp.member", "service_provider_id"), ["C00002", "C00003"]);
    assert_eq!(all(&world, "sp.org").len(), 2, "organizations stay");
    expect_rest(&world, &file([(2, 1), (3, 2)]));
}

#[test]
fn who_leaves_and_is_kept_keeps_the_memberships_too() {
    let world = world(Options::default(), "", "[job.leavers]\naction = \"keep\"\ngrace = \"0s\"\n");
    world.csv(file([(1, 1), (2, 1), (3, 1), (3, 2)]));
    world.sync().expect(0);
    let ran = world.sync_of(file([(1, 1), (3, 1)])).expect(0);
    assert_eq!(ran.writes(), (0, 0, 1), "only the pair of a person who is still there ends: {ran:?}");
    assert_eq!(pairs(&world), [pair(1, 1), pair(2, 1), pair(3, 1)]);
}

#[test]
fn someone_on_site_keeps_membership_and_place_until_they_have_left() {
    let world = world(Options::default(), "", REMOVING);
    world.csv(file([(1, 1), (2, 1)]));
    world.sync().expect(0);
    let member = all(&world, "sp.member")[0]["id"].as_i64().unwrap();
    world.service().edit("sp.member", member, json!({"onsite_status": "onsite"}));
    let ran = world.sync_of(file([(2, 1)])).expect(0);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(2)), "law 10: {ran:?}");
    expect_nothing_twice(&world, 2, 1, 2);
    world.service().edit("sp.member", member, json!({"onsite_status": "offsite"}));
    world.sync().expect(0);
    expect_nothing_twice(&world, 1, 1, 1);
}

#[test]
fn law_8_an_organization_of_two_minds_is_rejected_and_the_rest_goes_on() {
    let world = world(Options::default(), "", "");
    let text = file([(1, 1), (2, 2)]) + &row(3, 1, "Roofer").replace("Company 1 Ltd", "Firm 1 Ltd");
    let ran = world.sync_of(&text).expect(3);
    assert_eq!(texts(&world, "sp.org", "legalid"), ["94000002"], "{ran:?}");
    assert_eq!(all(&world, "sp.member").len(), 3, "the people are who they are");
    assert_eq!(pairs(&world), [pair(2, 2)], "a membership waits until both are there");
    assert!(ran.reason().contains("2 rows were rejected"), "{ran:?}");
    world.sync_of(file([(1, 1), (2, 2), (3, 1)])).expect(0);
    expect_nothing_twice(&world, 3, 2, 3);
}

#[test]
fn law_6_organizations_are_found_by_what_their_key_is_made_of() {
    let world = world(Options::default(), "org_key = \"{{ company }}\"\n", "");
    let named = |name: &str| world.service().put("sp.org", json!({"name": name, "address": "1 Quay"}));
    let one = named(" company 1 LTD");
    named("Company 2 Ltd");
    named("COMPANY 2 ltd");
    let ran = world.sync_of(file([(1, 1), (2, 2)])).expect(4);
    assert!(ran.reason().contains("name fits several organizations"), "{ran:?}");
    assert_eq!(all(&world, "sp.org").len(), 3, "nothing is made that may be there");
    let found = all(&world, "sp.org").into_iter().find(|org| org["id"] == one).unwrap();
    assert_eq!((&found["legalid"], &found["address"]), (&json!("94000001"), &json!("1 Quay")), "law 2");
    assert_eq!(all(&world, "sp.membership").len(), 1);
    assert_eq!(all(&world, "sp.membership")[0]["org_id"], one);
}

#[test]
fn law_9_an_empty_state_folder_makes_nothing_twice() {
    let world = world(Options::default(), "", REMOVING);
    let text = file((0..30).map(|person| (person, person % 4)));
    world.csv(&text);
    assert_eq!(world.sync().expect(0).writes(), (64, 0, 0));
    world.lose_state();
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    expect_nothing_twice(&world, 30, 4, 30);
    expect_rest(&world, &text);
}

#[test]
fn the_limit_on_leavers_is_about_people_whichever_part_they_lose() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = 3\n";
    let world = world(Options::default(), "", rest);
    let people = |lost: std::ops::Range<usize>, left: std::ops::Range<usize>| {
        let of = |person: usize| [(person, 1), (person, 2)].into_iter().filter(move |_| true);
        let all = (0..20).filter(|person| !left.contains(person)).flat_map(of).collect::<Vec<_>>();
        file(all.into_iter().filter(|(person, company)| !(lost.contains(person) && *company == 2)))
    };
    world.csv(people(0..0, 0..0));
    world.sync().expect(0);
    // Two lose a membership and two leave: four people.
    let ran = world.sync_of(people(0..2, 10..12)).expect(4);
    assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
    assert!(ran.reason().contains("max_leavers: 4 people"), "{ran:?}");
    expect_nothing_twice(&world, 20, 2, 40);
    // Of three the limit has nothing to say, though they lose five memberships.
    let ran = world.sync_of(people(0..1, 10..12)).expect(0);
    assert_eq!(ran.writes(), (0, 0, 7), "{ran:?}");
    expect_nothing_twice(&world, 18, 2, 35);
}

#[test]
fn a_decision_on_one_person_releases_no_one_else_in_whichever_part() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = 3\n";
    for (decision, removed) in [("approve", 3), ("reject", 0)] {
        let world = world(Options::default(), "", rest);
        let pairs = |lost: std::ops::Range<usize>, left: std::ops::Range<usize>| {
            let stay = (0..20).filter(|person| !left.contains(person));
            file(
                stay.flat_map(|person| [(person, 1), (person, 2)])
                    .filter(|(person, company)| !(lost.contains(person) && *company == 2)),
            )
        };
        world.csv(pairs(0..0, 0..0));
        world.sync().expect(0);
        // Two lose a membership and two leave.
        world.sync_of(pairs(0..2, 10..12)).expect(4);
        let held = world.run(&["queue", "list", "--json"]).expect(0);
        let leaves = world.run(&["plan", "--json"]).expect(0).json();
        let key =
            leaves["jobs"][0]["changes"].as_array().unwrap().iter().find(|change| change["target"] == "contractor");
        let key = key.unwrap_or_else(|| panic!("{held:?} {leaves}"))["key"].as_str().unwrap().to_owned();
        world.run(&[decision, "sites", &key]).expect(0);
        for removed in [removed, 0] {
            let ran = world.sync().expect(4);
            assert_eq!(ran.writes(), (0, 0, removed), "{decision}: {ran:?}");
        }
    }
}

#[test]
fn held_changes_of_a_part_are_released_with_the_job() {
    let world = world(Options::default(), "writes = \"approve\"\n", "");
    world.csv(file([(1, 1), (2, 1)]));
    let ran = world.sync().expect(4);
    assert_eq!((ran.job()["held"].as_u64(), world.service().writes()), (Some(5), 0), "{ran:?}");
    world.run(&["approve", "sites"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (5, 0, 0));
    expect_nothing_twice(&world, 2, 1, 2);
}

#[test]
fn who_was_approved_to_be_the_same_person_keeps_the_membership_in_the_same_run() {
    let world = world(Options::default(), "", "");
    world.csv(file((1..10).map(|person| (person, 1))));
    world.sync().expect(0);
    let text = file((1..10).map(|person| (person, 1)));
    world.csv(text.replace("Worker 4,worker4@", "Rua Ngata,rua@"));
    let held = world.sync().expect(4);
    assert_eq!((held.writes(), held.job()["held"].as_u64()), ((0, 0, 0), Some(2)), "the member and what joins them");
    world.run(&["approve", "sites", "C00004"]).expect(0);
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 1, 0), Some(0)), "{ran:?}");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn law_7_a_narrowed_run_takes_one_person_with_their_organization() {
    let world = world(Options::default(), "", REMOVING);
    world.csv(file([(1, 1), (2, 2), (3, 2)]));
    let ran = world.run(&["sync", "--json", "--key", "C00002"]).expect(0);
    assert_eq!(ran.writes(), (3, 0, 0), "{ran:?}");
    assert_eq!(pairs(&world), [pair(2, 2)]);
}

#[test]
fn a_membership_that_is_there_already_is_taken_over() {
    let world = world(Options::default(), "", "");
    world.csv(file([(1, 1)]));
    let org = world.service().put("sp.org", json!({"name": "Company 1 Ltd", "legalid": "94000001"}));
    let member = json!({"name": "Worker 1", "email": "worker1@example.com", "service_provider_id": "C00001"});
    let member = world.service().put("sp.member", member);
    let joined = json!({"org_id": org, "member_id": member, "roles": [62]});
    let id = world.service().put("sp.membership", joined);
    assert_eq!(world.sync().expect(0).writes(), (0, 2, 0));
    let memberships = all(&world, "sp.membership");
    assert_eq!((memberships.len(), &memberships[0]["id"], &memberships[0]["roles"]), (1, &json!(id), &json!([61])));
    expect_rest(&world, &file([(1, 1)]));
}

#[test]
fn what_is_wrong_with_a_job_of_contractors_is_said_before_anything_is_read() {
    for (from, to, words) in [
        ("\"org.name\"", "\"org.nmae\"", "nmae"),
        ("\"membership.roles\"", "\"membership.member\"", "membership has no such field"),
        ("\"org.name\" = \"{{ company }}\"\n", "", "org.name"),
        ("target = \"contractor\"", "target = \"membership\"", "is no target"),
    ] {
        let world = world(Options::default(), "", "");
        world.edit_config(from, to);
        let ran = world.run(&["plan"]).expect(2);
        assert!(ran.err.contains(words), "{words}: {ran:?}");
    }
}

fn check_thousands(people: usize, companies: usize, kills: &[usize]) {
    let options = Options { accept_duplicates: true, page_max: 10_000, ..Options::default() };
    let world = world(options, "", "");
    let text = file((0..people).map(|person| (person, person % companies)));
    world.csv(&text);
    for writes in kills {
        world.kill_held(&format!("write hold after={writes}"), &[]);
    }
    let ran = world.sync().expect(0);
    expect_nothing_twice(&world, people, companies, people);
    assert!(ran.job()["records"] == people, "{ran:?}");
    expect_rest(&world, &text);
}

#[test]
fn law_3_four_hundred_contractors_come_through_kills_in_every_part() {
    check_thousands(400, 40, &[15, 120, 300, 200, 150]);
}

#[test]
fn twelve_hundred_contractors_in_120_organizations_come_once_through_kills() {
    check_thousands(1200, 120, &[60, 480, 960, 600]);
}

#[test]
fn law_6_a_job_of_organizations_takes_over_those_that_contractors_brought_first() {
    let organizations = Config {
        name: "companies".into(),
        target: "contractor-organization".into(),
        job: "key = \"{{ company_no }}\"\n".into(),
        path: "companies.csv".into(),
        map: "name = \"{{ company }}\"\nlegalid = \"{{ company_no }}\"\naddress = \"{{ address }}\"\n".into(),
        ..config("", "")
    };
    let world = World::of(config("", "").and(&organizations));
    let put = |numbers: &[usize]| {
        let rows = numbers.iter().map(|number| format!("94{number:06},Company {number} Ltd,{number} Quay\n"));
        world.put("companies.csv", ("Company No,Company,Address\n".to_owned() + &rows.collect::<String>()).as_bytes());
    };
    world.csv(file([(1, 1), (2, 2)]));
    put(&[3]);
    world.sync().expect(0);
    put(&[1, 2, 3]);
    world.sync().expect(0);
    for _ in 0..2 {
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
        assert_eq!(texts(&world, "sp.org", "address"), ["1 Quay", "2 Quay", "3 Quay"]);
        expect_nothing_twice(&world, 2, 3, 2);
    }
    // What the list of contractors says of one is not sent any more, and is named.
    world.csv(file([(1, 1), (2, 2), (3, 1)]).replace("Company 1 Ltd", "Company One"));
    let ran = world.sync().expect(0);
    assert!(ran.reason().contains("1 organization belongs to job companies"), "{ran:?}");
    expect_nothing_twice(&world, 3, 3, 3);
    assert!(texts(&world, "sp.org", "name").contains(&"Company 1 Ltd".to_owned()));
}

#[test]
fn law_6_people_of_two_jobs_join_one_organization_that_the_first_keeps() {
    let first = config("", "[job.guard]\nmax_updates = \"off\"\n");
    let second = Config { name: "plants".into(), path: "plants.csv".into(), ..first.clone() };
    let world = World::of(first.and(&second));
    world.csv(file([(1, 1), (2, 2)]));
    let put = |text: &str| world.put("plants.csv", text.as_bytes());
    put(&(file([(8, 1)]) + &row(9, 3, "Roofer")));
    world.sync().expect(0);
    expect_nothing_twice(&world, 4, 3, 4);
    assert_eq!(pairs(&world), [pair(1, 1), pair(2, 2), pair(8, 1), pair(9, 3)]);
    let rests = || {
        let (requests, writes) = (world.service().requests().len(), world.service().writes());
        let ran = world.sync().expect(0);
        assert_eq!(world.service().writes(), writes, "{ran:?}");
        assert!(world.service().requests().len() - requests <= 9, "law 4");
        for _ in 0..2 {
            let plan = world.plan().expect(0).json();
            assert!(plan["jobs"].as_array().unwrap().iter().all(|job| job["changes"] == json!([])), "fault 99: {plan}");
        }
        ran
    };
    rests();

    // Where the second job wants another value, that is reported with the owner's name; the first job's wish holds.
    put(&(file([(8, 1)]).replace("Company 1 Ltd", "Company One") + &row(9, 3, "Roofer")));
    for _ in 0..2 {
        let ran = rests();
        let reason = ran.json()["jobs"][1]["reason"].as_str().unwrap_or_default().to_owned();
        assert!(reason.contains("1 organization belongs to job sites") && reason.contains("94000001: name"), "{ran:?}");
    }
    assert!(texts(&world, "sp.org", "name").contains(&"Company 1 Ltd".to_owned()));
    world.csv(file([(1, 1), (2, 2)]).replace("Company 1 Ltd", "Company One"));
    world.sync().expect(0);
    assert!(texts(&world, "sp.org", "name").contains(&"Company One".to_owned()));
    assert_eq!(rests().json()["jobs"][1]["reason"], Value::Null);

    // Where the first job is no more, the organization is the second's.
    world.configure(second);
    put(&(file([(8, 1)]).replace("Company 1 Ltd", "Company Uno") + &row(9, 3, "Roofer")));
    world.sync().expect(0);
    assert!(texts(&world, "sp.org", "name").contains(&"Company Uno".to_owned()));
    expect_nothing_twice(&world, 4, 3, 4);
}

/// So many people, each in their own company, except the first `moved`, who are in each other's.
fn exchanged(people: usize, moved: usize) -> String {
    file((0..people).map(|person| (person, if person < moved { (person + 1) % moved } else { person })))
}

/// Settings of leavers that memberships end by.
const LEAVING: [&str; 3] = [
    "",
    "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n",
    "[job.leavers]\naction = \"delete\"\ngrace = \"24h\"\n",
];

/// A world in step with a file of 45 people, that file, and who is in which company.
fn all_in_place(leaving: &str) -> (World, String, Vec<(String, String)>) {
    let world = world(Options::default(), "", leaving);
    let text = exchanged(45, 0);
    world.sync_of(&text).expect(0);
    let right = pairs(&world);
    (world, text, right)
}

/// The source and the undoing want the same then: that the membership ends.
#[test]
fn who_moves_while_the_undoing_of_their_membership_waits_moves() {
    let guard = "[job.guard]\nmax_updates = \"off\"\n";
    let world = world(Options::default(), "", guard);
    let moved = |company: usize| file((1..6).map(|at| (at, if at == 5 { company } else { 1 })));
    world.sync_of(file((1..4).map(|at| (at, 1)))).expect(0);
    let made = world.sync_of(moved(2)).expect(0);
    assert_eq!(made.writes().0, 5, "{made:?}");
    world.run(&["revert", "2"]).expect(4);
    let ran = world.sync_of(moved(3)).expect(4);
    assert_eq!(ran.writes(), (2, 0, 1), "{ran:?}");
    assert!(pairs(&world).contains(&pair(5, 3)) && !pairs(&world).contains(&pair(5, 2)));
    let ran = world.sync().expect(4);
    assert_eq!((ran.writes(), &ran.job()["held"]), ((0, 0, 0), &3.into()), "{ran:?}");
    world.run(&["reject", "sites"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(pairs(&world).len(), 5);
}

#[test]
fn companies_sorted_apart_move_no_membership_and_the_corrected_file_leaves_nothing_held() {
    for leaving in LEAVING {
        let (world, text, right) = all_in_place(leaving);

        world.csv(exchanged(45, 15));
        let planned = world.plan().expect(0).job();
        let ran = world.sync().expect(4);
        assert_eq!(ran.writes(), (0, 0, 0), "both halves of a move wait: {ran:?}");
        assert!(ran.reason().contains("max_updates: 15 of 45 people"), "{ran:?}");
        assert_eq!(ran.job()["held"], 30, "{ran:?}");
        let missing = planned["missing"].as_array().unwrap().len();
        assert_eq!(ran.job()["missing"], missing, "plan and sync: {planned} {ran:?}");
        assert_eq!(world.sync().expect(4).writes(), (0, 0, 0), "nor later");

        let ran = world.sync_of(&text).expect(0);
        assert_eq!((ran.writes(), &ran.job()["held"], pairs(&world)), ((0, 0, 0), &json!(0), right), "{ran:?}");
    }
}

#[test]
fn few_who_change_companies_move_whole_and_back_and_count_as_no_leavers() {
    for leaving in LEAVING {
        let (world, text, right) = all_in_place(leaving);
        let sent = world.service().requests().len();
        let ran = world.sync_of(exchanged(45, 10)).expect(0);
        assert_eq!(ran.writes(), (10, 0, 10), "{ran:?}");
        let order: Vec<&str> =
            world.service().requests().into_iter().skip(sent).map(|request| request.operation).collect();
        let made = order.iter().rposition(|operation| *operation == "sp.membership.create");
        let ended = order.iter().position(|operation| *operation == "sp.membership.delete");
        assert!(made < ended, "nobody is in no company in between: {order:?}");
        let ran = world.sync_of(&text).expect(0);
        assert_eq!((ran.writes(), pairs(&world)), ((10, 0, 10), right), "{ran:?}");
    }
    let (world, ..) = all_in_place(LEAVING[1]);
    world.sync_of(exchanged(45, 10)).expect(0);
    let ran = world.sync_of(exchanged(45, 10).lines().take(43).collect::<Vec<_>>().join("\n") + "\n").expect(0);
    assert_eq!(ran.writes(), (0, 0, 6), "three leave with their memberships: {ran:?}");
}

#[test]
fn people_who_change_and_people_who_change_companies_are_one_limit() {
    let world = world(Options::default(), "", "");
    world.csv(exchanged(45, 0));
    world.sync().expect(0);
    let text = exchanged(45, 8);
    let changed: String = text
        .lines()
        .enumerate()
        .map(|(at, line)| {
            format!("{}\n", if at > 30 && at <= 37 { line.replace("Roofer", "Plumber") } else { line.to_owned() })
        })
        .collect();
    let ran = world.sync_of(&changed).expect(4);
    assert_eq!((ran.writes(), &ran.job()["held"]), ((0, 0, 0), &json!(23)), "{ran:?}");
    assert!(ran.reason().contains("max_updates: 15 of 45 people"), "{ran:?}");
    assert_eq!(world.sync_of(&text).expect(0).writes(), (8, 0, 8));
}

#[test]
fn a_decision_on_one_half_of_a_move_is_a_decision_on_both() {
    for (decision, writes) in [("approve", (1, 0, 1)), ("reject", (0, 0, 0))] {
        let world = world(Options::default(), "", "");
        world.csv(exchanged(45, 0));
        world.sync().expect(0);
        world.sync_of(exchanged(45, 15)).expect(4);
        world.run(&[decision, "sites", "C00003 @ 94000004"]).expect(0);
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), &ran.job()["held"]), (writes, &json!(28)), "{decision}: {ran:?}");
    }
}

#[test]
fn an_approval_of_one_half_of_a_move_is_taken_back_with_the_other_one() {
    for half in ["C00003 @ 94000003", "C00003 @ 94000004"] {
        let (world, _, right) = all_in_place("");
        world.sync_of(exchanged(45, 15)).expect(4);
        world.run(&["approve", "sites", "C00003 @ 94000004"]).expect(0);
        let taken = world.run(&["reject", "sites", half]).expect(0);
        assert!(taken.out.contains("rejected 2") && taken.err.contains("28 more wait"), "{taken:?}");
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), &ran.job()["held"], pairs(&world)), ((0, 0, 0), &json!(28), right), "{ran:?}");
    }
}

#[test]
fn what_ends_for_something_that_was_given_up_stays_though_it_was_approved() {
    let (world, _, _) = all_in_place("");
    world.faults(&["sp.membership.create status=422 times=1"]);
    world.sync_of(exchanged(45, 15)).expect(4);
    world.run(&["approve", "sites", "C00003 @ 94000004"]).expect(0);
    world.sync();
    world.run(&["queue", "drop", "sites", "C00003 @ 94000004"]).expect(0);
    for _ in 0..2 {
        let ran = world.sync();
        assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
        let of_them = pairs(&world).into_iter().filter(|(member, _)| member == "C00003").count();
        assert_eq!(of_them, 1, "{:?}", pairs(&world));
    }
}

#[test]
fn what_ends_waits_until_what_takes_its_place_is_at_the_service() {
    let world = world(Options::default(), "", "");
    world.csv(exchanged(45, 0));
    world.sync().expect(0);
    world.faults(&["sp.membership.create status=422 times=1"]);
    let ran = world.sync_of(exchanged(45, 10)).expect(3);
    assert_eq!((ran.writes(), &ran.job()["held"]), ((9, 0, 9), &json!(1)), "{ran:?}");
    world.faults(&[]);
    assert_eq!(world.sync().expect(3).writes(), (0, 0, 0), "nobody is in no company");
    world.run(&["queue", "retry", "sites"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 1));
}

#[test]
fn a_plan_file_moves_people_whole() {
    let world = world(Options::default(), "", "");
    world.csv(exchanged(45, 0));
    world.sync().expect(0);
    world.csv(exchanged(45, 10));
    world.run(&["plan", "--out", "plan.json"]).expect(0);
    world.run(&["apply", "plan.json"]).expect(0);
    expect_nothing_twice(&world, 45, 45, 45);
    expect_rest(&world, &exchanged(45, 10));
}

#[test]
fn an_incomplete_read_joins_no_one_to_many_other_companies() {
    let world = world(Options::default(), "", "");
    world.csv(exchanged(45, 0));
    world.sync().expect(0);
    let unknown = row(99, 44, "Roofer").replace("C00099", "#N/A");
    let ran = world.sync_of(exchanged(45, 15) + &unknown).expect(4);
    assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
    assert!(ran.reason().contains("max_updates: 15 of 45 people"), "{ran:?}");
}

#[test]
fn where_the_run_can_t_end_a_membership_the_one_that_takes_its_place_waits_for_it() {
    let world = world(Options::default(), "", "");
    world.csv(exchanged(45, 0));
    world.sync().expect(0);
    let right = pairs(&world);
    let unknown = row(99, 44, "Roofer").replace("C00099", "#N/A");
    // Two rows of someone else that differ prove no absence either.
    let differing = row(40, 40, "Plumber");
    for other in [unknown, differing] {
        let ran = world.sync_of(exchanged(45, 5) + &other).expect(4);
        assert_eq!((ran.writes(), &ran.job()["held"], pairs(&world)), ((0, 0, 0), &json!(5), right.clone()), "{ran:?}");
        assert!(ran.reason().contains("both halves wait"), "{ran:?}");
    }

    world.csv(exchanged(45, 5));
    let one = || world.run(&["sync", "--json", "--key", "C00001"]).expect(4);
    let ran = one();
    assert_eq!((ran.writes(), &ran.job()["held"], pairs(&world)), ((0, 0, 0), &json!(1), right.clone()), "{ran:?}");
    world.run(&["approve", "sites", "C00001 @ 94000002"]).expect(0);
    assert_eq!((one().writes(), pairs(&world)), ((0, 0, 0), right), "an approval sends no half either");

    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), &ran.job()["held"]), ((5, 0, 5), &json!(0)), "{ran:?}");
}

#[test]
fn plan_and_sync_count_the_same_people_as_missing() {
    let world = world(Options::default(), "", "[job.leavers]\naction = \"delete\"\ngrace = \"24h\"\n");
    world.csv(file((1..=20).flat_map(|person| [(person, 1), (person, 2)])));
    world.sync().expect(0);
    // One is missing altogether, and two lose a membership.
    world.csv(file((2..=20).flat_map(|person| [(person, 1), (person, if person < 4 { 1 } else { 2 })])));
    let planned = world.plan().expect(0).job();
    let shown = world.run(&["plan"]).expect(0).out;
    let ran = world.sync().expect(0);
    assert_eq!((planned["missing"].as_array().unwrap().len(), &ran.job()["missing"]), (1, &json!(1)), "{ran:?}");
    let told: Vec<&str> = shown.lines().filter(|line| line.trim_start().starts_with("missing ")).collect();
    assert!(matches!(told[..], [line] if line.contains("1 of 20 ")), "{shown}");
}
