//! Places for runs: how many of a process read and plan at the same time, and whose run is next.
//!
//! To read a source and plan takes the processor, memory and the disk; to send takes the service's time. So a run has a place
//! from its beginning until it sends.
//!
//! Invariants:
//! - Of the accounts that wait, the one goes next with the fewest runs that have not come to send; of several, the one
//!   that was served longest ago. So a place that is free goes to an account's second run only where no account waits for
//!   its first, and none is passed over twice.
//! - A place counts for [`HELD_MAX`] at most. After that its run goes on, and the place is another's: a source that hangs, or
//!   a first listing of a large service that waits for its rate limit, holds up no other.
//! - All runs that are under way, those that send included, are limited as well: each has a thread and an open store. Where
//!   one waits for that limit, runs that send are asked to stop after a while, and wait behind it.
//!
//! Rejected: to stop a run that reads. What it has read would be for nothing, and a large account would never come to its
//! end beside many small ones.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long a place counts.
pub(crate) const HELD_MAX: Duration = Duration::from_secs(60);
/// Runs under way in a process of several accounts.
const UNDER_WAY_MAX: usize = 128;
/// The least number of places of a process of several accounts.
const PLACES_MIN: usize = 2;

/// An account among those that wait.
pub(crate) type AccountNumber = u64;

/// The places of a process.
#[derive(Debug)]
pub(crate) struct RunPlaces {
    places: usize,
    under_way_max: usize,
    line: Mutex<Line>,
}

#[derive(Debug, Default)]
struct Line {
    /// The runs under way that have not come to send, by number: whose, and until when its place counts.
    reading: BTreeMap<u64, (AccountNumber, Instant)>,
    under_way: usize,
    /// Those who wait, in the order in which they came.
    waiting: Vec<Waiting>,
    /// When each account got a place last, by the count of places given.
    served: BTreeMap<AccountNumber, u64>,
    /// The number of the next run, and how many places were given.
    next: u64,
    given: u64,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    account: AccountNumber,
    tell: oneshot::Sender<()>,
}

/// A run that is under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct RunPlace {
    places: Arc<RunPlaces>,
    number: u64,
    is_sending: AtomicBool,
}

impl RunPlaces {
    /// No limit: for a process of one account, whose runs are few.
    pub(crate) fn unlimited() -> Arc<Self> {
        Self::new(usize::MAX, usize::MAX)
    }

    /// As this machine can take them.
    pub(crate) fn of_this_machine() -> Arc<Self> {
        let processors = std::thread::available_parallelism().map_or(PLACES_MIN, usize::from);
        Self::new(processors.max(PLACES_MIN), UNDER_WAY_MAX)
    }

    fn new(places: usize, under_way_max: usize) -> Arc<Self> {
        Arc::new(Self { places, under_way_max, line: Mutex::default() })
    }

    /// Waits for a place.
    pub(crate) async fn take(self: &Arc<Self>, account: AccountNumber) -> RunPlace {
        let (tell, mut told) = oneshot::channel();
        let number = {
            let mut line = self.lock();
            line.next += 1;
            let number = line.next;
            line.waiting.push(Waiting { number, account, tell });
            number
        };
        // Who gives up waiting leaves the line, or the place that it was just given.
        let place = RunPlace { places: Arc::clone(self), number, is_sending: AtomicBool::new(false) };
        loop {
            let look_again = self.give();
            tokio::select! {
                biased;
                _ = &mut told => return place,
                () = tokio::time::sleep_until(look_again) => {}
            }
        }
    }

    /// Whether a run waits because so many are under way.
    pub(crate) fn is_crowded(&self) -> bool {
        let line = self.lock();
        line.under_way >= self.under_way_max && !line.waiting.is_empty()
    }

