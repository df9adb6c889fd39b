//! A rebuild drops what is remembered, and changes nothing at the service.

use std::fs;

use jiff::SignedDuration;
use rosterd::clock::Clock;
use rosterd::sandbox::Options;

use crate::contractors::jobs;
use crate::support::config::OfAFolder;
use crate::support::{Config, HEADER, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

fn flip(world: &World) {
    let path = world.state().join("store/db");
    let mut bytes = fs::read(&path).unwrap();
    // Wherever its rows lie: of what is read of a part, creates of unknown fate would make people known again.
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[last / 16..last].iter_mut().for_each(|byte| *byte ^= 0x55);
    fs::write(path, bytes).unwrap();
}

#[test]
fn law_9_after_a_rebuild_no_one_is_doubled_and_no_one_leaves() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE), 10);
    world.csv(people(1..10).replace(&row(1, "Clerk"), &row(1, "Boss")));
    let before = world.audit();
    let writes = world.service().writes();
    let told = world.run(&["rebuild"]).expect(0);
    assert!(told.out.contains("10 people known"), "{told:?}");
    assert_eq!(world.service().writes(), writes);
    let plan = world.plan().expect(0).job();
    assert_eq!((&plan["matched"], &plan["new"]), (&9.into(), &0.into()), "{plan}");
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0), "only what is truly different");
    assert_eq!(world.staff().len(), 10, "who was gone from the file belongs to nobody now");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    let after = world.audit();
    assert!(after.starts_with(&before), "the audit file is only appended to");
    assert!(after[before.len()..].contains("\"rebuilt\""), "{after}");
    assert!(world.run(&["status", "--json"]).job()["last"]["run"].as_u64() > Some(2), "runs are counted on");
}

/// The ids are known that the service had: a list that lies is found out by them, and who is left out of one is asked for.
#[test]
fn law_9_no_one_is_doubled_by_a_list_that_lies_after_a_rebuild() {
    let options = || Options { accept_duplicates: true, page_max: 10, ..Options::default() };
    for (fault, exit) in [
        ("staff.list empty-list", 1),
        ("staff.list empty-list after=1", 1),
        ("staff.list empty-list times=1", 0),
        ("staff.list empty-list nth=2", 0),
        ("staff.list not-found", 1),
    ] {
        let world = World::with(options(), Config::rest(LEAVE_AT_ONCE));
        world.csv(people(0..25));
        world.sync().expect(0);
        world.run(&["rebuild"]).expect(0);
        // Twice is not less.
        world.run(&["rebuild"]).expect(0);
        world.faults(&[fault]);
        let ran = world.sync().expect(exit);
        assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 25), "{fault}: {ran:?}");
        world.faults(&[]);
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{fault}");
        world.expect_people(0..25);
    }
}

#[test]
fn law_9_no_one_is_doubled_after_a_rebuild_that_the_list_leaves_out() {
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, Config::rest(LEAVE_AT_ONCE));
    world.csv(people(0..9));
    world.sync().expect(0);
    let id = world.held_as(4).unwrap()["id"].as_i64().unwrap();
    world.faults(&[&format!("staff.list omit={id}")]);
    world.run(&["rebuild"]).expect(0);
    for _ in 0..2 {
        let ran = world.sync().expect(0);
        assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 9), "{ran:?}");
    }
    // Who was removed there meanwhile is made again.
    world.run(&["rebuild"]).expect(0);
    assert!(world.service().remove("staff", id));
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    world.expect_people(0..9);
}

/// Nothing can be read of it; the audit files tell who was made.
#[test]
fn law_9_no_one_is_doubled_after_a_damaged_store_that_the_list_leaves_out() {
    let options = Options { accept_duplicates: true, ..Options::default() };
    let world = World::with(options, Config::rest(LEAVE_AT_ONCE).in_a_folder(OfAFolder::Damage));
    world.csv(people(0..9));
    world.sync().expect(0);
    let id = world.held_as(4).unwrap()["id"].as_i64().unwrap();
    world.faults(&[&format!("staff.list omit={id}")]);
    flip(&world);
    world.run(&["rebuild", "--damaged"]).expect(0);
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 9), "{ran:?}");
}

