//! `rosterd api`: any operation by its name, the body as given, the answer as it came.

use std::io::Write as _;
use std::process::Stdio;

use rosterd::sandbox::Options;
use serde_json::{Value, json};

use crate::support::{Config, Ran, World};

fn world() -> World {
    let world = World::default();
    for number in 1..26 {
        world.person(number, "Clerk");
    }
    world
}

fn first(world: &World) -> i64 {
    world.staff()[0]["id"].as_i64().unwrap()
}

#[test]
fn an_operation_is_one_request_and_its_answer_is_printed() {
    let world = world();
    let id = first(&world);
    let ran = world.run(&["api", "staff.get", &format!("id={id}")]).expect(0);
    assert_eq!((ran.json()["id"].as_i64(), &ran.json()["name"]), (Some(id), &"Person 1".into()));
    let requests = world.service().requests();
    assert_eq!((requests.len(), requests[0].method.as_str()), (1, "GET"));
    assert_eq!(requests[0].path, format!("/staff/{id}"));

    let line = world.run(&["api", "--json", "staff.get", &format!("id={id}")]).expect(0).out;
    assert_eq!(line.lines().count(), 1, "{line}");

    let list = world.run(&["api", "staff.list", "limit=3", "order=-id", "q=title:Clerk"]).expect(0).json();
    let ids: Vec<i64> = list.as_array().unwrap().iter().map(|person| person["id"].as_i64().unwrap()).collect();
    assert_eq!((ids.len(), ids[0] > ids[1]), (3, true));
}

#[test]
fn all_pages_of_a_list_are_walked_however_small() {
    for (page_max, limit) in [(5000, "limit=4"), (3, "limit=10"), (25, "limit=25"), (5000, "time_zone=UTC")] {
        let world = World::new(Options { page_max, ..Options::default() });
        for number in 1..26 {
            world.person(number, "Clerk");
        }
        let list = world.run(&["api", "staff.list", limit, "--all"]).expect(0).json();
        let mut ids: Vec<i64> = list.as_array().unwrap().iter().map(|person| person["id"].as_i64().unwrap()).collect();
        ids.dedup();
        assert_eq!(ids.len(), 25, "pages of {page_max}, {limit}");
    }
    let world = World::new(Options { empty_as_404: true, ..Options::default() });
    world.person(1, "Clerk");
    assert_eq!(world.run(&["api", "staff.list", "--all"]).expect(0).json().as_array().unwrap().len(), 1);
}

#[test]
fn a_refusal_goes_to_stdout_with_exit_1() {
    let world = world();
    let taken = json!({"name": "Twice", "email": "person1@example.com"}).to_string();
    for (arguments, status) in [
        (vec!["api", "staff.get", "id=999999"], 404),
        (vec!["api", "staff.delete", "id=999999"], 404),
        (vec!["api", "staff.create", "--body", taken.as_str()], 409),
        (vec!["api", "staff.create", "--body", "{not json"], 400),
    ] {
        let ran = world.run(&arguments).expect(1);
        assert!(ran.json()["error"].is_string(), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains(&status.to_string()), "{arguments:?}: {ran:?}");
        assert_eq!(world.service().requests().last().unwrap().status, status, "{arguments:?}");
    }
    let requests = world.service().requests().len();
    assert_eq!(requests, 4, "one request each, none repeated");
}

#[test]
fn a_page_that_is_no_json_is_a_failure() {
    let world = world();
    world.service().set_faults(vec!["html".parse().unwrap()]);
    let ran = world.run(&["api", "staff.list"]);
    assert_eq!(ran.code, Some(1), "fault 38: {ran:?}");
}

#[test]
fn an_unknown_operation_or_a_missing_parameter_exits_2() {
    let world = world();
    for (arguments, word) in [
        (&["api", "staff.gett"][..], "staff.get"),
        (&["api", "staf.list"], "staff.list"),
        (&["api", "location.lits"], "location.list"),
        (&["api", "staff.get"], "id"),
        (&["api", "staff.get", "id="], "id"),
        (&["api", "staff.get", "7"], "7"),
    ] {
        let ran = world.run(arguments).expect(2);
        assert!(ran.err.contains(word) && ran.out.is_empty(), "{arguments:?}: {ran:?}");
    }
    assert_eq!(world.service().requests(), [], "GET of no id must not become a list");
}

