//! The limits: over one, all changes of that kind are held, and the rest goes on.

use crate::support::{Config, Ran, World, people, row};

fn guarded(lines: &str) -> Config {
    Config::rest(&format!("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\n{lines}\n"))
}

/// Forty people: the last so many are gone, the first so many have another title, and the next so many none; so many
/// are new.
fn file(gone: usize, updated: usize, blanked: usize, new: usize) -> String {
    let mut text = people(1..1);
    for number in 1..=40 - gone {
        let title = if number <= updated { "Moved" } else { "Clerk" };
        text += &row(number, if number > updated && number <= updated + blanked { "" } else { title });
    }
    (0..new).fold(text, |text, at| text + &row(100 + at, "New"))
}

/// A world in which forty people were matched without a change.
fn matched(config: Config) -> World {
    let world = World::of(config);
    for number in 1..41 {
        world.person(number, "Clerk");
    }
    assert_eq!(world.sync_of(file(0, 0, 0, 0)).expect(0).writes(), (0, 0, 0));
    world
}

fn held(ran: &Ran) -> u64 {
    ran.job()["held"].as_u64().unwrap()
}

#[test]
fn over_a_limit_all_changes_of_that_kind_are_held_and_the_rest_goes_on() {
    // limit, then (gone, updated, blanked, new), how many are held, and by which limit
    let table = [
        ("", (3, 0, 0, 0), 0, ""),
        ("", (4, 0, 0, 0), 4, "max_leavers"),
        ("", (4, 2, 0, 3), 4, "max_leavers"),
        ("max_leavers = 1", (3, 0, 0, 0), 0, ""),
        ("max_leavers = 5", (5, 0, 0, 0), 0, ""),
        ("max_leavers = 5", (6, 0, 0, 0), 6, "max_leavers"),
        ("max_leavers = \"10%\"", (4, 0, 0, 0), 0, ""),
        ("max_leavers = \"10%\"", (5, 0, 0, 0), 5, "max_leavers"),
        ("max_leavers = \"off\"", (20, 0, 0, 0), 0, ""),
        ("max_leavers = \"100%\"", (39, 0, 0, 0), 0, ""),
        ("", (0, 12, 0, 0), 0, ""),
        ("", (0, 13, 0, 0), 13, "max_updates"),
        ("", (2, 13, 0, 3), 13, "max_updates"),
        ("max_updates = 2", (0, 3, 0, 0), 0, ""),
        ("max_updates = 2", (0, 4, 0, 0), 4, "max_updates"),
        ("", (0, 0, 3, 0), 0, ""),
        ("", (0, 0, 4, 0), 4, "max_blanked"),
        ("", (1, 3, 4, 2), 4, "max_blanked"),
        ("max_blanked = \"20%\"", (0, 0, 8, 0), 0, ""),
        ("max_blanked = \"20%\"", (0, 0, 9, 0), 9, "max_blanked"),
        ("", (0, 0, 0, 90), 0, ""),
        ("max_creates = 5", (0, 0, 0, 5), 0, ""),
        ("max_creates = 5", (2, 2, 0, 6), 6, "max_creates"),
        ("max_creates = \"10%\"", (0, 0, 0, 4), 0, ""),
        ("max_creates = \"10%\"", (0, 0, 0, 5), 5, "max_creates"),
        ("max_creates = 1", (0, 0, 0, 3), 0, ""),
    ];
    for (limit, (gone, updated, blanked, new), expected, by) in table {
        let name = format!("{limit:?}: {gone} gone, {updated} updated, {blanked} blanked, {new} new");
        let world = matched(guarded(limit));
        let ran = world.sync_of(file(gone, updated, blanked, new));
        assert_eq!(ran.code, Some(if expected == 0 { 0 } else { 4 }), "{name}: {ran:?}");
        assert_eq!(held(&ran), expected, "{name}: {ran:?}");
        let sent = |kind: &str, count: usize| if by == kind { 0 } else { count as u64 };
        let updates = sent("max_updates", updated) + sent("max_blanked", blanked);
        let expected_writes = (sent("max_creates", new), updates, sent("max_leavers", gone));
        assert_eq!(ran.writes(), expected_writes, "{name}: {ran:?}");
        let (status, _, reason) = ran.ended();
        assert_eq!(status, if expected == 0 { "done" } else { "held" }, "{name}");
        assert!(reason.contains(by), "{name}: {reason:?}");
    }
}