/// Nothing is known, so a list ends only where it says so twice.
#[test]
fn law_9_one_false_answer_to_the_first_listing_doubles_no_one() {
    for (target, list) in [("staff", "staff.list"), ("contractor", "sp.member.list")] {
        for fault in ["empty-list times=1", "empty-list nth=2"] {
            let options = Options { accept_duplicates: true, page_max: 10, ..Options::default() };
            let config = Config {
                target: target.into(),
                job: "key = \"{{ employee_no }}\"\nmatch_on = [\"email\"]\n".into(),
                map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\n".into(),
                ..Config::default()
            };
            let world = World::with(options, config);
            world.csv(people(0..15));
            world.sync().expect(0);
            world.lose_state();
            world.faults(&[&format!("{list} {fault}")]);
            let ran = world.sync().expect(0);
            assert_eq!(ran.writes(), (0, 0, 0), "{target} {fault}: {ran:?}");
        }
    }
}

#[test]
fn law_9_what_a_person_rejected_stays_so_and_what_was_approved_is_asked_again() {
    let world = World::of(Config::default().job("writes = \"approve\"\n"));
    world.csv(people(1..4));
    world.sync().expect(4);
    world.run(&["approve", "staff", "P00001"]).expect(0);
    world.run(&["reject", "staff", "P00002"]).expect(0);
    let told = world.run(&["rebuild", "--json"]).expect(0).json();
    assert_eq!((&told["rebuilt"], &told["kept_rejections"]), (&true.into(), &1.into()), "{told}");
    let ran = world.sync().expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(2)), "{ran:?}");
}

#[test]
fn law_3_a_create_of_unknown_fate_outlives_a_rebuild() {
    let world = World::new(Options { accept_duplicates: true, ..Options::default() });
    world.csv(people(1..4));
    world.faults(&["staff.create cut-after", "staff.list status=500 after=2"]);
    world.sync().expect(1);
    world.faults(&[]);
    let made = world.staff().len();
    assert!(made > 0, "at least one was made without an answer");
    let told = world.run(&["rebuild", "--json"]).expect(0).json();
    assert!(told["kept_unknown"].as_u64() > Some(0), "{told}");
    world.sync().expect(0);
    world.expect_people(1..4);
}

#[test]
fn law_9_fault_12_a_damaged_store_fails_every_command_until_it_is_rebuilt() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE).in_a_folder(OfAFolder::Damage), 30);
    world.run(&["pause"]).expect(0);
    flip(&world);
    world.csv(people(1..30));
    for command in [&["sync"][..], &["plan"], &["status"], &["approve", "staff"]] {
        let ran = world.run(command).expect(1);
        assert!(ran.err.contains("rosterd rebuild") && ran.err.contains("damaged"), "{command:?}: {ran:?}");
    }
    assert_eq!(world.service().writes(), 30);
    let told = world.run(&["rebuild", "--damaged"]).expect(0);
    assert!(told.out.contains("dropped: damaged"), "{told:?}");
    world.sync().expect(4);
    world.run(&["resume"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(world.staff().len(), 30);
    assert!(world.run(&["rebuild", "--damaged"]).expect(0).out.contains("nothing was dropped"));
    assert_eq!(world.run(&["status", "--json"]).job()["known"], 29);
}

#[test]
fn law_2_a_store_of_another_account_can_be_given_up() {
    let one = World::synced(Config::default(), 3);
    let other = World::default();
    let path = one.config_path();
    let text = fs::read_to_string(&path).unwrap().replace(&one.service().url(), &other.service().url());
    one.put_config(&text);
    for command in ["sync", "run"] {
        assert!(one.run(&[command]).expect(2).err.contains("rosterd rebuild"), "{command}");
    }
    assert!(one.run(&["check"]).expect(1).out.contains("belongs to the account at"));
    one.run(&["rebuild"]).expect(0);
    assert_eq!(one.sync().expect(0).writes(), (3, 0, 0));
    assert_eq!(other.staff().len(), 3);
}

/// One damage that leaves every row readable: a commit that the folder promises is missing.
fn promise_more(world: &World) {
    fs::write(world.state().join("commits"), u64::MAX.to_le_bytes()).unwrap();
}

#[test]
fn law_9_who_was_leaving_before_a_rebuild_leaves_after_it_and_whose_rejection_stood_stays() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\ngrace_reads = 1\n";
    let (sound, folder) = (Config::rest(rest), Config::rest(rest).in_a_folder(OfAFolder::Damage));
    for (config, is_damaged) in [(sound, false), (folder, true)] {
        let world = World::synced(config, 10);
        assert_eq!(world.sync_of(people(3..11)).expect(0).writes(), (0, 0, 0), "two wait for a further read");
        let mut command = vec!["rebuild", "--json"];
        if is_damaged {
            promise_more(&world);
            let ran = world.run(&["rebuild"]).expect(1);
            assert!(ran.err.contains("2 people") && ran.err.contains("rosterd rebuild --damaged"), "{ran:?}");
            world.run(&["status"]).expect(1);
            command.push("--damaged");
        }
        let told = world.run(&command).expect(0).json();
        assert_eq!((&told["rebuilt"], &told["kept_leaving"], &told["known"]), (&true.into(), &2.into(), &10.into()));
        assert_eq!(world.run(&["status", "--json"]).job()["known"], 2);
        let ran = world.sync_of(people(3..11).replace(&row(3, "Clerk"), &row(3, "Boss"))).expect(0);
        assert_eq!(ran.writes(), (0, 1, 2), "{ran:?}");
        assert_eq!(world.keys(), (3..11).map(|number| format!("P{number:05}")).collect::<Vec<_>>());
    }
}

