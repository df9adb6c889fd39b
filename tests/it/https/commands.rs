//! Commands that look at the file of a web server.

use super::{HIDDEN, config, forty, synced};
use crate::support::web::{Web, answer, file, framed};
use crate::support::{World, people};

#[test]
fn check_reads_it_to_its_end() {
    let (web, world) = synced("");
    let ran = world.run(&["check"]).hides(&["s3cret"]).expect(0);
    assert!(ran.out.contains("40 records, 0 not included, 0 rejected"), "{ran:?}");
    assert!(ran.out.contains("/hr/staff.csv, UTF-8, 4 columns by comma"), "{ran:?}");
    web.say(|_, _| framed(200, "text/csv", "", people(1..41).as_bytes()));
    let ran = world.run(&["check"]).expect(1);
    assert!(ran.out.contains("incomplete: the server says neither"), "{ran:?}");
    web.say(|_, _| answer(200, "text/html", "", b"<html>"));
    let ran = world.run(&["check"]).hides(&["s3cret"]).expect(1);
    assert!(ran.out.contains("with an HTML page"), "{ran:?}");
}

#[test]
fn preview_plan_and_explain_read_it_as_a_run_does() {
    let (web, world) = synced("");
    web.say(|_, _| file(&people(1..42)));
    let ran = world.run(&["preview", "staff", "--key", "P00041"]).expect(0);
    assert!(ran.out.contains("Person 41"), "{ran:?}");
    let ran = world.run(&["explain", "staff", "P00041"]).hides(&["s3cret"]).expect(0);
    assert!(ran.out.contains("Person 41"), "{ran:?}");
    assert!(world.run(&["plan"]).expect(0).out.contains("P00041"));
}

#[test]
fn init_prints_a_configuration_that_syncs() {
    let web = forty();
    let world = World::of(config(&web, ""));
    let ran = world.run(&["init", &web.url("/hr/Staff_List.csv")]).expect(0);
    assert!(ran.out.contains("writes = \"approve\"") && ran.out.contains("name = \"staff_list\""), "{ran:?}");
    world.put_config(&world.filled_in(&ran.out.replace("writes = \"approve\"", "writes = \"auto\"")));
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
}

#[test]
fn init_asks_for_a_credential_by_its_file() {
    let web = Web::start(|arrived, _| match arrived.header("authorization") {
        Some("Basic YW5hOmh1bnRlcjI=") => file(&people(1..4)),
        _ => answer(401, "text/html", "", b""),
    });
    let world = World::of(config(&web, ""));
    world.put("word", b"hunter2\n");
    let url = web.url("/staff.csv?key=s3cret");
    let ran = world.run(&["init", &url]).hides(&HIDDEN).expect(1);
    assert!(ran.err.contains("401: the credential was not taken"), "{ran:?}");
    let ran = world.run(&["init", &url, "--user", "ana", "--password-file", "word"]).expect(0);
    assert!(ran.out.contains("password_file = ") && !ran.out.contains("hunter2"), "{ran:?}");
    assert!(ran.out.contains("user = \"ana\""), "{ran:?}");
}
