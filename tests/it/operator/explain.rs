//! `explain` answers for every state that a record can be in.

use rosterd::clock::Clock;
use serde_json::{Value, json};

use crate::inbox::{Inbox, inbox_of};
use crate::support::{Config, HEADER, Ran, World, people, row};

fn explained(world: &World, key: &str) -> Value {
    let before = (world.service().requests().len(), world.run(&["status", "--json"]).json());
    let document = world.run(&["explain", "staff", key, "--json"]).expect(0).json();
    assert_eq!(document["version"], 1);
    let after = (world.service().requests().len(), world.run(&["status", "--json"]).json());
    assert_eq!((after.0, &after.1["jobs"]), (before.0, &before.1["jobs"]), "it asks nothing and writes nothing");
    document
}

fn field(document: &Value, name: &str) -> Value {
    document["fields"].as_array().unwrap().iter().find(|field| field["field"] == name).unwrap().clone()
}

fn shown(world: &World, key: &str) -> Ran {
    world.run(&["explain", "staff", key]).expect(0)
}

#[test]
fn someone_who_is_in_step_is_explained_from_row_to_service() {
    let world = World::synced(Config::default(), 3);
    world.sync_of(people(1..3) + &row(3, "Baker")).expect(0);
    let document = explained(&world, "P00003");
    assert_eq!((&document["source"]["rows"][0]["line"], &document["outlook"]["is"]), (&4.into(), &"nothing".into()));
    assert_eq!(document["source"]["rows"][0]["cells"]["Title"], "Baker");
    let title = field(&document, "title");
    let expected = json!({
        "field": "title", "template": "{{ title }}", "source": "Baker", "service": "Baker", "sent": "Baker",
        "echo": null, "owner": "staff", "state": "same",
    });
    assert_eq!(title, expected);
    assert_eq!(document["entity"]["owner"], json!({"job": "staff", "key": "P00003"}));
    let presence = world.held_as(3).unwrap()["onsite_status"].clone();
    assert_eq!((&document["entity"]["presence"], &document["entity"]["at_service"]), (&presence, &true.into()));
    assert_eq!((&document["last_change"]["run"], &document["last_change"]["action"]), (&2.into(), &"update".into()));
    assert_eq!(document["last_change"]["fields"]["title"], json!({"from": "Clerk", "to": "Baker"}));
    assert_eq!(document["match"][0]["fits"].as_array().unwrap().len(), 1);
    let shown = shown(&world, "P00003");
    for word in
        ["line 4", "owned by this record", "in step", "\"Clerk\" → \"Baker\"", "nothing: source and service agree"]
    {
        assert!(shown.out.contains(word), "{word}: {shown:?}");
    }
}

#[test]
fn someone_who_was_rejected_is_explained_with_the_reason() {
    let world = World::synced(Config::default(), 3);
    world.sync_of(people(1..3) + "P00003,,person3@example.com,Clerk\n").expect(3);
    let document = explained(&world, "P00003");
    assert_eq!(document["outlook"]["is"], "rejected");
    assert!(document["outlook"]["reason"].as_str().unwrap().starts_with("name: "), "{document}");
    assert_eq!(document["source"]["rows"][0]["rejected"]["field"], "name");
    assert!(shown(&world, "P00003").out.contains("the row is rejected: name: "));

    world.sync_of(people(1..4) + &row(3, "Other")).expect(3);
    let document = explained(&world, "P00003");
    assert_eq!(document["source"]["rows"].as_array().unwrap().len(), 2, "both rows of the key: {document}");
    assert!(document["outlook"]["reason"].as_str().unwrap().contains("lines 4, 5"), "{document}");
}