#[test]
fn law_9_a_removal_that_waits_for_a_decision_waits_after_a_rebuild_too() {
    let rest = format!("{LEAVE_AT_ONCE}[job.guard]\nmax_leavers = 3\nmax_missing = \"off\"\n");
    let world = World::synced(Config::rest(&rest), 40);
    world.csv(people(9..41));
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
    world.run(&["approve", "staff", "P00001", "P00002", "P00003", "P00004", "P00005", "P00006"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 6));
    let told = world.run(&["rebuild"]).expect(0);
    assert!(told.out.contains("2 changes that wait for a decision"), "{told:?}");
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(2)), "{ran:?}");
    }
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 2));
}

#[test]
fn law_7_what_another_mapping_alters_waits_after_a_rebuild_too() {
    let mut world = World::synced(Config::default(), 20);
    world.reconfigure(|config| Config { map: config.map.replace("{{ title }}", "{{ title | upper }}"), ..config });
    world.sync().expect(4);
    world.run(&["rebuild"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 20, 0));
}

#[test]
fn law_9_who_was_leaving_before_a_rebuild_and_is_back_stays() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\ngrace_reads = 1\n";
    let world = World::synced(Config::rest(rest), 10);
    world.sync_of(people(3..11)).expect(0);
    world.run(&["rebuild"]).expect(0);
    for text in [people(1..11), people(1..11).replace(&row(3, "Clerk"), &row(3, "Boss"))] {
        world.sync_of(text).expect(0);
        world.expect_people(1..11);
    }
    assert_eq!(world.run(&["status", "--json"]).job()["known"], 10);
}

#[test]
fn without_a_store_there_is_nothing_to_drop() {
    let world = World::default();
    assert!(world.run(&["rebuild"]).expect(0).out.contains("nothing to drop"));
    world.csv(people(1..3));
    assert_eq!(world.sync().expect(0).writes(), (2, 0, 0));
}

#[test]
fn law_9_who_has_an_update_that_waits_is_missed_after_a_rebuild_too() {
    for (writes, changed, refused) in [("auto", 8, false), ("approve", 4, false), ("auto", 4, true)] {
        let limits = format!("{LEAVE_AT_ONCE}[job.guard]\nmax_updates = 4\n");
        let mut world = World::synced(Config::rest(&limits), 40);
        world.reconfigure(|_| Config::rest(&limits).job(&format!("writes = \"{writes}\"\n")));
        if refused {
            world.faults(&["staff.update status=400"]);
        }
        let title = |at| if at < changed { "Boss" } else { "Clerk" };
        let file = |from| (from..41).fold(crate::support::HEADER.to_owned(), |file, at| file + &row(at, title(at)));
        world.csv(file(1));
        assert_eq!(world.sync().writes(), (0, 0, 0), "{writes} {changed}: its updates wait");
        world.run(&["rebuild"]).expect(0);
        world.sync();
        assert_eq!(world.run(&["status", "--json"]).job()["known"], 40, "{writes} {changed}");
        world.csv(file(2));
        world.sync();
        if writes == "approve" {
            world.run(&["approve", "staff", "P00001"]).expect(0);
            world.sync();
        }
        assert_eq!(world.staff().len(), 39, "{writes} {changed}: who is gone from the file leaves");
    }
}

