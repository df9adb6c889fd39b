//! Plans as files: what a person saw is sent, once, and only as far as it is still so.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::inbox::{Inbox, inbox_of};
use crate::support::{Config, Ran, World, people, row};

fn config() -> Config {
    Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_updates = \"off\"\n")
}

/// Ten people in step; then the first three get another title, the tenth is gone, and an eleventh is new.
fn moved() -> World {
    let world = World::synced(config(), 10);
    world.csv(wanted());
    world
}

fn wanted() -> String {
    (1..4).fold(people(1..10), |text, number| text.replace(&row(number, "Clerk"), &row(number, "Boss")))
        + &row(11, "Clerk")
}

/// `plan --out plan.json`, with what it wrote.
fn plan(world: &World, more: &[&str]) -> Value {
    world.run(&[&["plan", "--json", "--out", "plan.json"], more].concat()).expect(0);
    serde_json::from_slice(&fs::read(world.dir().join("plan.json")).unwrap()).unwrap()
}

fn apply(world: &World) -> Ran {
    world.run(&["apply", "plan.json", "--json"])
}

/// What was skipped, as (key, reason).
fn skipped(ran: &Ran) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    ran.job()["skipped"].as_array().unwrap().iter().map(|one| (text(&one["key"]), text(&one["reason"]))).collect()
}

#[test]
fn a_plan_is_applied_once_and_sends_just_what_it_shows() {
    let world = moved();
    let file = plan(&world, &[]);
    assert_eq!(file["plan"]["jobs"][0]["changes"].as_array().unwrap().len(), 5, "{file}");
    let bits = fs::metadata(world.dir().join("plan.json")).unwrap().permissions().mode() & 0o777;
    assert_eq!(bits, 0o600);
    // Who came in since the plan was made is in no plan of it.
    world.csv(wanted() + &row(12, "Clerk"));
    let ran = apply(&world).expect(0);
    assert_eq!((ran.writes(), skipped(&ran)), ((1, 3, 1), vec![]), "{ran:?}");
    assert!(world.held_as(12).is_none() && world.held_as(10).is_none());
    let writes = world.service().writes();
    let again = apply(&world).expect(2);
    assert!(again.err.contains("applied already, on 20"), "{again:?}");
    world.run(&["rebuild"]).expect(0);
    let rebuilt = apply(&world).expect(2);
    assert!(rebuilt.err.contains("applied already, on 20"), "{rebuilt:?}");
    assert_eq!(world.service().writes(), writes);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0), "the rest is the next sync's");
    let audit = world.audit();
    assert!(audit.lines().any(|line| line.contains("\"applied\"") && line.contains("\"by\":\"")), "{audit}");
}

/// What the read says of others is the next run's: a plan says nothing of them.
#[test]
fn what_an_applied_plan_comes_to_is_said_of_what_it_sends_alone() {
    let protecting = Config { job: config().job + "protect = [\"P00010\"]\n", ..config() };
    let world = World::synced(protecting, 10);
    let nameless = row(9, "Clerk").replace("Person 9", "");
    let keyless = row(12, "Clerk").replace("P00012", "");
    let there = wanted().replace(&row(9, "Clerk"), &nameless) + &keyless;
    world.csv(&there);
    plan(&world, &[]);
    let ran = apply(&world).expect(0);
    assert_eq!((ran.writes(), skipped(&ran)), ((1, 3, 0), vec![]), "{ran:?}");
    let job = ran.job();
    assert_eq!((&job["rejected"], &job["held"], &job["status"]), (&json!(0), &json!(0), &json!("done")), "{job}");
    assert!(ran.reason().is_empty(), "{job}");
    let ran = world.sync().expect(3);
    assert_eq!((&ran.job()["rejected"], ran.writes()), (&json!(2), (0, 0, 0)), "{ran:?}");
}

