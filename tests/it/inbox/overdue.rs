//! A source of which nothing new comes.

use jiff::SignedDuration;
use rosterd::reconcile::Report;

use super::{Inbox, reason_has, world};
use crate::support::{Config, World, people};

/// How many of a run's reasons say that its job is overdue.
fn overdue_in(report: &Report) -> usize {
    report.reasons.iter().filter(|reason| reason.contains("overdue")).count()
}

#[test]
fn without_new_content_for_too_long_a_job_is_overdue() {
    let world = world("expect_every = \"1d\"\n", "");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..5));
    assert_eq!(overdue_in(&world.sync_ago(SignedDuration::from_hours(25))), 0);
    inbox.drop("b.csv", people(1..5));
    let ran = world.sync().expect(0);
    reason_has(&ran, "overdue: no new content since");
    assert!(world.run(&["status"]).expect(1).out.contains("overdue: "));
    inbox.drop("c.csv", people(1..6));
    assert_eq!(world.sync().expect(0).reason(), "");
    assert_eq!(world.run(&["status", "--json"]).job()["overdue"], serde_json::Value::Null);
}

#[test]
fn without_new_content_a_file_read_in_place_is_overdue_too() {
    let source = "settle = \"0s\"\nexpect_every = \"1d\"\n".into();
    let world = World::of(Config { source, ..Config::default() });
    world.csv(people(1..5));
    assert_eq!(overdue_in(&world.sync_ago(SignedDuration::from_hours(25))), 0);
    reason_has(&world.sync_of(people(1..5)).expect(0), "overdue: ");
    assert_eq!(world.sync_of(people(1..6)).expect(0).reason(), "");
}
