//! Lists that lie: a fault of the service is never an absence.

use jiff::SignedDuration;
use rosterd::sandbox::Options;
use serde_json::Value;

use crate::support::{Config, HEADER, World, people, row};

const LEAVERS: &str =
    "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\nmax_updates = \"off\"\n";

/// A file that says of the people at the service what is true.
fn truth(staff: &[Value]) -> String {
    staff.iter().fold(HEADER.to_owned(), |file, person| {
        let text = |name: &str| person[name].as_str().unwrap_or_default();
        file + &format!("{},\"{}\",{},\"{}\"\n", text("employee_id"), text("name"), text("email"), text("title"))
    })
}

#[test]
fn law_1_pages_silently_clamped_to_37_do_not_end_the_walk() {
    let world = World::new(Options { seed_staff: 500, page_max: 37, accept_duplicates: true, ..Options::default() });
    world.csv(truth(&world.staff()));
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), ran.job()["unchanged"].as_u64()), ((0, 0, 0), Some(500)));
    let pages = world.count("staff.list");
    assert!((14..=16).contains(&pages), "500 people in pages of 37 are 14 pages and an empty one, not {pages}");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!((world.staff().len(), world.service().writes()), (500, 0));
}

#[test]
fn empty_lists_that_answer_404_are_empty_lists() {
    let world = World::new(Options { empty_as_404: true, ..Options::default() });
    world.csv(people(0..30));
    assert_eq!(world.sync().expect(0).writes(), (30, 0, 0));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.csv(people(0..30).replacen("Clerk", "Baker", 2));
    assert_eq!(world.sync().expect(0).writes(), (0, 2, 0));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

/// 60 seeded people in pages of 10, known since a first sync; `whole` makes each further run a whole listing.
fn known(whole: bool) -> World {
    let options = Options { seed_staff: 60, page_max: 10, accept_duplicates: true, ..Options::default() };
    let world = World::with(options, Config::rest(LEAVERS));
    world.csv(truth(&world.staff()));
    // Everything is listed again once a day.
    world.sync_ago(SignedDuration::from_hours(if whole { 25 } else { 1 }));
    assert_eq!(world.service().writes(), 0);
    world
}

/// A file with a joiner, three movers and a leaver.
fn moved(world: &World) -> String {
    let mut staff = world.staff();
    staff.pop();
    for person in staff.iter_mut().take(3) {
        person["title"] = "Moved".into();
    }
    truth(&staff) + &row(7, "New")
}

/// Under the fault nothing is written and the reason names what happened; without it all is well.
fn check_refused(fault: &str, whole: bool, words: &[&str]) {
    let world = known(whole);
    world.csv(moved(&world));
    world.faults(&[fault]);
    let case = format!("{fault}, {}", if whole { "whole listing" } else { "delta" });
    let ran = world.sync();
    assert_eq!(world.service().writes(), 0, "{case}: a write followed: {ran:?}");
    assert_eq!((ran.code, ran.job()["status"].as_str()), (Some(1), Some("failed")), "{case}: {ran:?}");
    let reason = ran.reason().to_lowercase();
    assert!(words.iter().any(|word| reason.contains(word)), "{case}: the reason does not name it: {reason:?}");
    world.faults(&[]);
    assert_eq!(world.sync().expect(0).writes(), (1, 3, 1), "{case}: afterwards");
    assert_eq!(world.staff().len(), 60, "{case}");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{case}: afterwards");
}

/// Checks each of these faults in a world of its own.
fn check_all_refused(is_first: bool, cases: &[(&str, &[&str])]) {
    std::thread::scope(|scope| {
        for (fault, words) in cases {
            scope.spawn(move || check_refused(fault, is_first, words));
        }
    });
}

#[test]
fn law_1_fault_38_40_45_a_whole_listing_that_lies_fails_the_run_before_any_write() {
    let cases: [(&str, &[&str]); 6] = [
        ("staff.list not-found", &["404", "empty"]),
        ("staff.list empty-list", &["empty", "no one", "listed", "no people"]),
        ("staff.list html", &["html", "json"]),
        ("staff.list half", &["cut", "clos", "broke", "incomplete", "middle", "ended"]),
        ("staff.list status=500", &["500"]),
        ("staff.list status=403", &["403", "permi", "allow"]),
    ];
    check_all_refused(true, &cases);
}

#[test]
fn law_1_fault_38_40_45_a_delta_that_lies_fails_the_run_before_any_write() {
    let cases: [(&str, &[&str]); 4] = [
        ("staff.list html", &["html", "json"]),
        ("staff.list half", &["cut", "clos", "broke", "incomplete", "middle", "ended"]),
        ("staff.list status=500", &["500"]),
        ("staff.list status=403", &["403", "permi", "allow"]),
    ];
    check_all_refused(false, &cases);
}

#[test]
fn a_delta_without_hits_may_be_a_404_or_an_empty_list() {
    for fault in ["staff.list not-found", "staff.list empty-list"] {
        let world = known(false);
        world.csv(moved(&world));
        world.faults(&[fault]);
        assert_eq!(world.sync().expect(0).writes(), (1, 3, 1), "{fault}");
    }
}

#[test]
fn a_page_that_breaks_off_once_is_read_again() {
    for fault in ["staff.list half nth=3", "staff.list status=500 nth=1", "staff.list cut-before nth=7"] {
        let world = known(true);
        world.csv(moved(&world));
        world.faults(&[fault]);
        assert_eq!(world.sync().expect(0).writes(), (1, 3, 1), "{fault}");
        assert_eq!(world.staff().len(), 60, "{fault}");
    }
}

#[test]
fn law_3_fault_45_a_page_missing_in_the_middle_of_a_whole_listing_doubles_no_one() {
    for fault in ["staff.list empty-list nth=3", "staff.list not-found nth=3", "staff.list empty-list nth=2"] {
        let world = known(true);
        let people = world.staff().len();
        world.faults(&[fault]);
        let ran = world.sync();
        assert_eq!((world.service().writes(), world.staff().len()), (0, people), "{fault}: {ran:?}");
        world.faults(&[]);
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{fault}");
        assert_eq!(world.service().writes(), 0, "{fault}");
    }
}

#[test]
fn law_1_a_location_or_custom_field_list_that_lies_writes_nothing_of_it() {
    let map = "name = \"{{ name }}\"\nemail = \"{{ email }}\"\nemployee_id = \"{{ employee_no }}\"\n\
               location = \"{{ title }}\"\n\"cf.Locker\" = \"L1\"\n";
    let faults = [
        "location.list not-found",
        "location.list empty-list",
        "location.list html",
        "location.list status=500",
        "location.list half",
        "customfield.element.list-staff empty-list",
        "customfield.element.list-staff html",
        "customfield.element.list-staff not-found",
    ];
    for fault in faults {
        let world = World::of(Config { map: map.into(), ..Config::rest(LEAVERS) });
        world.csv(people(0..10).replace("Clerk", "Auckland Office"));
        assert_eq!(world.sync().expect(0).writes(), (10, 0, 0));
        let before = world.staff();
        world.csv(people(0..9).replace("Clerk", "Wellington Office"));
        world.faults(&[fault]);
        let ran = world.sync();
        assert_eq!(world.staff(), before, "{fault}: {ran:?}");
        assert_eq!(ran.code, Some(1), "{fault}: {ran:?}");
        world.faults(&[]);
        assert_eq!(world.sync().expect(0).writes(), (0, 9, 1), "{fault}");
    }
}
