//! The parts of a job of contractors decide together: people, their organizations and what joins the two.

use rosterd::sandbox::Options;
use serde_json::json;

use super::jobs::{HEADER, REMOVING, all, file, pair, pairs, row, world};
use crate::support::World;

/// Memberships of the first three people in the first company.
fn first() -> Vec<(usize, usize)> {
    vec![(1, 1), (2, 1), (3, 1)]
}

fn inbox(world: &World, name: &str, text: &str) {
    world.put(&format!("inbox/{name}"), text.as_bytes());
}

/// A world whose job of contractors reads an inbox; `job` are lines of the job, `source` of its source.
fn with_inbox(job: &str, source: &str, rest: &str) -> World {
    let world = world(Options::default(), job, rest);
    std::fs::create_dir(world.dir().join("inbox")).unwrap();
    let text = std::fs::read_to_string(world.config_path()).unwrap();
    world.put_config(&text.replace("path = \"staff.csv\"\n", &format!("path = \"inbox\"\n{source}")));
    world
}

#[test]
fn what_is_approved_of_memberships_is_sent_though_no_file_waits() {
    let world = with_inbox("", "", "[job.guard]\nmax_updates = 3\n");
    inbox(&world, "1.csv", &file((1..6).map(|person| (person, 1))));
    world.sync().expect(0);
    let moved = |person| (person, if person < 5 { 2 } else { 1 });
    inbox(&world, "2.csv", &file((1..6).map(moved)));
    world.sync().expect(4);
    world.run(&["approve", "sites"]).expect(0);
    let ran = world.sync().expect(0);
    let expected: Vec<_> = (1..6).map(moved).map(|(person, company)| pair(person, company)).collect();
    assert_eq!(pairs(&world), expected, "{ran:?}");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn law_8_a_row_whose_day_cannot_be_read_is_reported_by_its_person_and_keeps_no_one_else() {
    let world = with_inbox("active_until = \"{{ trade }}\"\n", "", REMOVING);
    let day = |person: usize, day: &str| row(person, 1, day);
    let text = (1..7).fold(HEADER.to_owned(), |text, person| text + &day(person, "2099-01-01"));
    inbox(&world, "1.csv", &text);
    world.sync().expect(0);
    inbox(
        &world,
        "2.csv",
        &text.replace(&day(1, "2099-01-01"), "").replace(&day(4, "2099-01-01"), &day(4, "2099-02-30")),
    );
    let ran = world.sync();
    let expected: Vec<_> = (2..7).map(|person| pair(person, 1)).collect();
    assert_eq!((pairs(&world), all(&world, "sp.member").len()), (expected, 5), "{ran:?}");
    let job = ran.job();
    let rejected = json!([{"line": 4, "key": "C00004", "field": "active_until", "reason": "there is no such day"}]);
    assert_eq!((&job["complete"], &job["rejected_rows"]), (&json!(true), &rejected), "{ran:?}");
}

#[test]
fn law_1_a_row_that_ends_one_of_several_memberships_removes_no_one() {
    let include = "include = \"{{ trade != 'gone' }}\"\n";
    for mode in ["changes", "full"] {
        let world = with_inbox(include, &format!("mode = \"{mode}\"\n"), REMOVING);
        inbox(&world, "1.csv", &file([(1, 1), (1, 2), (2, 1), (3, 1)]));
        world.sync().expect(0);
        // In a whole file, the row of the other membership is cut off.
        let (gone, rest) = (row(1, 1, "gone"), row(2, 1, "Roofer") + &row(3, 1, "Roofer"));
        let text = match mode {
            "changes" => HEADER.to_owned() + &gone,
            _ => HEADER.to_owned() + &gone + &rest + &row(1, 2, "Roofer")[..12],
        };
        inbox(&world, "2.csv", &text);
        let ran = world.sync();
        assert_eq!(pairs(&world), [pair(1, 2), pair(2, 1), pair(3, 1)], "{mode}: {ran:?}");
        assert_eq!(all(&world, "sp.member").len(), 3, "{mode}: {ran:?}");
        // The last one that ends makes a leaver.
        let last = HEADER.to_owned() + &row(1, 2, "gone") + if mode == "full" { &rest } else { "" };
        inbox(&world, "3.csv", &last);
        world.sync().expect(0);
        assert_eq!((pairs(&world).len(), all(&world, "sp.member").len()), (2, 2), "{mode}");
    }
}

#[test]
fn a_contractor_whose_memberships_end_by_two_files_leaves_with_the_last_though_the_first_still_waits() {
    let world =
        with_inbox("include = \"{{ trade != 'gone' }}\"\nwrites = \"approve\"\n", "mode = \"changes\"\n", REMOVING);
    inbox(&world, "1.csv", &file([(1, 1), (1, 2), (2, 1)]));
    world.sync().expect(4);
    world.run(&["approve", "sites"]).expect(0);
    world.sync();
    world.run(&["approve", "sites"]);
    world.sync().expect(0);
    assert_eq!(pairs(&world).len(), 3);
    for (name, company) in [("2.csv", 2), ("3.csv", 1)] {
        inbox(&world, name, &(HEADER.to_owned() + &row(1, company, "gone")));
        world.sync().expect(4);
    }
    for _ in 0..2 {
        world.run(&["approve", "sites"]);
        world.sync();
    }
    assert_eq!((pairs(&world), all(&world, "sp.member").len()), (vec![pair(2, 1)], 1));
}

#[test]
fn who_comes_back_after_a_removal_comes_back_with_their_membership() {
    let world = with_inbox("include = \"{{ trade != 'gone' }}\"\n", "", REMOVING);
    inbox(&world, "1.csv", &file(first()));
    world.sync().expect(0);
    let rest = row(2, 1, "Roofer") + &row(3, 1, "Roofer");
    // The read is not complete, so only the statement counts.
    inbox(&world, "2.csv", &(HEADER.to_owned() + &row(1, 1, "gone") + &rest + "#N/A,x,,,,,\n"));
    world.sync().expect(3);
    assert_eq!(all(&world, "sp.member").len(), 2);
    inbox(&world, "3.csv", &file(first()));
    world.sync().expect(0);
    assert_eq!(pairs(&world), [pair(1, 1), pair(2, 1), pair(3, 1)]);
}

#[test]
fn whose_removal_was_rejected_keeps_their_memberships_too() {
    let rest =
        "[job.leavers]\naction = \"delete\"\ngrace = \"1s\"\n[job.guard]\nmax_leavers = \"off\"\nmax_missing = 3\n";
    let world = world(Options::default(), "", rest);
    world.csv(file((1..13).map(|person| (person, 1))));
    world.sync().expect(0);
    world.csv(file((5..13).map(|person| (person, 1))));
    world.sync().expect(4);
    world.run(&["reject", "sites"]).expect(0);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    for _ in 0..2 {
        let ran = world.sync();
        assert_eq!((pairs(&world).len(), all(&world, "sp.member").len()), (12, 12), "{ran:?}");
    }
}

#[test]
fn law_9_a_membership_that_is_missed_is_missed_after_a_rebuild_for_as_long_as_before() {
    let world = world(Options::default(), "", "[job.leavers]\naction = \"delete\"\ngrace = \"24h\"\n");
    world.csv(file([(1, 1), (1, 2), (2, 1), (3, 1)]));
    world.sync().expect(0);
    world.csv(file([(1, 2), (2, 1), (3, 1)]));
    world.sync().expect(0);
    let before = pairs(&world);
    world.run(&["rebuild"]).expect(0);
    for _ in 0..3 {
        let ran = world.sync().expect(0);
        assert_eq!(pairs(&world), before, "{ran:?}");
    }
    let plan = world.run(&["plan"]).expect(0);
    assert!(plan.out.contains("C00001 @ 94000001  missing since"), "{plan:?}");
}

#[test]
fn law_6_a_number_that_is_mistyped_in_one_of_two_rows_ends_no_membership() {
    let world = world(Options::default(), "match_on = [\"email\"]\n", REMOVING);
    world.csv(file([(1, 1), (1, 2), (2, 1), (3, 1)]));
    world.sync().expect(0);
    let before = pairs(&world);
    world.csv(file([(1, 2), (2, 1), (3, 1)]) + &row(1, 1, "Roofer").replace("C00001", "c0001"));
    let ran = world.sync().expect(4);
    assert_eq!(pairs(&world), before, "{ran:?}");
    world.csv(file([(1, 1), (1, 2), (2, 1), (3, 1)]));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn law_6_who_is_in_a_company_whose_number_was_swapped_stays_where_they_are() {
    let world = world(Options::default(), "", REMOVING);
    world.csv(file([(1, 1), (2, 2), (3, 3)]));
    world.sync().expect(0);
    let before = pairs(&world);
    let swapped = |person: usize, company: usize, number: usize| {
        row(person, company, "Roofer").replace(&format!("94{company:06}"), &format!("94{number:06}"))
    };
    world.csv(HEADER.to_owned() + &swapped(1, 1, 2) + &swapped(2, 2, 1) + &row(3, 3, "Roofer"));
    let ran = world.sync().expect(4);
    assert_eq!((pairs(&world), ran.writes()), (before.clone(), (0, 0, 0)), "{ran:?}");
    world.csv(file([(1, 1), (2, 2), (3, 3)]));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(pairs(&world), before);
}

#[test]
fn who_is_protected_keeps_a_membership_and_nothing_is_refused() {
    let world = world(Options::default(), "protect = [\"C00001\"]\n", REMOVING);
    world.csv(file([(1, 1), (1, 2), (2, 1)]));
    world.sync().expect(0);
    world.csv(file([(1, 1), (2, 1)]));
    let ran = world.sync().expect(0);
    assert_eq!((pairs(&world).len(), &ran.job()["held"], &ran.job()["parked"]), (3, &1.into(), &0.into()), "{ran:?}");
}

#[test]
fn a_membership_that_was_refused_for_a_member_who_was_gone_is_made_once_they_are_there_again() {
    let world = world(Options::default(), "", REMOVING);
    world.csv(file(first()));
    world.sync().expect(0);
    world.sync().expect(0);
    let member = all(&world, "sp.member").into_iter().find(|one| one["service_provider_id"] == "C00001").unwrap();
    world.service().remove("sp.member", member["id"].as_i64().unwrap());
    world.csv(file([(1, 2), (2, 1), (3, 1)]));
    let ran = world.sync().expect(3);
    assert_eq!(ran.job()["parked"], 1, "{ran:?}");
    let text = std::fs::read_to_string(world.config_path()).unwrap();
    world.put_config(&text.replace("[state]\n", "[state]\nfull_pull = \"1s\"\n"));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    world.sync();
    let ran = world.sync().expect(0);
    assert_eq!(pairs(&world), [pair(1, 2), pair(2, 1), pair(3, 1)], "{ran:?}");
}

#[test]
fn a_number_that_a_person_approved_keeps_the_membership_as_it_is() {
    let world = world(Options::default(), "match_on = [\"email\"]\n", REMOVING);
    world.csv(file(first()));
    world.sync().expect(0);
    let ids = |world: &World| {
        let mut ids: Vec<_> = all(world, "sp.membership").iter().map(|one| one["id"].as_i64().unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    let before = ids(&world);
    world.csv(file(first()).replace("C00001", "C00009"));
    world.sync().expect(4);
    world.run(&["approve", "sites"]).expect(0);
    world.sync().expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(ids(&world), before, "no second one is made, and the first one is not removed");
}

#[test]
fn law_8_a_row_without_the_number_of_its_company_names_that_column_and_stops_no_other_membership() {
    let world = world(Options::default(), "", REMOVING);
    let unplaced = |rows: String| rows + &row(3, 1, "Roofer").replace("94000001", "");
    world.csv(file([(1, 1), (2, 1), (3, 1), (4, 1), (4, 2)]));
    world.sync().expect(0);
    // One person moves, another one loses a second company.
    world.csv(unplaced(file([(1, 2), (2, 1), (4, 2)])));
    let ran = world.sync().expect(3);
    let rejected = &ran.job()["rejected_rows"];
    assert_eq!(rejected[0]["field"], json!("org_key"), "{rejected}");
    let is_apart = |one: &str| !ran.reason().contains(&format!("none of the {one} ends by absence"));
    assert!(is_apart("memberships") && !ran.reason().contains("no one leaves by absence"), "{}", ran.reason());
    let placed = [pair(1, 2), pair(2, 1), pair(3, 1), pair(4, 2)];
    assert_eq!(pairs(&world), placed, "who may be meant by the row keeps what they have");
    // Where it is not sure whose row it is, it may be anybody's.
    world.csv(unplaced(file([(1, 2), (4, 2)])) + &row(3, 1, "Roofer").replace("Worker 3", "") + &row(2, 3, "Roofer"));
    let ran = world.sync().expect(4);
    assert!(ran.reason().contains("so none of the memberships ends by absence"), "{}", ran.reason());
    assert!(placed.iter().all(|pair| pairs(&world).contains(pair)), "{:?}", pairs(&world));
}

#[test]
fn check_and_preview_see_the_rows_that_any_part_can_not_use() {
    let world = world(Options::default(), "", REMOVING);
    world.csv(file([(1, 1), (2, 1)]) + &row(3, 1, "Roofer").replace("94000001", ""));
    let check = world.run(&["check"]);
    assert!(check.out.contains("1 rejected") && check.out.contains("line 4: org_key"), "{check:?}");
    let rows = world.run(&["preview", "--json"]).expect(0).json()["rows"].clone();
    assert_eq!(rows[0]["record"]["org.name"], "Company 1 Ltd", "{rows}");
    assert_eq!((&rows[0]["record"]["membership.roles"], &rows[0]["rejected"]), (&json!([61]), &json!(null)), "{rows}");
    assert_eq!((&rows[2]["rejected"]["field"], &rows[2]["key"]), (&json!("org_key"), &json!("C00003")), "{rows}");
    let shown = world.run(&["preview"]).expect(0);
    assert!(shown.out.contains("org.legalid = \"94000001\"") && shown.out.contains("rejected: org_key"), "{shown:?}");
}

/// A person and an organization may have the same key: an answer to one is none to the other.
#[test]
fn a_decision_on_a_person_decides_on_no_organization_of_the_same_key() {
    let config = |writes: &str| format!("org_key = \"{{{{ company_no }}}}\"\n{writes}");
    let world = world(Options::default(), &config(""), "");
    let text = |name: &str, company: &str| {
        let rows = format!("94000001,{name},one@example.com,Roofer,94000007,Acme,61\n");
        HEADER.to_owned() + &rows + &format!("C00002,Dan Two,two@example.com,Roofer,94000001,{company},61\n")
    };
    world.csv(text("Cora One", "Bolt"));
    world.sync().expect(0);
    let whole = std::fs::read_to_string(world.config_path()).unwrap();
    world.put_config(&whole.replace("org_key", "writes = \"approve\"\norg_key"));
    world.csv(text("Cora Onesson", "Nut and Bolt"));
    world.sync().expect(4);
    let refused = world.run(&["approve", "sites", "94000001"]).expect(1);
    let part = "sites/contractor-organization";
    for said in ["held more than once", part, "write the part before the key"] {
        assert!(refused.err.contains(said), "{said}: {refused:?}");
    }
    world.run(&["approve", "sites", &format!("{part} 94000001")]).expect(0);
    world.sync();
    let names = |what: &str| all(&world, what).iter().map(|one| one["name"].clone()).collect::<Vec<_>>();
    let has = |what: &str, name: &str| names(what).contains(&json!(name));
    assert!(has("sp.org", "Nut and Bolt"), "{:?}", names("sp.org"));
    assert!(has("sp.member", "Cora One"), "{:?}", names("sp.member"));
    // By now one thing has that key.
    world.run(&["reject", "sites", "94000001"]).expect(0);
    world.sync().expect(0);
    assert!(has("sp.member", "Cora One"));
}

#[test]
fn law_7_organizations_that_are_new_to_a_job_wait_for_a_decision() {
    let world = world(Options::default(), "", REMOVING);
    let whole = std::fs::read_to_string(world.config_path()).unwrap();
    let people = whole.lines().filter(|line| !line.starts_with("\"org.") && !line.starts_with("\"membership."));
    world.put_config(&people.map(|line| format!("{line}\n")).collect::<String>());
    world.csv(file(first()));
    world.sync().expect(0);
    world.put_config(&whole);
    for _ in 0..2 {
        world.sync().expect(4);
        assert!(all(&world, "sp.org").is_empty() && all(&world, "sp.membership").is_empty());
    }
    world.run(&["approve", "sites"]).expect(0);
    world.sync();
    world.run(&["approve", "sites"]);
    world.sync().expect(0);
    assert_eq!((all(&world, "sp.org").len(), all(&world, "sp.membership").len()), (1, 3));
}

#[test]
fn a_plan_with_a_leaver_is_applied_whole_and_held_memberships_are_named_by_their_own_keys() {
    let world = world(Options::default(), "", &format!("{REMOVING}max_updates = 1\n"));
    world.csv(file([(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1)]));
    world.sync().expect(0);
    world.csv(file([(2, 1), (3, 1), (4, 1), (5, 1), (6, 1)]));
    let plan = world.dir().join("plan.json");
    let plan = plan.to_str().unwrap();
    world.run(&["plan", "--out", plan]).expect(0);
    let ran = world.run(&["apply", plan]).expect(0);
    assert!(!ran.err.contains("skipped") && !ran.out.contains("skipped"), "{ran:?}");
    assert_eq!((all(&world, "sp.member").len(), all(&world, "sp.membership").len()), (5, 5));
    world.csv(file([(2, 2), (3, 2), (4, 2), (5, 2), (6, 2)]));
    world.sync().expect(4);
    let refused = world.run(&["approve", "sites", "C00002"]).expect(1);
    assert!(refused.err.contains("C00002 @ 94000001") && refused.err.contains("by keys of their own"), "{refused:?}");
}

#[test]
fn law_7_who_is_missing_since_any_part_is_mapped_otherwise_waits_for_a_decision() {
    type Edit = fn(&str) -> String;
    let changes: [(&str, Edit); 4] = [
        ("a field of memberships less", |text| text.replace("\"membership.roles\" = \"{{ role }}\"\n", "")),
        ("a field of companies more", |text| {
            text.replace("\"org.name\"", "\"org.tradingas\" = \"{{ company }}\"\n\"org.name\"")
        }),
        ("another key of companies", |text| text.replace("[job.source]", "org_key = \"{{ company }}\"\n[job.source]")),
        ("another field of people", |text| text.replace("title = \"{{ trade }}\"", "title = \"{{ trade }}.\"")),
    ];
    for (case, change) in changes {
        let world = world(Options::default(), "", REMOVING);
        let before = [(1, 1), (2, 1), (2, 2), (3, 2), (4, 1)];
        world.csv(file(before));
        world.sync().expect(0);
        let text = std::fs::read_to_string(world.config_path()).unwrap();
        world.put_config(&change(&text));
        // One person is gone, and one membership of another.
        world.csv(file([(2, 2), (3, 2), (4, 1)]));
        for _ in 0..2 {
            let ran = world.sync().expect(4);
            let expected: Vec<_> = before.iter().map(|(person, company)| pair(*person, *company)).collect();
            assert_eq!((pairs(&world), all(&world, "sp.member").len()), (expected, 4), "{case}: {ran:?}");
        }
        world.run(&["approve", "sites"]).expect(0);
        let ran = world.sync();
        let expected = [pair(2, 2), pair(3, 2), pair(4, 1)];
        assert_eq!((pairs(&world).as_slice(), all(&world, "sp.member").len()), (&expected[..], 3), "{case}: {ran:?}");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{case}");
    }
}

#[test]
fn law_1_a_row_that_ends_another_membership_makes_no_leaver_of_one_whose_own_waits() {
    let world = with_inbox("include = \"{{ trade != 'gone' }}\"\n", "mode = \"changes\"\n", REMOVING);
    let rows = |rows: &[String]| HEADER.to_owned() + &rows.concat();
    inbox(&world, "1.csv", &rows(&[row(1, 1, "Roofer"), row(1, 2, "Roofer"), row(2, 1, "Roofer")]));
    world.sync().expect(0);
    // The second company would get the name of the first one, so it waits, and who is new in it with it.
    let doubtful = row(5, 2, "Roofer").replace("Company 2 Ltd", "Company 1 Ltd");
    inbox(&world, "2.csv", &rows(&[doubtful]));
    world.sync().expect(4);
    assert_eq!(all(&world, "sp.member").len(), 3);
    // A membership that was never theirs is over.
    inbox(&world, "3.csv", &rows(&[row(5, 1, "gone")]));
    for _ in 0..3 {
        let ran = world.sync();
        assert_eq!(all(&world, "sp.member").len(), 3, "{ran:?}");
    }
    world.run(&["approve", "sites"]).expect(0);
    world.sync();
    world.sync().expect(0);
    assert_eq!(pairs(&world), [pair(1, 1), pair(1, 2), pair(2, 1), pair(5, 2)]);
}
