//! Histogram of durations.

use std::time::Duration;

/// Counts of durations, each in the first bound that it does not exceed.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Upper bounds, in seconds, in order.
    bounds: &'static [f64],
    counts: Vec<u64>,
    total: u64,
    sum: f64,
}

impl Histogram {
    /// Nothing so far.
    pub fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len()], total: 0, sum: 0.0 }
    }

    /// Counts one.
    pub fn observe(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        if let Some(at) = self.bounds.iter().position(|bound| seconds <= *bound) {
            self.counts[at] += 1;
        }
        self.total += 1;
        self.sum += seconds;
    }

    /// Each bound with how many did not exceed it.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let mut below = 0;
        self.bounds.iter().zip(&self.counts).map(move |(bound, count)| {
            below += count;
            (*bound, below)
        })
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How long they took together, in seconds.
    pub fn sum(&self) -> f64 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_counts_all_that_do_not_exceed_it() {
        let mut histogram = Histogram::new(&[1.0, 5.0]);
        for millis in [500, 1_000, 1_001, 60_000] {
            histogram.observe(Duration::from_millis(millis));
        }
        assert_eq!(histogram.cumulative().collect::<Vec<_>>(), [(1.0, 2), (5.0, 3)]);
        assert_eq!((histogram.total(), histogram.sum()), (4, 62.501));
    }
}