#[test]
fn what_moved_since_the_plan_is_skipped_and_named() {
    let world = moved();
    plan(&world, &[]);
    let id = |number| world.held_as(number).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id(1), json!({"title": "Edited There"}));
    world.service().edit("staff", id(3), json!({"onsite_status": "onsite"}));
    world.person(11, "Already There");
    let back = wanted().replace(&row(2, "Boss"), &row(2, "Chief")) + &row(10, "Clerk");
    world.csv(back);
    let ran = apply(&world).expect(3);
    assert_eq!(ran.writes(), (0, 1, 0), "{ran:?}");
    let reasons = skipped(&ran);
    for (key, word) in
        [("P00001", "changed at the service"), ("P00002", "row"), ("P00010", "not wanted"), ("P00011", "differs")]
    {
        assert!(reasons.iter().any(|(other, reason)| other == key && reason.contains(word)), "{key}: {reasons:?}");
    }
    assert_eq!(reasons.len(), 4);
    let titles = [1, 2, 3].map(|number| world.held_as(number).unwrap()["title"].clone());
    assert_eq!(titles, ["Edited There", "Clerk", "Boss"], "presence is no part of what a plan is based on");
    let text = world.run(&["apply", "plan.json"]).expect(2);
    assert!(text.err.contains("plan.json") && text.err.contains("hint:"), "{text:?}");
}

