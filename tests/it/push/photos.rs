//! Photos of employees: sent when they change, after everything else, and never kept.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;

use crate::inbox::{Inbox, inbox_of};
use crate::support::slapd::{self, Slapd};
use crate::support::{Config, Ran, World};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A photo of that size and look, as bytes.
fn photo(look: u8, bytes: usize) -> Vec<u8> {
    let mut photo = PNG.to_vec();
    photo.resize(bytes.max(PNG.len()), look);
    photo
}

fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

fn config(rest: &str) -> Config {
    Config::rest(rest).map("photo = \"{{ photo }}\"\n")
}

fn world() -> World {
    World::of(config(""))
}

/// A file of people with these photos.
fn file(rows: &[(usize, &str, String)]) -> String {
    rows.iter().fold("Employee No,Name,Email,Title,Photo\n".to_owned(), |text, (number, title, photo)| {
        text + &format!("P{number:05},Person {number},person{number}@example.com,{title},{photo}\n")
    })
}

/// The photos at the service, by the employee's id.
fn held(world: &World) -> BTreeMap<i64, Vec<u8>> {
    let photos = world.service().all("staff.photo").into_iter();
    photos.map(|one| (one["id"].as_i64().unwrap(), STANDARD.decode(one["base64"].as_str().unwrap()).unwrap())).collect()
}

fn held_by(world: &World, number: usize) -> Option<Vec<u8>> {
    held(world).remove(&world.held_as(number).unwrap()["id"].as_i64().unwrap())
}

fn rests(world: &World) -> Ran {
    let (requests, writes) = (world.service().requests().len(), world.service().writes());
    let ran = world.sync();
    assert_eq!((ran.writes(), world.service().writes()), ((0, 0, 0), writes), "{ran:?}");
    assert!(world.service().requests().len() - requests <= 3, "law 4: {ran:?}");
    ran
}

/// Fails where anything that is kept holds this photo, as bytes or as base64.
fn expect_kept_nowhere(world: &World, photo: &[u8]) {
    let text = base64(photo);
    let kept = world.kept();
    assert!(kept.len() > 2);
    for (part, bytes) in kept {
        let has = |photo: &[u8]| memmem::find(&bytes, photo).is_some();
        assert!(!has(photo) && !has(text.as_bytes()), "{part} holds a photo");
    }
}

#[test]
fn law_4_and_12_photos_are_sent_last_and_once_until_they_change() {
    let world = world();
    let one = photo(1, 50_000);
    let ran = world.sync_of(file(&[
        (1, "Clerk", base64(&one)),
        (2, "Clerk", base64(&photo(2, 900))),
        (3, "Clerk", "".into()),
    ]));
    assert_eq!(ran.expect(0).writes(), (3, 0, 0), "a photo makes no second change of its person");
    assert_eq!(held_by(&world, 1), Some(one.clone()));
    assert_eq!((held_by(&world, 2), held_by(&world, 3)), (Some(photo(2, 900)), None));
    rests(&world).expect(0);
    expect_kept_nowhere(&world, &one);

    // A mover, a joiner, a photo that changes, and all three photos last.
    let rows = [
        (1, "Clerk", base64(&photo(9, 700))),
        (2, "Baker", base64(&photo(2, 900))),
        (3, "Clerk", base64(&photo(3, 60))),
    ];
    let (photos, others) = (world.count("staff.photo.put"), world.count("staff.update"));
    let joiner = file(&[(4, "Clerk", base64(&photo(4, 80)))]);
    world.csv(file(&rows) + joiner.lines().nth(1).unwrap() + "\n");
    let plan = world.plan();
    let changes = plan.job()["changes"].clone();
    let of =
        |key: &str| changes.as_array().unwrap().iter().find(|change| change["key"] == key).unwrap()["fields"].clone();
    let moved = of("P00001")["photo"].clone();
    assert!(moved["from"].as_str().unwrap().starts_with("image/png, 50000 bytes, "), "{plan:?}");
    assert!(moved["to"].as_str().unwrap().starts_with("image/png, 700 bytes, "), "{plan:?}");
    assert_eq!(of("P00002").as_object().unwrap().keys().collect::<Vec<_>>(), ["title"]);
    plan.hides(&[&base64(&photo(9, 700))[20..]]);
    assert_eq!(world.sync().expect(0).writes(), (1, 3, 0));
    assert_eq!((world.count("staff.photo.put") - photos, world.count("staff.update") - others), (3, 1));
    let sent: Vec<String> = world.service().requests().iter().map(|request| request.operation.to_string()).collect();
    let first = sent.iter().rposition(|operation| operation == "staff.update" || operation == "staff.create").unwrap();
    assert!(sent[first..].iter().filter(|operation| *operation == "staff.photo.put").count() == 3, "law 12: {sent:?}");
    assert_eq!((held_by(&world, 1), held_by(&world, 4)), (Some(photo(9, 700)), Some(photo(4, 80))));
    rests(&world).expect(0);
    let shown = world.run(&["explain", "staff", "P00001"]).expect(0);
    assert!(shown.out.contains("image/png, 700 bytes"), "{shown:?}");
    shown.hides(&[&base64(&photo(9, 700))]);
    let told = world.run(&["history", "--json"]).expect(0);
    told.hides(&[&base64(&photo(9, 700))]);
}

