//! Services that show less than they hold, answer less than was asked, or take away what a write does not touch.

use std::process::Stdio;

use jiff::SignedDuration;
use rosterd::clock::Clock;
use rosterd::sandbox::Options;
use serde_json::{Value, json};

use crate::support::{Config, World, people, row};

const REMOVING: &str =
    "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\nmax_updates = \"off\"\n";

/// People who are there, known, and about to get another title.
fn about_to_move(options: Options, count: usize, more: &Value) -> World {
    let world = World::with(options, Config::rest(REMOVING));
    world.csv(people(0..count));
    world.sync().expect(0);
    for one in world.staff() {
        world.service().edit("staff", one["id"].as_i64().unwrap(), more.clone());
    }
    // So that the next pull shows them as they are.
    world.sync().expect(0);
    world.csv((0..count).fold(crate::support::HEADER.to_owned(), |file, at| file + &row(at, "Chief")));
    world
}

fn titles(world: &World) -> usize {
    world.staff().iter().filter(|one| one["title"] == "Chief").count()
}

#[test]
fn law_2_what_one_operation_does_not_show_is_kept_by_what_another_shows() {
    for fault in [
        "staff.get without=ice",
        "staff.get without=customfields",
        "staff.* as=customfields:cf",
        "staff.get as=customfields:cf",
        "staff.update without=ice",
        "staff.update without=tokens",
        "staff.update without=title",
    ] {
        let element = json!({"title": "Locker", "element_type": "text"});
        let world = about_to_move(Options::default(), 3, &json!({"ice": "64 21 5550101"}));
        let locker = world.service().put("customfield.element.staff", element);
        for one in world.staff() {
            let more = json!({"customfields": {locker.to_string(): "B7"}, "tokens": [{"type": "card"}]});
            world.service().edit("staff", one["id"].as_i64().unwrap(), more);
        }
        world.faults(&[fault]);
        let ran = world.sync().expect(0);
        assert_eq!(titles(&world), 3, "{fault}: {ran:?}");
        for one in world.staff() {
            let kept = (&one["ice"], &one["customfields"][locker.to_string()], one["tokens"].as_array().unwrap().len());
            assert_eq!(kept, (&json!("64 21 5550101"), &json!("B7"), 1), "{fault}: {ran:?}");
        }
        world.faults(&[]);
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{fault}");
    }
}

#[test]
fn law_2_what_a_write_takes_away_stops_all_others_however_it_is_answered() {
    // What is held before, what of it goes, and what else is wrong with the answer.
    let cards = json!({"tokens": [{"type": "card"}, {"type": "fob"}], "department": "Night"});
    for (gone, fault, named) in [
        (json!({"tokens": []}), "", "tokens"),
        (json!({"tokens": [{"type": "card"}]}), "", "a part of tokens"),
        (json!({"department": null}), "", "department"),
        (json!({"department": null}), "staff.update status-after=504 times=1", "department"),
        (json!({"tokens": []}), "staff.update cut-after times=1", "tokens"),
    ] {
        let world = about_to_move(Options::default(), 12, &cards);
        let faults: Vec<&str> =
            ["staff.update hold-before nth=1", fault].into_iter().filter(|text| !text.is_empty()).collect();
        world.faults(&faults);
        let mut command = world.command(&["sync", "--json"]);
        let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        world.until_held(1);
        // The first one goes alone. The service takes something away while it writes.
        for one in world.staff() {
            world.service().edit("staff", one["id"].as_i64().unwrap(), gone.clone());
        }
        world.release();
        let ended = run.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(said.contains(&format!("cleared {named} of id")), "{gone} {fault}: {said}");
        assert!(titles(&world) <= 1, "{gone} {fault}: {said}");
        let writes = world.service().writes();
        world.sync();
        assert_eq!(world.service().writes(), writes, "{gone} {fault}: nothing more until someone has looked");
    }
}

#[test]
fn law_8_who_can_not_be_read_or_made_keeps_no_one_else_from_being_sent() {
    let world = World::of(Config::rest(REMOVING));
    world.csv(people(0..20));
    world.sync().expect(0);
    // Eight leavers whose own pages fail, and joiners behind them.
    let gone: Vec<i64> = (0..8).map(|at| world.held_as(at).unwrap()["id"].as_i64().unwrap()).collect();
    let faults: Vec<String> = gone.iter().map(|id| format!("GET /staff/{id} status=500")).collect();
    world.faults(&faults.iter().map(String::as_str).collect::<Vec<_>>());
    world.csv(people(8..23));
    world.sync().expect(1);
    assert_eq!((20..23).filter(|at| world.held_as(*at).is_some()).count(), 3, "joiners are made");
    // Of leavers who can be removed none is kept back by them in the next run.
    world.csv(people(12..23));
    world.sync();
    world.sync();
    assert_eq!((8..12).filter(|at| world.held_as(*at).is_some()).count(), 0, "the others are removed");
    world.faults(&[]);
    world.sync().expect(0);
    world.expect_people(12..23);
}

