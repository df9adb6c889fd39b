//! A short time of what a bench does for an hour.

use std::time::Duration;

use crate::support::postgres;
use crate::support::soak::{Seen, Soak};

#[test]
fn law_3_workers_are_killed_again_and_again_and_in_the_end_no_one_is_wrong() {
    if !postgres::is_there() {
        return;
    }
    let soak = Soak {
        accounts: 6,
        people: 8,
        workers: 3,
        length: Duration::from_secs(40),
        kill_every: Duration::from_secs(9),
        run_every: 0,
        changes: 1,
        report_every: Duration::from_secs(10),
    };
    let mut told = Vec::new();
    let Seen { kills, ends, lags, .. } = soak.run(|words| told.push(words));
    assert!(kills >= 1 && ends >= 1 && !lags.is_empty(), "{told:?}");
}