#[test]
fn what_the_guard_held_or_holds_by_now_is_not_sent_by_a_plan() {
    let world = World::synced(Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n"), 20);
    world.csv(people(1..11).replace(&row(1, "Clerk"), &row(1, "Boss")));
    let file = plan(&world, &[]);
    let held = |change: &&Value| change["held"].is_string();
    assert_eq!(file["plan"]["jobs"][0]["changes"].as_array().unwrap().iter().filter(held).count(), 10);
    let ran = apply(&world).expect(0);
    assert_eq!((ran.writes(), skipped(&ran)), ((0, 1, 0), vec![]), "{ran:?}");
    assert_eq!(world.staff().len(), 20);

    world.csv(people(1..19).replace(&row(1, "Clerk"), &row(1, "Boss")));
    plan(&world, &[]);
    world.csv(people(1..11).replace(&row(1, "Clerk"), &row(1, "Boss")));
    let ran = apply(&world).expect(3);
    assert_eq!((ran.writes(), skipped(&ran).len()), ((0, 0, 0), 2), "{ran:?}");
    assert!(skipped(&ran).iter().all(|(_, reason)| reason.contains("max_leavers")), "{ran:?}");
}

#[test]
fn a_plan_of_approved_changes_sends_them_and_rejected_ones_stay() {
    let world = World::of(Config::default().job("writes = \"approve\"\n"));
    world.csv(people(1..4));
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    plan(&world, &[]);
    let ran = apply(&world).expect(0);
    assert_eq!(ran.writes(), (3, 0, 0), "{ran:?}");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn fault_111_a_foreign_damaged_or_changed_plan_is_refused_before_anything_is_sent() {
    let mut world = moved();
    plan(&world, &[]);
    let text = fs::read_to_string(world.dir().join("plan.json")).unwrap();
    let requests = world.service().requests().len();
    let refused = |world: &World, word: &str| {
        let ran = apply(world).expect(2);
        assert!(ran.err.contains(word) && ran.err.contains("plan.json"), "{word}: {ran:?}");
    };
    for bad in [
        "",
        "{}",
        "not a plan",
        &text[..text.len() / 2],
        &text.replace("Boss", "Chef"),
        &text.replace("P00001", "P00004"),
    ] {
        world.put("plan.json", bad.as_bytes());
        refused(&world, "changed or damaged");
    }
    world.put("plan.json", text.replace("\"version\": 1", "\"version\": 2").as_bytes());
    refused(&world, "another version");
    world.put("plan.json", text.as_bytes());

    let before = config();
    for (change, word) in [
        (Config { map: before.map.replace("{{ title }}", "{{ title | upper }}"), ..before.clone() }, "job staff"),
        (Config { rest: before.rest.clone() + "max_leavers = 9\n", ..before.clone() }, "job staff"),
        (Config { credential: "api_key = \"another\"".into(), ..before.clone() }, "credential"),
    ] {
        world.reconfigure(|_| change);
        refused(&world, word);
    }
    world.reconfigure(|_| before);
    let other = World::synced(config(), 10);
    other.put("plan.json", text.as_bytes());
    refused(&other, "made for the service at");
    assert_eq!(world.service().requests().len(), requests, "nothing is even asked");
    assert!(world.run(&["apply", "no.json"]).expect(2).err.contains("no.json"));
    assert_eq!(apply(&world).expect(0).writes(), (1, 3, 1), "the plan itself is good still");
}

#[test]
fn a_plan_of_one_record_or_under_a_pause_sends_no_more_than_that() {
    let world = moved();
    plan(&world, &["--key", "P00002"]);
    world.run(&["pause"]).expect(0);
    let ran = apply(&world).expect(4);
    assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
    world.run(&["resume"]).expect(0);
    assert_eq!(apply(&world).expect(0).writes(), (0, 1, 0), "a plan that sent nothing is not used up");
    assert_eq!((world.held_as(2).unwrap()["title"].as_str(), world.staff().len()), (Some("Boss"), 10));
}

#[test]
fn law_3_a_plan_that_could_not_be_delivered_is_finished_by_the_next_sync() {
    let world = moved();
    plan(&world, &[]);
    world.faults(&["staff.list status=500"]);
    assert_eq!(apply(&world).expect(1).writes(), (0, 0, 0));
    world.faults(&["staff.create cut-after", "staff.update status=503"]);
    apply(&world).expect(1);
    world.faults(&[]);
    apply(&world).expect(2);
    world.sync().expect(0);
    assert_eq!(world.keys().iter().filter(|key| *key == "P00011").count(), 1);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn law_11_a_plan_shows_that_a_number_is_set_changed_or_cleared_and_the_number_only_where_asked() {
    let map = "name = \"{{ name }}\"\nemployee_id = \"{{ employee_no }}\"\nmobile = \"{{ title }}\"\n".to_owned();
    let job = "key = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\"]\n".to_owned();
    let world = World::of(Config { map, job, ..config() });
    let file = |one: &str, two: &str, three: &str| people(1..1) + &row(1, one) + &row(2, two) + &row(3, three);
    world.csv(file("", "64 2111", "64 2122"));
    world.sync().expect(0);
    world.csv(file("64 2133", "64 2144", ""));
    let numbers = ["2111", "2122", "2133", "2144"];
    let shown = |change: &Value| change["fields"]["mobile"].clone();
    let changes = |file: &Value| {
        let mut all = file["plan"]["jobs"][0]["changes"].as_array().unwrap().clone();
        all.sort_by_key(|change| change["key"].as_str().unwrap().to_owned());
        all.iter().map(shown).collect::<Vec<_>>()
    };
    let hidden = plan(&world, &[]);
    let expected =
        [json!({"from": null, "to": "***"}), json!({"from": "***", "to": "***"}), json!({"from": "***", "to": null})];
    assert_eq!(changes(&hidden), expected);
    let text = world.run(&["plan"]).expect(0).hides(&numbers).out;
    for line in ["mobile: (empty) → *** (set)", "mobile: *** → *** (changed)", "mobile: *** → (empty) (cleared)"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    let whole = plan(&world, &["--show-values"]);
    assert!(numbers.iter().all(|number| whole.to_string().contains(number)), "{whole}");
    assert_eq!(apply(&world).expect(0).writes(), (0, 3, 0));
}

#[test]
fn a_plan_is_written_over_no_other_file() {
    let world = World::of(Config::default());
    world.csv(people(1..4));
    let file = world.dir().join("list.csv");
    std::fs::write(&file, people(1..4)).unwrap();
    let out = file.to_str().unwrap();
    let ran = world.run(&["plan", "--out", out]).expect(2);
    assert!(ran.err.contains("is no plan file"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), people(1..4));
    std::fs::remove_file(&file).unwrap();
    for _ in 0..2 {
        world.run(&["plan", "--out", out]).expect(0);
    }
}

#[test]
fn a_plan_without_a_change_is_done_where_no_file_waits() {
    let world = inbox_of(World::default());
    Inbox(&world).drop("staff.csv", people(1..5));
    world.sync().expect(0);
    plan(&world, &[]);
    assert_eq!(apply(&world).expect(0).job()["status"], "done");
}
