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
fn fault_100_no_one_leaves_who_is_not_on_the_other_side_any_more() {
    for (contractors_first, to_sites) in [(false, true), (true, true), (false, false), (true, false)] {
        let world = world(contractors_first);
        let (here, other) = if to_sites { ("staff", "sp.member") } else { ("sp.member", "staff") };
        let put =
            |here: &[&str], other: &[&str]| if to_sites { put(&world, here, other) } else { put(&world, other, here) };
        put(&["ana", "bo"], &["cy"]);
        world.sync().expect(0);
        world.faults(&["staff.delete status=500", "sp.member.delete status=500", "sp.membership.delete status=500"]);
        put(&["bo"], &["cy", "ana"]);
        world.sync();
        world.faults(&[]);
        assert_eq!(there(&world, other), ["ana", "cy"]);
        // Someone removes them there, or the service never kept them.
        let all = world.service().all(other);
        let ana = all.iter().find(|one| one["email"] == "ana@example.com").unwrap();
        world.service().remove(other, ana["id"].as_i64().unwrap());
        let companies = || world.service().all("sp.membership").len();
        let before = companies();
        let ran = world.sync();
        let case = format!("{contractors_first} {to_sites}: {ran:?}");
        assert!(there(&world, here).contains(&"ana".to_owned()), "{case}");
        assert!(to_sites || companies() == before, "{case}");
        // They are made there once more, and leave then.
        world.sync();
        world.sync();
        world.sync().expect(0);
        assert_eq!(
            (there(&world, here), there(&world, other)),
            (vec!["bo".into()], vec!["ana".into(), "cy".into()]),
            "{case}"
        );
        expect_rest(&world);
    }
}