#[test]
fn someone_who_is_held_is_explained_with_rivals_and_decisions() {
    let world = World::of(Config::default().job("writes = \"approve\"\n"));
    let ids = [world.person(1, "Clerk"), world.person(1, "Clerk"), world.person(2, "Clerk")];
    world.sync_of(people(1..3).replace("person2@example.com,Clerk", "person2@example.com,Baker")).expect(4);
    let document = explained(&world, "P00001");
    let rivals: Vec<&Value> =
        document["match"][0]["fits"].as_array().unwrap().iter().map(|person| &person["id"]).collect();
    assert_eq!(rivals, [&json!(ids[0]), &json!(ids[1])]);
    assert_eq!((&document["outlook"]["is"], &document["held"]["action"]), (&"held".into(), &Value::Null));

    let document = explained(&world, "P00002");
    assert_eq!(document["held"]["action"], "update");
    assert!(document["held"]["reason"].as_str().unwrap().contains("approve"), "{document}");
    assert_eq!(field(&document, "title")["state"], "unknown", "nobody is matched for good before it is approved");
    world.run(&["reject", "staff", "P00002"]).expect(0);
    let document = explained(&world, "P00002");
    assert_eq!((&document["decision"], &document["outlook"]["is"]), (&"rejected".into(), &"dropped".into()));
    assert_eq!(document["decisions"][0]["decision"], "rejected");
    assert!(shown(&world, "P00002").out.contains("was rejected, until the record changes"));
}

#[test]
fn someone_whose_change_was_refused_is_explained_with_the_service_s_words() {
    let world = World::synced(Config::default(), 3);
    world.faults(&["staff.update status=422"]);
    world.sync_of(people(1..3) + &row(3, "Baker")).expect(3);
    let document = explained(&world, "P00003");
    assert_eq!(
        (&document["queued"]["state"]["is"], &document["queued"]["state"]["status"]),
        (&"parked".into(), &422.into())
    );
    assert_eq!(field(&document, "title")["state"], "differs");
    assert_eq!(document["outlook"]["change"]["fields"]["title"], json!({"from": "Clerk", "to": "Baker"}));
    assert!(shown(&world, "P00003").out.contains("parked: the service answered 422: "));
}

#[test]
fn someone_who_is_missing_from_a_read_that_is_not_complete_is_said_to_stay() {
    let world = World::synced(Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n"), 4);
    let cut = people(0..3);
    world.csv(&cut[..cut.len() - 3]);
    let told = shown(&world, "P00004");
    assert!(told.out.contains("incomplete read: ") && told.out.contains("no one leaves by a read"), "{told:?}");
}

#[test]
fn someone_who_was_edited_at_the_service_has_drifted() {
    let world = World::of(Config::default().job("writes = \"approve\"\n"));
    let id = world.person(1, "Clerk");
    world.sync_of(people(1..2)).expect(0);
    world.service().edit("staff", id, json!({"title": "Chief", "onsite_status": "onsite"}));
    world.sync().expect(4);
    let document = explained(&world, "P00001");
    let title = field(&document, "title");
    assert_eq!(
        (&title["state"], &title["service"], &title["sent"]),
        (&"drifted".into(), &"Chief".into(), &"Clerk".into())
    );
    assert_eq!(document["entity"]["presence"], "onsite");
    let shown = shown(&world, "P00001");
    assert!(shown.out.contains("edited at the service since it was sent") && shown.out.contains("onsite"), "{shown:?}");
}

#[test]
fn a_leaver_is_explained_with_the_end_of_the_grace() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"48h\"\n";
    let world = World::synced(Config::rest(rest), 3);
    world.sync_of(people(1..3)).expect(0);
    let document = explained(&world, "P00003");
    assert_eq!((&document["outlook"]["is"], &document["source"]["rows"]), (&"absent".into(), &json!([])));
    assert!(document["missing"]["since"].is_string() && document["missing"]["grace_ends"].is_string(), "{document}");
    assert!(shown(&world, "P00003").out.contains("the grace ends"));
}

#[test]
fn what_is_set_in_leavers_is_explained_before_and_after() {
    let rest = "[job.leavers]\naction = \"update\"\ngrace = \"48h\"\nset.title = \"{{ last.title }} (left)\"\n";
    let mut world = World::synced(Config::rest(rest), 3);
    assert_eq!(explained(&world, "P00003")["leaving"], Value::Null);
    world.sync_of(people(1..3)).expect(0);
    let document = explained(&world, "P00003");
    assert_eq!(document["leaving"], json!({"fields": {"title": "Clerk (left)"}, "error": null}));
    assert_eq!(document["left"], Value::Null);
    assert!(shown(&world, "P00003").out.contains("title = \"Clerk (left)\" (leavers.set)"));

    world.reconfigure(|config| Config { rest: config.rest.replace("48h", "0s"), ..config });
    world.sync().expect(0);
    let document = explained(&world, "P00003");
    assert!(document["left"].is_string() && document["leaving"].is_null(), "{document}");
    assert!(shown(&world, "P00003").out.contains("what leavers.set asks for was done 2"));
}