#[test]
fn law_8_a_photo_that_can_t_be_used_stops_only_itself() {
    let world = world();
    let good = base64(&photo(1, 300));
    world.sync_of(file(&[(1, "Clerk", good.clone()), (2, "Clerk", good.clone())])).expect(0);
    let large = base64(&photo(7, 1024 * 1024 + 1));
    for (bad, reason) in [
        ("bm90IGFuIGltYWdl".to_owned(), "neither PNG nor JPEG"),
        ("Canary?!".to_owned(), "no base64"),
        (large, "larger than 1 MiB"),
    ] {
        let ran =
            world.sync_of(file(&[(1, &format!("Baker {}", reason.len()), bad), (2, "Clerk", good.clone())])).expect(0);
        assert_eq!((ran.writes(), ran.job()["rejected_values"].as_u64()), ((0, 1, 0), Some(1)), "{ran:?}");
        let plan = world.plan().expect(0);
        let rejected = plan.job()["rejected_values"][0].clone();
        assert_eq!(
            (&rejected["field"], &rejected["key"], &rejected["line"]),
            (&"photo".into(), &"P00001".into(), &2.into())
        );
        assert!(rejected["reason"].as_str().unwrap().contains(reason), "{plan:?}");
        assert_eq!(held_by(&world, 1), Some(photo(1, 300)), "it stays as it is");
        assert_eq!(world.held_as(1).unwrap()["title"], format!("Baker {}", reason.len()));
        let again = rests(&world).expect(0);
        assert!(again.reason().contains("1 value could not be used"), "told in every run: {again:?}");
        again.hides(&["Canary"]);
    }
}

#[test]
fn a_photo_that_is_gone_from_the_source_is_reported_since_no_operation_removes_it() {
    let world = world();
    world.sync_of(file(&[(1, "Clerk", base64(&photo(1, 300)))])).expect(0);
    world.csv(file(&[(1, "Clerk", String::new())]));
    for _ in 0..2 {
        let ran = rests(&world).expect(0);
        assert!(ran.reason().contains("1 photo is gone from the source and stays at the service"), "{ran:?}");
    }
    assert_eq!(held_by(&world, 1), Some(photo(1, 300)));
    world.csv(file(&[(1, "Clerk", base64(&photo(1, 300)))]));
    assert_eq!(rests(&world).expect(0).reason(), "");
}

#[test]
fn law_9_lost_state_sends_no_photo_that_is_there_and_one_request_a_person_tells() {
    let world = world();
    let rows: Vec<_> = (1..8).map(|number| (number, "Clerk", base64(&photo(number as u8, 400)))).collect();
    world.sync_of(file(&rows)).expect(0);
    world.lose_state();
    let id = world.held_as(3).unwrap()["id"].as_i64().unwrap();
    let (puts, gets) = (world.count("staff.photo.put"), world.count("staff.photo.get"));
    world.service().edit("staff.photo", id, serde_json::json!({"base64": base64(&photo(99, 400))}));
    world.sync().expect(0);
    assert_eq!((world.count("staff.photo.put") - puts, world.count("staff.photo.get") - gets), (1, 7));
    assert_eq!(held_by(&world, 3), Some(photo(3, 400)));
    rests(&world).expect(0);
}

