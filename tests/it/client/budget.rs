//! The budget of requests, as the service counts them. Each takes over a minute; they run beside each other. At one request a
//! second the limit is the only thing that anybody waits for.

use rosterd::sandbox::{Options, Window};

use crate::support::{Config, World, people};

const RATE: u32 = 60;
const PEOPLE: usize = 90;

fn world(window: Window) -> World {
    let config = Config { api: format!("requests_per_minute = {RATE}\n"), ..Config::default() };
    let world = World::with(Options { rate: RATE, window, ..Options::default() }, config);
    world.csv(people(0..PEOPLE));
    world
}

fn expect_never_over(world: &World) {
    assert_eq!(world.service().refused_by_rate(), 0, "law 12: no 429");
    let busiest = world.service().busiest_minute();
    assert!(busiest <= RATE as usize, "law 12: {busiest} in 60 s");
    world.expect_people(0..PEOPLE);
}

fn check_used(window: Window) {
    let world = world(window);
    assert_eq!(world.sync().expect(0).writes(), (PEOPLE as u64, 0, 0));
    expect_never_over(&world);
    let requests = world.service().requests();
    let first = requests[0].at_millis;
    let used = requests.iter().filter(|request| request.at_millis < first + 60_000).count();
    assert!(used * 100 >= RATE as usize * 97, "law 12: only {used} of {RATE} used in the first minute");
}

#[test]
fn law_12_ninety_creates_use_the_budget_and_never_more_by_a_sliding_window() {
    check_used(Window::Sliding);
}

#[test]
fn law_12_ninety_creates_use_the_budget_and_never_more_by_a_fixed_window() {
    check_used(Window::Fixed);
}

#[test]
fn law_12_the_budget_holds_across_kills_and_restarts() {
    let world = world(Window::Sliding);
    world.settle_at_once();
    for _ in 0..3 {
        world.kill_held("staff.create hold after=9", &[]);
    }
    world.sync().expect(0);
    expect_never_over(&world);
}
