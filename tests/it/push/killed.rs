//! The process killed in the middle of its work, and answers that never arrive.

use std::collections::BTreeMap;

use rosterd::sandbox::Options;
use serde_json::{Value, json};

use crate::support::{Config, World, people};

/// Numbers that are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) % end
    }

    /// Before a request is carried out, or after.
    fn moment(&mut self) -> &'static str {
        if self.below(2) == 0 { "hold" } else { "hold-before" }
    }
}

impl World {
    /// The changes that stand as sent: by key, what is done.
    pub(crate) fn sent(&self) -> BTreeMap<String, String> {
        let queued = self.run(&["queue", "list", "--json"]).expect(0).json();
        let sent = queued["changes"].as_array().unwrap().iter().filter(|change| change["state"] == "sent");
        let text = |change: &Value, name: &str| change[name].as_str().unwrap().to_owned();
        sent.map(|change| (text(change, "key"), text(change, "action"))).collect()
    }

    /// How many people the only job knows.
    pub(crate) fn known(&self) -> usize {
        self.run(&["status", "--json"]).job()["known"].as_u64().unwrap() as usize
    }

    /// Fails unless the store knows of every create that was carried out: by its outcome, or by the intent before it.
    pub(crate) fn expect_intents(&self) {
        let (made, sent) = (self.keys(), self.sent());
        let open = made.iter().filter(|key| sent.get(*key).is_some_and(|action| action == "create")).count();
        assert_eq!(self.known() + open, made.len(), "{sent:?} stand as sent, and at the service are {made:?}");
    }
}

#[test]
fn law_3_fault_24_six_hundred_people_come_through_25_kills_and_lost_answers() {
    const PEOPLE: usize = 600;
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, Config::default());
    world.csv(people(0..PEOPLE));
    let mut dice = Dice(0x5eed_0003);
    for kill in 0..25 {
        // Among the first few, which go alone, or among as many as go together: fewer in all than there are people.
        let after = if kill % 8 == 7 { 9 + dice.below(32) } else { dice.below(9) };
        let fault = format!("staff.create {} after={after}", dice.moment());
        world.kill_held(&fault, &["staff.create cut-after every=31"]);
        world.expect_intents();
    }
    let last = world.sync().expect(0);
    world.expect_people(0..PEOPLE);
    let writes = world.service().writes();
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{last:?}");
    assert_eq!(world.service().writes(), writes);
}

#[test]
fn law_3_updates_come_through_kills_and_leave_everybody_as_the_file_says() {
    let rest = "[job.guard]\nmax_updates = \"off\"\nmax_leavers = \"off\"\n[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let options = Options { accept_duplicates: true, ..Options::default() };
    let world = World::with(options, Config::rest(rest));
    world.csv(people(0..300));
    world.sync().expect(0);
    world.csv(people(20..320).replace("Clerk", "Baker"));
    let mut dice = Dice(77);
    // Each of them is killed in its removals, its creates or its updates; the last two find updates only.
    for _ in 0..6 {
        let fault = format!("write {} after={}", dice.moment(), dice.below(18));
        world.kill_held(&fault, &[]);
        assert!(!world.sent().is_empty(), "what was under way stands as sent");
    }
    world.sync().expect(0);
    world.expect_people(20..320);
    assert!(world.texts("title").iter().all(|title| title == "Baker"));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn law_3_a_removal_that_was_carried_out_before_a_kill_is_recorded_and_counts() {
    let rest = "[job.guard]\nmax_leavers = 3\n[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let world = World::synced(Config::rest(rest), 60);
    world.csv(people(3..61));
    world.kill_held("staff.delete hold nth=1", &[]);
    assert_eq!(world.sent().len(), 1, "what became of it is not known");
    let gone = (1..3).map(|number| format!("P{number:05}")).find(|key| !world.keys().contains(key)).unwrap();
    // They are back before anything is known of it.
    world.csv(people(1..61));
    world.sync().expect(0);
    world.expect_people(1..61);
    let of = format!("\"key\":\"{gone}\"");
    let told = |what: &str| world.audit().lines().filter(|line| line.contains(&of) && line.contains(what)).count();
    assert_eq!((told("\"delete\""), told("\"create\"")), (1, 2), "{}", world.audit());
    // One has left today; of three that may, two are left.
    world.csv(people(4..61));
    let ran = world.sync().expect(4);
    assert_eq!((ran.writes().2, ran.job()["held"].as_u64()), (0, Some(3)), "{ran:?}");
}

#[test]
fn law_3_a_create_of_unknown_fate_takes_over_no_one_who_belongs_to_another_record() {
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, Config::default());
    world.csv(people(0..5));
    world.sync().expect(0);
    let id = |number: usize| world.held_as(number).map(|person| person["id"].as_i64().unwrap());
    let third = id(3).unwrap();
    world.csv(people(0..6));
    world.kill_held("staff.create hold", &[]);
    assert_eq!(world.sent().len(), 1, "what became of it is not known");
    assert!(world.service().remove("staff", id(5).unwrap()));
    world.service().edit("staff", third, json!({"employee_id": "P00005", "email": "person5@example.com"}));
    let first = world.sync();
    let second = world.sync();
    assert_eq!(id(3), Some(third), "{first:?}");
    assert!(id(5).is_some_and(|id| id != third), "{second:?}");
    world.expect_people(0..6);
}
