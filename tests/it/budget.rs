//! The budget of requests, as the service counts them. Each takes over a minute; they run beside each other.

use std::thread::sleep;
use std::time::{Duration, Instant};

use rosterd::sandbox::{Options, Window};

use crate::support::{Config, World, people};

fn world(window: Window) -> World {
    let config = Config { api: "requests_per_minute = 600\n".into(), ..Config::default() };
    let world = World::with(Options { rate: 600, window, ..Options::default() }, config);
    world.csv(people(0..900));
    world
}

fn expect_never_over(world: &World) {
    assert_eq!(world.service().refused_by_rate(), 0, "law 12: no 429");
    assert!(world.service().busiest_minute() <= 600, "law 12: {} in 60 s", world.service().busiest_minute());
    world.expect_people(0..900);
}

fn check_used(window: Window) {
    let world = world(window);
    assert_eq!(world.sync().expect(0).writes(), (900, 0, 0));
    expect_never_over(&world);
    let requests = world.service().requests();
    let first = requests[0].at_millis;
    let used = requests.iter().filter(|request| request.at_millis < first + 60_000).count();
    assert!(used >= 582, "law 12: only {used} of 600 used in the first minute");
}

#[test]
fn law_12_nine_hundred_creates_use_the_budget_and_never_more_by_a_sliding_window() {
    check_used(Window::Sliding);
}

#[test]
fn law_12_nine_hundred_creates_use_the_budget_and_never_more_by_a_fixed_window() {
    check_used(Window::Fixed);
}

#[test]
fn law_12_the_budget_holds_across_kills_and_restarts() {
    let world = world(Window::Sliding);
    for writes in [150, 300, 430] {
        let mut child = world.start(&["sync"]);
        let begin = Instant::now();
        while world.service().writes() < writes && begin.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    world.sync().expect(0);
    expect_never_over(&world);
}
