//! Files that hold changes only.

use crate::support::{Config, HEADER, World, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

#[test]
fn law_7_a_file_of_changes_has_no_leavers_by_absence() {
    let config = Config {
        source: "settle = \"0s\"\nmode = \"changes\"\n".into(),
        ..Config::rest(LEAVE_AT_ONCE).job("include = \"{{ title != 'Gone' }}\"\n")
    };
    let world = World::synced(config, 10);
    let changes = HEADER.to_owned() + &row(2, "Moved") + &row(11, "Clerk");
    assert_eq!(world.sync_of(&changes).expect(0).writes(), (1, 1, 0));
    assert_eq!(world.sync_of(&changes).expect(0).writes(), (0, 0, 0));
    assert_eq!(world.staff().len(), 11);
    assert_eq!(
        world.sync_of(HEADER.to_owned() + &row(3, "Gone") + &row(4, "Clerk")).expect(0).writes(),
        (0, 0, 1),
        "a row may say so"
    );
    assert!(world.held_as(3).is_none());
    assert_eq!(world.sync_of(HEADER.to_owned() + &row(5, "Gone")).expect(0).writes(), (0, 0, 1), "and no other row");
    world.sync_of(HEADER).expect(4);
}

#[test]
fn law_5_a_file_of_changes_does_not_lose_what_an_earlier_one_could_not_deliver() {
    let config = Config { source: "settle = \"0s\"\nmode = \"changes\"\n".into(), ..Config::default() };
    let world = World::synced(config, 3);
    world.faults(&["staff.create status=503"]);
    world.sync_of(HEADER.to_owned() + &row(4, "Clerk")).expect(1);
    world.faults(&[]);
    let ran = world.sync_of(HEADER.to_owned() + &row(5, "Clerk")).expect(0);
    assert!(world.held_as(4).is_some(), "{ran:?}");
}

#[test]
fn law_5_a_file_of_changes_does_not_lose_what_an_earlier_one_held() {
    let config = Config {
        source: "settle = \"0s\"\nmode = \"changes\"\n".into(),
        ..Config::default().job("writes = \"approve\"\n")
    };
    let world = World::of(config);
    world.sync_of(HEADER.to_owned() + &row(4, "Clerk")).expect(4);
    world.run(&["approve", "staff"]).expect(0);
    world.sync_of(HEADER.to_owned() + &row(5, "Clerk")).expect(4);
    assert!(world.held_as(4).is_some(), "approved and never sent");
}

#[test]
fn law_6_law_7_a_file_of_changes_hands_no_one_to_another_key() {
    let config = Config {
        source: "settle = \"0s\"\nmode = \"changes\"\n".into(),
        job: "key = \"{{ email }}\"\nmatch_on = [\"employee_id\"]\n".into(),
        ..Config::default()
    };
    let world = World::synced(config, 10);
    let ran = world.sync_of(HEADER.to_owned() + "P00001,Somebody Else,else@example.com,Clerk\n");
    assert_eq!((ran.code, ran.writes()), (Some(4), (0, 0, 0)), "{ran:?}");
    assert_eq!(world.held_as(1).unwrap()["name"], "Person 1", "{ran:?}");
}
