//! One of two records that wait for each other is decided on, and the other one waits on.

use crate::inbox::{Inbox, inbox_of};
use crate::support::{Config, HEADER, World, people, row};

const FREE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_updates = \"off\"\n";

/// A world with six people that reads lists, and one that reads changes.
fn worlds() -> [(bool, World); 2] {
    [false, true].map(|is_of_changes| {
        let source = if is_of_changes { "settle = \"0s\"\nmode = \"changes\"\n" } else { "settle = \"0s\"\n" };
        let world = inbox_of(World::of(Config { source: source.into(), ..Config::rest(FREE) }));
        Inbox(&world).drop("a.csv", people(1..7));
        world.sync().expect(0);
        (is_of_changes, world)
    })
}

#[test]
fn law_6_an_approval_of_one_releases_no_other_one_that_would_get_the_same_or_what_it_gives_up() {
    let email = |number: usize, email: &str| format!("P{number:05},Person {number},{email}@example.com,Clerk\n");
    let name = |number: usize, name: &str| format!("P{number:05},{name},person{number}@example.com,Clerk\n");
    // The rows of two people.
    for (what, one, other) in [
        ("one email for two", email(1, "new"), email(2, "new")),
        ("the email of a joiner", email(1, "new"), "P00007,Ana Young,new@example.com,Clerk\n".to_owned()),
        ("one email for two joiners", email(7, "new"), email(8, "new")),
        ("one name goes to the next", name(1, "Person 2"), name(2, "Ana Young")),
        ("one email goes to the next", email(1, "person2"), email(2, "new")),
        ("a mailbox goes to a joiner", email(1, "new"), email(7, "person1")),
        ("a name goes to a joiner", name(1, "Ana Young"), name(7, "Person 1")),
    ] {
        for (is_of_changes, world) in worlds() {
            let [numbers, after] = [&one, &other].map(|row| row[1..6].parse::<usize>().unwrap());
            let rows = [one.as_str(), other.as_str()].concat();
            let rest: String =
                (1..7).filter(|number| ![numbers, after].contains(number)).map(|number| row(number, "Clerk")).collect();
            let whole = if is_of_changes { rows } else { rows + &rest };
            Inbox(&world).drop("b.csv", format!("{HEADER}{whole}"));
            let case = format!("{what}, changes: {is_of_changes}");
            assert_eq!(world.sync().expect(4).job()["held"], 2, "{case}");
            let before = world.held_as(after);
            world.run(&["approve", "staff", &format!("P{numbers:05}")]).expect(0);
            for _ in 0..2 {
                let ran = world.sync();
                assert_eq!(ran.job()["held"], 1, "{case} {ran:?}");
                assert_eq!(world.held_as(after), before, "{case}");
            }
            assert!(world.held_as(numbers).is_some(), "{case}");
        }
    }
}
