//! The report on a dropped file: one table for a spreadsheet, one page to be read.
//!
//! Both are made of the same [`HrReport`], for people who know the file and not this program: they say what happened, which
//! rows were not used, and what to do.
//!
//! Invariants:
//! - Equal reasons are given once, with the people that they apply to; each person has a line of the page's text, so
//!   that one can be removed.
//! - Keys name people (law 11). Of the cells of the file, only the beginning of what can't be used is repeated: the person
//!   who corrects it has to find it.
//! - No cell of the table is a formula to a spreadsheet, and no text of the page is markup, whatever the file contains.
//! - All is in the language that the configuration names, except what the service says and what administrators act on;
//!   that is marked as English.
//! - The page is one file without scripts and loads nothing.
//!
//! Rejected: the page alone. A person who has to correct four hundred rows sorts and filters them.

mod file_note;
mod language;
mod line;
mod page;
mod table;

pub use file_note::{FileMessage, FileNote};
pub use language::Language;
pub use line::{ReportLine, RowOutcome};
pub use page::{is_page, keyed, page, text_of};
pub use table::{MARK, delimiter_of, harmless, table};

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
    pub messages: Vec<FileMessage>,
    /// What there is to say about those who are missing from it, as long as they are not removed.
    pub while_missing: Vec<FileMessage>,
    /// What there is to say as long as a line waits.
    pub while_waiting: Vec<FileMessage>,
    /// When it was brought up to date, where something waited at first.
    pub updated: Option<Zoned>,
    /// The file that was read since, where something still waited.
    pub newer: Option<String>,
    /// Its rows in their order, then what is about none of them.
    pub lines: Vec<ReportLine>,
    /// The delimiter between two cells of the file, and of the table.
    pub delimiter: u8,
    /// The language of both.
    pub language: Language,
    /// Who answers questions.
    pub contact: Option<String>,
    /// The page where people decide on what waits.
    pub decide_at: Option<String>,
}

/// What happened to a file as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All of it was used.
    Used,
    /// All of it was used, and people who are known are not in it.
    Missing,
    /// Some of its rows or values were not used, or it ended too early.
    Partly,
    /// Some of what it says waits for an approval.
    Waits,
    /// Some of what it says waited, and the next file was read before that was done.
    Superseded,
    /// Nothing of it was used.
    NotUsed,
    /// It is the file of the time before.
    Again,
}

impl HrReport {
    /// What there is to say now about the file as a whole.
    pub fn messages(&self) -> impl Iterator<Item = &FileMessage> {
        let waits = self.count(RowOutcome::Waiting) > 0;
        let is_missed = waits || self.count(RowOutcome::Missing) > 0;
        let missing = self.while_missing.iter().filter(move |_| is_missed);
        let pending = self.while_waiting.iter().filter(move |_| waits);
        missing.chain(&self.messages).chain(pending)
    }

    /// How many lines have this outcome.
    pub fn count(&self, outcome: RowOutcome) -> usize {
        self.lines.iter().filter(|line| line.outcome == outcome).count()
    }
}

#[cfg(test)]
mod tests;