#[test]
fn what_the_job_does_not_overwrite_is_distinguished() {
    let world = World::synced(Config::default().job("on_drift = \"keep\"\nseed_only = [\"name\"]\n"), 1);
    let id = world.held_as(1).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"title": "Chief", "name": "Somebody Else"}));
    world.sync().expect(0);
    let document = explained(&world, "P00001");
    assert_eq!(field(&document, "title")["state"], "kept", "{document}");
    assert_eq!(field(&document, "name")["state"], "seeded", "{document}");
    let shown = shown(&world, "P00001").out;
    assert!(shown.contains("(on_drift)") && shown.contains("(seed_only)"), "{shown}");
}

#[test]
fn a_row_outside_of_its_days_is_explained_with_the_day_here_and_by_preview() {
    let days = "active_from = \"{{ title }}\"\nactive_until = \"{{ email }}\"\n";
    let map = "name = \"{{ name }}\"\nemployee_id = \"{{ employee_no }}\"\n".to_owned();
    let job = Config::default().job.replace(", \"email\"", "") + days;
    let world = World::of(Config { job, map, ..Config::default() });
    let file = "Employee No,Name,Email,Title\nP1,Ann,,2999-02-01\nP2,Bo,2020-02-29,\nP3,Cy,,\n";
    world.csv(file);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    for (key, absence) in [
        ("P1", Some("does not count before 2999-02-01 (active_from)")),
        ("P2", Some("has left: the last day was 2020-02-29 (active_until)")),
        ("P3", None),
    ] {
        let document = explained(&world, key);
        let outlook = if absence.is_some() { "absent" } else { "nothing" };
        let row = &document["source"]["rows"][0];
        assert_eq!((&row["absence"], &document["outlook"]["is"]), (&json!(absence), &json!(outlook)), "{document}");
        let preview = world.run(&["preview", "staff", "--key", key, "--json"]).expect(0).json();
        let row = &preview["rows"][0];
        assert_eq!((&row["absence"], &row["included"]), (&json!(absence), &json!(absence.is_none())), "{preview}");
        let texts = [shown(&world, key).out, world.run(&["preview", "staff", "--key", key]).expect(0).out];
        assert!(texts.iter().all(|text| text.contains(absence.unwrap_or("Cy"))), "{key}: {texts:?}");
    }
    let check = world.run(&["check"]).expect(0);
    assert!(check.out.contains("1 records, 2 not included, 0 rejected"), "{check:?}");
}

#[test]
fn who_begins_or_ends_by_an_earlier_file_of_changes_is_explained_with_the_day() {
    let clock = Clock::fixed("2027-03-01T10:00:00Z".parse().unwrap());
    let job = "active_from = \"{{ start }}\"\nactive_until = \"{{ end }}\"\n";
    let source = "settle = \"0s\"\nmode = \"changes\"\n";
    let config = Config { name: "staff".into(), source: source.into(), ..Config::default() }.job(job);
    let world = inbox_of(World::at(&clock, config));
    let header = HEADER.trim_end().to_owned() + ",Start,End\n";
    let dated = |number: usize, days: &str| format!("{},{days}\n", row(number, "Clerk").trim_end());
    Inbox(&world).drop("a.csv", header + &dated(1, "2027-03-09,") + &dated(2, ",2027-03-31") + &dated(3, ","));
    world.sync_at(&clock);
    let mut texts = Vec::new();
    for (key, kept, leaves) in [
        ("P00001", json!({"begins": "2027-03-09", "usable": true}), Value::Null),
        ("P00002", Value::Null, json!("2027-04-01")),
        ("P00003", Value::Null, Value::Null),
    ] {
        let document = explained(&world, key);
        assert_eq!((&document["kept"], &document["leaves"]), (&kept, &leaves), "{document}");
        texts.push(shown(&world, key).out);
    }
    assert!(texts[0].contains("from 2027-03-09 on") && texts[1].contains("on 2027-04-01"), "{texts:?}");
    world.edit_config("{{ title }}", "{{ title | upper }}");
    assert_eq!(explained(&world, "P00001")["kept"], json!({"begins": "2027-03-09", "usable": false}));
    assert!(shown(&world, "P00001").out.contains("drop it again"));
}

