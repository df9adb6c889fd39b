//! When someone who is missing is removed.

use crate::support::{Config, World, people, row};

#[test]
fn an_absence_starts_over_after_a_row_that_was_there_and_bad() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\ngrace_reads = 1\n";
    let world = World::of(Config::rest(rest));
    world.csv(people(0..5));
    world.sync().expect(0);
    world.csv(people(0..4));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.csv(people(0..4) + "P00004,,person4@example.com,Clerk\n");
    assert_eq!(world.sync().expect(3).writes(), (0, 0, 0));
    world.csv(people(0..4) + &row(7, "New"));
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    world.csv(people(0..4) + &row(7, "Other"));
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 1));
}
