//! Creates that the service answers with someone or something else: nothing of it is believed, and nothing more is sent.

use rosterd::sandbox::Options;

use crate::contractors::jobs;
use crate::support::{World, people, row};

#[test]
fn law_6_a_create_that_is_answered_with_another_person_makes_no_one_of_them() {
    let world = World::new(Options::default());
    world.csv(people(1..4));
    world.sync().expect(0);
    world.faults(&[
        "staff.create show=id:4711",
        "staff.create show=name:Foreign",
        "staff.create show=email:f@example.com",
        "staff.create show=employee_id:F2",
    ]);
    world.csv(people(1..5) + &row(5, "Clerk"));
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("answered a new person with another one"), "{ran:?}");
    world.faults(&[]);
    // All wait until a person has looked at it.
    assert_eq!(world.sync().writes(), (0, 0, 0));
    world.run(&["resume"]).expect(0);
    world.sync().expect(0);
    let numbers: Vec<String> = world.texts("employee_id");
    assert_eq!(numbers, ["P00001", "P00002", "P00003", "P00004", "P00005"], "each once");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    // Who is known by them is who is there: a change of one goes to that one.
    world.csv(people(1..4) + &row(4, "Baker") + &row(5, "Baker"));
    assert_eq!(world.sync().expect(0).writes(), (0, 2, 0));
}

#[test]
fn law_6_a_create_that_is_answered_with_another_company_or_membership_takes_neither() {
    for (operation, what, shown) in [
        ("sp.org.create", "sp.org", &["id"][..]),
        ("sp.membership.create", "sp.membership", &["id", "member_id", "org_id"]),
        ("sp.membership.create", "sp.membership", &["member_id"]),
    ] {
        let world = jobs::world(Options::default(), "", jobs::REMOVING);
        world.csv(jobs::file([(1, 1), (2, 1)]));
        world.sync().expect(0);
        let other = &world.service().all(what)[0];
        let faults: Vec<String> =
            shown.iter().map(|field| format!("{operation} show={field}:{}", other[field])).collect();
        world.faults(&faults.iter().map(String::as_str).collect::<Vec<_>>());
        world.csv(jobs::file([(1, 1), (2, 1), (3, 2)]));
        let ran = world.sync().expect(1);
        world.faults(&[]);
        assert_eq!(world.sync().writes(), (0, 0, 0), "{operation}: {ran:?}");
        world.run(&["resume"]).expect(0);
        world.run(&["queue", "retry", "sites"]);
        for _ in 0..2 {
            world.sync();
        }
        let expected = [jobs::pair(1, 1), jobs::pair(2, 1), jobs::pair(3, 2)];
        assert_eq!(jobs::pairs(&world), expected, "{operation} {shown:?}: {ran:?}");
        assert_eq!(jobs::all(&world, "sp.org").len(), 2, "{operation}");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{operation}");
    }
}
