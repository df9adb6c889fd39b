//! Workers that share accounts in one database for long, while they are killed and the files change.
//!
//! `ROSTERD_SOAK_MINUTES=60 cargo bench --bench workers [-- ACCOUNTS PEOPLE WORKERS]`: an hour of 500 accounts of 20 people and
//! 3 workers by default. A worker is killed or asked to end each minute, and started again. It ends with an error where a
//! service has not what its file says, or has someone twice. It needs a PostgreSQL server on this machine.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that can't go on fails, and prints")]

#[path = "../tests/it/support/postgres.rs"]
mod postgres;
#[path = "../tests/it/support/soak.rs"]
mod soak;

use std::io::Write as _;
use std::time::Duration;

use soak::{Seen, Soak};

fn main() {
    let mut told = std::env::args().filter_map(|argument| argument.parse::<usize>().ok());
    let mut number = |default: usize| told.next().unwrap_or(default);
    let (accounts, people, workers) = (number(500), number(20), number(3));
    let minutes = std::env::var("ROSTERD_SOAK_MINUTES").ok().and_then(|minutes| minutes.parse().ok()).unwrap_or(60);
    assert!(postgres::is_there(), "it needs a PostgreSQL server");
    println!("{workers} workers, {accounts} accounts of {people} people, {minutes} minutes");
    let soak = Soak {
        accounts,
        people,
        workers,
        length: Duration::from_secs(60 * minutes),
        kill_every: Duration::from_secs(60),
        run_every: 2,
        changes: 1,
        report_every: Duration::from_secs(60),
    };
    let Seen { kills, ends, mut after_kills, mut after_ends, mut lags, alone } = soak.run(|words| {
        println!("{words}");
        std::io::stdout().flush().unwrap();
    });
    println!("no one is wrong, and no one is there twice");
    println!("{kills} kills, {ends} ends in good order");
    told_of("until others have all accounts after a kill", &mut after_kills);
    told_of("until others have all accounts after an end in good order", &mut after_ends);
    told_of("from the file to the service", &mut lags);
    let quarters: Vec<_> =
        (0..=4).filter_map(|quarter| alone.get(quarter * alone.len().saturating_sub(1) / 4)).collect();
    let shown = quarters.iter().map(|(memory, files)| format!("{:.1} MiB and {files} files", *memory as f64 / 1024.0));
    println!("the worker that was left alone, from the beginning to the end: {}", shown.collect::<Vec<_>>().join(", "));
}

fn told_of(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |part: usize| times.get((times.len() * part / 100).min(times.len().saturating_sub(1)));
    let shown = |part| at(part).map_or(0.0, Duration::as_secs_f64);
    println!(
        "{what}: middle {:.1} s, 99 % {:.1} s, longest {:.1} s ({})",
        shown(50),
        shown(99),
        shown(100),
        times.len()
    );
}
