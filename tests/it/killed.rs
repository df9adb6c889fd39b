//! The process killed in the middle of its work, and answers that never arrive.

use std::thread::sleep;
use std::time::{Duration, Instant};

use rosterd::sandbox::Options;

use crate::support::{Config, World, people};

/// Numbers that are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) % end
    }
}

/// Starts a sync and kills it a moment after so many further writes; tells whether it was still at work then.
fn kill_after(world: &World, writes: usize, moment: Duration) -> bool {
    let mut child = world.start(&["sync"]);
    let (begin, target) = (Instant::now(), world.service().writes() + writes);
    while world.service().writes() < target
        && begin.elapsed() < Duration::from_secs(6)
        && child.try_wait().unwrap().is_none()
    {
        sleep(Duration::from_millis(1));
    }
    sleep(moment);
    let running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    running
}

/// Kills a first sync of `total` people again and again, while every so many answers are lost.
fn check(seed: u64, total: usize, kills: u64) {
    let options = Options { accept_duplicates: true, delay: Duration::from_millis(8), ..Options::default() };
    let world = World::with(options, Config::default());
    world.csv(people(0..total));
    world.faults(&["staff.create cut-after every=31"]);
    let mut dice = Dice(seed);
    let mut killed = 0;
    for _ in 0..kills {
        let writes = dice.below(total as u64 * 5 / 4 / kills);
        let moment = Duration::from_micros(dice.below(40_000));
        killed += u64::from(kill_after(&world, writes as usize, moment));
    }
    assert!(killed + 5 > kills, "seed {seed}: only {killed} of {kills} kills struck");
    let last = world.sync().expect(0);
    world.expect_people(0..total);
    let writes = world.service().writes();
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "seed {seed}: {last:?}");
    assert_eq!(world.service().writes(), writes, "seed {seed}");
}

#[test]
fn law_3_fault_24_four_hundred_people_come_through_25_kills_and_lost_answers() {
    check(0x5eed_0003, 400, 25);
}

#[test]
fn law_3_updates_come_through_kills_and_leave_everybody_as_the_file_says() {
    let rest = "[job.guard]\nmax_updates = \"off\"\nmax_leavers = \"off\"\n[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let options = Options { accept_duplicates: true, delay: Duration::from_millis(8), ..Options::default() };
    let world = World::with(options, Config { rest: rest.into(), ..Config::default() });
    world.csv(people(0..120));
    world.sync().expect(0);
    world.csv(people(20..140).replace("Clerk", "Baker"));
    let mut dice = Dice(77);
    for _ in 0..6 {
        kill_after(&world, dice.below(40) as usize, Duration::from_micros(dice.below(40_000)));
    }
    world.sync().expect(0);
    world.expect_people(20..140);
    assert!(world.texts("title").iter().all(|title| title == "Baker"));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}
