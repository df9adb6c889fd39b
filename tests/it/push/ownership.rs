//! Owner of a field: the job, the service after a creation, or the user who edited it there.

use rosterd::sandbox::Options;
use serde_json::json;

use crate::support::{Config, HEADER, Ran, World, people, row};

fn with(lines: &str) -> Config {
    Config::default().job(lines)
}

fn edit(world: &World, number: usize, fields: serde_json::Value) {
    let id = world.held_as(number).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, fields);
}

fn field(world: &World, number: usize, name: &str) -> String {
    world.held_as(number).unwrap()[name].as_str().unwrap_or_default().to_owned()
}

fn drift(ran: &Ran) -> bool {
    ran.ended().2.contains("on_drift: 1 person was edited at the service (P00001: title)")
}

#[test]
fn a_seed_is_set_at_the_creation_and_the_services_own_afterwards() {
    let world = World::of(with("seed_only = [\"title\"]\n"));
    world.person(1, "Their own");
    world.csv(people(1..5));
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0), "whom the service had keeps what they had");
    assert_eq!((field(&world, 1, "title"), field(&world, 2, "title")), ("Their own".into(), "Clerk".into()));
    edit(&world, 2, json!({"title": "Edited"}));
    for text in [people(1..5), people(1..5).replace("Clerk", "Chief"), people(1..5).replace("Clerk", "")] {
        assert_eq!(world.sync_of(text).expect(0).writes(), (0, 0, 0));
    }
    let renamed = people(1..5).replace("Clerk", "Chief").replace("Person 2,", "Person Two,");
    assert_eq!(world.sync_of(renamed).expect(0).writes(), (0, 1, 0));
    assert_eq!((field(&world, 2, "title"), field(&world, 2, "name")), ("Edited".into(), "Person Two".into()));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn law_8_rows_that_differ_in_a_seed_only_do_not_contradict_the_row_that_stands() {
    let world = World::synced(with("seed_only = [\"title\"]\n"), 4);
    edit(&world, 1, json!({"title": "Edited"}));
    let ran = world.sync_of(people(1..5) + &row(1, "Clerk")).expect(0);
    assert_eq!((ran.writes(), ran.job()["rejected"].as_u64()), ((0, 0, 0), Some(0)), "{ran:?}");
}

#[test]
fn law_3_a_seed_is_not_put_over_the_value_of_a_person_that_the_service_has() {
    let world = World::of(with("seed_only = [\"title\"]\n"));
    // Made by another user, and not seen by the pull.
    world.faults(&["staff.list empty-list times=2"]);
    world.person(4, "Their own");
    world.sync_of(people(1..5)).expect(0);
    assert_eq!((world.count("staff.create"), world.staff().len()), (4, 4), "it was tried, and they were adopted");
    assert_eq!(field(&world, 4, "title"), "Their own");
}

#[test]
fn what_is_edited_at_the_service_is_set_back_unless_the_job_says_keep() {
    for (lines, writes, title) in [
        ("", 1, "Clerk"),
        ("on_drift = \"overwrite\"\n", 1, "Clerk"),
        ("on_drift = \"keep\"\n", 0, "Edited"),
        ("on_drift = \"report\"\n", 0, "Edited"),
    ] {
        let world = World::synced(with(lines), 20);
        edit(&world, 1, json!({"title": "Edited"}));
        let ran = world.sync().expect(0);
        assert_eq!((ran.writes(), field(&world, 1, "title").as_str()), ((0, writes, 0), title), "{lines}: {ran:?}");
    }
}

