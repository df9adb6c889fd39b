//! Law 7: a run that does not see everyone removes no one.

use jiff::SignedDuration;
use rosterd::clock::Clock;
use serde_json::Value;

use crate::support::{Config, HEADER, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

#[test]
fn law_7_one_key_touches_no_one_else() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE), 10);
    let text = people(1..9).replace("Clerk", "Moved") + &row(12, "Clerk") + &row(13, "Clerk");
    world.csv(text);

    let plan = world.run(&["plan", "--json", "--key", "P00001", "--key", "P00010"]).expect(0).job();
    let keys: Vec<&str> =
        plan["changes"].as_array().unwrap().iter().filter_map(|change| change["key"].as_str()).collect();
    assert_eq!(keys, ["P00001"], "who is absent does not leave by being named: {plan}");

    let ran = world.run(&["sync", "--json", "--key", "P00001", "--key", "P00012"]).expect(0);
    assert_eq!(ran.writes(), (1, 1, 0), "{ran:?}");
    for (number, title) in [(1, Some("Moved")), (2, Some("Clerk")), (9, Some("Clerk")), (12, Some("Clerk")), (13, None)]
    {
        let seen = world.held_as(number).map(|person| person["title"].as_str().unwrap().to_owned());
        assert_eq!(seen.as_deref(), title, "{number}");
    }
    let ran = world.run(&["sync", "--json", "--key", "P00010"]);
    assert_eq!((ran.writes(), world.held_as(10).is_some()), ((0, 0, 0), true), "{ran:?}");
}

#[test]
fn law_7_a_narrowed_run_counts_as_no_read_of_the_grace() {
    let leave = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\ngrace_reads = 1\n";
    let world = World::synced(Config::rest(leave), 10);
    world.sync_of(people(1..10)).expect(0);
    world.csv(people(1..10).replace("person1@example.com,Clerk", "person1@example.com,Moved"));
    for _ in 0..2 {
        world.run(&["sync", "--json", "--key", "P00001"]).expect(0);
    }
    assert_eq!(world.staff().len(), 10);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1), "the whole read of that file is the further one");
}

/// The job with another mapping, filter or key that changes no record.
fn changed() -> [(&'static str, Config); 3] {
    changed_with(LEAVE_AT_ONCE)
}

/// The same with these lines on leavers.
fn changed_with(leavers: &str) -> [(&'static str, Config); 3] {
    let plain = || Config::rest(leavers);
    let job = Config::default().job;
    [
        ("mapping", Config { map: Config::default().map.replace("{{ title }}", "{{ title | trim }}"), ..plain() }),
        ("filter", Config { job: format!("{job}include = \"{{{{ title != 'Gone' }}}}\"\n"), ..plain() }),
        ("key", Config { job: job.replace("{{ employee_no }}", "{{ employee_no | trim }}"), ..plain() }),
    ]
}

#[test]
fn law_7_a_job_whose_mapping_filter_or_key_changed_has_no_leavers_in_that_run() {
    for (name, config) in changed() {
        let world = World::synced(Config::rest(LEAVE_AT_ONCE), 10);
        world.configure(config);
        let ran = world.sync_of(people(1..9));
        assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 10), "{name}: {ran:?}");
        assert!(ran.ended().2.contains("changed"), "{name}: it says why nobody leaves: {ran:?}");
    }
}

#[test]
fn law_7_a_job_whose_mapping_filter_or_key_changed_is_held_first() {
    for (name, config) in changed() {
        let world = World::synced(Config::rest(LEAVE_AT_ONCE), 10);
        world.configure(config);
        let ran = world.sync_of(people(1..9));
        assert_eq!((ran.code, ran.ended().0.as_str()), (Some(4), "held"), "{name}: {ran:?}");
        assert_eq!(world.staff().len(), 10, "{name}: {ran:?}");
    }
}

#[test]
fn law_7_who_is_missed_since_a_job_changed_waits_for_a_person_though_their_grace_runs() {
    let leavers = "[job.leavers]\naction = \"delete\"\ngrace = \"24h\"\n";
    for (name, config) in changed_with(leavers) {
        for decision in ["approve", "reject", "none"] {
            let clock = Clock::fixed("2027-03-03T20:00:00Z".parse().unwrap());
            let world = World::at(&clock, Config::rest(leavers));
            let held = || world.sync_at(&clock).counts.held;
            world.csv(people(1..41));
            held();
            // The grace of one begins before the change.
            world.csv(people(1..40));
            assert_eq!(held(), 0);
            world.configure(config.clone());
            world.csv(people(2..40));
            assert_eq!((held(), held()), (1, 1), "{name}");
            if decision != "none" {
                world.run(&[decision, "staff", "P00001"]).expect(0);
                assert_eq!(held(), 0, "{name} {decision}");
            }
            assert_eq!(world.staff().len(), 40, "{name}: within the grace");
            clock.advance(SignedDuration::from_hours(25));
            held();
            let expected = match decision {
                "approve" => 38,
                "reject" => 39,
                _ => 40,
            };
            assert_eq!(world.staff().len(), expected, "{name} {decision}");
        }
    }
}

