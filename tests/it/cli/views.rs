//! What `preview`, `check` and `status` show; none of them writes.

use std::fs;

use rosterd::sandbox::{Fault, Options};
use serde_json::{Value, json};

use crate::inbox::Inbox;
use crate::support::{Config, HEADER, World, people, row};

fn config() -> Config {
    Config {
        job: Config::default().job
            + "include = \"{{ title != 'Gone' }}\"\nvalues.titles = { Clerk = \"Office Clerk\" }\n",
        map: Config::default().map.replace("{{ title }}", "{{ title | lookup('titles') }}"),
        ..Config::default()
    }
}

#[test]
fn a_preview_shows_rows_beside_records_rejections_included() {
    let world = World::of(config());
    world.csv(people(1..3) + &row(3, "Gone") + &row(4, "Odd") + "P00005,Short\n" + &row(6, "Clerk"));
    let document = world.run(&["preview", "staff", "--json"]).expect(0).json();
    assert_eq!((&document["version"], &document["job"]), (&1.into(), &"staff".into()));
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6, "{document}");
    assert_eq!(
        rows[0]["source"],
        json!({
            "Employee No": "P00001", "Name": "Person 1", "Email": "person1@example.com", "Title": "Clerk",
        })
    );
    assert_eq!(
        rows[0]["record"],
        json!({
            "employee_id": "P00001", "name": "Person 1", "email": "person1@example.com", "title": "Office Clerk",
        })
    );
    assert_eq!((&rows[0]["key"], &rows[0]["line"], &rows[0]["rejected"]), (&"P00001".into(), &2.into(), &Value::Null));
    assert_eq!((&rows[2]["included"], &rows[2]["record"]), (&false.into(), &Value::Null));
    let odd = &rows[3];
    assert!(odd["rejected_values"][0]["reason"].as_str().unwrap().contains("titles"), "{document}");
    assert!(odd["rejected"].is_null() && odd["record"]["title"].is_null(), "{document}");
    let short = rows.iter().find(|row| row["line"] == 6).unwrap();
    assert!(!short["rejected"].is_null() && short["record"].is_null(), "{document}");

    let shown = world.run(&["preview", "staff"]).expect(0).out;
    for word in ["P00001", "Office Clerk", "line 5", "titles", "line 6"] {
        assert!(shown.contains(word), "{word} is missing in {shown}");
    }
    assert_eq!(world.service().requests(), [], "a preview asks nothing of the service");
    assert!(!world.kept().keys().any(|part| part.contains("store") || part.starts_with("row ")));
}

#[test]
fn a_preview_may_be_of_one_key_or_so_many_rows() {
    let world = World::of(config());
    world.csv(people(1..31));
    let rows = |arguments: &[&str]| world.run(arguments).expect(0).json()["rows"].as_array().unwrap().clone();
    assert_eq!(rows(&["preview", "staff", "--json", "--limit", "3"]).len(), 3);
    assert_eq!(rows(&["preview", "staff", "--json", "--limit", "100"]).len(), 30);
    let one = rows(&["preview", "staff", "--json", "--key", "P00029"]);
    assert_eq!((one.len(), &one[0]["key"], &one[0]["line"]), (1, &"P00029".into(), &30.into()));
    assert_eq!(world.run(&["preview", "staff", "--key", "NOBODY"]).code, Some(1));
    assert_eq!(world.run(&["preview", "nobody"]).code, Some(2));
    world.csv("");
    assert_eq!(world.run(&["preview", "staff"]).code, Some(1));
}