#[test]
fn law_3_a_push_that_is_killed_between_a_photo_and_its_commit_sends_it_at_most_once_more() {
    for changed in [false, true] {
        let world = World::of(config("[job.guard]\nmax_updates = \"off\"\n"));
        let rows = |look: u8| -> Vec<_> {
            (1..6).map(|number| (number, "Clerk", base64(&photo(look + number as u8, 400)))).collect()
        };
        if changed {
            world.sync_of(file(&rows(100))).expect(0);
        }
        world.csv(file(&rows(0)));
        let before = world.count("staff.photo.put");
        world.kill_held("staff.photo.put hold", &[]);
        world.sync().expect(0);
        let sent = world.count("staff.photo.put") - before;
        assert!(sent <= if changed { 6 } else { 5 }, "{sent} photos sent for 5 people");
        for number in 1..6 {
            assert_eq!(held_by(&world, number), Some(photo(number as u8, 400)));
        }
        rests(&world).expect(0);
    }
}

#[test]
fn a_photo_whose_operation_fails_is_sent_by_the_next_run_and_its_person_is_not_touched_again() {
    let world = world();
    world.faults(&["staff.photo.put status=503"]);
    let ran = world.sync_of(file(&[(1, "Clerk", base64(&photo(1, 300)))])).expect(1);
    assert_eq!(ran.writes(), (1, 0, 0));
    world.faults(&[]);
    let updates = world.count("staff.update");
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert_eq!((held_by(&world, 1), world.count("staff.update")), (Some(photo(1, 300)), updates));
    rests(&world).expect(0);
    world.faults(&["staff.photo.put status=415"]);
    world.csv(file(&[(1, "Clerk", base64(&photo(2, 300)))]));
    assert_eq!(world.sync().expect(3).job()["parked"], 1);
    let puts = world.count("staff.photo.put");
    world.sync().expect(3);
    assert_eq!(world.count("staff.photo.put"), puts, "what was refused is not sent again");
}

#[test]
fn every_photo_waits_where_every_change_waits_and_undoing_leaves_it() {
    let world = World::of(config("").job("writes = \"approve\"\n"));
    world.sync_of(file(&[(1, "Clerk", base64(&photo(1, 300)))])).expect(4);
    assert_eq!(held(&world).len(), 0);
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    assert_eq!(held_by(&world, 1), Some(photo(1, 300)));
    world.sync_of(file(&[(1, "Clerk", base64(&photo(2, 300)))])).expect(4);
    assert_eq!(held_by(&world, 1), Some(photo(1, 300)));
    world.run(&["approve", "staff"]).expect(0);
    world.sync().expect(0);
    assert_eq!(held_by(&world, 1), Some(photo(2, 300)));
    let undone = world.run(&["revert", "4"]).expect(3);
    assert!(format!("{}{}", undone.out, undone.err).contains("photos are not kept"), "{undone:?}");
    assert_eq!(held_by(&world, 1), Some(photo(2, 300)));
}

#[test]
fn a_directory_s_photos_are_sent_as_they_are() {
    if !slapd::is_there() {
        return;
    }
    let face = photo(5, 20_000);
    let people = slapd::person(1, &format!("jpegPhoto:: {}\n", base64(&face))) + &slapd::person(2, "");
    let slapd = Slapd::start(&people);
    let inner = crate::ldap::config(slapd.source(slapd::PLAIN));
    let map = inner.map.clone() + "photo = \"{{ jpeg_photo }}\"\n";
    let world = World::of(Config { map, ..inner });
    assert_eq!(world.sync().expect(0).writes(), (2, 0, 0));
    assert_eq!(held(&world).into_values().collect::<Vec<_>>(), [face]);
    rests(&world).expect(0);
}

#[test]
fn a_photo_that_is_refused_is_named_beside_its_person_who_is_added() {
    let world = inbox_of(World::of(Config { source: "settle = \"0s\"\n".into(), ..config("") }));
    let inbox = Inbox(&world);
    world.faults(&["staff.photo.put status=422"]);
    inbox.drop("a.csv", file(&[(1, "Clerk", base64(&photo(1, 300))), (2, "Clerk", String::new())]));
    let ran = world.sync().expect(3);
    assert_eq!((ran.writes(), ran.job()["parked"].as_u64()), ((2, 0, 0), Some(1)), "{ran:?}");
    let report = inbox.text("processed", ".report.csv");
    let of_first: Vec<&str> = report.lines().filter(|line| line.contains("P00001")).collect();
    assert!(
        matches!(of_first[..], [added, refused] if added.contains("added") && refused.contains("the photo: ")),
        "{report}"
    );
    assert!(world.run(&["queue", "list"]).expect(0).out.contains("the photo: "));
}