#[test]
fn law_7_who_is_missed_since_a_job_reads_another_file_or_folder_waits_and_everything_else_goes_on() {
    let leavers = "[job.leavers]\naction = \"delete\"\ngrace = \"24h\"\n";
    for path in ["other.csv", "inbox"] {
        for (decision, left) in [("approve", 38), ("reject", 39), ("none", 39)] {
            let clock = Clock::fixed("2027-03-03T20:00:00Z".parse().unwrap());
            let mut world = World::at(&clock, Config::rest(leavers));
            let held = |world: &World| world.sync_at(&clock).counts.held;
            world.csv(people(1..41));
            held(&world);
            // The grace of one begins before the change.
            world.csv(people(1..40));
            assert_eq!(held(&world), 0);
            std::fs::create_dir(world.dir().join("inbox")).unwrap();
            world.reconfigure(|config| Config { path: path.into(), ..config });
            let file = if path == "inbox" { "inbox/a.csv" } else { path };
            world.put(file, (people(2..40) + &row(41, "Clerk")).as_bytes());
            assert_eq!(held(&world), 1, "{path}");
            assert_eq!(world.staff().len(), 41, "{path}: who is new comes");
            // A complete read later, they wait still.
            let again = people(2..40) + &row(41, "Boss");
            world.put(if path == "inbox" { "inbox/b.csv" } else { path }, again.as_bytes());
            assert_eq!(held(&world), 1, "{path}");
            if decision != "none" {
                world.run(&[decision, "staff", "P00001"]).expect(0);
                assert_eq!(held(&world), 0, "{path} {decision}");
            }
            clock.advance(SignedDuration::from_hours(25));
            held(&world);
            assert_eq!(world.staff().len(), left + 1, "{path} {decision}");
        }
    }
}

#[test]
fn law_7_who_is_missed_in_a_wrong_folder_waits_on_after_the_right_one_is_named_again() {
    let leavers = "[job.leavers]\naction = \"delete\"\ngrace = \"24h\"\n";
    for then in ["nothing", "approve", "rebuild"] {
        let is_decided = then == "approve";
        let clock = Clock::fixed("2027-03-03T20:00:00Z".parse().unwrap());
        let mut world = World::at(&clock, Config { path: "right".into(), ..Config::rest(leavers) });
        let run = |world: &World| world.sync_at(&clock);
        let reads = |world: &mut World, path: &str| world.reconfigure(|config| Config { path: path.into(), ..config });
        ["right", "wrong/processed"].iter().for_each(|dir| std::fs::create_dir_all(world.dir().join(dir)).unwrap());
        world.put("right/a.csv", people(0..40).as_bytes());
        run(&world);
        // The grace of one runs already.
        world.put("right/b.csv", people(0..39).as_bytes());
        assert_eq!(run(&world).counts.held, 0);
        reads(&mut world, "wrong");
        world.put("wrong/c.csv", people(1..39).as_bytes());
        let ran = run(&world);
        let missing = ran.missing.clone().unwrap_or_else(|| panic!("{ran:?}"));
        assert_eq!((ran.counts.held, missing.people, missing.waiting, missing.too_many), (1, 2, 1, false));
        let report =
            std::fs::read_to_string(world.dir().join("wrong/processed/20270303T200000Z_c.csv.report.html")).unwrap();
        assert!(
            report.contains("1 of 40 people are not in this file, since 3 March 2027 at 20:00 (UTC); they go from")
        );
        assert!(report.contains("they stay until that is decided"), "{report}");
        reads(&mut world, "right");
        let ran = run(&world);
        assert_eq!((ran.counts.held, ran.missing.map(|missing| missing.waiting)), (1, Some(1)), "no other file came");
        if is_decided {
            world.run(&["approve", "staff", "P00000"]).expect(0);
        }
        if then == "rebuild" {
            world.run(&["rebuild"]).expect(0);
            assert_eq!(run(&world).counts.held, 1);
        }
        clock.advance(SignedDuration::from_hours(25));
        run(&world);
        assert_eq!(world.staff().len(), if is_decided { 38 } else { 39 });
        // A file of the right folder that lacks them releases nothing that was held; one that has them does.
        world.put("right/d.csv", (people(1..38) + &row(38, "Boss")).as_bytes());
        assert_eq!((run(&world).counts.held, world.staff().len()), if is_decided { (0, 38) } else { (1, 39) });
        world.put("right/e.csv", people(0..39).as_bytes());
        assert_eq!((run(&world).counts.held, world.staff().len()), (0, 39));
        // From then on it is a job like any other.
        world.put("right/f.csv", (people(1..38) + &row(38, "Chief")).as_bytes());
        assert_eq!(run(&world).counts.held, 0);
        clock.advance(SignedDuration::from_hours(25));
        run(&world);
        assert_eq!(world.staff().len(), 38);
    }
}

