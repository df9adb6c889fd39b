//! What `plan` and `sync` say to programs, and that a plan changes nothing.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Config, HEADER, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

/// A world in which a file of one update, one joiner, one leaver, two rejected rows and a foreigner lies ready.
fn mixed() -> World {
    let world = World::of(Config::rest(LEAVE_AT_ONCE));
    world.csv(people(1..6));
    world.sync().expect(0);
    world.person(90, "Foreign");
    let nameless = |number: usize| row(number, "Clerk").replace(&format!("Person {number}"), "");
    world.csv(people(3..4) + &row(2, "Moved") + &row(7, "New") + &nameless(4) + &nameless(5));
    world
}

fn check_types(job: &Value, fields: &[(&str, &str)]) {
    for (name, kind) in fields {
        let value = job.get(name).unwrap_or_else(|| panic!("no {name} in {job}"));
        let fits = kind.split('|').any(|kind| match kind {
            "n" => value.is_u64() || value.is_i64(),
            "text" => value.is_string(),
            "bool" => value.is_boolean(),
            "list" => value.is_array(),
            "object" => value.is_object(),
            _ => value.is_null(),
        });
        assert!(fits, "{name} is not {kind} in {job}");
    }
}

/// The files of the state folder, without the record of requests sent and the lock.
fn kept(world: &World) -> BTreeMap<String, Vec<u8>> {
    let mut kept = world.kept();
    kept.retain(|part, _| !part.ends_with("/budget") && !part.ends_with("/lock"));
    kept
}

#[test]
fn a_plan_is_one_document_on_one_line_with_everything_in_it() {
    let world = mixed();
    let ran = world.plan().expect(0);
    assert_eq!((ran.out.lines().count(), ran.out.ends_with('\n')), (1, true), "{ran:?}");
    assert_eq!(ran.json()["version"], 1);
    assert_eq!(ran.json()["jobs"].as_array().unwrap().len(), 1);
    let job = ran.job();
    check_types(
        &job,
        &[
            ("name", "text"),
            ("complete", "bool"),
            ("matched", "n"),
            ("new", "n"),
            ("foreign", "n"),
            ("held", "object|null"),
            ("changes", "list"),
            ("rejected", "list"),
            ("rejected_values", "list"),
            ("missing", "list"),
        ],
    );
    assert_eq!((&job["name"], &job["complete"], &job["held"]), (&"staff".into(), &true.into(), &Value::Null));
    assert_eq!((&job["new"], &job["foreign"]), (&1.into(), &1.into()), "{job}");

    let id = |number: usize| world.held_as(number).unwrap()["id"].clone();
    let mut changes: Vec<Value> = job["changes"].as_array().unwrap().clone();
    changes.sort_by_key(|change| change["key"].as_str().unwrap().to_owned());
    let to = |text: &str| json!({"from": null, "to": text});
    let created = json!({
        "name": to("Person 7"), "email": to("person7@example.com"), "title": to("New"), "employee_id": to("P00007"),
    });
    for (change, action, key, id, fields) in [
        (&changes[0], "delete", "P00001", id(1), json!({})),
        (&changes[1], "update", "P00002", id(2), json!({"title": {"from": "Clerk", "to": "Moved"}})),
        (&changes[2], "create", "P00007", Value::Null, created),
    ] {
        let seen = (&change["action"], &change["target"], &change["key"], &change["id"], &change["fields"]);
        assert_eq!(seen, (&action.into(), &"staff".into(), &key.into(), &id, &fields), "{change}");
    }
    assert_eq!(changes.len(), 3);

    let rejected = job["rejected"].as_array().unwrap();
    assert_eq!(rejected.len(), 2, "{job}");
    for (row, (key, line)) in rejected.iter().zip([("P00004", 5), ("P00005", 6)]) {
        check_types(row, &[("key", "text"), ("line", "n"), ("field", "text|null"), ("reason", "text")]);
        assert_eq!((&row["key"], &row["line"]), (&key.into(), &line.into()), "{job}");
    }
}