#[test]
fn law_9_what_a_revert_holds_waits_after_a_rebuild_too() {
    let world = World::synced(Config::default(), 3);
    world.run(&["revert", "1"]).expect(4);
    world.run(&["approve", "staff", "P00001"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 1));
    world.run(&["rebuild"]).expect(0);
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(2)), "{ran:?}");
    }
    world.run(&["reject", "staff", "P00002"]).expect(0);
    world.run(&["approve", "staff", "P00003"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "what was undone is not done again");
    assert_eq!(world.keys(), ["P00002"]);
    assert_eq!(world.run(&["status", "--json"]).job()["known"], 1);
}

#[test]
fn law_9_a_membership_of_a_row_without_a_company_is_known_after_a_rebuild_too() {
    let world = jobs::world(Options::default(), "", "[job.guard]\nmax_updates = \"off\"\n");
    let all = jobs::file([(1, 1), (2, 2), (3, 1)]);
    world.sync_of(&all).expect(0);
    let unplaced = all.replace("94000002,Company 2 Ltd", ",");
    assert!(unplaced != all);
    world.sync_of(&unplaced);
    for _ in 0..2 {
        world.run(&["rebuild"]).expect(0);
    }
    world.sync();
    world.sync_of(jobs::file([(1, 1), (2, 3), (3, 1)])).expect(0);
    assert_eq!(jobs::pairs(&world), [jobs::pair(1, 1), jobs::pair(2, 3), jobs::pair(3, 1)]);
}

/// Who can't be matched any more is not made a second time: an edit at the service, a value of the file or a list that hides a field
/// is what they are no more found by.
#[test]
fn law_9_who_fits_by_name_or_email_alone_after_a_rebuild_is_held_as_on_a_first_run() {
    for (match_on, fault, hidden) in [
        ("email", None, false),
        ("employee_id", None, true),
        ("employee_id", Some("staff.list without=employee_id"), false),
        ("email", Some("staff.list without=email"), false),
    ] {
        let options = Options { accept_duplicates: true, ..Options::default() };
        let job = format!("key = \"{{{{ employee_no }}}}\"\nmatch_on = [\"{match_on}\"]\n");
        let config = Config { job, ..Config::rest(LEAVE_AT_ONCE) };
        let world = World::with(options, config);
        world.csv(people(1..11));
        world.sync().expect(0);
        let made = world.staff();
        assert_eq!(made.len(), 10, "{match_on}");
        if hidden {
            let mut edited = made[0].clone();
            (edited["employee_id"], edited["email"]) = ("X9".into(), "x9@example.com".into());
            let id = format!("id={}", edited["id"]);
            world.run(&["api", "staff.update", &id, "--body", &edited.to_string()]).expect(0);
        }
        world.run(&["rebuild"]).expect(0);
        world.faults(&fault.into_iter().collect::<Vec<_>>());
        let is_other = fault.is_none() && !hidden;
        let text = people(1..11).replace(if is_other { "person1@" } else { "none" }, "other@");
        for _ in 0..2 {
            let ran = world.sync_of(&text).expect(4);
            assert_eq!(ran.writes().0, 0, "{match_on} {fault:?}: {ran:?}");
        }
        assert_eq!(world.staff().len(), 10, "{match_on} {fault:?}");
        // That was the first run: later ones ask about those only who wait from it.
        world.faults(&[]);
        world.run(&["approve", "staff"]).expect(0);
        let approved = world.sync().expect(0).writes().0;
        assert_eq!(approved, u64::from(fault.is_none()), "{match_on} {fault:?}");
        let namesake = row(11, "Clerk").replace("Person 11", "Person 2");
        assert_eq!(world.sync_of(text + &namesake).expect(0).writes().0, 1, "{match_on} {fault:?}");
    }
}

