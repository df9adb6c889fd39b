//! The guard's limits hold for each segment too, so that no whole department vanishes among many people.

use crate::support::{Config, World, people, row};

/// A job that segments by title and takes leavers at once.
fn segmented(guard: &str) -> Config {
    Config::rest(&format!(
        "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nsegment = \"{{{{ title }}}}\"\n{guard}\n"
    ))
}

/// The segment of a person among 12,000: a department of 12, and forty of about 300.
fn department(number: usize) -> String {
    if number <= 12 { "Night shift".to_owned() } else { format!("Department {:02}", number % 40) }
}

#[test]
fn a_department_of_12_that_vanishes_among_12_000_is_held_and_the_40_leavers_of_the_day_are_not() {
    const COUNT: usize = 12_000;
    let world = World::of(segmented(""));
    for number in 1..=COUNT {
        world.person(number, &department(number));
    }
    let file = |stays: &dyn Fn(usize) -> bool| {
        (1..=COUNT)
            .filter(|number| stays(*number))
            .fold(people(1..1), |text, number| text + &row(number, &department(number)))
    };
    assert_eq!(world.sync_of(file(&|_| true)).expect(0).writes(), (0, 0, 0));
    let ran = world.sync_of(file(&|number| number > 52)).expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 40), Some(12)), "{ran:?}");
    let reason = ran.ended().2;
    assert!(
        reason.contains("segment \"Night shift\": max_leavers: 12 people would be removed, 3 are allowed"),
        "{reason}"
    );
    assert_eq!(world.staff().len(), COUNT - 40);
    assert!((1..=12).all(|number| world.held_as(number).is_some()));
}

#[test]
fn a_segment_cant_vanish_by_and_by_within_a_day() {
    let world = World::synced(segmented("max_leavers = \"off\""), 40);
    world.configure(segmented("max_leavers = 5"));
    assert_eq!(world.sync_of(people(4..41)).expect(0).writes(), (0, 0, 3));
    assert_eq!(world.sync_of(people(6..41)).expect(0).writes(), (0, 0, 2));
    let ran = world.sync_of(people(7..41)).expect(4);
    assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
}

#[test]
fn a_small_segment_cant_vanish_by_and_by_among_many() {
    let title = |number: usize| if number <= 40 { "Archive" } else { "Clerk" };
    let file = |from: usize| (from..=400).fold(people(1..1), |text, number| text + &row(number, title(number)));
    let world = World::of(segmented("max_leavers = \"10%\""));
    for number in 1..=400 {
        world.person(number, title(number));
    }
    assert_eq!(world.sync_of(file(1)).expect(0).writes(), (0, 0, 0));
    assert_eq!(world.sync_of(file(4)).expect(0).writes(), (0, 0, 3));
    let ran = world.sync_of(file(6)).expect(4);
    assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
    let reason = ran.ended().2;
    let said =
        "segment \"Archive\": max_leavers: 2 people would be removed besides 3 of the last 24 hours, 3 are allowed";
    assert!(reason.contains(said), "{reason}");
}

#[test]
fn a_person_who_moved_to_another_segment_vanishes_from_that_one() {
    let titled = |from: usize, title: &str| {
        (1..41).fold(people(1..1), |text, number| text + &row(number, if number < from { title } else { "Clerk" }))
    };
    let config = Config {
        map: Config::default().map.replace("title = \"{{ title }}\"\n", ""),
        ..segmented("max_leavers = \"50%\"")
    };
    let world = World::synced(config, 40);
    // Eight people are of another department now; nothing at the service differs.
    assert_eq!(world.sync_of(titled(9, "Archive")).expect(0).writes(), (0, 0, 0));
    let gone =
        titled(9, "Archive").lines().filter(|line| !line.ends_with("Archive")).fold(String::new(), |t, l| t + l + "\n");
    let ran = world.sync_of(gone).expect(4);
    assert!(
        ran.ended().2.contains("segment \"Archive\": max_leavers: 8 people would be removed, 4 are allowed"),
        "{ran:?}"
    );
    assert_eq!(world.staff().len(), 40);
}

#[test]
fn a_segment_is_no_mapping_change_and_law_11_names_no_person() {
    let plain = Config::rest("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n");
    let world = World::synced(plain, 40);
    world.configure(segmented(""));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    let ran = world.sync_of(people(1..37)).expect(4).hides(&["Person ", "@example.com"]);
    assert!(ran.ended().2.contains("max_leavers"), "{ran:?}");
    assert_eq!(world.sync_of(people(1..38)).expect(0).writes(), (0, 0, 3), "as many as no limit is below");
}

#[test]
fn law_7_who_is_missing_since_a_segment_was_set_waits_for_a_decision() {
    let guard = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\n";
    let title = |number: usize| if number <= 4 { "Archive" } else { "Clerk" };
    let file = |from: usize| (from..=10).fold(people(1..1), |text, number| text + &row(number, title(number)));
    let mut world = World::of(Config::rest(guard));
    world.sync_of(file(1)).expect(0);
    world.reconfigure(|_| segmented("max_leavers = \"off\""));
    for _ in 0..2 {
        let ran = world.sync_of(file(5)).expect(4);
        assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(4)), "{ran:?}");
    }
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 4));
    // It is known by now.
    assert_eq!(world.sync_of(file(6)).expect(0).writes(), (0, 0, 1));
}
