//! A change made at the service is seen once by a pull, and must reach the records of every job, whichever job pulled.

use serde_json::json;

use crate::support::{Config, HEADER, World, people, row};

/// Five people in step, and then the title of one edited at the service.
fn edited(rest: &str) -> World {
    let world = World::of(Config::rest(rest));
    world.csv(people(0..5));
    world.put("other.csv", people(10..12).as_bytes());
    world.sync().expect(0);
    let id = world.staff().iter().find(|person| person["employee_id"] == "P00003").unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"title": "Edited"}));
    world
}

fn is_mended_by_the_next_sync(world: &World) {
    world.csv(people(0..5));
    world.sync().expect(0);
    assert!(!world.texts("title").contains(&"Edited".to_owned()));
}

#[test]
fn an_edit_seen_by_a_narrowed_run_is_mended_by_the_next() {
    let world = edited("");
    world.run(&["sync", "--json", "--key", "P00000"]).expect(0);
    is_mended_by_the_next_sync(&world);
}

#[test]
fn an_edit_seen_by_another_jobs_run_is_mended_by_the_next() {
    let world = edited(
        "[[job]]\nname = \"other\"\ntarget = \"staff\"\nkey = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\"]\n\
         [job.source]\ntype = \"csv\"\npath = \"other.csv\"\nsettle = \"0s\"\n[job.map]\nname = \"{{ name }}\"\n\
         employee_id = \"{{ employee_no }}\"\n",
    );
    world.run(&["sync", "--json", "other"]).expect(0);
    is_mended_by_the_next_sync(&world);
}

#[test]
fn an_edit_seen_while_the_row_was_rejected_is_mended_by_the_next() {
    let world = edited("");
    world.csv(people(0..3) + "P00003,,person3@example.com,Clerk\n" + &row(4, "Clerk"));
    world.sync().expect(3);
    is_mended_by_the_next_sync(&world);
}

#[test]
fn an_edit_seen_while_the_file_was_empty_is_mended_by_the_next() {
    let world = edited("");
    world.csv(HEADER);
    world.sync().expect(4);
    is_mended_by_the_next_sync(&world);
}
