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