#[test]
fn law_8_those_who_failed_go_last_in_the_next_run() {
    let world = World::of(Config::rest(REMOVING));
    world.csv(people(0..60));
    world.faults(&["staff.create status=500"]);
    world.sync().expect(1);
    let tried = world.count("staff.create");
    assert!(tried < 40, "{tried}");
    // As many as were made to fail fail again, wherever they stand: the others come first, and are made.
    world.faults(&["staff.create status=500 after=50"]);
    world.sync();
    assert!(world.staff().len() >= 40, "{} were made", world.staff().len());
    world.faults(&[]);
    world.sync().expect(0);
    world.expect_people(0..60);
}

#[test]
fn a_write_that_another_one_came_before_is_sent_once_more_on_a_fresh_copy() {
    for (status, times, made, parked) in
        [(412, " times=1", 3, 0), (409, " times=1", 3, 0), (428, " times=1", 3, 0), (412, "", 0, 3)]
    {
        let world = about_to_move(Options::default(), 3, &json!({}));
        world.faults(&[&format!("staff.update status={status}{times}")]);
        let ran = world.sync();
        assert_eq!((titles(&world), ran.job()["parked"].as_u64()), (made, Some(parked)), "{status}{times}: {ran:?}");
    }
}

#[test]
fn a_write_that_finds_nothing_is_parked_where_its_person_is_there() {
    let world = about_to_move(Options::default(), 2, &json!({}));
    world.faults(&["staff.update not-found"]);
    let ran = world.sync().expect(3);
    assert_eq!(ran.job()["parked"], 2, "{ran:?}");
    let writes = world.service().writes();
    world.sync().expect(3);
    assert_eq!(world.service().writes(), writes, "it is not sent again and again");
}

#[test]
fn law_1_no_one_counts_as_removed_by_a_page_that_is_not_found() {
    let world = World::of(Config::rest(REMOVING));
    world.csv(people(0..5));
    world.sync().expect(0);
    world.csv(people(0..4));
    world.faults(&["staff.get not-found"]);
    let ran = world.sync();
    assert_eq!((world.staff().len(), ran.job()["deleted"].as_u64()), (5, Some(0)), "{ran:?}");
    world.faults(&[]);
    let ran = world.sync().expect(0);
    assert_eq!((world.staff().len(), ran.job()["deleted"].as_u64()), (4, Some(1)), "{ran:?}");
}

#[test]
fn law_6_who_administrates_the_account_is_never_removed() {
    let world = about_to_move(Options::default(), 5, &json!({"roles": [["Site Administrator"]]}));
    world.csv(people(0..4));
    let ran = world.sync();
    assert_eq!(world.staff().len(), 5, "{ran:?}");
    assert!(format!("{ran:?}").contains("by a role at the service"), "{ran:?}");
}

#[test]
fn law_10_who_is_on_site_by_the_list_is_not_removed_where_their_page_does_not_say_so() {
    let world = about_to_move(Options::default(), 5, &json!({"onsite_status": "onsite"}));
    world.csv(people(0..4));
    world.faults(&["staff.get without=onsite_status"]);
    let ran = world.sync();
    assert_eq!(world.staff().len(), 5, "{ran:?}");
}

#[test]
fn law_8_a_list_that_leaves_out_one_person_stops_no_one_else() {
    let mut world = World::of(Config::rest(REMOVING));
    world.reconfigure(|config| Config { state: config.state + "full_pull = \"1s\"\n", ..config });
    world.csv(people(0..6));
    world.sync().expect(0);
    let id = world.held_as(2).unwrap()["id"].as_i64().unwrap();
    world.faults(&[&format!("staff.list omit={id}")]);
    world.csv(people(0..8));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let ran = world.sync().expect(0);
    assert!(ran.reason().contains(&format!("leaves out id {id}")), "{ran:?}");
    assert_eq!(world.staff().len(), 8, "joiners are made, and no one twice: {ran:?}");
}

#[test]
fn law_9_a_404_of_a_gateway_to_the_first_listing_doubles_no_one() {
    let options = Options { accept_duplicates: true, ..Options::default() };
    let world = World::with(options, Config::default());
    world.csv(people(0..4));
    world.sync().expect(0);
    world.run(&["rebuild"]).expect(0);
    world.faults(&["staff.list not-found times=1"]);
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("shows a moment later"), "{ran:?}");
    world.sync().expect(0);
    world.expect_people(0..4);
}

/// The other job has the list that was read before, which does not show what was made without an answer.
#[test]
fn law_3_a_create_of_unknown_fate_is_not_made_again_by_another_job() {
    let job = |name: &str| Config { name: name.into(), path: format!("{name}.csv"), ..Config::default() };
    let options = Options { accept_duplicates: true, ..Options::default() };
    for fault in ["staff.list html nth=3", "staff.list status=503 after=2"] {
        let world = World::with(options.clone(), job("north").and(&job("south")));
        world.put("north.csv", people(1..2).as_bytes());
        world.put("south.csv", people(1..3).as_bytes());
        world.faults(&["staff.create cut-after nth=1", fault]);
        let ran = world.sync().expect(1);
        assert_eq!(world.staff().len(), 2, "{fault}: {ran:?}");
        let south = ran.json()["jobs"][1]["reason"].to_string();
        assert!(south.contains("job north has sent what may be the same"), "{fault}: {south}");
        world.faults(&[]);
        for _ in 0..2 {
            world.sync();
            world.expect_people(1..3);
        }
    }
}

