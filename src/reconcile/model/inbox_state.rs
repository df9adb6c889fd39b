//! What is remembered of an inbox between runs.

use crate::config::Mode;
use crate::source::inbox::{OlderExport, dated, unfiled};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How many files are remembered.
const PAST_MAX: usize = 50;

/// What is remembered of an inbox between runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct InboxState {
    /// Whether it had its two folders: without them it is another folder by now, or none (law 1).
    pub(crate) marked: bool,
    /// The file that is being read.
    pub(crate) current: Option<Current>,
    /// The last files that were read, the newest last.
    pub(crate) past: Vec<Past>,
    /// The name of the last file, where nothing of it was used: it went to failed/, and what it says of people is not known.
    #[serde(default)]
    pub(crate) unused: Option<String>,
    /// The file of which something is open.
    pub(crate) kept_copy: Option<OpenFile>,
    /// Whether the people of the last file are to be matched before a newer one is read: the state was rebuilt since, and who is
    /// missing from the newer one would be a stranger.
    #[serde(default)]
    pub(crate) unmatched: bool,
    /// As what the last file was filed that was read; empty where there was none when it was looked for.
    #[serde(default)]
    pub(crate) filed: Option<String>,
    /// For how many copies of the state that were laid back it was looked for files that it does not know.
    #[serde(default)]
    pub(crate) copies: u64,
    /// The files in `processed/` that the state does not know, by what they were filed as, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unknown: Vec<String>,
}

/// A file that is being read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Current {
    /// The digest of its bytes.
    pub(crate) content: String,
    /// The runs that read it so far.
    pub(crate) runs: Vec<u64>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Past {
    /// The run that was the last to read it.
    pub(crate) run: u64,
    /// Its name.
    pub(crate) name: String,
    /// The digest of its bytes; empty where nothing is to be known again by it.
    pub(crate) content: String,
    /// Whether a person was taken out of it since: then it is in a form of our own, and no more in that of the job's files.
    #[serde(default)]
    pub(crate) rewritten: bool,
    /// Whether it was a list of everyone, or one of changes; none where the job read something else since, so that it is not looked at
    /// again.
    #[serde(default)]
    pub(crate) mode: Option<Mode>,
    /// What the job made of rows then.
    pub(crate) mapping: String,
    /// Whether it was used completely: nothing of it was held, refused or not used, no one was missing from it, and it seemed to be no
    /// older export.
    pub(crate) clean: bool,
    /// When it was written.
    pub(crate) modified: Option<Timestamp>,
    /// When it was read.
    pub(crate) read: Timestamp,
    /// Whether it seemed to be an older export.
    #[serde(default)]
    pub(crate) doubted: bool,
    /// Whether another file waited after it, so that it is not judged who is missing from it.
    #[serde(default)]
    pub(crate) unjudged: bool,
    /// Whether a row of it comes to something else on a later day, or once something is mended that is not in it: it is looked at
    /// again.
    #[serde(default)]
    pub(crate) unfinished: bool,
    /// The last whole listing of the service that it was compared with.
    #[serde(default)]
    pub(crate) listed: Option<Timestamp>,
}

/// A file of which something is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenFile {
    /// Its name.
    pub(crate) name: String,
    /// Why all that it says waits for a person, where it does.
    pub(crate) doubt: Option<OlderExport>,
}

impl Past {
    /// Whether nothing else was read since, and it is such a file.
    pub(crate) fn is_last(&self, mode: Mode) -> bool {
        self.mode == Some(mode)
    }
}

impl InboxState {
    /// Remembers a file; one that is remembered already, once.
    pub(crate) fn remember(&mut self, past: Past) {
        // A list that waits as an older one takes no place of one that was refused.
        if !past.doubted {
            self.unused = None;
        }
        if self.past.iter().any(|known| known.run == past.run) {
            return;
        }
        self.past.push(past);
        let more = self.past.len().saturating_sub(PAST_MAX);
        self.past.drain(..more);
    }

    /// Notes as what a file was filed. One that was used as a list of everyone takes the place of all that the state does not know, and
    /// one of changes that of itself alone.
    pub(crate) fn note_filed(&mut self, filed: &str, used: Option<Mode>) {
        self.filed = Some(filed.to_owned());
        match used {
            None => {}
            Some(Mode::Full) => self.unknown.clear(),
            Some(Mode::Changes) => {
                let same = self.unknown.iter().position(|one| unfiled(one) == unfiled(filed));
                same.map(|at| self.unknown.remove(at));
            }
        }
    }

    /// Whether a newer file was read than the last that is known.
    pub(crate) fn is_overtaken(&self) -> bool {
        !self.unknown.is_empty() && !self.past.is_empty()
    }

    /// Notes that the last file came once more, by a later date in its name, or written later: it is as new as that.
    pub(crate) fn repeated(&mut self, name: &str, modified: Option<Timestamp>) {
        self.unused = None;
        if let Some(last) = self.past.last_mut() {
            if dated(name) >= dated(&last.name) {
                last.name = name.to_owned();
            }
            last.modified = last.modified.max(modified);
        }
    }

    /// Whether it is not judged who is missing from the last file. One that may be old is judged by a person.
    pub(crate) fn is_unjudged(&self) -> bool {
        self.past.last().is_some_and(|last| last.unjudged && !last.doubted)
    }

    /// Whether the last file is to be looked at again.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.past.last().is_some_and(|last| last.unfinished)
    }

    /// Notes that something else was read since: the last file is older than that. Returns whether it was the last that was read.
    pub(crate) fn supersede(&mut self) -> bool {
        self.unused = None;
        let last = self.past.last_mut().and_then(|last| last.mode.take());
        self.kept_copy.take().is_some() || last.is_some()
    }

    /// Forgets by what files would be known again.
    pub(crate) fn forget(&mut self) {
        self.current = None;
        self.past.iter_mut().for_each(|past| past.content.clear());
    }
}
