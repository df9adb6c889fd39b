use proptest::prelude::*;

use super::*;
use crate::store::{AccountHolder, OtherWorker};

/// The database and the workers, as far as accounts are shared.
#[derive(Clone, Debug, Default)]
struct World {
    /// The accounts that each living worker could run.
    offers: BTreeMap<String, BTreeSet<String>>,
    held: BTreeMap<String, String>,
    /// What each worker saw last.
    seen: BTreeMap<String, Workers>,
    handovers: usize,
}

/// What happens to the workers.
#[derive(Clone, Debug)]
enum Happening {
    /// A worker comes, or has another set of configurations.
    Comes(u8, BTreeSet<u8>),
    /// A worker goes; its accounts are free at once, or where it was killed after a while, which is the same here.
    Goes(u8),
    /// A worker looks, and does its part.
    Acts(u8),
    /// A worker does its part of what it saw before.
    ActsLate(u8),
}

fn worker(number: u8) -> String {
    format!("worker {number}")
}

fn account(number: u8) -> String {
    format!("account {number:03}")
}

impl World {
    fn of(workers: &[(u8, &[u8])]) -> Self {
        let mut world = Self::default();
        workers.iter().for_each(|(number, offers)| world.comes(*number, offers.iter().copied()));
        world
    }

    fn comes(&mut self, number: u8, offers: impl Iterator<Item = u8>) {
        let offers: BTreeSet<String> = offers.map(account).collect();
        let own = worker(number);
        self.held.retain(|account, holder| *holder != own || offers.contains(account));
        self.offers.insert(own, offers);
    }

    fn goes(&mut self, number: u8) {
        let own = worker(number);
        self.offers.remove(&own);
        self.seen.remove(&own);
        self.held.retain(|_, holder| *holder != own);
    }

    fn looks(&mut self, own: &str) {
        let others = self.offers.iter().filter(|(worker, _)| *worker != own);
        let others =
            others.map(|(worker, offers)| (worker.clone(), OtherWorker { offers: offers.clone(), is_new: false }));
        let held = self.held.iter().map(|(account, worker)| {
            (account.clone(), AccountHolder { worker: worker.clone(), node: String::new(), config: None, since: None })
        });
        let seen = Workers { own: own.to_owned(), others: others.collect(), held: held.collect() };
        self.seen.insert(own.to_owned(), seen);
    }

    fn has(&self, own: &str) -> BTreeSet<String> {
        self.held.iter().filter(|(_, holder)| *holder == own).map(|(account, _)| account.clone()).collect()
    }

    /// A worker does its part; false where that is nothing.
    fn acts(&mut self, own: &str) -> bool {
        let (Some(offers), Some(seen)) = (self.offers.get(own), self.seen.get(own)) else { return false };
        let accounts = OwnAccounts { offers: offers.clone(), has: self.has(own), ..OwnAccounts::default() };
        let Share { claims, releases } = share(seen, &accounts);
        assert!(claims.iter().all(|account| accounts.offers.contains(account)), "nothing that it can't run");
        assert!(releases.iter().all(|account| accounts.has.contains(account)), "nothing that it has not");
        assert!(releases.len() <= RELEASES_MAX);
        self.handovers += releases.len();
        releases.iter().for_each(|account| _ = self.held.remove(account));
        for account in &claims {
            // Who comes first has it.
            self.held.entry(account.clone()).or_insert_with(|| own.to_owned());
        }
        !claims.is_empty() || !releases.is_empty()
    }

    /// Each worker looks and acts, again and again; returns after how many rounds nothing happened any more.
    fn settle(&mut self) -> usize {
        let workers: Vec<String> = self.offers.keys().cloned().collect();
        for round in 0.. {
            assert!(round < 200, "it comes to an end: {self:?}");
            // All see the same, and then all act: at their worst they all act on what is not so any more.
            workers.iter().for_each(|own| self.looks(own));
            let acted = workers.iter().filter(|own| self.acts(own)).count();
            if acted == 0 {
                return round;
            }
        }
        unreachable!("the loop has no end but this one")
    }

    fn count(&self, own: &str) -> usize {
        self.has(own).len()
    }

    fn assert_shared(&self) {
        for (own, offers) in &self.offers {
            for account in offers {
                let holder = self.held.get(account).unwrap_or_else(|| panic!("no one has {account}: {self:?}"));
                assert!(self.offers[holder].contains(account), "{holder} can't run {account}");
                assert!(self.count(holder) <= self.count(own) + 1, "{holder} could give {account} to {own}: {self:?}");
            }
        }
    }

    fn counts(&self) -> Vec<usize> {
        self.offers.keys().map(|own| self.count(own)).collect()
    }
}

const ALL: [u8; 7] = [0, 1, 2, 3, 4, 5, 6];