#[test]
fn a_plan_that_is_held_says_so_with_a_reason() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE), 10);
    world.csv(people(1..6));
    let ran = world.plan().expect(0);
    let job = ran.job();
    assert!(job["held"]["reason"].as_str().unwrap().contains("max_leavers"), "{job}");
    assert_eq!(job["changes"].as_array().unwrap().len(), 5, "what is held is in the plan: {job}");
    assert_eq!(world.run(&["plan", "--exit-code"]).code, Some(5));
}

#[test]
fn a_sync_is_one_document_on_one_line_with_every_count() {
    let world = mixed();
    let requests = world.service().requests().len();
    let ran = world.sync().expect(3);
    assert_eq!((ran.out.lines().count(), ran.out.ends_with('\n')), (1, true), "{ran:?}");
    assert_eq!(ran.json()["version"], 1);
    let job = ran.job();
    check_types(&job, &[("name", "text"), ("status", "text"), ("complete", "bool"), ("reason", "text|null")]);
    let sent = world.service().requests().len() - requests;
    for (name, expected) in [
        ("records", 3),
        ("missing", 1),
        ("rejected", 2),
        ("rejected_values", 0),
        ("created", 1),
        ("updated", 1),
        ("deleted", 1),
        ("unchanged", 1),
        ("parked", 0),
        ("held", 0),
        ("requests", sent),
    ] {
        assert_eq!(job[name], expected, "{name}: {job}");
    }
    assert_eq!((&job["status"], &job["complete"]), (&"partial".into(), &true.into()));
}

#[test]
fn fault_110_a_plan_writes_nothing_anywhere() {
    let world = mixed();
    let status = |world: &World| world.run(&["status", "--json"]).job();
    let before = status(&world);
    world.plan().expect(0);
    let (kept_before, staff) = (kept(&world), world.staff());
    let writes = world.service().writes();
    for arguments in [
        &["plan"][..],
        &["plan", "--json"],
        &["plan", "--exit-code"],
        &["plan", "--show-values"],
        &["plan", "--key", "P00002"],
    ] {
        world.run(arguments);
        let now = kept(&world);
        let other: Vec<_> = now.keys().filter(|path| kept_before.get(*path) != now.get(*path)).collect();
        assert!(other.is_empty() && now.len() == kept_before.len(), "{arguments:?} changed {other:?}");
    }
    assert_eq!((world.service().writes(), world.staff()), (writes, staff));
    assert_eq!(status(&world), before, "no run, no held set, no leaver's first absence");
    let plan = world.plan().job()["changes"].clone();
    assert_eq!(world.plan().job()["changes"], plan, "nor does it change the next plan");
    assert_eq!(world.sync().expect(3).writes(), (1, 1, 1), "nor the next run");
}

#[test]
fn fault_110_a_plan_before_the_first_sync_binds_the_folder_to_nothing() {
    let world = World::default();
    let other = World::default();
    world.csv(people(1..4));
    world.plan().expect(0);
    assert_eq!(world.audit(), "");
    world.edit_config(&world.service().url(), &other.service().url());
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0), "what was only planned belongs to no account yet");
    assert_eq!(world.service().writes(), 0);
}

#[test]
fn a_plan_does_not_begin_a_leavers_grace() {
    let leave = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\ngrace_reads = 1\n";
    let world = World::synced(Config::rest(leave), 5);
    for title in ["A", "B", "C"] {
        world.csv(people(1..4) + &row(4, title));
        world.plan().expect(0);
    }
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert!(world.held_as(5).is_some());
}

#[test]
fn the_exit_code_of_a_plan_is_0_or_where_asked_5() {
    let bad = || Config::default().map.replace("{{ title }}", "{{ title | lookup('titles') }}");
    let world = World::synced(
        Config { map: bad(), ..Config::rest(LEAVE_AT_ONCE).job("values.titles = { Clerk = \"Clerk\" }\n") },
        5,
    );
    for (name, text, plain, asked) in [
        ("no change", people(1..6), 0, 0),
        ("a joiner", people(1..7), 0, 5),
        ("a leaver", people(1..5), 0, 5),
        ("too many leavers", people(1..2), 0, 5),
        ("a rejected row only", people(1..5) + &row(5, "Odd"), 0, 0),
        ("a rejected row and a joiner", people(1..5) + &row(5, "Odd") + &row(6, "Clerk"), 0, 5),
        ("a renamed column", people(1..6).replacen("Title", "Role", 1), 1, 1),
        ("no rows", HEADER.to_owned(), 0, 0),
    ] {
        world.csv(text);
        assert_eq!(world.run(&["plan"]).code, Some(plain), "{name}");
        let ran = world.run(&["plan", "--exit-code", "--json"]);
        assert_eq!(ran.code, Some(asked), "{name}: {ran:?}");
    }
    assert_eq!((world.service().writes(), world.staff().len()), (5, 5));
}