#[test]
fn a_kept_edit_stays_until_the_sources_own_value_changes() {
    for lines in ["on_drift = \"keep\"\n", "on_drift = \"report\"\n"] {
        let named = lines.contains("report");
        let world = World::synced(with(lines), 20);
        edit(&world, 1, json!({"title": "Edited"}));
        for _ in 0..3 {
            let ran = world.sync().expect(0).hides(&["Edited"]);
            assert_eq!((ran.writes(), drift(&ran)), ((0, 0, 0), named), "{lines}: {ran:?}");
            assert_eq!(ran.ended().0, "done", "{lines}");
        }
        let renamed = people(1..21).replace("Person 1,", "Person One,");
        let ran = world.sync_of(&renamed).expect(0);
        assert_eq!(ran.writes(), (0, 1, 0), "{lines}: {ran:?}");
        assert_eq!(
            (field(&world, 1, "title"), field(&world, 1, "name")),
            ("Edited".into(), "Person One".into()),
            "{lines}"
        );
        let ran = world.sync().expect(0);
        assert_eq!((ran.writes(), drift(&ran)), ((0, 0, 0), named), "{lines}: {ran:?}");

        let moved = renamed.replace("person1@example.com,Clerk", "person1@example.com,Chief");
        assert_eq!(world.sync_of(moved).expect(0).writes(), (0, 1, 0), "{lines}");
        assert_eq!(field(&world, 1, "title"), "Chief", "{lines}");
        let ran = world.sync().expect(0);
        assert_eq!((ran.writes(), drift(&ran)), ((0, 0, 0), false), "{lines}: {ran:?}");
    }
}

/// The key is in the column of titles, and the title is their name.
fn keyed_by_title(match_on: &str, on_drift: &str) -> World {
    let map = "name = \"{{ name }}\"\nemail = \"{{ email }}\"\nemployee_id = \"{{ employee_no }}\"\n\
               title = \"{{ name }}\"\n"
        .to_owned();
    let job = format!("key = \"{{{{ title }}}}\"\nmatch_on = [\"{match_on}\"]\non_drift = \"{on_drift}\"\n");
    World::of(Config { job, map, ..Config::default() })
}

#[test]
fn law_9_a_kept_edit_stays_where_its_person_gets_another_key() {
    let of = |first: &str| (2..6).fold(HEADER.to_owned() + first, |text, one| text + &row(one, &format!("K{one}")));
    let (before, after) = (of(&row(1, "K1")), of(&row(1, "K77")));
    for on_drift in ["keep", "report"] {
        let is_named = |ran: &Ran| ran.ended().2.contains("on_drift: 1 person was edited at the service (K77: title)");
        for (rekeyed, updates, email) in
            [(after.clone(), 0, "person1@example.com"), (after.replace("person1@", "ana@"), 1, "ana@example.com")]
        {
            let world = keyed_by_title("employee_id", on_drift);
            world.sync_of(&before).expect(0);
            edit(&world, 1, json!({"title": "Edited"}));
            let ran = world.sync_of(rekeyed).expect(0);
            assert_eq!(ran.writes(), (0, updates, 0), "{on_drift}: {ran:?}");
            for _ in 0..2 {
                assert_eq!((field(&world, 1, "title"), field(&world, 1, "email")), ("Edited".into(), email.into()));
                let ran = world.sync().expect(0);
                assert_eq!((ran.writes(), is_named(&ran)), ((0, 0, 0), on_drift == "report"), "{ran:?}");
            }
        }
        // Only their email says that they are the same person, so it is asked.
        let world = keyed_by_title("email", on_drift);
        world.sync_of(&before).expect(0);
        edit(&world, 1, json!({"title": "Edited"}));
        world.sync_of(&after).expect(4);
        world.run(&["approve", "staff", "K77"]).expect(0);
        let writes = world.service().writes();
        for rekeyed in [1, 0] {
            let ran = world.sync().expect(0);
            let title = field(&world, 1, "title");
            assert_eq!((ran.writes(), title.as_str()), ((0, rekeyed, 0), "Edited"), "{on_drift}: {ran:?}");
        }
        assert_eq!(world.service().writes(), writes, "nothing is sent: the key alone is another");
        assert!(is_named(&world.sync()) == (on_drift == "report"));
    }
}