#[test]
fn a_check_says_what_is_right_and_what_is_wrong() {
    let world = World::of(config());
    world.csv(people(1..4) + &row(4, "Odd") + &row(5, "Gone"));
    let source = |code: i32, arguments: &[&str]| {
        let ran = world.run(arguments).expect(code).json();
        ran["checks"].as_array().unwrap().iter().find(|check| check["what"] == "source of staff").unwrap().clone()
    };
    let found = source(0, &["check", "--json"]);
    assert_eq!((&found["ok"], &found["verdict"]), (&true.into(), &"warning".into()), "one row stops nobody: {found}");
    assert_eq!(source(1, &["check", "--json", "--strict"]), found);
    let source = found["message"].as_str().unwrap().to_owned();
    for word in ["4 records", "1 not included", "0 rejected", "1 value can't be used", "comma", "UTF-8"] {
        assert!(source.contains(word), "{word} is missing in {source}");
    }

    world.csv(people(1..4));
    let document = world.run(&["check", "--json"]).expect(0).json();
    assert!(document["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true), "{document}");
    assert_eq!(world.service().writes(), 0);

    let failing: [(&str, &dyn Fn(), &str); 5] = [
        ("no row that can be used", &|| world.csv(HEADER.to_owned() + "P00004,,p4@example.com,Clerk\n"), "source"),
        ("a renamed column", &|| world.csv(people(1..4).replacen("Title", "Role", 1)), "source"),
        ("no file", &|| fs::remove_file(world.dir().join("staff.csv")).unwrap(), "source"),
        ("a refused credential", &|| drop(world.put("api_key", b"wrong")), "service"),
        ("a web page", &|| world.service().set_faults(vec!["html".parse::<Fault>().unwrap()]), "service"),
    ];
    for (name, spoil, what) in failing {
        world.csv(people(1..4));
        world.put("api_key", b"sandbox-key");
        world.service().set_faults(Vec::new());
        spoil();
        let ran = world.run(&["check", "--json"]).hides(&["Person ", "@example.com"]);
        assert_eq!(ran.code, Some(1), "{name}: {ran:?}");
        let document = ran.json();
        let wrong: Vec<&Value> =
            document["checks"].as_array().unwrap().iter().filter(|check| check["ok"] == false).collect();
        assert_eq!(wrong.len(), 1, "{name}: {document}");
        assert!(wrong[0]["what"].as_str().unwrap().starts_with(what), "{name}: {document}");
    }
}

#[test]
fn a_check_names_a_key_that_several_rows_have_with_other_values() {
    let world = World::of(Config::default());
    for (second, expected) in [("Clerk", false), ("Baker", true)] {
        world.csv(people(0..3) + &row(1, second));
        let told = world.run(&["check"]).expect(0).out;
        assert_eq!(
            told.contains("2 of the records share keys and have other values (such as key P00001)"),
            expected,
            "{told}"
        );
        assert_eq!(told.contains("`rosterd plan staff`"), expected, "{told}");
    }
}

#[test]
fn a_check_says_which_fields_stay_as_they_are_set_in_leavers() {
    let rest = "[job.leavers]\naction = \"update\"\n[job.leavers.set]\naltname = \"gone\"\ntitle = \"Left\"\n";
    let world = World::of(Config::rest(rest));
    world.csv(people(1..4));
    let told = world.run(&["check", "--offline", "--json"]).expect(0).json()["checks"][0]["message"].to_string();
    assert!(told.contains("job.leavers.set.altname: stays as it is set when a person comes back"), "{told}");
    assert!(!told.contains("job.leavers.set.title"), "{told}");
    assert!(world.run(&["check", "--offline"]).expect(0).err.contains("job.leavers.set.altname"));
}

#[test]
fn a_check_names_the_locations_that_the_service_does_not_have() {
    let config = Config::default();
    let config = config.map("location = \"{{ title }}\"\n");
    for (job, fate) in [("", "the value is not used"), ("on_bad_value = \"row\"\n", "these records will be rejected")] {
        let config = Config { job: format!("{}{job}", config.job), ..config.clone() };
        let world = World::with(Options { seed_staff: 3, ..Options::default() }, config);
        world.csv(HEADER.to_owned() + &row(1, "Auckland Office") + &row(2, "AKL") + &row(3, "AKL") + &row(4, ""));
        world.run(&["check", "--strict"]).expect(1);
        let told = world.run(&["check"]).expect(0).out;
        let listed = format!("of the name AKL (2 records): {fate}");
        assert!(told.contains("locations: warning: ") && told.contains(&listed), "{told}");
        world.csv(HEADER.to_owned() + &row(1, "Auckland Office"));
        assert!(world.run(&["check"]).expect(0).out.contains("locations: ok: "));
    }
}

#[test]
fn an_offline_check_needs_neither_file_nor_service() {
    let mut world = World::of(config());
    world.run(&["check", "--offline"]).expect(0);
    assert_eq!(world.service().requests(), []);
    world.stop_service();
    let document = world.run(&["check", "--offline", "--json"]).expect(0).json();
    assert_eq!(document["version"], 1);
    world.csv(people(1..4));
    assert_eq!(world.run(&["check"]).code, Some(1));
}

#[test]
fn a_check_names_a_custom_field_that_the_service_does_not_have() {
    let config = Config::default().map("\"cf.Shoe Size\" = \"{{ title }}\"\n");
    let world = World::of(config);
    world.csv(people(1..4));
    world.run(&["check", "--offline"]).expect(0);
    let ran = world.run(&["check"]);
    assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
    assert!(ran.out.contains("Shoe Size") || ran.err.contains("Shoe Size"), "{ran:?}");
    let ran = world.sync();
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert_eq!(world.service().writes(), 0, "nobody is created without the field that was asked for");
}

#[test]
fn a_status_tells_of_jobs_runs_queue_and_budget() {
    let world = World::default();
    let before = world.run(&["status", "--json"]).expect(0).job();
    assert_eq!((&before["name"], &before["last"]), (&"staff".into(), &Value::Null), "{before}");

    world.csv(people(1..6));
    world.sync().expect(0);
    let requests = world.service().requests().len();
    let ran = world.run(&["status", "--json"]).expect(0).hides(&["Person ", "@example.com"]);
    let (document, job) = (ran.json(), ran.job());
    assert_eq!(document["version"], 1);
    assert_eq!(
        (&document["budget"]["limit"], &document["budget"]["used"]),
        (&3000.into(), &requests.into()),
        "{document}"
    );
    for (name, expected) in [("held", 0), ("queued", 0), ("parked", 0), ("known", 5)] {
        assert_eq!(job[name], expected, "{name}: {job}");
    }
    assert_eq!((&job["last"]["status"], &job["last"]["counts"]["created"]), (&"done".into(), &5.into()), "{job}");
    for name in ["started", "ended"] {
        assert!(job["last"][name].as_str().unwrap().ends_with('Z'), "{job}");
    }
    assert!(job.get("next").is_some() && job.get("oldest_leaver").is_some(), "{job}");

    world.csv("");
    world.sync().expect(1);
    let job = world.run(&["status", "--json"]).job();
    assert_eq!((&job["last"]["status"], &job["known"]), (&"failed".into(), &5.into()), "{job}");
    assert!(job["last"]["reason"].as_str().unwrap().contains("empty"), "{job}");
    assert!(world.run(&["status"]).out.contains("failed"));
    assert_eq!(world.service().requests().iter().filter(|request| request.method != "GET").count(), 5);
}

#[test]
fn a_job_need_not_be_named_where_there_is_only_one() {
    let one = World::of(config().job("writes = \"approve\"\n"));
    one.csv(people(1..4));
    one.sync().expect(4);
    one.run(&["preview"]).expect(0);
    assert!(one.run(&["explain", "P00001"]).expect(0).out.contains("P00001"));
    one.run(&["explain", "staff", "P00001"]).expect(0);
    one.run(&["reject", "staff", "P00001"]).expect(0);
    assert!(one.run(&["approve"]).expect(0).out.contains("approved 2 of job staff"));

    let second = "[[job]]\nname = \"east\"\ntarget = \"staff\"\nkey = \"{{ employee_no }}\"\nmatch_on = [\"email\"]\n\
        source = { type = \"csv\", path = \"east.csv\" }\nmap = { name = \"{{ name }}\", email = \"{{ email }}\" }\n";
    let two = World::of(Config { rest: second.to_owned(), ..config() });
    for arguments in [&["preview"][..], &["explain", "P00001"], &["approve"], &["reject"]] {
        assert!(two.run(arguments).expect(2).err.contains("staff, east"), "{arguments:?}");
    }
}

#[test]
fn what_every_command_takes_stands_apart_in_its_help() {
    let world = World::default();
    for command in ["sync", "check", "approve", "history"] {
        let help = world.run(&[command, "--help"]).expect(0).out;
        let (own, global) = help.split_once("Global options:").unwrap_or_else(|| panic!("{help}"));
        for option in ["--config", "--instance", "--json", "--color"] {
            assert!(global.contains(option) && !own.contains(option), "{option} of {command}: {help}");
        }
    }
    assert!(world.run(&["init", "--help"]).expect(0).out.contains("LDAP"));
}

#[test]
fn a_job_that_has_people_and_is_not_in_the_configuration_is_named() {
    let job = |name: &str, path: &str| Config { name: name.into(), path: path.into(), ..Config::default() };
    let world = World::of(job("north", "north.csv").and(&job("south", "south.csv")));
    world.put("north.csv", people(1..4).as_bytes());
    world.put("south.csv", people(4..9).as_bytes());
    world.sync().expect(0);
    let status = || world.run(&["status", "--json"]).json()["unconfigured"].clone();
    assert_eq!(status(), json!([]));
    world.configure(job("north", "north.csv"));
    let says = "job south is not in the configuration, and 5 people are known of it";
    for command in ["check", "status"] {
        let out = world.run(&[command]).expect(0).out;
        assert!(out.contains(says), "{command}: {out}");
    }
    assert_eq!(status(), json!([{"name": "south", "people": 5}]));
    // It is kept whole by a rebuild, which matches no one of it again.
    world.run(&["rebuild"]).expect(0);
    world.sync().expect(0);
    assert_eq!(status(), json!([{"name": "south", "people": 5}]));
    world.configure(job("north", "north.csv").and(&job("south", "south.csv")));
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), status()), ((0, 0, 0), json!([])), "{ran:?}");
    // Under another name it finds them again.
    world.configure(job("north", "north.csv").and(&job("hills", "south.csv")));
    world.sync().expect(0);
    assert_eq!(status(), json!([]));
}

