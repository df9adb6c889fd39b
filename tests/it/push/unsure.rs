//! Writes whose outcome is unknown, and services that stay down.

use std::thread;

use rosterd::sandbox::Options;
use serde_json::json;

use crate::support::{Config, World, people};

/// How a run of 40 creates ends under a fault that lets it succeed in the end.
struct Case {
    fault: &'static str,
    /// How many runs it may take.
    runs: usize,
    /// How many POST requests it may take: a create that the service acted upon must not be sent again.
    posts: usize,
}

const fn case(fault: &'static str, runs: usize, posts: usize) -> Case {
    Case { fault, runs, posts }
}

fn world(total: usize, timeout: &str) -> World {
    let api = format!("requests_per_minute = 100000\ntimeout = \"{timeout}\"\n");
    let world =
        World::with(Options { accept_duplicates: true, ..Options::default() }, Config { api, ..Config::default() });
    world.csv(people(0..total));
    world
}

fn check(case: &Case) {
    let Case { fault, runs, posts } = *case;
    // Only an answer that is late on purpose comes too late, on a busy machine too.
    let late = fault.contains("delay") || fault.contains("hold");
    let world = world(40, if late { "5s" } else { "60s" });
    world.faults(&[fault]);
    let mut ended = Vec::new();
    for _ in 0..runs {
        let ran = world.sync();
        ended.push((ran.code, ran.reason(), ran.err.clone()));
        if ran.code == Some(0) {
            break;
        }
    }
    assert_eq!(ended.last().unwrap().0, Some(0), "{fault}: {ended:?}");
    world.expect_people(0..40);
    let seen = world.count("staff.create");
    assert!(seen <= posts, "{fault}: {seen} creates sent");
    let writes = world.service().writes();
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{fault}");
    assert_eq!(world.service().writes(), writes, "{fault}");
}

fn check_all(cases: &[Case]) {
    thread::scope(|scope| {
        let running: Vec<_> = cases.iter().map(|case| (case.fault, scope.spawn(|| check(case)))).collect();
        let failed: Vec<&str> =
            running.into_iter().filter_map(|(fault, thread)| thread.join().is_err().then_some(fault)).collect();
        assert!(failed.is_empty(), "failed: {failed:?}");
    });
}

#[test]
fn law_3_fault_28_a_create_that_was_carried_out_is_found_and_not_sent_again() {
    check_all(&[
        case("staff.create cut-after every=5", 2, 40),
        case("staff.create status-after=500 every=5", 2, 40),
        case("staff.create status-after=502 times=4", 2, 40),
        case("staff.create status-after=503 retry-after=1 times=3", 2, 40),
        case("staff.create half every=6", 2, 40),
        case("staff.create delay=30s times=3", 3, 40),
    ]);
}

#[test]
fn law_3_fault_4_who_is_not_found_is_looked_up_again_after_3_s_and_sent_once_more() {
    let world = world(1, "5s");
    world.faults(&["staff.create cut-before times=1"]);
    world.sync().expect(0);
    let seen = world.service().requests();
    let creates: Vec<usize> = (0..seen.len()).filter(|at| seen[*at].operation == "staff.create").collect();
    assert_eq!(creates.len(), 2, "{seen:?}");
    let looks: Vec<u64> = seen[creates[0]..creates[1]]
        .iter()
        .filter(|request| request.operation == "staff.list")
        .map(|request| request.at_millis)
        .collect();
    assert!(looks.len() >= 2 && looks[looks.len() - 1] - looks[0] >= 3_000, "looked up at {looks:?}");
    world.expect_people(0..1);
}

#[test]
fn law_3_fault_32_a_create_that_was_not_carried_out_is_sent_again() {
    check_all(&[
        case("staff.create cut-before times=4", 1, 44),
        case("staff.create status=500 times=4", 1, 44),
        case("staff.create status=503 retry-after=1 times=4", 1, 44),
        case("staff.create html times=4", 1, 44),
        case("staff.create hold-before times=2", 2, 42),
        case("staff.create status=429 retry-after=1 times=1", 1, 60),
    ]);
}

#[test]
fn fault_32_and_33_a_service_that_stays_down_ends_the_run_and_the_next_one_finishes() {
    let faults = ["status=500", "cut-before", "html", "cut-after"];
    thread::scope(|scope| {
        for what in faults {
            scope.spawn(move || {
                stays_down(what);
            });
        }
    });
}

