//! The proof that a source was read to its end.

use super::replica_position::Span;
use super::source_state::SourceState;
use crate::record::Rejected;
use jiff::Timestamp;

/// A value that was read from the whole source: the source has no further entries (law 1). Only [`Read::finish`] makes
/// one.
#[derive(Clone, Debug)]
pub struct Complete<T>(T);

impl<T> Complete<T> {
    /// The value.
    pub fn get(&self) -> &T {
        &self.0
    }

    /// The value, by itself.
    pub fn into_inner(self) -> T {
        self.0
    }

    /// Claims completeness for a test of what follows from it.
    #[cfg(test)]
    pub(crate) fn assumed(value: T) -> Self {
        Self(value)
    }
}

/// The result of one read of a source.
#[derive(Clone, Debug)]
pub struct Read {
    /// How many rows were handed out.
    pub rows: u64,
    /// Rows that could not be handed out; their keys are unknown.
    pub rejected: Vec<Rejected>,
    /// The digest of the whole file's bytes.
    pub content: u128,
    /// When the file was written, as far as its place says so.
    pub modified: Option<Timestamp>,
    /// What was found out about the source; to be given to the next read.
    pub found: SourceState,
    /// How far the server was that was read, where it is one.
    pub span: Option<Span>,
    /// Rows that count no more, by their lines, since their entry was handed out again further on.
    pub superseded: Vec<u64>,
    /// Further things worth knowing.
    pub notes: Vec<String>,
    /// The lookups that could not be joined: nothing is known of what they say about anybody.
    pub lost: Vec<LostLookup>,
    /// Why the read does not prove completeness.
    pub(super) incomplete: Vec<String>,
}

/// A lookup whose values can't be believed in this read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostLookup {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

impl Read {
    /// Why the read does not prove that it saw everyone; empty where it does.
    pub fn incomplete(&self) -> &[String] {
        &self.incomplete
    }

    /// Turns a finished read into the proof that `present` is all there is.
    ///
    /// `doubts` say which of its rows may be anybody. The error holds the reasons why the read proves nothing about who is
    /// absent.
    pub fn finish<T>(self, present: T, doubts: Vec<String>) -> Result<Complete<T>, Vec<String>> {
        let mut reasons = self.incomplete;
        reasons.extend(doubts);
        if reasons.is_empty() { Ok(Complete(present)) } else { Err(reasons) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::csv;

    fn read(incomplete: &[&str]) -> Read {
        Read {
            rows: 0,
            rejected: Vec::new(),
            content: 0,
            modified: None,
            found: SourceState::Csv(csv::DetectedFormat {
                text: None,
                header_line: 1,
                columns: Vec::new(),
                sheet: None,
            }),
            span: None,
            superseded: Vec::new(),
            notes: Vec::new(),
            lost: Vec::new(),
            incomplete: incomplete.iter().map(|reason| (*reason).to_owned()).collect(),
        }
    }

    #[test]
    fn a_complete_value_is_the_value() {
        assert_eq!((*Complete::assumed(3).get(), Complete::assumed(3).into_inner()), (3, 3));
    }

    #[test]
    fn law_1_only_a_read_without_doubt_proves_completeness() {
        for (incomplete, doubts, proven) in [
            (&[][..], &[][..], true),
            (&["cut"], &[], false),
            (&[], &["a key is mistyped"], false),
            (&["cut"], &["a key is mistyped", "another one"], false),
        ] {
            let finished = read(incomplete).finish((), doubts.iter().map(|doubt| (*doubt).to_owned()).collect());
            assert_eq!(finished.is_ok(), proven, "{incomplete:?} {doubts:?}");
            assert_eq!(finished.err().map_or(0, |reasons| reasons.len()), incomplete.len() + doubts.len());
        }
    }
}