/// A file of everyone that is in `processed/` is not read again, so what waits of it is known from the state alone.
#[test]
fn what_is_held_of_a_job_outlives_a_rebuild_without_it() {
    let job = |name: &str, path: &str, source: &str| Config {
        name: name.into(),
        path: path.into(),
        source: source.into(),
        ..Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n")
    };
    let north = || job("north", "north.csv", "");
    let both = || north().and(&job("south", "inbox", "settle = \"0s\"\n"));
    let world = World::of(both());
    fs::create_dir(world.dir().join("inbox")).unwrap();
    world.put("north.csv", people(1..4).as_bytes());
    let south = Inbox(&world);
    south.drop("a.csv", people(4..24));
    world.sync().expect(0);
    south.drop("b.csv", people(4..14));
    world.sync().expect(4);
    world.configure(north());
    world.run(&["rebuild"]).expect(0);
    world.sync().expect(0);
    let status = world.run(&["status", "--json"]).json();
    assert_eq!(status["unconfigured"], json!([{"name": "south", "people": 20}]), "{status}");
    world.configure(both());
    for _ in 0..2 {
        let ran = world.sync();
        let held = world.run(&["status", "--json"]).json()["jobs"][1]["held"].clone();
        assert_eq!((&ran.json()["jobs"][1]["held"], &held), (&json!(10), &json!(10)), "{ran:?}");
        assert_eq!(world.service().all("staff").len(), 23);
    }
}
