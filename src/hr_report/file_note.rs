//! What there is to say about a file as a whole.

use serde::{Deserialize, Serialize};

/// What there is to say about a file as a whole, for those who dropped it: each language has a sentence for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the table of sentences says what each means")]
pub enum FileNote {
    /// People are missing from the file, and stay at the service.
    MissingStay {
        people: u64,
        of: u64,
        since: String,
    },
    /// The same, and they go with the next run.
    MissingDue {
        people: u64,
        of: u64,
        since: String,
    },
    /// The same, and a person has to decide first.
    MissingHeld {
        people: u64,
        of: u64,
        since: String,
    },
    /// The same, and they go later.
    MissingUntil {
        people: u64,
        of: u64,
        since: String,
        at: String,
    },
    /// The file proves no one absent.
    Incomplete,
    /// The first line is not the one that the job expects.
    Header,
    /// So many rows are damaged that none is used.
    Damaged,
    Empty,
    /// It holds fewer people than the job expects at least.
    TooFew,
    /// None of its rows can be used.
    NoRowUsed,
    TooLarge,
    NotText,
    /// Its encoding or delimiter is another than before.
    OtherForm,
    /// It is a workbook that can't be read.
    Workbook,
    NotAFile,
    Paused,
}

impl FileNote {
    /// Whether there is nothing to add to it: what the run says of the same would repeat it.
    pub fn says_all(&self) -> bool {
        matches!(self, Self::Empty)
    }
}

/// A sentence about a file as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMessage {
    /// The sentence.
    pub text: String,
    /// Whether it is in English, in a report of another language.
    pub in_english: bool,
}