/// The service rewrites numbers, so what it holds of an earlier one must not be taken for what it made of the new one.
#[test]
fn law_4_what_could_not_be_sent_as_its_person_was_not_found_for_a_moment_is_sent_once_they_are() {
    for on_drift in ["overwrite", "keep", "report"] {
        let map = "name = \"{{ name }}\"\nemployee_id = \"{{ employee_no }}\"\nmobile = \"{{ title }}\"\n".to_owned();
        let job = format!("{}on_drift = \"{on_drift}\"\n", Config::default().job.replace(", \"email\"", ""));
        let world =
            World::with(Options { normalize: true, ..Options::default() }, Config { job, map, ..Config::default() });
        let mobile = || world.held_as(1).unwrap()["mobile"].as_str().unwrap().to_owned();
        world.csv(people(0..5).replace("Clerk", "021 555 1000"));
        world.sync().expect(0);
        world.sync().expect(0);
        world.faults(&["staff.get not-found times=2"]);
        world.csv(
            people(0..5).replace("Clerk", "021 555 1000").replace(&row(1, "021 555 1000"), &row(1, "021 555 7000")),
        );
        world.sync().expect(1);
        assert!(mobile().ends_with("215551000"), "{on_drift}: {}", mobile());
        world.faults(&[]);
        assert_eq!(world.sync().expect(0).writes(), (0, 1, 0), "{on_drift}");
        assert!(mobile().ends_with("215557000"), "{on_drift}: {}", mobile());
        assert_eq!((world.sync().expect(0).writes(), world.staff().len()), ((0, 0, 0), 5), "{on_drift}");
    }
}

#[test]
fn law_2_a_field_that_the_service_shows_no_more_is_not_wiped_by_an_update() {
    for (field, value, is_whole, count) in
        [("ice", "021 111 222", false, 4), ("ice", "021 111 222", true, 4), ("altname", "Nick", false, 1)]
    {
        let mut world = about_to_move(Options::default(), count, &json!({ field: value }));
        if is_whole {
            world.reconfigure(|config| Config { state: config.state + "full_pull = \"1s\"\n", ..config });
            std::thread::sleep(std::time::Duration::from_millis(1100));
        }
        let stays = |world: &World| world.staff().iter().all(|one| one[field] == value);
        world.faults(&[&format!("staff.* without={field}")]);
        for is_rebuilt in [false, false, true] {
            if is_rebuilt {
                world.run(&["rebuild"]).expect(0);
            }
            let ran = world.sync().expect(3);
            assert_eq!(
                (titles(&world), ran.job()["parked"].as_u64(), stays(&world)),
                (0, Some(count as u64), true),
                "{ran:?}"
            );
            assert!(ran.reason().contains(&format!("the service does not show {field} any more")), "{ran:?}");
        }
        world.faults(&[]);
        world.sync().expect(0);
        assert_eq!((titles(&world), stays(&world)), (count, true), "{field} {is_whole}");
    }
}

#[test]
fn law_1_who_is_still_there_after_a_removal_that_was_confirmed_is_named_for_as_long_as_that_is_so() {
    let clock = Clock::fixed("2027-03-03T20:00:00Z".parse().unwrap());
    let world = World::at(&clock, Config::rest(REMOVING));
    world.csv(people(0..5));
    world.sync_at(&clock);
    world.csv(people(0..4));
    // It says that there is no one, and that it has removed them, and did neither.
    world.faults(&["staff.delete not-found"]);
    let ran = world.sync_at(&clock);
    assert_eq!((ran.counts.deleted, world.staff().len()), (0, 5), "{ran:?}");
    assert!(ran.reasons.iter().any(|reason| reason.text.contains("shows that it is there")), "{ran:?}");
    world.faults(&["staff.delete status=200"]);
    assert_eq!(world.sync_at(&clock).counts.deleted, 1);
    world.faults(&[]);
    let id = world.held_as(4).unwrap()["id"].as_i64().unwrap();
    let is_named = |hours: i64| {
        clock.advance(SignedDuration::from_hours(hours));
        world.sync_at(&clock).reasons.iter().any(|reason| reason.text.contains(&format!("still has id {id},")))
    };
    assert!([2, 48, 48, 100].into_iter().all(is_named), "it is there: {:?}", world.staff());
    // Who comes back is not to be removed.
    world.csv(people(0..5));
    assert!(!is_named(48) && !is_named(48));
    world.csv(people(0..4));
    world.faults(&["staff.delete status=200"]);
    world.sync_at(&clock);
    world.faults(&[]);
    assert!(is_named(48));
    world.service().remove("staff", id);
    assert!(!is_named(48) && !is_named(48));
}
