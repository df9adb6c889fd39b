//! A simulated service that counts in sliding and in fixed windows, on tokio's paused clock.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use super::*;

/// What the service saw: the times at which it counted.
#[derive(Clone, Default)]
struct Service {
    counted: Arc<Mutex<Vec<u64>>>,
}

impl Service {
    /// The most that lies in any 60 s, both ends included, and in any fixed minute.
    fn most(&self) -> usize {
        let mut times = self.counted.lock().unwrap().clone();
        times.sort_unstable();
        let sliding =
            (0..times.len()).map(|from| times[from..].iter().take_while(|t| **t <= times[from] + 60_000).count());
        sliding.max().unwrap_or(0)
    }

    fn count(&self) -> usize {
        self.counted.lock().unwrap().len()
    }
}

/// Deterministic and uneven.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}

/// Works for `minutes` with `workers` in flight, each answer taking up to `latency` ms.
async fn work(budget: Arc<Budget>, service: Service, start: Instant, minutes: u64, workers: u64, latency: u64) {
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let tasks = (0..workers).map(|seed| {
        let (budget, service) = (budget.clone(), service.clone());
        tokio::spawn(async move {
            let mut dice = Dice(seed + 1);
            while Instant::now() < end {
                let Ok(Ok(permit)) = tokio::time::timeout_at(end, budget.permit(false)).await else { return };
                let answer = latency / 2 + dice.roll(latency / 2 + 1);
                let counted = dice.roll(answer.min(REACH) + 1);
                service.counted.lock().unwrap().push(start.elapsed().as_millis() as u64 + counted);
                tokio::time::sleep(Duration::from_millis(answer)).await;
                budget.answered(permit).unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

fn budget(limit: u32, file: Option<PathBuf>, start: Instant) -> Arc<Budget> {
    let place = file.map_or(BudgetPlace::Own, BudgetPlace::File);
    Arc::new(Budget::new(limit, place, Time::Tokio { start, boot: 1 }))
}

#[tokio::test(start_paused = true)]
async fn law_12_never_over_and_at_least_97_percent_used() {
    for (limit, workers, latency) in [(100, 1, 10), (100, 8, 200), (100, 8, 2_000), (100, 8, 4_000), (20, 4, 1_400)] {
        let start = Instant::now();
        let service = Service::default();
        work(budget(limit, None, start), service.clone(), start, 60, workers, latency).await;
        assert!(service.most() <= limit as usize, "{limit} {workers} {latency}: {}", service.most());
        let wanted = limit as usize * 60 * 97 / 100;
        assert!(service.count() >= wanted, "{limit} {workers} {latency}: {} < {wanted}", service.count());
    }
}

#[tokio::test(start_paused = true)]
async fn law_12_restarts_and_a_second_process_share_one_budget() {
    let folder = tempfile::tempdir().unwrap();
    let file = Some(folder.path().join("budget"));
    let start = Instant::now();
    let service = Service::default();
    for _ in 0..4 {
        let one = budget(100, file.clone(), start);
        let two = budget(100, file.clone(), start);
        tokio::join!(work(one, service.clone(), start, 1, 4, 300), work(two, service.clone(), start, 1, 4, 1_900),);
    }
    assert!(service.most() <= 100, "{}", service.most());
    assert!(service.count() >= 4 * 97, "{}", service.count());
}

#[tokio::test(start_paused = true)]
async fn fault_54_of_250_requests_no_minute_sees_more_than_100() {
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let mut sent = Vec::new();
    for chunk in 0..5 {
        let budget = budget(100, Some(folder.path().join("budget")), start);
        for _ in 0..50 {
            let permit = budget.permit(false).await.unwrap();
            sent.push(start.elapsed().as_millis() as u64);
            // A process that is killed answers nothing.
            if chunk % 2 == 0 {
                budget.answered(permit).unwrap();
            }
        }
    }
    let service = Service { counted: Arc::new(Mutex::new(sent)) };
    assert_eq!((service.count(), service.most()), (250, 100));
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_sent_at_once_and_a_pause_holds_all_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = Some(folder.path().join("budget"));
    let start = Instant::now();
    let one = budget(100, file.clone(), start);
    for _ in 0..50 {
        let permit = one.permit(false).await.unwrap();
        one.answered(permit).unwrap();
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    one.pause(Duration::from_secs(20), true).unwrap();
    let state = one.state().unwrap();
    assert_eq!((state.used, state.limit, state.blocked), (50, 100, Some(Duration::from_secs(20))));
    let restarted = budget(100, file, start);
    let permit = restarted.permit(false).await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(20) && start.elapsed() < Duration::from_secs(21));
    restarted.never_sent(permit).unwrap();
    assert_eq!(restarted.state().unwrap().used, 50);
}

#[tokio::test(start_paused = true)]
async fn law_12_ten_thousand_creates_use_99_percent_of_100_a_minute_over_restarts() {
    const REQUESTS: u64 = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let (service, mut dice) = (Service::default(), Dice(7));
    let mut one = budget(100, Some(folder.path().join("budget")), start);
    for number in 1..=REQUESTS {
        if number % 900 == 0 {
            one = budget(100, Some(folder.path().join("budget")), start);
        }
        let permit = one.permit(false).await.unwrap();
        let answer = 80 + dice.roll(300);
        service.counted.lock().unwrap().push(start.elapsed().as_millis() as u64 + dice.roll(answer));
        tokio::time::sleep(Duration::from_millis(answer)).await;
        one.answered(permit).unwrap();
    }
    // No 60 s hold more than 100, both ends included; so no fixed minute does, wherever it begins.
    assert_eq!(service.most(), 100);
    let granted = 100 * (start.elapsed().as_secs() / 60 + 1);
    assert!(REQUESTS * 100 >= granted * 99, "{REQUESTS} of {granted} that were granted");
}
