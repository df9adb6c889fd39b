//! The file that a job read in place last, so that an older one is recognized in its place.
//!
//! An older copy brings back who has left, and misses who has joined since. So it is held as a whole, as an older file of an inbox is, for
//! as long as it lies there: who is missing from it has not left, whatever was approved of the rest. Where it is right after all, it is
//! saved again.
//!
//! Rejected: to recognize a content that was read before. A list in one place comes back to what it was whenever a change of it is
//! taken back, and then it was written later.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::config::{Job, Mode};
use crate::source::Read;
use crate::source::inbox::OlderExport;

/// A file that was used: it was read to its end, and no limit held anything of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReadInPlace {
    /// The digest of where it lies, and of what it is asked for.
    place: String,
    /// The digest of its bytes.
    content: String,
    /// When it was written.
    modified: Timestamp,
}

impl ReadInPlace {
    /// What a job read, where it reads a list of everyone in place and it is known when that was written.
    pub(crate) fn of(job: &Job, read: &Read) -> Option<Self> {
        if job.inbox.is_some() || job.mode != Mode::Full {
            return None;
        }
        let file = job.source.file().map(|file| file.shown().display().to_string()).unwrap_or_default();
        let place = format!("{:032x}", xxh3_128(format!("{file}\n{}", job.source.selection()).as_bytes()));
        Some(Self { place, content: format!("{:032x}", read.content), modified: read.modified? })
    }

    /// It, with the later of both times where `last` has the same content: to copy a file with its time makes it no older.
    pub(crate) fn after(self, last: Option<&Self>) -> Self {
        match last.filter(|last| last.place == self.place && last.content == self.content) {
            Some(last) => Self { modified: last.modified.max(self.modified), ..self },
            None => self,
        }
    }

    /// Why it seems to be older than the `last` one.
    pub(crate) fn older_than(&self, last: &Self) -> Option<OlderExport> {
        let is_older = self.place == last.place && self.content != last.content && self.modified < last.modified;
        is_older.then(|| OlderExport::OlderTime { last: format!("the file of {:.0}", last.modified) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_94_another_content_that_was_written_earlier_is_older() {
        let read = |place: &str, content: u8, seconds: i64| ReadInPlace {
            place: place.to_owned(),
            content: content.to_string(),
            modified: Timestamp::from_second(seconds).unwrap(),
        };
        let last = read("a", 1, 100);
        for (name, one, is_older) in [
            ("the same", read("a", 1, 100), false),
            ("the same with an older time", read("a", 1, 99), false),
            ("another, written later", read("a", 2, 101), false),
            ("another of the same time", read("a", 2, 100), false),
            ("another, written earlier", read("a", 2, 99), true),
            ("a file elsewhere", read("b", 2, 99), false),
        ] {
            assert_eq!(one.older_than(&last).is_some(), is_older, "{name}");
            let is_same = (&one.place, &one.content) == (&last.place, &last.content);
            let expected = if is_same { last.modified } else { one.modified };
            assert_eq!(one.after(Some(&last)).modified, expected, "{name}");
        }
    }
}
