//! What an approval is good for.

use rosterd::sandbox::Options;

use crate::support::{Config, World, people, row};

fn world(job: &str) -> World {
    let world = World::with(
        Options::default(),
        Config {
            job: Config::default().job + job + "writes = \"approve\"\n",
            rest: "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n".into(),
            ..Config::default()
        },
    );
    world.csv(people(0..5));
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    world
}

#[test]
fn an_approved_change_that_the_service_refused_is_sent_once() {
    let world = world("");
    world.service().set_faults(vec!["staff.create status=422".parse().unwrap()]);
    world.sync().expect(3);
    let posts = || world.service().requests().iter().filter(|request| request.method == "POST").count();
    assert_eq!(posts(), 5);
    world.sync().expect(3);
    assert_eq!(posts(), 5);
}

#[test]
fn an_approved_removal_is_void_once_the_person_is_back() {
    let world = world("include = \"{{ title != 'Gone' }}\"\n");
    world.sync().expect(0);
    world.csv(people(0..4) + &row(4, "Gone"));
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    // Back in a read that proves nothing about anybody else.
    world.csv(people(0..5) + "cut");
    world.sync().expect(3);
    world.csv(people(0..4) + &row(4, "Gone"));
    world.sync().expect(4);
    assert_eq!(world.staff().len(), 5);
}
