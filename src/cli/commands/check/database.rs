//! The findings about the database in which the state lies.

use super::finding::{Finding, Verdict};
use crate::clock::Clock;
use crate::config::Config;
use crate::fault::chain;

/// Whether the database can hold the state, and what of it could be better; nothing where the state lies in a folder.
pub(super) fn findings(config: &Config, clock: &Clock) -> Vec<Finding> {
    let found = |verdict, text| Finding::new("database of the state", verdict, text);
    let examined = match config.state.home.examine(clock.now()) {
        None => return Vec::new(),
        Some(Err(error)) => return vec![found(Verdict::Wrong, chain(&error))],
        Some(Ok(examined)) => examined,
    };
    let mut findings: Vec<Finding> =
        examined.obstacles.iter().map(|obstacle| found(Verdict::Wrong, obstacle.to_string())).collect();
    if findings.is_empty() {
        findings.push(found(Verdict::Good, format!("PostgreSQL {}", examined.version)));
    }
    findings.extend(examined.doubts.iter().map(|doubt| found(Verdict::Doubtful, doubt.to_string())));
    findings
}