#[test]
fn law_11_a_plan_masks_what_is_sensitive_unless_asked() {
    let config = Config::default().map("mobile = \"021 555 {{ employee_no }}\"\n");
    let world = World::of(config);
    world.csv(people(1..2));
    let plan = world.run(&["plan"]).expect(0);
    assert!(plan.out.contains("Person 1") && plan.out.contains("mobile"), "{plan:?}");
    plan.hides(&["021 555"]);
    assert!(world.run(&["plan", "--show-values"]).expect(0).out.contains("021 555 P00001"));
}

/// Two jobs of one target, each with its own file; the second begins at person 100.
fn two_jobs() -> World {
    let second = "[[job]]\nname = \"guests\"\ntarget = \"staff\"\nkey = \"{{ employee_no }}\"\n\
                  match_on = [\"employee_id\"]\n[job.source]\ntype = \"csv\"\npath = \"guests.csv\"\nsettle = \"0s\"\n[job.map]\n";
    let map = Config::default().map;
    let world = World::of(Config::rest(&format!("{LEAVE_AT_ONCE}{second}{map}{LEAVE_AT_ONCE}")));
    world.csv(people(1..6));
    world.put("guests.csv", people(100..103).as_bytes());
    world
}

#[test]
fn jobs_run_in_the_order_of_the_file_and_sync_exits_with_the_worst() {
    let world = two_jobs();
    let names = |ran: &Value| -> Vec<String> {
        ran["jobs"].as_array().unwrap().iter().map(|job| job["name"].as_str().unwrap().to_owned()).collect()
    };
    let ran = world.run(&["sync", "--json", "guests", "staff"]).expect(0);
    assert_eq!(names(&ran.json()), ["staff", "guests"]);
    assert_eq!(world.staff().len(), 8);
    let ran = world.run(&["sync", "--json", "guests"]).expect(0);
    assert_eq!(names(&ran.json()), ["guests"]);

    for (staff, guests, code) in [
        (people(1..6), people(100..103), 0),
        (people(1..6) + ",x,y,z\n", people(100..103), 3),
        (people(1..6) + ",x,y,z\n", HEADER.to_owned(), 4),
        (people(1..6).replacen("Title", "Role", 1), HEADER.to_owned(), 1),
        (people(1..6), String::new(), 1),
    ] {
        world.csv(staff);
        world.put("guests.csv", guests.as_bytes());
        let ran = world.run(&["sync", "--json"]).expect(code);
        assert_eq!(names(&ran.json()), ["staff", "guests"], "a job that fails doesn't stop the other");
    }
    assert_eq!(world.staff().len(), 8);
}

#[test]
fn fault_98_each_job_removes_its_own_people_only() {
    let world = two_jobs();
    world.run(&["sync"]).expect(0);
    world.csv(people(1..5));
    world.put("guests.csv", people(100..102).as_bytes());
    world.run(&["sync", "guests"]).expect(0);
    assert!(world.held_as(102).is_none() && world.held_as(5).is_some());
    world.run(&["sync", "staff"]).expect(0);
    assert!(world.held_as(5).is_none() && world.staff().len() == 6);
}

#[test]
fn a_plan_of_a_job_that_can_not_be_read_has_the_members_of_any_other() {
    let world = World::default();
    world.csv(people(1..3));
    let whole = world.plan().expect(0).job();
    std::fs::remove_file(world.dir().join("staff.csv")).unwrap();
    let failed = world.plan().expect(1).job();
    for member in whole.as_object().unwrap().keys() {
        assert!(failed.get(member).is_some(), "{member} is missing: {failed}");
    }
    assert_eq!((&failed["complete"], &failed["changes"], &failed["rejected"]), (&json!(false), &json!([]), &json!([])));
    assert!(failed["error"].as_str().unwrap().contains("staff.csv"), "{failed}");
}
