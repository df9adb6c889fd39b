//! What the kernel says of a process.

use std::fs;
use std::time::Duration;

/// The processor's time of a process so far; none where it is gone.
pub(crate) fn work(process: u32) -> Duration {
    /// How the kernel counts it, on every machine of today.
    const TICKS_A_SECOND: u64 = 100;
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let numbers = text.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: u64 = numbers.skip(11).take(2).filter_map(|number| number.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1000 / TICKS_A_SECOND)
}