/// Ends a run of 60 creates by that fault, then finishes it; tells how many creates and requests the first one sent.
fn stays_down(what: &str) -> (usize, usize) {
    let world = world(60, "60s");
    world.faults(&[
        &format!("staff.create {what}"),
        &format!("staff.get {what}"),
        &format!("staff.list {what} after=2"),
    ]);
    let before = world.service().requests().len();
    let ran = world.sync();
    assert_eq!((ran.code, ran.job()["status"].as_str()), (Some(1), Some("failed")), "{what}: {ran:?}");
    assert!(!ran.reason().is_empty(), "{what}: {ran:?}");
    let sent = world.count("staff.create");
    let requests = world.service().requests().len() - before;
    world.faults(&[]);
    world.sync().expect(0);
    world.expect_people(0..60);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{what}");
    (sent, requests)
}

#[test]
fn fault_32_and_33_a_service_that_is_down_is_not_asked_for_each_of_60_people() {
    let (sent, requests) = stays_down("status=503");
    assert!(sent <= 30, "{sent} creates and {requests} requests sent before the run ended");
}

#[test]
fn law_2_an_update_whose_answer_is_lost_is_not_repeated_for_ever() {
    for fault in ["staff.update cut-after times=3", "staff.update status=500 times=3", "staff.update half times=3"] {
        let world = world(40, "60s");
        world.sync().expect(0);
        world.csv(people(0..40).replacen("Clerk", "Baker", 9));
        world.faults(&[fault]);
        let first = world.sync();
        if first.code != Some(0) {
            world.sync().expect(0);
        }
        assert_eq!(world.texts("title").iter().filter(|title| *title == "Baker").count(), 9, "{fault}");
        assert!(world.count("staff.update") <= 12, "{fault}: {}", world.count("staff.update"));
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{fault}");
    }
}

#[test]
fn fault_36_and_37_a_refused_change_is_parked_with_the_services_words_and_the_rest_goes_on() {
    let world = world(40, "60s");
    world.faults(&["staff.create status=400 nth=7"]);
    let ran = world.sync().expect(3);
    assert_eq!((ran.writes(), ran.job()["parked"].as_u64()), ((39, 0, 0), Some(1)), "{ran:?}");
    assert_eq!(ran.job()["status"], "partial");
    world.faults(&[]);
    let sent = world.count("staff.create");
    let again = world.sync().expect(3);
    assert_eq!(
        (again.job()["parked"].as_u64(), world.count("staff.create")),
        (Some(1), sent),
        "parked for good: {again:?}"
    );
}

#[test]
fn a_request_is_tried_at_most_three_times() {
    for (faults, operation) in [
        (&["staff.create status=500"][..], "staff.create"),
        (&["staff.list status=500"], "staff.list"),
        (&["staff.list cut-before"], "staff.list"),
    ] {
        let world = world(1, "60s");
        world.faults(faults);
        world.sync().expect(1);
        assert!((2..=3).contains(&world.count(operation)), "{faults:?}: {} attempts", world.count(operation));
        world.faults(&[]);
        world.sync().expect(0);
        world.expect_people(0..1);
    }
}

#[test]
fn fault_26_a_service_that_is_not_there_fails_the_run_and_nothing_is_thought_sent() {
    let mut world = world(5, "60s");
    world.stop_service();
    let ran = world.sync().expect(1);
    assert_eq!((ran.job()["status"].as_str(), ran.writes()), (Some("failed"), (0, 0, 0)), "{ran:?}");
    assert!(ran.reason().contains("connect"), "{ran:?}");
    assert_eq!(world.sync().expect(1).writes(), (0, 0, 0));
}

/// The service was set back, and gave the ids of people that it lost to others.
#[test]
fn law_8_whose_id_is_another_person_s_by_now_is_made_again() {
    let leave = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let world = World::synced(Config::rest(leave), 10);
    for (number, name) in [(9, "Zoe Walker"), (10, "Yann Moreau")] {
        let id = world.held_as(number).unwrap()["id"].as_i64().unwrap();
        let email = format!("{}@other.example", number);
        let other = json!({"created": "2019-01-01T00:00:00+00:00", "name": name, "email": email, "employee_id": email});
        world.service().edit("staff", id, other);
    }
    // One of the two leaves: the other person stays.
    world.csv(people(1..10));
    let plan = world.plan().expect(0).job();
    assert_eq!((&plan["new"], plan["changes"].as_array().unwrap().len()), (&0.into(), 1), "{plan}");
    assert_eq!(world.sync_of(people(1..10)).expect(0).writes(), (1, 0, 0));
    let names: Vec<_> = world.staff().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names.len(), 11, "{names:?}");
    assert!(names.contains(&"Zoe Walker".to_owned()) && names.contains(&"Person 9".to_owned()), "{names:?}");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}
