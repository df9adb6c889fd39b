//! Random histories of files, edits, movements, faults, kills, approvals and lost state, with the laws looked at after every
//! step.
//!
//! A history is a list of steps; engine and service run in this process, and many histories beside each other. One that
//! breaks a law is made as short as it can be before it is shown. `ROSTERD_HISTORIES` asks for another number of them, and
//! `ROSTERD_SEED` for others.

mod history;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use futures_util::{StreamExt as _, stream};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use history::{History, histories};

/// As many as fit into 20 seconds.
const HISTORIES: usize = 40;
/// Histories beside each other on one thread: most of the time they wait to look a second time.
const BESIDE: usize = 24;
/// How often a history that breaks a law is made shorter.
const SHORTENED_MAX: usize = 60;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn runner(seed: usize) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&(seed as u64).to_le_bytes());
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Runs histories of these seeds until one breaks a law.
fn first_broken(seeds: std::ops::Range<usize>) -> Option<(usize, String)> {
    let (next, broken) = (AtomicUsize::new(seeds.start), Mutex::new(None));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from).min(4) {
            scope.spawn(|| {
                let todo = std::iter::from_fn(|| {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    (seed < seeds.end && broken.lock().unwrap().is_none()).then_some(seed)
                });
                let all = stream::iter(todo)
                    .map(|seed| async move {
                        let history = histories().new_tree(&mut runner(seed)).unwrap().current();
                        (seed, world::run(&history).await)
                    })
                    .buffer_unordered(BESIDE)
                    .for_each(|(seed, result)| {
                        if let Err(law) = result {
                            broken.lock().unwrap().get_or_insert((seed, law));
                        }
                        std::future::ready(())
                    });
                runtime().block_on(all);
            });
        }
    });
    broken.into_inner().unwrap()
}

/// The shortest history of that seed that still breaks a law.
fn shortened(seed: usize, law: String) -> (History, String) {
    let mut tree = histories().new_tree(&mut runner(seed)).unwrap();
    let mut found = (tree.current(), law);
    let breaks = |history: &History| runtime().block_on(world::run(history)).err();
    for _ in 0..SHORTENED_MAX {
        if !tree.simplify() {
            break;
        }
        loop {
            match breaks(&tree.current()) {
                Some(law) => {
                    found = (tree.current(), law);
                    break;
                }
                None if tree.complicate() => {}
                None => return found,
            }
        }
    }
    found
}

#[test]
fn the_laws_hold_after_every_step_of_random_histories() {
    let first = number("ROSTERD_SEED", 1);
    let count = number("ROSTERD_HISTORIES", HISTORIES);
    if let Some((seed, law)) = first_broken(first..first + count) {
        let (history, law) = shortened(seed, law);
        panic!("seed {seed}: {law}\n{history:#?}");
    }
}