#[test]
fn a_key_that_was_never_seen_fails_with_those_that_look_like_it() {
    let world = World::synced(Config::default(), 12);
    let ran = world.run(&["explain", "staff", "P0012"]).expect(1);
    assert!(ran.err.contains("never saw") && ran.err.contains("P00012"), "{ran:?}");
    assert_eq!(ran.out, "");
    let ran = world.run(&["explain", "staff", "Jane.Doe@example.com"]).expect(1);
    assert!(ran.err.contains("{{ employee_no }}") && !ran.err.contains("P000"), "{ran:?}");
    world.run(&["explain", "managers", "P00001"]).expect(2);
}

#[test]
fn before_the_first_run_and_without_a_file_what_can_be_said_is_said() {
    let world = World::default();
    world.csv(people(1..3));
    let document = world.run(&["explain", "staff", "P00001", "--json"]).expect(0).json();
    assert_eq!((&document["outlook"]["is"], &document["entity"]), (&"unclear".into(), &Value::Null));
    world.sync().expect(0);
    std::fs::remove_file(world.dir().join("staff.csv")).unwrap();
    let document = explained(&world, "P00001");
    assert!(document["source"]["error"].as_str().unwrap().contains("does not exist"), "{document}");
    assert_eq!(field(&document, "title")["service"], "Clerk");
}

#[test]
fn sensitive_values_are_shown_on_request_only() {
    let world = World::of(Config::default().map("mobile = \"{{ title }}\"\n\"cf.Locker\" = \"{{ title }}\"\n"));
    world.sync_of(people(1..2).replace("Clerk", "64215550")).expect(0);
    let hidden = shown(&world, "P00001");
    assert!(hidden.out.contains("source ***, service ***"), "{hidden:?}");
    assert!(!hidden.out.contains("mobile: \"64215550\""), "{hidden:?}");
    let all = world.run(&["explain", "staff", "P00001", "--show-values"]).expect(0);
    assert!(all.out.matches("\"64215550\"").count() > 6, "{all:?}");
    assert!(all.out.contains("nothing: source and service agree"), "the stored titles of custom fields serve: {all:?}");
}

#[test]
fn a_pause_and_a_value_that_the_service_does_not_have_are_explained() {
    let world = World::synced(Config::default().map("location = \"{{ title }}\"\n"), 3);
    let document = explained(&world, "P00003");
    assert_eq!((&document["paused"], &document["outlook"]["is"]), (&Value::Null, &"nothing".into()));
    let said = shown(&world, "P00003");
    assert!(said.out.contains("not used  location: the service has no location of that name"), "{said:?}");
    world.run(&["pause", "staff"]).expect(0);
    assert_eq!(explained(&world, "P00003")["paused"]["job"], "staff");
    let said = shown(&world, "P00003");
    assert!(said.out.contains("paused    paused since"), "{said:?}");
}

#[test]
fn a_checkbox_is_in_step_whatever_the_source_calls_it() {
    let map = Config::default().map + "\"cf.First aider\" = \"{{ 'yes' if title == 'Clerk' else 'no' }}\"\n";
    let world = World::synced(Config { map, ..Config::default() }, 2);
    let document = explained(&world, "P00001");
    assert_eq!(field(&document, "cf.First aider")["state"], "same", "{document}");
}

#[test]
fn who_leaves_by_the_next_run_is_said_to_leave() {
    for (action, set, fate) in
        [("delete", "", "removed: "), ("update", "[job.leavers.set]\ntitle = \"Gone\"\n", "set as gone: ")]
    {
        let rest = format!("[job.leavers]\naction = \"{action}\"\ngrace = \"48h\"\n{set}");
        let mut world = World::synced(Config::rest(&rest), 8);
        world.sync_of(people(2..9)).expect(0);
        assert_eq!(explained(&world, "P00001")["outlook"]["is"], "absent");
        world.reconfigure(|config| Config { rest: config.rest.replace("48h", "0s"), ..config });
        assert_eq!(explained(&world, "P00001")["outlook"]["is"], "leaves");
        let shown = shown(&world, "P00001");
        assert!(shown.out.contains(fate) && shown.out.contains("the grace is over"), "{shown:?}");
    }
}