#[test]
fn the_limit_of_blanked_is_of_one_field() {
    let columns = |blank: &dyn Fn(usize) -> (bool, bool)| {
        (1..41).fold("Employee No,Name,Email,Title,Phone\n".to_owned(), |text, number| {
            let (title, phone) = blank(number);
            let title = if title { "" } else { "Clerk" };
            let phone = if phone { "" } else { "095551234" };
            text + row(number, title).trim_end() + "," + phone + "\n"
        })
    };
    for (titles, phones, expected) in [(3, 3, 0), (3, 4, 4), (4, 3, 4)] {
        let config = Config::default().map("phone = \"{{ phone }}\"\n");
        let world = World::of(config);
        assert_eq!(world.sync_of(columns(&|_| (false, false))).expect(0).writes(), (40, 0, 0));
        let ran = world.sync_of(columns(&|number| (number <= titles, number > 40 - phones)));
        assert_eq!(ran.code, Some(if expected == 0 { 0 } else { 4 }), "{titles}, {phones}: {ran:?}");
        assert_eq!(held(&ran), expected, "{titles}, {phones}: {ran:?}");
        assert_eq!(ran.writes().1, (titles + phones) as u64 - expected, "{titles}, {phones}: {ran:?}");
    }
}

#[test]
fn the_limit_of_updates_holds_in_the_first_run_too() {
    let world = World::of(guarded(""));
    for number in 1..41 {
        world.person(number, "Their own");
    }
    let ran = world.sync_of(file(0, 0, 0, 2)).expect(4);
    assert_eq!((ran.writes(), held(&ran)), ((2, 0, 0), 40), "{ran:?}");
    assert!(ran.ended().2.contains("max_updates"), "{ran:?}");
    assert_eq!(world.texts("title").iter().filter(|title| *title == "Their own").count(), 40);
}

#[test]
fn fewer_records_than_expected_and_nothing_is_taken_from_the_read() {
    for (records, taken) in [(29, false), (30, true)] {
        let world = matched(guarded("min_records = 30\nmax_leavers = \"off\""));
        let ran = world.sync_of(file(40 - records + 1, 2, 0, 1));
        assert_eq!(ran.code, Some(if taken { 0 } else { 4 }), "{records}: {ran:?}");
        let expected = if taken { (1, 2, (40 - records + 1) as u64) } else { (0, 0, 0) };
        assert_eq!(ran.writes(), expected, "{records}: {ran:?}");
        assert_eq!(ran.ended().2.contains("min_records"), !taken, "{records}: {ran:?}");
    }
}

#[test]
fn leavers_are_counted_over_a_day_and_approved_ones_are_not() {
    let world = matched(guarded(""));
    assert_eq!(world.sync_of(file(2, 0, 0, 0)).expect(0).writes(), (0, 0, 2));
    let ran = world.sync_of(file(4, 0, 0, 0)).expect(4);
    assert_eq!((ran.writes(), held(&ran)), ((0, 0, 0), 2), "two went today, so two more are too many: {ran:?}");
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 2));
    assert_eq!(world.sync_of(file(5, 0, 0, 0)).expect(0).writes(), (0, 0, 1), "the approved ones don't count");
    assert_eq!(world.sync_of(file(6, 0, 0, 0)).expect(4).writes(), (0, 0, 0));
}

#[test]
fn what_is_no_longer_wanted_disappears_from_what_is_held() {
    let world = matched(guarded(""));
    assert_eq!(held(&world.sync_of(file(10, 0, 0, 0)).expect(4)), 10);
    assert_eq!(held(&world.sync_of(file(6, 0, 0, 0)).expect(4)), 6);
    assert_eq!(held(&world.sync_of(file(0, 0, 0, 0)).expect(0)), 0);
    assert_eq!(world.run(&["approve", "staff"]).code, Some(1));
    assert_eq!(world.staff().len(), 40);
}