/// Without what was known before, such a list would have everybody made again.
#[test]
fn law_1_a_list_that_shows_by_nothing_who_is_who_is_no_proof_that_anyone_is_not_there() {
    for (fault, shows) in [
        ("sp.member.list without=name", "the name"),
        ("sp.org.list without=name", "the name"),
        ("sp.membership.list without=org_id", "the member and organization"),
        ("sp.membership.list without=member_id", "the member and organization"),
    ] {
        let world = jobs::world(Options::default(), "", "");
        let file = jobs::file([(1, 1), (2, 2), (3, 1)]);
        world.sync_of(&file).expect(0);
        world.run(&["rebuild"]).expect(0);
        world.faults(&[fault]);
        let writes = world.service().writes();
        let ran = world.sync_of(&file).expect(1);
        assert!(ran.reason().contains(shows), "{fault}: {ran:?}");
        assert_eq!(world.service().writes(), writes, "{fault}");
        world.faults(&[]);
        assert_eq!(world.sync_of(&file).expect(0).writes(), (0, 0, 0), "{fault}");
    }
    let world = World::synced(Config::default(), 3);
    world.run(&["rebuild"]).expect(0);
    world.faults(&["staff.list without=name"]);
    assert!(world.sync().expect(1).reason().contains("the name"));
}

#[test]
fn law_9_a_rejected_update_stays_rejected_whatever_the_job_does_with_edits() {
    for on_drift in ["overwrite", "keep", "report"] {
        let world = World::synced(
            Config::rest(&format!("{LEAVE_AT_ONCE}[job.guard]\nmax_updates = 4\n"))
                .job(&format!("on_drift = \"{on_drift}\"\n")),
            40,
        );
        let other = |wrong: std::ops::Range<usize>| {
            (1..41).fold(crate::support::HEADER.to_owned(), |file, at| {
                file + &row(at, if wrong.contains(&at) { "Boss" } else { "Clerk" })
            })
        };
        world.csv(other(1..7));
        world.sync().expect(4);
        world.run(&["reject", "staff"]).expect(0);
        world.csv(other(1..3));
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{on_drift}");
        let told = world.run(&["rebuild", "--json"]).expect(0).json();
        assert!(told["kept_rejections"].as_u64() >= Some(2), "{told}");
        for _ in 0..2 {
            let ran = world.sync().expect(0);
            assert_eq!(ran.writes(), (0, 0, 0), "{on_drift}: {ran:?}");
        }
        assert!(world.staff().iter().all(|one| one["title"] == "Clerk"), "{on_drift}");
        assert_eq!(world.run(&["status", "--json"]).job()["known"], 40, "{on_drift}: they are known all the same");
        // So they leave like anyone else.
        world.csv(other(2..3).replace(&row(1, "Clerk"), ""));
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 1), "{on_drift}");
    }
}

#[test]
fn law_6_who_is_asked_about_under_a_key_that_was_another_s_is_found_again_after_a_rebuild() {
    let header = format!("{},Alt\n", HEADER.trim_end());
    let alt = |number: usize| {
        format!("{},P{:05}\n", row(number, "Clerk").trim_end(), [0, 2, 1].get(number).unwrap_or(&number))
    };
    let file = (1..13).fold(header, |file, number| file + &alt(number));
    let mut world = World::synced(Config::default(), 12);
    let before = world.staff();
    world.reconfigure(|config| Config { job: config.job.replace("{{ employee_no }}", "{{ alt }}"), ..config });
    world.csv(&file);
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert!(ran.reason().contains("the job's key changed"), "{ran:?}");
        // Approved, the two would be exchanged.
        for decision in ["approve", "reject"] {
            world.run(&[decision, "staff"]).expect(1);
            world.run(&[decision, "staff", "P00001"]).expect(1);
        }
    }
    world.run(&["rebuild"]).expect(0);
    for _ in 0..2 {
        let ran = world.sync().expect(0);
        assert!(!ran.reason().contains("the job's key changed"), "{ran:?}");
    }
    assert_eq!((world.staff(), world.run(&["status", "--json"]).job()["known"].as_u64()), (before, Some(12)));
}