    /// Gives out the places that are free. Returns when the next one becomes free by itself.
    fn give(&self) -> Instant {
        let mut line = self.lock();
        let now = Instant::now();
        loop {
            let taken = line.reading.values().filter(|(_, until)| *until > now).count();
            if taken >= self.places || line.under_way >= self.under_way_max {
                break;
            }
            let rank = |waiting: &Waiting| {
                let own = line.reading.values().filter(|(account, _)| *account == waiting.account).count();
                (own, line.served.get(&waiting.account).copied(), waiting.number)
            };
            let Some(at) = (0..line.waiting.len()).min_by_key(|at| rank(&line.waiting[*at])) else { break };
            let Waiting { number, account, tell } = line.waiting.remove(at);
            line.given += 1;
            let given = line.given;
            line.served.insert(account, given);
            line.reading.insert(number, (account, now + HELD_MAX));
            line.under_way += 1;
            // It counts until its place is dropped, which happens at once where none waits for it any more.
            let _ = tell.send(());
        }
        let free = line.reading.values().map(|(_, until)| *until).filter(|until| *until > now).min();
        free.unwrap_or(now + HELD_MAX)
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunPlace {
    /// The run has come to send: its place is another's.
    pub(crate) fn sends(&self) {
        if !self.is_sending.swap(true, Ordering::SeqCst) {
            self.places.lock().reading.remove(&self.number);
            self.places.give();
        }
    }

    /// Whether it is to stop for another, once it has sent for a while.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_sending.load(Ordering::SeqCst) && self.places.is_crowded()
    }
}

impl Drop for RunPlace {
    fn drop(&mut self) {
        let mut line = self.places.lock();
        match line.waiting.iter().position(|waiting| waiting.number == self.number) {
            Some(at) => _ = line.waiting.remove(at),
            None => {
                line.reading.remove(&self.number);
                line.under_way -= 1;
            }
        }
        drop(line);
        self.places.give();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The accounts that have a place, in the order in which they got it.
    #[derive(Clone, Default)]
    struct Got(Arc<Mutex<Vec<(AccountNumber, RunPlace)>>>);

    impl Got {
        /// Lets an account wait.
        async fn wait(&self, places: &Arc<RunPlaces>, account: AccountNumber) {
            let (got, places) = (self.clone(), Arc::clone(places));
            tokio::spawn(async move {
                let place = places.take(account).await;
                got.0.lock().unwrap().push((account, place));
            });
            settle().await;
        }

        fn accounts(&self) -> Vec<AccountNumber> {
            self.0.lock().unwrap().iter().map(|(account, _)| *account).collect()
        }

        /// Ends the first run.
        async fn end(&self) {
            let ended = self.0.lock().unwrap().remove(0);
            drop(ended);
            settle().await;
        }
    }

    /// Lets all tasks go as far as they can.
    async fn settle() {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_account_has_a_second_run_where_another_waits_for_its_first() {
        let (places, got) = (RunPlaces::new(2, 9), Got::default());
        for account in [1, 1, 1, 1, 2, 3, 2] {
            got.wait(&places, account).await;
        }
        assert_eq!(got.accounts(), [1, 1], "nobody else was there");
        got.end().await;
        assert_eq!(got.accounts(), [1, 2]);
        got.end().await;
        assert_eq!(got.accounts(), [2, 3]);
        got.end().await;
        assert_eq!(got.accounts(), [3, 1], "the one that was served longest ago");
        got.end().await;
        assert_eq!(got.accounts(), [1, 2]);
        got.end().await;
        assert_eq!(got.accounts(), [2, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_sends_has_no_place_and_a_place_that_is_held_for_long_is_another_s() {
        let (places, got) = (RunPlaces::new(1, 9), Got::default());
        for account in [1, 2, 3] {
            got.wait(&places, account).await;
        }
        assert_eq!(got.accounts(), [1]);
        got.0.lock().unwrap()[0].1.sends();
        settle().await;
        assert_eq!(got.accounts(), [1, 2]);
        tokio::time::sleep(HELD_MAX - Duration::from_millis(5)).await;
        assert_eq!(got.accounts(), [1, 2]);
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(got.accounts(), [1, 2, 3], "the second reads on, and holds up nobody");
        // What was another's by then is not given twice.
        got.wait(&places, 4).await;
        got.end().await;
        got.end().await;
        assert_eq!(got.accounts(), [3]);
        got.end().await;
        assert_eq!(got.accounts(), [4]);
    }

    #[tokio::test(start_paused = true)]
    async fn runs_that_send_are_to_give_way_where_too_many_are_under_way() {
        let (places, got) = (RunPlaces::new(9, 2), Got::default());
        for account in [1, 2] {
            got.wait(&places, account).await;
        }
        let is_wanted = || got.0.lock().unwrap().iter().map(|(_, place)| place.is_wanted()).collect::<Vec<_>>();
        got.0.lock().unwrap()[0].1.sends();
        assert_eq!(is_wanted(), [false, false], "nobody waits");
        got.wait(&places, 3).await;
        assert_eq!((got.accounts(), is_wanted()), (vec![1, 2], vec![true, false]), "who reads is left to it");
        got.end().await;
        assert_eq!((got.accounts(), is_wanted()), (vec![2, 3], vec![false, false]));
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_waiting_leaves_no_gap() {
        let (places, got) = (RunPlaces::new(1, 1), Got::default());
        got.wait(&places, 1).await;
        let given_up = tokio::time::timeout(Duration::from_secs(1), places.take(2)).await;
        assert!(given_up.is_err());
        got.wait(&places, 3).await;
        got.end().await;
        assert_eq!(got.accounts(), [3]);
        got.end().await;
        assert_eq!(places.lock().under_way, 0);
        assert!(places.lock().waiting.is_empty() && places.lock().reading.is_empty());
    }
}
