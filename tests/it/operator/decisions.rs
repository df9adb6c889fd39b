//! What an approval is good for.

use jiff::SignedDuration;
use rosterd::clock::Clock;
use serde_json::json;

use crate::support::{Config, HEADER, World, people, row};

fn world(job: &str) -> World {
    let leavers = Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n");
    let world = World::of(leavers.job(job).job("writes = \"approve\"\n"));
    world.csv(people(0..5));
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    world
}

#[test]
fn an_approved_change_that_the_service_refused_is_sent_once() {
    let world = world("");
    world.service().set_faults(vec!["staff.create status=422".parse().unwrap()]);
    world.sync().expect(3);
    let posts = || world.service().requests().iter().filter(|request| request.method == "POST").count();
    assert_eq!(posts(), 5);
    world.sync().expect(3);
    assert_eq!(posts(), 5);
}

#[test]
fn an_approved_removal_is_void_once_the_person_is_back() {
    let world = world("include = \"{{ title != 'Gone' }}\"\n");
    world.sync().expect(0);
    world.csv(people(0..4) + &row(4, "Gone"));
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    // Back in a read that proves nothing about anybody else.
    world.csv(people(0..5) + "cut");
    world.sync().expect(3);
    world.csv(people(0..4) + &row(4, "Gone"));
    world.sync().expect(4);
    assert_eq!(world.staff().len(), 5);
}

#[test]
fn an_approval_is_of_a_change_as_it_was_shown_and_void_where_the_service_holds_something_else_by_then() {
    for mode in ["full", "changes"] {
        for (shown_again, edit, is_void) in [
            (true, json!({"title": "Chief"}), true),
            (true, json!({"name": "Somebody"}), true),
            (true, json!({"mobile": "64 21 555"}), false),
            (true, json!({"onsite_status": "onsite"}), false),
            (false, json!({"title": "Chief"}), true),
            (false, json!({"mobile": "64 21 555"}), false),
        ] {
            if mode == "full" && !shown_again {
                continue;
            }
            let what = format!("{mode}, {edit}, in the file again: {shown_again}");
            let source = format!("settle = \"0s\"\nmode = \"{mode}\"\n");
            let mut world = World::synced(Config { source, ..Config::default() }, 3);
            world.reconfigure(|config| config.job("writes = \"approve\"\n"));
            let bakers = people(1..4).replace("Clerk", "Baker");
            let ran = world.sync_of(&bakers).expect(4);
            assert_eq!(ran.job()["held"], 3, "{what}");
            world.run(&["approve", "staff"]).expect(0);
            let id = world.held_as(1).unwrap()["id"].as_i64().unwrap();
            world.service().edit("staff", id, edit.clone());
            let title = world.held_as(1).unwrap()["title"].clone();
            if !shown_again {
                world.csv(HEADER.to_owned() + &row(3, "Baker"));
            }
            if !is_void {
                assert_eq!(world.sync().expect(0).writes(), (0, 3, 0), "{what}");
                continue;
            }
            for round in 0..2 {
                let ran = world.sync().expect(4);
                assert_eq!(ran.writes(), (0, if round == 0 { 2 } else { 0 }, 0), "{what}: {ran:?}");
                assert_eq!(world.held_as(1).unwrap()["title"], title, "{what}");
                if round == 0 {
                    let told = world.run(&["explain", "staff", "P00001"]).expect(0).out;
                    assert!(told.contains("changed since it was approved"), "{what}: {told}");
                }
            }
            world.run(&["approve", "staff", "P00001"]).expect(0);
            assert_eq!(world.sync().expect(0).writes(), (0, 1, 0), "{what}");
            assert_eq!(world.held_as(1).unwrap()["title"], "Baker", "{what}");
        }
    }
}

#[test]
fn law_7_a_run_for_one_person_leaves_what_was_rejected_of_others() {
    let world = World::of(Config::default().job("writes = \"approve\"\n"));
    world.sync_of(people(1..11));
    world.run(&["approve", "staff"]).expect(0);
    world.sync();
    world.sync_of(people(1..11).replace("Clerk", "Boss")).expect(4);
    world.run(&["reject", "staff"]).expect(0);
    world.run(&["sync", "--key", "P00001"]);
    assert_eq!(world.sync().expect(0).job()["held"], 0);
}

#[test]
fn an_approval_of_missing_people_is_taken_back_before_their_grace_is_over() {
    for is_read_again in [false, true] {
        let clock = Clock::fixed("2027-03-03T20:00:00Z".parse().unwrap());
        let world = World::at(&clock, Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"24h\"\n"));
        world.csv(people(1..13));
        world.sync_at(&clock);
        world.csv(people(7..13));
        assert_eq!(world.sync_at(&clock).counts.held, 6);
        let approved = world.run(&["approve", "staff"]).expect(0);
        assert!(approved.err.contains("`rosterd reject staff KEY` takes it back"), "{approved:?}");
        if is_read_again {
            world.sync_at(&clock);
        }
        assert!(world.run(&["reject", "staff"]).expect(1).err.contains("is rejected by its keys"));
        world.run(&["approve", "staff", "P00001"]).expect(1);
        world.run(&["reject", "staff", "P00009"]).expect(1);
        world.run(&["reject", "staff", "P00001", "P00002"]).expect(0);
        clock.advance(SignedDuration::from_hours(25));
        world.sync_at(&clock);
        assert_eq!(world.staff().len(), 8, "four leave");
        world.run(&["reject", "staff", "P00003"]).expect(1);
    }
}
