//! Law 6: `protect` names people that no job removes.

use crate::support::{Config, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

fn protecting(names: &str) -> Config {
    Config::rest(LEAVE_AT_ONCE).job(&format!("protect = [{names}]\n"))
}

#[test]
fn law_6_who_is_protected_stays_and_is_reported_and_the_others_leave() {
    let world = World::synced(protecting("\"P00002\", \"Person3@Example.com\""), 40);
    world.csv(people(4..41));
    let plan = world.plan().expect(0).job();
    let leaving: Vec<&str> = plan["changes"].as_array().unwrap().iter().filter_map(|one| one["key"].as_str()).collect();
    assert_eq!((leaving, &plan["protected"]), (vec!["P00001"], &serde_json::json!(["P00002", "P00003"])), "{plan}");
    assert!(plan["held"].is_null(), "{plan}");
    for (run, deleted) in [1, 0, 0].into_iter().enumerate() {
        let ran = world.sync().expect(0);
        assert_eq!((ran.writes(), ran.ended().0.as_str()), ((0, 0, deleted), "done"), "run {run}: {ran:?}");
        assert_eq!(ran.job()["held"], 2, "run {run}: alone they don't make the run held: {ran:?}");
    }
    let shown = world.run(&["sync"]).expect(0).hides(&["Person", "@example.com"]);
    assert!(shown.out.contains("held      P00002: named in protect"), "{shown:?}");
    assert_eq!(world.run(&["approve", "staff", "P00002"]).code, Some(1), "there is nothing to approve");
    assert_eq!(world.staff().len(), 39);
}

#[test]
fn law_6_who_has_another_number_or_email_by_now_stays_protected_and_each_run_says_so() {
    for (name, new, now) in [
        ("P00002", row(2, "Clerk").replace("P00002", "N2"), "N2"),
        ("person2@example.com", row(2, "Clerk").replace("person2@", "ana@"), "P00002"),
    ] {
        let config = protecting(&format!("\"{name}\""));
        let world = World::synced(config, 20);
        world.sync_of(people(1..21).replace(&row(2, "Clerk"), &new));
        world.run(&["approve", "staff"]);
        world.sync();
        for text in [people(1..21).replace(&row(2, "Clerk"), &new), people(1..21).replace(&row(2, "Clerk"), "")] {
            let ran = world.sync_of(text).expect(0);
            assert_eq!(ran.writes(), (0, 0, 0), "{name}");
            assert!(ran.reason().contains(&format!("who had {name} last (key {now} now)")), "{ran:?}");
        }
        world.run(&["rebuild"]).expect(0);
        assert_eq!(world.sync().writes(), (0, 0, 0), "{name}");
        assert_eq!(world.staff().len(), 20, "{name}");
    }
}

#[test]
fn law_6_who_had_a_name_that_someone_else_has_by_now_stays_protected_with_them() {
    let world = World::synced(protecting("\"P00002\""), 20);
    let renamed = people(1..21).replace(&row(2, "Clerk"), &row(2, "Clerk").replace("P00002", "N2"));
    world.sync_of(renamed.clone());
    world.run(&["approve", "staff"]);
    world.sync();
    // The number is given to someone who begins.
    let newcomer = "P00002,Zed New,zed@example.com,Clerk\n";
    world.sync_of(renamed + newcomer);
    world.run(&["approve", "staff"]);
    world.sync();
    assert_eq!(world.staff().len(), 21);
    // Both are gone from the file.
    world.csv(people(1..21).replace(&row(2, "Clerk"), ""));
    for _ in 0..3 {
        let ran = world.sync().expect(0);
        assert_eq!((ran.writes().2, world.staff().len()), (0, 21), "{ran:?}");
        assert!(ran.reason().contains("is still protected; name them by that"), "{ran:?}");
    }
}

#[test]
fn law_6_a_name_that_someone_of_another_job_had_is_not_said_to_protect_no_one() {
    let lines = "protect = [\"person2@example.com\"]\n";
    let other = Config::OTHER_JOB.replace("match_on", &format!("{lines}match_on"));
    let world = World::of(Config::rest(&other).job(lines));
    world.csv(people(1..11));
    world.put("other.csv", people(21..31).as_bytes());
    world.sync().expect(0);
    world.csv(people(1..11).replace("person2@", "two@"));
    for _ in 0..3 {
        let ran = world.sync().expect(0);
        assert!(!ran.out.contains("no one has"), "{ran:?}");
    }
    assert!(world.sync().out.contains("who had person2@example.com last"));
}

#[test]
fn law_6_a_key_that_no_one_has_is_named_by_each_run() {
    let world = World::synced(protecting("\"00007\", \"p00002\", \"P00003\", \"nobody@example.com\""), 40);
    let ran = world.sync().expect(0);
    assert!(ran.reason().contains("no one has the keys or emails 00007, nobody@example.com, so"), "{ran:?}");
    let world = World::synced(protecting("\"P00002\", \"Person3@example.com\""), 40);
    assert!(!world.sync().expect(0).reason().contains("protect:"));
}

#[test]
fn law_6_the_protected_do_not_count_for_the_guard() {
    let world = World::synced(protecting("\"P00001\", \"P00002\", \"P00003\""), 40);
    assert_eq!(world.sync_of(people(6..41)).expect(0).writes(), (0, 0, 2), "five are gone, two would be removed");
    let mut config = protecting("\"P00001\", \"P00002\", \"P00003\"");
    config.rest = config.rest.replace("0s", "24h");
    let ran = World::synced(config, 40).sync_of(people(6..41)).expect(0);
    assert_eq!(
        (ran.writes(), ran.job()["missing"].as_u64()),
        ((0, 0, 0), Some(5)),
        "nor while their grace runs: {ran:?}"
    );
}

#[test]
fn law_6_a_row_that_says_so_removes_no_one_who_is_protected() {
    let mut config = protecting("\"P00001\"");
    config.job += "include = \"{{ title != 'Gone' }}\"\n";
    let world = World::synced(config, 10);
    let text = people(1..11).replace(&row(1, "Clerk"), &row(1, "Gone"));
    assert_eq!(world.sync_of(text).expect(0).writes(), (0, 0, 0));
    assert!(world.held_as(1).is_some());
}

#[test]
fn law_6_who_gets_a_protected_email_at_the_service_is_protected() {
    let world = World::synced(protecting("\"ceo@example.com\""), 10);
    let id = world.held_as(1).unwrap()["id"].as_i64().unwrap();
    world.csv(people(2..11));
    world.service().edit("staff", id, serde_json::json!({"email": "ceo@example.com"}));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert!(world.held_as(1).is_some());
}

#[test]
fn law_6_an_approval_does_not_lift_a_later_protection() {
    let world = World::synced(protecting("\"nobody\""), 10);
    world.sync_of(people(6..11)).expect(4);
    world.run(&["approve", "staff"]).expect(0);
    world.configure(protecting("\"P00001\", \"person2@example.com\""));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 3));
    assert!(world.held_as(1).is_some() && world.held_as(2).is_some());
}

#[test]
fn law_6_who_shared_a_protected_email_and_has_another_one_by_now_stays_protected() {
    let rest = format!("{LEAVE_AT_ONCE}{}", Config::OTHER_JOB);
    let world = World::of(Config::rest(&rest).job("protect = [\"person2@example.com\"]\n"));
    world.csv(people(1..11));
    world.put("other.csv", people(21..31).as_bytes());
    world.sync().expect(0);
    let other = world.held_as(21).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", other, serde_json::json!({"email": "person2@example.com"}));
    world.sync().expect(0);
    let moved = row(2, "Clerk").replace("person2@", "two@");
    world.sync_of(people(1..11).replace(&row(2, "Clerk"), &moved)).expect(0);
    let ran = world.sync().expect(0);
    assert!(ran.out.contains("who had person2@example.com last (key P00002 now)"), "{ran:?}");
    for _ in 0..2 {
        let ran = world.sync_of(people(1..11).replace(&row(2, "Clerk"), "")).expect(0);
        assert!(world.held_as(2).is_some(), "{ran:?}");
    }
}
