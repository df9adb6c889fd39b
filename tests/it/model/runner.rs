//! Lives through random histories beside each other, and makes one that breaks a law as short as it can be.
//!
//! Time passes for a history only while it waits: the clock of its runtime stands still, and jumps. tokio lets it jump
//! to the next timer whenever no task can continue, an answer that is about to leave the kernel or not; so there is
//! always a timer near, and an answer comes long before its time is over.

use std::fmt::Debug;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::support::kept;

/// So far time jumps at once. An answer takes a few jumps.
const JUMP: Duration = Duration::from_millis(5);
/// How often a history that breaks a law is made shorter, or longer again.
const SHORTENED_MAX: usize = 600;

/// Lives through so many histories, unless `ROSTERD_HISTORIES` asks for another number; `ROSTERD_SEED` asks for others.
/// What lives through one tells which law broke.
pub(super) fn lives<S: Strategy>(
    count: usize,
    histories: fn() -> S,
    live: impl AsyncFn(&S::Value) -> Result<(), String> + Sync,
) {
    let first = number("ROSTERD_SEED", 1);
    let count = number("ROSTERD_HISTORIES", count);
    if let Some(seed) = first_broken(first..first + count, histories, &live) {
        let (history, law) = shortened(seed, histories, &live);
        panic!("seed {seed}: {law}\n{history:#?}");
    }
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// The history of a seed, and those that are shorter.
fn tree<S: Strategy>(seed: usize, histories: fn() -> S) -> S::Tree {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&(seed as u64).to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    histories().new_tree(&mut TestRunner::new_with_rng(Config::default(), random)).unwrap()
}

/// Which law a history breaks.
fn broken<H: Debug>(history: &H, live: &impl AsyncFn(&H) -> Result<(), String>) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.spawn(async {
        loop {
            tokio::time::sleep(JUMP).await;
        }
    });
    let lived = catch_unwind(AssertUnwindSafe(|| runtime.block_on(live(history))));
    lived.unwrap_or_else(|_| Err("it panicked".to_owned())).err()
}

/// The first seed that is found whose history breaks a law.
fn first_broken<S: Strategy>(
    seeds: Range<usize>,
    histories: fn() -> S,
    live: &(impl AsyncFn(&S::Value) -> Result<(), String> + Sync),
) -> Option<usize> {
    let (next, found) = (AtomicUsize::new(seeds.start), Mutex::new(None));
    thread::scope(|scope| {
        // The storage library works on threads of its own, and a database in processes: they are waited for.
        let beside = if kept::is_asked_for() { 6 } else { 2 };
        for _ in 0..beside * thread::available_parallelism().map_or(2, usize::from).min(4) {
            scope.spawn(|| {
                while found.lock().unwrap().is_none() {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= seeds.end {
                        break;
                    }
                    if broken(&tree(seed, histories).current(), live).is_some() {
                        found.lock().unwrap().get_or_insert(seed);
                    }
                }
            });
        }
    });
    found.into_inner().unwrap()
}

/// The shortest history of that seed that still breaks a law.
fn shortened<S: Strategy>(
    seed: usize,
    histories: fn() -> S,
    live: &impl AsyncFn(&S::Value) -> Result<(), String>,
) -> (S::Value, String) {
    let mut tree = tree(seed, histories);
    let mut found = (tree.current(), "no law, when it was lived through again".to_owned());
    for _ in 0..SHORTENED_MAX {
        let goes_on = match broken(&tree.current(), live) {
            Some(law) => {
                found = (tree.current(), law);
                tree.simplify()
            }
            None => tree.complicate(),
        };
        if !goes_on {
            break;
        }
    }
    found
}