#[test]
fn accounts_are_shared_out_among_those_that_could_run_them() {
    for (workers, expected) in [
        (&[(1, &ALL[..])][..], &[7][..]),
        (&[(1, &ALL), (2, &ALL)], &[4, 3]),
        (&[(1, &ALL), (2, &ALL), (3, &ALL)], &[3, 2, 2]),
        // What only one could run it has, though it has more than the others then.
        (&[(1, &ALL), (2, &[0, 1])], &[5, 2]),
        (&[(1, &[0, 1, 2, 3, 4, 5]), (2, &[0]), (3, &[6])], &[5, 1, 1]),
        (&[(1, &ALL), (2, &[])], &[7, 0]),
    ] {
        let mut world = World::of(workers);
        world.settle();
        world.assert_shared();
        assert_eq!((world.counts(), world.handovers), (expected.to_vec(), 0), "{workers:?}");
    }
}

#[test]
fn a_worker_that_comes_gets_its_share_and_one_that_goes_leaves_it_to_the_others() {
    let all: Vec<u8> = (0..60).collect();
    let mut world = World::of(&[(1, &all), (2, &all)]);
    world.settle();
    world.comes(3, all.iter().copied());
    let rounds = world.settle();
    assert_eq!((world.counts(), world.handovers), (vec![20, 20, 20], 20), "no more than it has to get");
    assert!(rounds >= 20 / (2 * RELEASES_MAX), "never all at once: {rounds} rounds");
    world.goes(1);
    world.settle();
    assert_eq!((world.counts(), world.handovers), (vec![30, 30], 20), "who stays keeps what it has");
    world.assert_shared();
}

#[test]
fn what_is_busy_stays_and_what_has_only_come_gets_nothing_yet() {
    let mut world = World::of(&[(1, &[0, 1, 2, 3])]);
    world.settle();
    world.comes(2, [0, 1, 2, 3].into_iter());
    world.looks(&worker(1));
    let mut seen = world.seen[&worker(1)].clone();
    let all: BTreeSet<String> = (0..4).map(account).collect();
    let free = OwnAccounts { offers: all.clone(), has: all.clone(), ..OwnAccounts::default() };
    assert_eq!(share(&seen, &free).releases, [account(0), account(1)]);
    let busy = |numbers: &[u8]| OwnAccounts { busy: numbers.iter().copied().map(account).collect(), ..free.clone() };
    assert_eq!(share(&seen, &busy(&[0, 1, 2])).releases, [account(3)]);
    assert_eq!(share(&seen, &busy(&[0, 1, 2, 3])), Share::default());
    seen.others.get_mut(&worker(2)).unwrap().is_new = true;
    assert_eq!(share(&seen, &free), Share::default());
    // What no one has it may claim all the same.
    seen.held.clear();
    let nothing = OwnAccounts { offers: all, ..OwnAccounts::default() };
    assert_eq!(share(&seen, &nothing).claims, [account(0), account(2)]);
}

#[test]
fn what_is_on_its_way_out_is_not_claimed_again_and_counts_as_handed_over() {
    let mut world = World::of(&[(1, &[0, 1, 2, 3])]);
    world.settle();
    world.comes(2, [0, 1, 2, 3].into_iter());
    world.looks(&worker(1));
    let seen = &world.seen[&worker(1)];
    let set = |numbers: &[u8]| numbers.iter().copied().map(account).collect::<BTreeSet<String>>();
    let accounts =
        OwnAccounts { offers: set(&[0, 1, 2, 3]), has: set(&[2, 3]), ends: set(&[0, 1]), busy: BTreeSet::new() };
    assert_eq!(share(seen, &accounts), Share::default());
}

#[test]
fn an_account_of_a_process_that_shares_nothing_is_left_to_it() {
    let mut world = World::of(&[(1, &[0, 1]), (2, &[0, 1])]);
    world.held.insert(account(0), "alone".to_owned());
    world.settle();
    assert_eq!((world.held[&account(0)].as_str(), world.counts()), ("alone", vec![1, 0]));
}

fn happening() -> impl Strategy<Value = Happening> {
    let sets = prop_oneof![
        3 => Just((0..24).collect::<BTreeSet<u8>>()),
        1 => prop::collection::btree_set(0..24_u8, 0..24),
    ];
    prop_oneof![
        2 => (0..5_u8, sets).prop_map(|(worker, offers)| Happening::Comes(worker, offers)),
        1 => (0..5_u8).prop_map(Happening::Goes),
        6 => (0..5_u8).prop_map(Happening::Acts),
        3 => (0..5_u8).prop_map(Happening::ActsLate),
    ]
}

proptest! {
    #[test]
    fn whatever_happened_every_account_is_someone_s_in_the_end_and_then_nothing_moves(
        happenings in prop::collection::vec(happening(), 0..60),
    ) {
        let mut world = World::default();
        for happening in happenings {
            match happening {
                Happening::Comes(number, offers) => world.comes(number, offers.into_iter()),
                Happening::Goes(number) => world.goes(number),
                Happening::Acts(number) => {
                    world.looks(&worker(number));
                    world.acts(&worker(number));
                }
                Happening::ActsLate(number) => _ = world.acts(&worker(number)),
            }
        }
        world.settle();
        world.assert_shared();
        let (before, handovers) = (world.held.clone(), world.handovers);
        prop_assert_eq!(world.settle(), 0, "in the end nothing moves");
        prop_assert_eq!((world.held, world.handovers), (before, handovers));
    }
}