/// Someone else has the key by now that one had who is gone.
#[test]
fn law_9_who_is_gone_leaves_though_their_key_is_another_s_after_a_rebuild() {
    for syncs_between in [0, 2] {
        let clock = Clock::fixed("2026-03-02T08:00:00Z".parse().unwrap());
        let mut world = World::at(&clock, Config::rest("[job.leavers]\naction = \"delete\"\n"));
        world.csv(people(0..12));
        world.sync().expect(0);
        world.csv(people(0..12).replace(&row(3, "Clerk"), ""));
        world.sync().expect(0);
        world.reconfigure(|config| Config { job: config.job.replace("{{ employee_no }}", "{{ alt }}"), ..config });
        let header = format!("{},Alt\n", HEADER.trim_end());
        let alt = |number: usize| match number {
            7 => format!("{},P00003\n", row(7, "Clerk").trim_end()),
            _ => format!("{},B{number}\n", row(number, "Clerk").trim_end()),
        };
        world.csv((0..12).filter(|number| *number != 3).fold(header, |file, number| file + &alt(number)));
        for _ in 0..syncs_between {
            assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
        }
        let said = world.run(&["rebuild"]).expect(0);
        assert!(said.out.contains("1 person who are gone"), "{said:?}");
        for _ in 0..2 {
            let ran = world.sync().expect(0);
            assert_eq!((ran.writes(), ran.reason().contains("the job's key changed")), ((0, 0, 0), false), "{ran:?}");
        }
        assert_eq!(world.run(&["status", "--json"]).job()["known"], 12);
        clock.advance(SignedDuration::from_hours(25));
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 1), "after {syncs_between} runs");
        let there = |number: usize| world.held_as(number).is_some();
        assert_eq!((0..12).filter(|number| !there(*number)).collect::<Vec<_>>(), [3]);
    }
}

/// A row with the name and email of someone without a row of their own waits.
#[test]
fn law_9_who_stays_since_another_row_may_mean_them_leaves_after_a_rebuild() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE), 8);
    let slip =
        people(1..9).replace(&row(7, "Clerk"), "").replace("P00006,Person 6,person6@", "P00006,Person 7,person7@");
    for _ in 0..2 {
        assert_eq!(world.sync_of(&slip).expect(4).writes(), (0, 0, 0));
        world.run(&["rebuild"]).expect(0);
    }
    world.csv(people(1..9).replace(&row(7, "Clerk"), ""));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
    assert!(world.held_as(7).is_none() && world.held_as(6).is_some());
}

/// The keys are asked about first.
#[test]
fn law_7_what_a_mapping_alters_is_held_also_once_the_keys_are_found_again() {
    let header = format!("{},Alt\n", HEADER.trim_end());
    let alt = |number: usize| {
        format!("{},P{:05}\n", row(number, "Clerk").trim_end(), [0, 2, 1].get(number).unwrap_or(&number))
    };
    let mut world = World::synced(Config::default(), 12);
    world.csv((1..13).fold(header, |file, number| file + &alt(number)));
    world.reconfigure(|config| Config {
        job: config.job.replace("{{ employee_no }}", "{{ alt }}"),
        map: config.map.replace("{{ title }}", "{{ title | upper }}"),
        ..config
    });
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
    world.run(&["rebuild"]).expect(0);
    let ran = world.sync().expect(4);
    assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
    assert!(ran.reason().contains("the mapping change alters 12 people"), "{ran:?}");
}

#[test]
fn law_3_who_was_rejected_as_new_is_asked_about_again_once_the_row_is_another_one() {
    let world = World::synced(Config::default(), 5);
    let renumbered = |title: &str| people(1..5) + &format!("P55555,Person 5,new5@example.com,{title}\n");
    world.run(&["rebuild"]).expect(0);
    world.sync_of(renumbered("Clerk")).expect(4);
    world.run(&["reject", "staff", "P55555"]).expect(0);
    world.sync();
    for title in ["Boss", "Cook"] {
        let ran = world.sync_of(renumbered(title)).expect(4);
        assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 5), "{ran:?}");
    }
    world.run(&["approve", "staff", "P55555"]).expect(0);
    assert_eq!(world.sync().writes(), (1, 0, 0));
}