#[test]
fn fault_103_limits_that_protect_no_one_are_taken_with_a_warning() {
    for (lines, code) in [
        ("max_leavers = \"off\"", 0),
        ("max_updates = \"100%\"", 0),
        ("max_updates = 0", 0),
        ("max_leavers = \"0%\"", 0),
        ("max_leavers = \"101%\"", 2),
        ("max_leavers = -1", 2),
        ("max_leavers = \"many\"", 2),
        ("max_updates = \"-5%\"", 2),
        ("min_records = -1", 2),
    ] {
        let world = World::of(guarded(lines));
        world.csv(people(1..4));
        let ran = world.sync();
        assert_eq!(ran.code, Some(code), "{lines}: {ran:?}");
        let key = lines.split(' ').next().unwrap();
        let word = if code == 0 { "warning" } else { "error" };
        assert!(ran.err.lines().any(|line| line.contains(key)) && ran.err.contains(word), "{lines}: {ran:?}");
    }
}

#[test]
fn law_11_what_is_held_is_named_by_key_only() {
    let world = matched(guarded(""));
    world.csv(file(10, 20, 0, 1));
    let hidden = ["Person ", "@example.com", "Clerk", "Moved"];
    let shown = world.run(&["sync"]).expect(4).hides(&hidden);
    assert!(shown.out.contains("P00001") && shown.out.contains("P00031"), "{shown:?}");
    world.sync().expect(4).hides(&hidden);
    world.run(&["status"]).hides(&hidden);
    world.run(&["approve", "staff", "P00001"]).expect(0).hides(&hidden);
    world.run(&["reject", "staff", "P00040"]).expect(0).hides(&hidden);
}

#[test]
fn fault_89_keys_that_lost_their_zeros_are_held_and_no_one_is_doubled_or_removed() {
    let text = |width: usize| {
        (1..41).fold(people(1..1), |text, number| {
            text + &row(number, "Clerk").replacen(&format!("P{number:05}"), &format!("{number:0width$}"), 1)
        })
    };
    let world = World::of(guarded(""));
    assert_eq!(world.sync_of(text(5)).expect(0).writes(), (40, 0, 0));
    let ran = world.sync_of(text(1)).expect(4);
    assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 40), "{ran:?}");
    assert_eq!(world.keys()[0], "00001");
    assert_eq!(world.sync_of(text(5)).expect(0).writes(), (0, 0, 0));
}

#[test]
fn a_decision_on_some_of_what_is_held_releases_nothing_else() {
    for (decision, removed) in [("reject", 0), ("approve", 2)] {
        let world = World::of(guarded(""));
        let all = people(0..14);
        world.sync_of(&all).expect(0);
        let ran = world.sync_of(people(5..14)).expect(4);
        assert_eq!((ran.job()["held"].as_u64(), ran.writes()), (Some(5), (0, 0, 0)), "{decision}");
        let decided = world.run(&[decision, "staff", "P00000", "P00001"]).expect(0);
        assert!(decided.err.contains("3 more wait for a decision"), "{decided:?}");
        // Three are left, as many as may leave without a question; but one was asked, and is not answered.
        let ran = world.sync().expect(4);
        assert_eq!((ran.job()["held"].as_u64(), ran.writes()), (Some(3), (0, 0, removed)), "{decision}");
        let ran = world.sync().expect(4);
        assert_eq!((ran.job()["held"].as_u64(), ran.writes()), (Some(3), (0, 0, 0)), "{decision}");
        assert_eq!(world.staff().len() as u64, 14 - removed, "{decision}");
        // A whole file settles it, and who leaves later is judged by the limits alone.
        world.sync_of(&all).expect(0);
        assert_eq!(world.sync_of(people(0..13)).expect(0).writes(), (0, 0, 1), "{decision}");
        world.run(&[decision, "staff"]).expect(1);
    }
}
