//! The report on a dropped file: one table for a spreadsheet, one page to be read.
//!
//! Both are made of the same [`HrReport`], for people who know the file and not this program: they say what happened, which
//! rows were not used, and what to do.
//!
//! Invariants:
//! - Equal reasons are given once, with the people that they apply to; each person has a line of the page's text, so
//!   that one can be removed.
//! - Only keys name people (law 11); no cell of the file is repeated.
//! - No cell of the table is a formula to a spreadsheet, and no text of the page is markup, whatever the file contains.
//! - The page is one file without scripts and loads nothing.
//!
//! Rejected: the page alone. A person who has to correct four hundred rows sorts and filters them.

mod line;
mod page;
mod table;

pub use line::{ReportLine, RowOutcome};
pub use page::{is_page, keyed, page, text_of};
pub use table::{MARK, harmless, is_table, table};

use jiff::Zoned;
use serde::{Deserialize, Serialize};

/// What became of one dropped file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HrReport {
    /// The name under which it was dropped.
    pub file: String,
    /// The job that read it.
    pub job: String,
    /// When it was read, in the job's zone.
    pub at: Zoned,
    /// What happened to it as a whole.
    pub verdict: Verdict,
    /// What there is to say about it as a whole.
    pub messages: Vec<String>,
    /// Those of them that are only said because something waits.
    pub holds: Vec<String>,
    /// When it was brought up to date, where something waited at first.
    pub updated: Option<Zoned>,
    /// The file that was read since, where something still waited.
    pub newer: Option<String>,
    /// Its rows in their order, then what is about none of them.
    pub lines: Vec<ReportLine>,
    /// The delimiter between two cells of the file, and of the table.
    pub delimiter: u8,
}

/// What happened to a file as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// All of it was used.
    Used,
    /// All of it was used, and people who are known are not in it.
    Missing,
    /// Some of its rows or values were not used, or it ended too early.
    Partly,
    /// Some of what it says waits for an approval.
    Waits,
    /// Nothing of it was used.
    NotUsed,
    /// It is the file of the time before.
    Again,
}

impl HrReport {
    /// How many lines have this outcome.
    pub fn count(&self, outcome: RowOutcome) -> usize {
        self.lines.iter().filter(|line| line.outcome == outcome).count()
    }
}

#[cfg(test)]
mod tests;