#[test]
fn fault_100_no_one_leaves_while_they_can_t_be_asked_for_on_the_other_side() {
    let world = world(false);
    put(&world, &["ana", "bo"], &["cy"]);
    world.sync().expect(0);
    put(&world, &["bo"], &["cy", "ana"]);
    world.sync().expect(0);
    world.faults(&["sp.member.get status=500"]);
    world.sync();
    assert_eq!(there(&world, "staff"), ["ana", "bo"]);
    world.faults(&[]);
    world.sync().expect(0);
    assert_eq!(there(&world, "staff"), ["bo"]);
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
fn fault_100_who_comes_without_a_company_stays_on_the_other_side_until_they_have_one() {
    let world = world(false);
    put(&world, &["ana", "bo"], &["cy"]);
    world.sync().expect(0);
    let sites = SITES.to_owned() + "cy,cy Jones,cy@example.com,Acme\nana,ana Jones,ana@example.com,\n";
    put(&world, &["bo"], &[]);
    world.put("sites.csv", sites.as_bytes());
    for _ in 0..3 {
        let ran = world.sync().expect(3);
        assert_eq!(there(&world, "staff"), ["ana", "bo"], "{ran:?}");
    }
    world.put("sites.csv", sites.replace("ana@example.com,", "ana@example.com,Acme").as_bytes());
    world.sync();
    world.sync().expect(0);
    assert_eq!(
        (there(&world, "staff"), there(&world, "sp.member")),
        (vec!["bo".into()], vec!["ana".into(), "cy".into()])
    );
}

/// Two jobs of staff, each with a list of its own site.
fn sites(inbox: bool) -> World {
    sites_with(inbox, "")
}

/// The same with further lines of both jobs.
fn sites_with(inbox: bool, lines: &str) -> World {
    sites_matched(inbox, &format!("match_on = [\"employee_id\", \"email\"]\n{lines}"))
}

/// The same with all lines of both jobs beside the key.
fn sites_matched(inbox: bool, lines: &str) -> World {
    let job = |name: &str| Config {
        name: name.into(),
        job: format!("key = \"{{{{ no }}}}\"\n{lines}"),
        path: if inbox { name.into() } else { format!("{name}.csv") },
        map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\nemployee_id = \"{{ no }}\"\n".into(),
        ..Config::rest(REMOVING)
    };
    let world = World::of(job("north").and(&job("south")));
    for name in ["north", "south"].iter().filter(|_| inbox) {
        std::fs::create_dir(world.dir().join(name)).unwrap();
    }
    world
}

#[test]
fn fault_100_who_moves_to_another_list_of_staff_stays_who_they_are() {
    for inbox in [false, true] {
        let world = sites(inbox);
        let mut drops = 0;
        let mut put = |job: &str, names: &[&str]| {
            drops += 1;
            let file = if inbox { format!("{job}/{drops}.csv") } else { format!("{job}.csv") };
            world.put(&file, list(names).as_bytes());
        };
        let ids = || -> Vec<(String, i64)> {
            let all = world.service().all("staff").into_iter();
            let one = |one: Value| (one["email"].as_str().unwrap().to_owned(), one["id"].as_i64().unwrap());
            let mut all: Vec<_> = all.map(one).collect();
            all.sort();
            all
        };
        put("north", &["ana", "bo", "eve"]);
        put("south", &["cy", "dee"]);
        world.sync().expect(0);
        let before = ids();
        // The list that they come to first: it waits for the other.
        put("south", &["cy", "dee", "ana"]);
        let ran = world.sync().expect(4);
        assert_eq!((ids(), job(&ran, "south")["held"].as_u64()), (before.clone(), Some(1)), "{inbox} {ran:?}");
        put("north", &["bo", "eve"]);
        let ran = world.run(&["sync", "--json", "north"]).expect(0);
        assert!(ran.reason().contains("moved to the source of job south"), "{inbox} {ran:?}");
        assert_eq!(ids(), before, "{inbox}: nobody is removed");
        world.sync().expect(0);
        // Both lists at once.
        put("north", &["bo"]);
        put("south", &["cy", "dee", "ana", "eve"]);
        let ran = world.sync().expect(0);
        assert_eq!(ids(), before, "{inbox} {ran:?}");
        expect_rest(&world);
        put("south", &["cy", "dee"]);
        world.sync().expect(0);
        let left: Vec<String> = ids().into_iter().map(|(email, _)| email).collect();
        assert_eq!(left, ["bo@example.com", "cy@example.com", "dee@example.com"], "{inbox}: theirs by now");
    }
}

/// The ids of the staff at the service.
fn ids(world: &World) -> Vec<i64> {
    world.service().all("staff").iter().map(|one| one["id"].as_i64().unwrap()).collect()
}

/// A list with these people.
fn list(names: &[&str]) -> String {
    STAFF.to_owned() + &names.iter().map(|name| format!("{name},{name} Jones,{name}@example.com\n")).collect::<String>()
}

#[test]
fn law_1_no_one_leaves_by_a_list_while_nothing_of_the_other_ones_last_file_was_used() {
    for south_first in [false, true] {
        let world = sites(true);
        world.put("north/1.csv", list(&["ana", "bo"]).as_bytes());
        world.put("south/1.csv", list(&["cy"]).as_bytes());
        world.sync().expect(0);
        let before = ids(&world);
        world.put("south/2.csv", list(&["cy", "ana"]).replace("No,", "Number,").as_bytes());
        if south_first {
            world.run(&["sync", "--json", "south"]).expect(1);
        }
        for round in 2..4 {
            world
                .put(&format!("north/{round}.csv"), list(&["bo"]).replace("bo J", &format!("bo {round} J")).as_bytes());
            let ran = world.run(&["sync", "--json"]);
            let reason = job(&ran, "north")["reason"].to_string();
            assert!(
                reason.contains("1 person stays until the source of job south can be read"),
                "{south_first} {ran:?}"
            );
            assert_eq!(there(&world, "staff"), ["ana", "bo", "cy"], "{south_first}");
        }
        world.put("south/3.csv", list(&["cy", "ana"]).as_bytes());
        world.sync();
        world.sync().expect(0);
        assert_eq!(ids(&world), before, "{south_first}: taken over");
    }
}

#[test]
fn law_1_no_one_leaves_by_a_list_while_the_other_ones_last_file_seems_to_be_an_older_one() {
    for south_first in [false, true] {
        let world = sites(true);
        world.put("north/1.csv", list(&["ana", "bo"]).as_bytes());
        world.put("south/2026-11-20.csv", list(&["cy", "dee"]).as_bytes());
        world.sync().expect(0);
        world.put("south/2026-11-19.csv", list(&["cy"]).as_bytes());
        if south_first {
            world.run(&["sync", "--json", "south"]).expect(4);
        }
        world.put("north/2.csv", list(&["bo"]).as_bytes());
        let ran = world.run(&["sync", "--json"]).expect(4);
        let reason = job(&ran, "north")["reason"].to_string();
        assert!(reason.contains("1 person stays until the source of job south can be read"), "{south_first} {ran:?}");
        assert_eq!(there(&world, "staff"), ["ana", "bo", "cy", "dee"], "{south_first}");
        world.put("south/2026-11-21.csv", list(&["cy", "dee"]).as_bytes());
        world.sync();
        world.sync().expect(0);
        assert_eq!(there(&world, "staff"), ["bo", "cy", "dee"], "{south_first}: gone from both");
    }
}

#[test]
fn law_1_no_one_leaves_while_the_other_list_is_too_short_or_can_not_be_read() {
    for other in ["too short", "absent", "a folder"] {
        let mut world = sites(false);
        world.reconfigure(|config| Config { rest: config.rest.replace("records = 0", "records = 1"), ..config });
        world.put("north.csv", list(&["ana", "bo"]).as_bytes());
        world.put("south.csv", list(&["cy"]).as_bytes());
        world.sync().expect(0);
        let before = ids(&world);
        world.put("north.csv", list(&["bo"]).as_bytes());
        let south = world.dir().join("south.csv");
        std::fs::remove_file(&south).unwrap();
        match other {
            "too short" => drop(world.put("south.csv", STAFF.as_bytes())),
            "a folder" => std::fs::create_dir(&south).unwrap(),
            _ => {}
        }
        for _ in 0..2 {
            let ran = world.sync();
            let held = &job(&ran, "north")["held_changes"][0]["reason"];
            assert!(held.to_string().contains("job south, whose source is not read to its end"), "{other} {ran:?}");
            assert_eq!(ids(&world), before, "{other} {ran:?}");
        }
        if other == "a folder" {
            std::fs::remove_dir(&south).unwrap();
        }
        world.put("south.csv", list(&["cy", "ana"]).as_bytes());
        world.sync();
        world.sync().expect(0);
        assert_eq!(ids(&world), before, "{other}");
    }
}

#[test]
fn law_1_who_moves_with_a_new_email_stays_though_the_other_list_finds_people_by_it_alone() {
    // Their own, and that of someone who leaves in the same read.
    for email in ["ana.young@example.com", "bo@example.com"] {
        let world = sites_matched(false, "match_on = [\"email\"]\n");
        world.put("north.csv", list(&["ana", "bo"]).as_bytes());
        world.put("south.csv", list(&["cy"]).as_bytes());
        world.sync().expect(0);
        let all = || world.service().all("staff").into_iter();
        let ana = all().find(|one| one["email"] == "ana@example.com").unwrap()["id"].clone();
        world.put("north.csv", STAFF.as_bytes());
        world.put("south.csv", (list(&["cy"]) + &format!("ana,ana Jones,{email}\n")).as_bytes());
        for _ in 0..2 {
            let ran = world.sync();
            assert!(all().any(|one| one["id"] == ana), "{email} {ran:?}");
        }
        // By their number, which the other list has for a key.
        world.sync().expect(0);
        let now = all().find(|one| one["id"] == ana).unwrap();
        assert_eq!((now["email"].as_str(), all().count()), (Some(email), 2), "{now}");
    }
}

#[test]
fn law_6_who_moves_and_marries_stays_who_they_are_by_number_and_email() {
    for (from, to) in [("north", "south"), ("south", "north")] {
        let world = sites_matched(false, "match_on = [\"email\"]\n");
        world.put(&format!("{from}.csv"), list(&["ana", "bo"]).as_bytes());
        world.put(&format!("{to}.csv"), list(&["cy"]).as_bytes());
        world.sync().expect(0);
        let mut before = ids(&world);
        before.sort_unstable();
        world.put(&format!("{from}.csv"), list(&["bo"]).as_bytes());
        world.put(&format!("{to}.csv"), list(&["cy", "ana"]).replace("ana Jones", "ana Young").as_bytes());
        for _ in 0..3 {
            let ran = world.sync();
            let mut now = ids(&world);
            now.sort_unstable();
            assert_eq!(now, before, "{from} {ran:?}");
        }
        let ran = world.sync().expect(0);
        let names: Vec<Value> = world.service().all("staff").into_iter().map(|one| one["name"].clone()).collect();
        assert!(names.contains(&"ana Young".into()), "{from} {ran:?}");
    }
}

#[test]
fn law_6_who_is_protected_is_taken_over_by_another_list() {
    for lines in ["", "protect = [\"ana\"]\n"] {
        let world = sites_with(false, lines);
        world.put("north.csv", list(&["ana", "bo"]).as_bytes());
        world.put("south.csv", list(&["cy"]).as_bytes());
        world.sync().expect(0);
        world.put("north.csv", list(&["bo"]).as_bytes());
        world.put("south.csv", list(&["cy", "ana"]).replace("ana Jones", "ana Young").as_bytes());
        world.sync();
        let ran = world.sync().expect(0);
        let ana = world.service().all("staff").into_iter().find(|one| one["email"] == "ana@example.com").unwrap();
        assert_eq!(ana["name"], "ana Young", "{lines}: {ran:?}");
        assert_eq!(job(&ran, "south")["held"], 0, "{lines}: {ran:?}");
        // They are protected there, too.
        world.put("south.csv", list(&["cy"]).as_bytes());
        world.sync();
        assert_eq!(there(&world, "staff").contains(&"ana".to_owned()), !lines.is_empty(), "{lines}");
    }
}

#[test]
fn who_leaves_and_shares_a_mailbox_with_someone_of_another_list_leaves_all_the_same() {
    let world = sites(false);
    let list = |rows: &[(&str, &str)]| {
        rows.iter().fold(STAFF.to_owned(), |text, (name, email)| text + &format!("{name},{name} Jones,{email}\n"))
    };
    world.put("north.csv", list(&[("ana", "ana@example.com"), ("bo", "bo@example.com")]).as_bytes());
    world.put("south.csv", list(&[("cy", "desk@example.com"), ("dee", "dee@example.com")]).as_bytes());
    world.sync().expect(0);
    let ana = world.service().all("staff").into_iter().find(|one| one["email"] == "ana@example.com").unwrap();
    world.service().edit("staff", ana["id"].as_i64().unwrap(), serde_json::json!({"email": "desk@example.com"}));
    world.put("north.csv", list(&[("bo", "bo@example.com")]).as_bytes());
    let ran = world.sync().expect(0);
    assert_eq!(there(&world, "staff"), ["bo", "dee", "desk"], "{ran:?}");
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

/// Those who were there would be no job's, and be at the service twice.
#[test]
fn law_9_a_job_of_employees_does_not_become_one_of_contractors() {
    let world = World::synced(Config::default(), 5);
    let text = std::fs::read_to_string(world.config_path()).unwrap();
    world.put_config(
        &text
            .replace("target = \"staff\"", "target = \"contractor\"")
            .replace("employee_id = \"{{ employee_no }}\"\n", "")
            .replace("match_on = [\"employee_id\", \"email\"]", "match_on = [\"email\"]"),
    );
    for command in ["sync", "plan"] {
        let ran = world.run(&[command, "--json"]);
        assert!(ran.out.contains("this job was one of staff until now, and the service holds 5 records"), "{ran:?}");
        world.run(&["approve", "staff"]);
    }
    assert_eq!((world.staff().len(), world.service().all("sp.member").len()), (5, 0));
    world.put_config(&text);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

mod entries {
    //! Entries of a directory have a key that means the same person in every job, whatever else becomes another.

    use super::{Config, REMOVING, SITES, STAFF, World, expect_rest, there, world};

    const ANA: &str = "7b1c2d3e-0f4a-4b5c-8d6e-9f0a1b2c3d4e";

    fn row(email: &str, rest: &str) -> String {
        format!("{ANA},Ana Jones,{email}@example.com{rest}\n")
    }

    fn other(name: &str, rest: &str) -> String {
        format!("{name},{name} Jones,{name}@example.com{rest}\n")
    }

    #[test]
    fn fault_100_who_moves_with_another_address_leaves_once_they_are_there() {
        for contractors_first in [false, true] {
            let world = world(contractors_first);
            world.put("staff.csv", (STAFF.to_owned() + &row("ana", "") + &other("bo", "")).as_bytes());
            world.put("sites.csv", (SITES.to_owned() + &other("cy", ",Acme")).as_bytes());
            world.sync().expect(0);
            world.faults(&["sp.member.create status=400"]);
            world.put("staff.csv", (STAFF.to_owned() + &other("bo", "")).as_bytes());
            world.put("sites.csv", (SITES.to_owned() + &other("cy", ",Acme") + &row("ext.ana", ",Acme")).as_bytes());
            for _ in 0..2 {
                let ran = world.sync().expect(3);
                assert_eq!(there(&world, "staff"), ["ana", "bo"], "{ran:?}");
            }
            world.faults(&[]);
            world.run(&["queue", "retry", "sites"]).expect(0);
            world.sync().expect(0);
            world.sync().expect(0);
            assert_eq!(
                (there(&world, "staff"), there(&world, "sp.member")),
                (vec!["bo".into()], vec!["cy".into(), "ext.ana".into()])
            );
            expect_rest(&world);
        }
    }

    #[test]
    fn law_3_who_moves_to_another_list_with_another_address_keeps_their_entity() {
        for to_the_first in [false, true] {
            let job = |name: &str| Config {
                name: name.into(),
                job: "key = \"{{ no }}\"\nmatch_on = [\"email\"]\n".into(),
                path: format!("{name}.csv"),
                map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\n".into(),
                ..Config::rest(REMOVING)
            };
            let world = World::of(job("north").and(&job("south")));
            let (from, to) = if to_the_first { ("south.csv", "north.csv") } else { ("north.csv", "south.csv") };
            world.put(from, (STAFF.to_owned() + &row("ana", "") + &other("bo", "")).as_bytes());
            world.put(to, (STAFF.to_owned() + &other("cy", "")).as_bytes());
            world.sync().expect(0);
            let id = |email: &str| {
                let all = world.service().all("staff");
                all.iter().find(|one| one["email"] == format!("{email}@example.com")).map(|one| one["id"].clone())
            };
            let before = id("ana").unwrap();
            world.put(from, (STAFF.to_owned() + &other("bo", "")).as_bytes());
            world.put(to, (STAFF.to_owned() + &other("cy", "") + &row("a.jones", "")).as_bytes());
            for _ in 0..3 {
                world.sync();
                assert_eq!(world.service().all("staff").len(), 3, "no one is lost or doubled");
            }
            assert_eq!(id("a.jones"), Some(before), "to the first: {to_the_first}");
            expect_rest(&world);
        }
    }
}

#[test]
fn who_is_on_both_sides_is_named_in_each_run_until_one_of_them_lets_go() {
    let both = "1 person is in job staff, too (ana, there ana)";
    let told = |ran: &Ran| job(ran, "sites")["reason"].as_str().unwrap_or_default().to_owned();
    for contractors_first in [false, true] {
        let world = world(contractors_first);
        put(&world, &["ana", "bo"], &["cy"]);
        assert_eq!(told(&world.sync().expect(0)), "");
        put(&world, &["ana", "bo"], &["cy", "ana"]);
        // A mailbox may be that of several.
        let shared = SITES.to_owned() + "dee,Dee Other,bo@example.com,Acme\n";
        world.put(
            "sites.csv",
            (shared + "cy,cy Jones,cy@example.com,Acme\nana,ana Jones,ana@example.com,Acme\n").as_bytes(),
        );
        let plan = world.run(&["plan", "sites"]).expect(0).out;
        assert!(plan.contains(both) && plan.contains("two entries of each"), "{plan}");
        for _ in 0..2 {
            let ran = world.sync().expect(0);
            assert!(told(&ran).contains(both), "{ran:?}");
            assert_eq!((there(&world, "staff").len(), there(&world, "sp.member").len()), (2, 3));
        }
        world.run(&["rebuild"]).expect(0);
        world.sync().expect(0);
        let all = world.sync().expect(0).json()["jobs"].to_string();
        assert!(all.contains("too (ana, there ana)"), "{all}");
        world.put("staff.csv", (STAFF.to_owned() + "bo,bo Jones,bo@example.com\n").as_bytes());
        world.sync().expect(0);
        let all = world.sync().expect(0).json()["jobs"].to_string();
        assert!(!all.contains("too ("), "{all}");
        assert_eq!(there(&world, "staff"), ["bo"], "{contractors_first}");
    }
}

#[test]
fn who_has_left_one_side_for_the_other_is_not_on_both() {
    let world = world(false);
    put(&world, &["ana", "bo"], &["cy"]);
    world.sync().expect(0);
    put(&world, &["bo"], &["cy", "ana"]);
    for _ in 0..3 {
        let ran = world.sync().expect(0);
        let told = job(&ran, "sites")["reason"].as_str().unwrap_or_default().to_owned();
        assert!(!told.contains("too ("), "{ran:?}");
    }
}

/// An email or a name of the two changes in one of the lists: the one of the two that is left says that it is one person.
#[test]
fn who_is_on_both_sides_is_named_for_as_long_as_name_or_email_is_the_same() {
    let world = world(false);
    put(&world, &["bo"], &["cy"]);
    world.sync().expect(0);
    put(&world, &["ana", "bo"], &["cy", "ana"]);
    world.sync().expect(0);
    let site = |name: &str, email: &str| {
        let rows = format!("cy,cy Jones,cy@example.com,Acme\nana,{name},{email},Acme\n");
        world.put("sites.csv", (SITES.to_owned() + &rows).as_bytes());
        // The second run compares what the first one sent.
        world.sync();
        world.run(&["approve", "sites"]);
        world.sync();
        world.sync().json()["jobs"].to_string().contains("too (ana, there ana)")
    };
    assert!(site("ana Married", "ana@example.com"), "the email is the same");
    assert!(site("ana Jones", "ana.jones@example.com"), "the name is the same");
    assert!(!site("Eve Stone", "eve@example.com"), "they are two people");
}

#[test]
fn law_4_who_waits_between_two_lists_is_asked_about_in_each_run_and_never_made_twice() {
    for (leavers, orders) in [
        ("action = \"keep\"", ["north", "south"]),
        ("action = \"update\"\ngrace = \"0s\"\n[job.leavers.set]\ntitle = \"Left\"", ["north", "south"]),
        ("action = \"delete\"\ngrace = \"24h\"", ["north", "south"]),
        ("action = \"keep\"", ["south", "north"]),
    ] {
        let world = sites(false);
        let text = std::fs::read_to_string(world.config_path()).unwrap();
        world.put_config(&text.replace("action = \"delete\"\ngrace = \"0s\"", leavers));
        let [from, to] = orders;
        let (from, to) = (format!("{from}.csv"), format!("{to}.csv"));
        world.put(&from, list(&["ana", "bo"]).as_bytes());
        world.put(&to, list(&["cy"]).as_bytes());
        world.sync().expect(0);
        let before = ids(&world);
        // To the other list under another number, and then with another email.
        world.put(&from, list(&["bo"]).as_bytes());
        let moved = list(&["cy"]) + "77,ana Jones,ana@example.com\n";
        for text in [moved.clone(), moved.replace("ana@example.com", "jones@example.com")] {
            world.put(&to, text.as_bytes());
            let mut asked = Vec::new();
            for _ in 0..4 {
                let ran = world.sync().expect(4);
                assert_eq!((ids(&world).len(), ran.writes().0), (3, 0), "{leavers} {orders:?}: {ran:?}");
                let held: Vec<Value> =
                    ran.json()["jobs"].as_array().unwrap().iter().map(|job| job["held_changes"].clone()).collect();
                asked.push(held);
            }
            assert_eq!(asked[2], asked[3], "{leavers} {orders:?}: one input has one answer");
        }
        assert_eq!(ids(&world), before, "{leavers}");
    }
}

#[test]
fn law_8_who_had_the_mailbox_of_someone_on_another_list_comes_in_with_their_own() {
    let world = sites(false);
    world.put("north.csv", list(&["ana", "bo"]).as_bytes());
    world.put("south.csv", list(&["cy"]).as_bytes());
    world.sync().expect(0);
    let with = |email: &str| list(&["cy"]) + &format!("77,Dee Moss,{email}\n");
    world.put("south.csv", with("ana@example.com").as_bytes());
    for _ in 0..2 {
        assert_eq!(world.sync().expect(4).writes().0, 0);
    }
    world.put("south.csv", with("dee@example.com").as_bytes());
    world.sync().expect(0);
    assert_eq!(there(&world, "staff"), ["ana", "bo", "cy", "dee"]);
}