#[test]
fn an_edit_is_named_by_key_and_field_in_sync_and_plan() {
    let world = World::synced(with("on_drift = \"report\"\n"), 20);
    edit(&world, 7, json!({"title": "Edited"}));
    let plan = world.plan().expect(0).job();
    assert_eq!((&plan["drift"], &plan["changes"]), (&json!({"P00007": ["title"]}), &json!([])), "{plan}");
    let shown = world.run(&["sync"]).expect(0).hides(&["Edited"]);
    assert!(shown.out.contains("drift     P00007: title"), "{shown:?}");
}

#[test]
fn an_edit_that_was_kept_is_set_back_once_the_job_says_overwrite() {
    let mut world = World::synced(with("on_drift = \"keep\"\n"), 20);
    edit(&world, 1, json!({"title": "Edited"}));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.reconfigure(|_| with("on_drift = \"overwrite\"\n"));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!(field(&world, 1, "title"), "Clerk");
}

#[test]
fn law_4_a_service_that_normalizes_is_no_editor() {
    let phones = "name = \"{{ name }}\"\nemail = \"{{ email }}\"\nemployee_id = \"{{ employee_no }}\"\n\
                  mobile = \"{{ title | phone('NZ') }}\"\n";
    for lines in ["on_drift = \"keep\"\n", "on_drift = \"report\"\n", "seed_only = [\"mobile\"]\n"] {
        let config = Config { map: phones.into(), ..with(lines) };
        let world = World::with(Options { normalize: true, ..Options::default() }, config);
        let file = |tail: &str| {
            (1..11).fold(HEADER.to_owned(), |text, number| {
                text + &format!(
                    "P{number:05},Person  {number},Person{number}@Example.COM,021 555 10{number:02}{tail}\n"
                )
            })
        };
        world.csv(file(""));
        assert_eq!(world.sync().expect(0).writes(), (10, 0, 0), "{lines}");
        for _ in 0..2 {
            let ran = world.sync().expect(0);
            assert_eq!((ran.writes(), ran.reason()), ((0, 0, 0), String::new()), "{lines}: {ran:?}");
        }
        let moved = u64::from(!lines.contains("seed_only"));
        assert_eq!(
            world.sync_of(file("").replacen("021 555 1001", "021 555 7001", 1)).expect(0).writes(),
            (0, moved, 0)
        );
        let ran = world.sync().expect(0);
        assert_eq!((ran.writes(), ran.reason()), ((0, 0, 0), String::new()), "{lines}: {ran:?}");
    }
}

#[test]
fn law_6_two_jobs_that_want_one_person_are_reported_and_the_first_keeps_them() {
    let other = "[[job]]\nname = \"agency\"\ntarget = \"staff\"\nkey = \"A-{{ employee_no }}\"\nmatch_on = [\"employee_id\"]\n\
                 [job.source]\ntype = \"csv\"\npath = \"agency.csv\"\nsettle = \"0s\"\n[job.map]\nname = \"{{ name }}\"\n\
                 title = \"{{ title }}\"\nemployee_id = \"{{ employee_no }}\"\n";
    let world = World::of(Config::rest(other));
    world.csv(people(1..5));
    world.put("agency.csv", (people(1..1) + &row(2, "Agency") + &row(9, "Agency")).as_bytes());
    for run in 0..3 {
        let ran = world.sync().expect(4);
        let agency = ran.json()["jobs"][1].clone();
        assert_eq!((&agency["status"], &agency["held"]), (&json!("held"), &json!(1)), "run {run}: {agency}");
        let reason = agency["reason"].as_str().unwrap();
        assert!(reason.contains("belongs to key P00002 of job staff"), "run {run}: {reason}");
        assert_eq!(
            (field(&world, 2, "title"), field(&world, 9, "title")),
            ("Clerk".into(), "Agency".into()),
            "run {run}"
        );
    }
    assert_eq!(world.service().writes(), 5);
}