#[test]
fn a_body_is_text_or_a_file_or_standard_input_and_sent_as_it_is() {
    let world = world();
    let body = |number: usize| json!({"name": format!("Zo\u{eb} {number}"), "title": "Clerk"}).to_string();
    let inline = body(101);
    world.run(&["api", "staff.create", "--body", &inline]).expect(0);
    world.put("body.json", body(102).as_bytes());
    let file = format!("@{}", world.dir().join("body.json").display());
    world.run(&["api", "staff.create", "--body", &file]).expect(0);

    let mut command = world.command(&["api", "staff.create", "--body", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(body(103).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    let created = Ran { code: output.status.code(), out, err }.expect(0).json();
    assert_eq!(created["name"], "Zo\u{eb} 103");
    assert_eq!(world.texts("name").iter().filter(|name| name.starts_with("Zo")).count(), 3);

    let ran = world.run(&["api", "staff.create", "--body", "@/nowhere/body.json"]);
    assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
    assert!(ran.err.contains("/nowhere/body.json"), "{ran:?}");
}

#[test]
fn what_changed_since_is_asked_with_since() {
    let world = world();
    for (since, count) in [("2020-01-31T12:00:00", 25), ("2199-01-31T12:00:00", 0)] {
        let list = world.run(&["api", "staff.list", "--since", since]).expect(0).json();
        assert_eq!(list.as_array().unwrap().len(), count, "{since}");
    }
    let walked =
        world.run(&["api", "staff.list", "limit=4", "--all", "--since", "2020-01-31T12:00:00"]).expect(0).json();
    assert_eq!(walked.as_array().unwrap().len(), 25);
    // A time with a zone is turned into the one form that the service reads.
    for since in ["2020-01-31T12:00:00Z", "2020-02-01T00:00:00+12:00"] {
        let list = world.run(&["api", "staff.list", "--since", since]).expect(0).json();
        assert_eq!(list.as_array().unwrap().len(), 25, "{since}");
    }
}

#[test]
fn an_answer_may_go_to_a_file_and_an_answer_without_body_is_fine() {
    let world = world();
    let id = format!("id={}", first(&world));
    let out = world.dir().join("answer.json");
    let ran = world.run(&["api", "staff.get", &id, "--out", out.to_str().unwrap()]).expect(0);
    assert!(ran.out.is_empty(), "{ran:?}");
    let answer: Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    assert_eq!(answer["name"], "Person 1");
    let ran = world.run(&["api", "staff.delete", &id]).expect(0);
    assert!(ran.out.trim().is_empty(), "{ran:?}");
    assert_eq!(world.staff().len(), 24);
}

#[test]
fn a_file_for_an_answer_is_a_new_one_and_a_link_is_not_followed() {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::synced(Config::default(), 1);
    let id = format!("id={}", world.staff()[0]["id"]);
    let kept = world.put("kept", b"kept");
    let out = world.dir().join("answer.json");
    for lay in
        [std::os::unix::fs::symlink::<&std::path::Path, &std::path::Path>, |from, to| std::fs::hard_link(from, to)]
    {
        let _ = std::fs::remove_file(&out);
        lay(&kept, &out).unwrap();
        world.run(&["api", "staff.get", &id, "--out", out.to_str().unwrap()]).expect(0);
        assert_eq!(std::fs::read(&kept).unwrap(), b"kept");
        let made = std::fs::symlink_metadata(&out).unwrap();
        assert!(made.is_file() && made.mode() & 0o077 == 0, "it is for its owner only");
    }
}

#[test]
fn without_an_operation_all_are_listed_with_a_line_each() {
    let world = world();
    let shown = world.run(&["api"]).expect(0);
    let expected: Vec<&str> = include_str!("../../../crates/client/src/operations.tsv")
        .lines()
        .skip(1)
        .filter_map(|row| row.split('\t').next())
        .collect();
    assert_eq!((expected.len(), shown.out.lines().count()), (114, 114));
    for name in &expected {
        assert!(shown.out.lines().any(|line| line.starts_with(&format!("{name} "))), "{name} is missing");
    }
    let document = world.run(&["api", "--json"]).expect(0).json();
    let mut names: Vec<&str> =
        document["operations"].as_array().unwrap().iter().filter_map(|row| row["name"].as_str()).collect();
    names.sort_unstable();
    let mut sorted = expected.clone();
    sorted.sort_unstable();
    assert_eq!(names, sorted);
    assert_eq!(world.service().requests(), []);
}

#[test]
fn a_photo_is_put_described_and_fetched() {
    let world = world();
    let id = format!("id={}", first(&world));
    let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0, 1, 2, 255]].concat();
    let file = format!("@{}", world.put("photo.png", &png).display());
    let out = world.dir().join("fetched");
    let fetch = ["api", "staff.photo.get", &id, "--out", out.to_str().unwrap()];
    assert!(world.run(&fetch).expect(1).err.contains("404"));
    assert!(!out.exists(), "an error is no photo");

    world.run(&["api", "staff.photo.put", &id, "--body", &file]).expect(0);
    let head = world.run(&["api", "staff.photo.head", &id]).expect(0).json();
    assert_eq!(head, json!({"content_type": "image/png", "length": png.len()}));
    world.run(&fetch).expect(0);
    assert_eq!(std::fs::read(&out).unwrap(), png);

    let before = world.service().requests().len();
    assert!(world.run(&["api", "staff.photo.get", &id]).expect(2).err.contains("--out"));
    assert_eq!(world.service().requests().len(), before, "nothing is sent that can't be shown");
}

#[test]
fn a_body_of_another_kind_says_so() {
    let world = World::default();
    let csv = format!("@{}", world.put("people.csv", b"name,email\nAda,ada@example.com\n").display());
    let upload = ["api", "staff.bulk", "--body", &csv, "--content-type", "text/csv"];
    let people = world.run(&upload).expect(0).json();
    assert_eq!(people[0]["email"], "ada@example.com");
    assert_eq!(world.service().requests()[0].path, "/staff");
}

#[test]
fn tokens_are_asked_for_by_name() {
    let mut world = World::default();
    assert!(world.run(&["api", "oauth2.token-client-credentials"]).expect(2).err.contains("client_id"));
    let url = world.service().auth_url();
    world.put("secret", b"sandbox-secret");
    world.reconfigure(|config| Config {
        credential: format!("auth_url = {url:?}\nclient_id = \"sandbox-client\"\nclient_secret_file = \"secret\""),
        ..config
    });
    let token =
        world.run(&["api", "oauth2.token-client-credentials", "scope=staff:read visitor:read"]).expect(0).json();
    assert_eq!((&token["token_type"], &token["scope"]), (&"Bearer".into(), &"staff:read visitor:read".into()));
    let refresh = format!("refresh_token={}", token["refresh_token"].as_str().unwrap());
    let renewed = world.run(&["api", "oauth2.token-refresh", &refresh]).expect(0).json();
    assert_ne!(renewed["access_token"], token["access_token"]);
    let refused = world.run(&["api", "oauth2.token-refresh", "refresh_token=x"]).expect(1);
    assert_eq!(refused.json()["error"], "invalid_grant");
    assert_eq!(world.service().requests(), [], "tokens alone were asked for");
}

#[test]
fn operations_with_a_configured_path_are_sent_there() {
    let mut world = World::default();
    world.reconfigure(|config| Config { api: config.api + "issue_path = \"/v9/asset/{id}/lend\"\n", ..config });
    world.run(&["api", "asset.issue", "id=7", "--body", "{}"]).expect(1);
    world.run(&["api", "sp.org.groups.update", "id=7", "--body", "{}"]).expect(1);
    let paths: Vec<String> = world.service().requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/v9/asset/7/lend", "/sp/org/7/groups"]);
    assert!(world.run(&["api", "asset.issue", "--body", "{}"]).expect(2).err.contains("\"id\""));
    world.reconfigure(|config| Config { api: "bulk_path = \"staff\"\n".to_owned(), ..config });
    assert!(world.run(&["check", "--offline"]).expect(2).err.contains("bulk_path"));
}

#[test]
fn law_12_its_requests_count_in_the_budget() {
    let world = world();
    for _ in 0..3 {
        world.run(&["api", "staff.list"]).expect(0);
    }
    assert_eq!(world.run(&["status", "--json"]).json()["budget"]["used"], 3);
}

#[test]
fn a_list_that_can_not_be_narrowed_to_what_changed_is_not_shown_as_if_all_had() {
    let world = world();
    let since = ["--since", "2026-11-20T00:00:00Z"];
    let ran = world.run(&["api", "location.list", since[0], since[1]]).expect(2);
    assert!(ran.err.contains("location.list takes no --since") && world.service().requests().is_empty(), "{ran:?}");
    world.run(&["api", "staff.list", since[0], since[1]]).expect(0);
}