#[test]
fn law_7_who_is_missed_since_a_job_reads_another_file_waits_though_there_is_no_grace() {
    let mut world = World::synced(Config::rest(LEAVE_AT_ONCE), 10);
    world.reconfigure(|config| Config { path: "other.csv".into(), ..config });
    world.put("other.csv", people(2..10).as_bytes());
    for _ in 0..2 {
        assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
    }
    world.run(&["approve", "staff", "P00001"]).expect(0);
    world.sync();
    assert_eq!(world.staff().len(), 9);
    world.run(&["approve", "staff"]);
    world.sync().expect(0);
    // From then on it is a job like any other.
    world.put("other.csv", people(3..10).as_bytes());
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
}

#[test]
fn law_7_who_stands_above_another_header_waits() {
    let mut world = World::of(Config::rest(LEAVE_AT_ONCE));
    let file = people(1..3) + HEADER + &(3..11).map(|one| row(one, "Clerk")).collect::<String>();
    world.csv(&file);
    world.sync();
    world.reconfigure(|config| Config { source: "header = 4\n".into(), ..config });
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 10), "{ran:?}");
    }
}

#[test]
fn law_7_fault_105_a_filter_that_drops_half_of_the_people_is_held() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE), 10);
    world.configure(Config::rest(LEAVE_AT_ONCE).job("include = \"{{ email < 'person5' }}\"\n"));
    let ran = world.sync().expect(4);
    assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 10), "{ran:?}");
}

#[test]
fn law_7_fault_104_a_mapping_that_changes_everyone_is_held() {
    let world = World::synced(Config::default(), 40);
    let map = Config::default().map.replace("{{ title }}", "Senior {{ title }}");
    world.configure(Config { map, ..Config::default() });
    let ran = world.sync().expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(40)), "{ran:?}");
    assert!(ran.ended().2.contains("the mapping change alters 40 people; max_updates: 40 of 40"), "{ran:?}");
    assert!(world.texts("title").iter().all(|title| title == "Clerk"));
}

#[test]
fn an_unknown_key_is_reported_as_unknown_and_changes_nothing() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE), 4);
    let writes = world.service().writes();
    for keys in [&["NOBODY"][..], &["P00001", "NOBODY"]] {
        let keys = keys.iter().flat_map(|key| ["--key", *key]);
        let ran = world.run(&["sync", "--json"].into_iter().chain(keys).collect::<Vec<_>>()).expect(1);
        assert!(ran.err.contains("ever knew key NOBODY"), "{ran:?}");
    }
    // Who is known and not in the source is not unknown.
    world.csv(people(2..5));
    world.run(&["sync", "--key", "P00001"]).expect(0);
    assert_eq!(world.service().writes(), writes);
}

#[test]
fn a_run_for_one_key_leaves_what_is_known_of_the_job() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE), 10);
    let bad = row(11, "Clerk").replace("P00011", "#N/A");
    let text = people(1..10) + &bad;
    world.sync_of(&text).expect(3);
    let of_job = || {
        let mut job = world.run(&["status", "--json"]).expect(0).json()["jobs"][0].clone();
        job["next"] = Value::Null;
        job["requests"] = Value::Null;
        job
    };
    let before = of_job();
    assert_eq!(before["last"]["counts"]["records"], 9, "{before}");
    world.run(&["sync", "--key", "P00001"]);
    assert_eq!(of_job(), before);
    world.run(&["sync", "--key", "NOBODY"]).expect(1);
    assert_eq!(of_job(), before);
}

#[test]
fn law_7_fault_105_who_is_dropped_by_a_new_filter_leaves_after_an_approval_only() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE), 40);
    world.configure(Config::rest(LEAVE_AT_ONCE).job("include = \"{{ employee_no not in ['P00001', 'P00002'] }}\"\n"));
    for run in 1..4 {
        let ran = world.sync();
        assert_eq!((ran.writes().2, world.staff().len()), (0, 40), "run {run}: {ran:?}");
        assert_eq!((ran.code, ran.job()["held"].as_u64()), (Some(4), Some(2)), "run {run}: {ran:?}");
    }
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 2));
}
