//! The options of an inbox.

use super::OlderExport;
use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;

/// What a job says about its inbox.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder.
    pub dir: PathBuf,
    /// The names of the files that are taken, as one of these says: `*` matches any characters, `?` matches one, and case does
    /// not matter.
    pub patterns: Vec<String>,
    /// Which file comes first.
    pub order: Order,
    /// How long a file must have stood still.
    pub settle: Duration,
    /// The largest file taken, in bytes.
    pub size_max: u64,
    /// How long what was filed is kept; nothing is filed where it is zero.
    pub kept: SignedDuration,
    /// Why all changes of the file being read wait for a person; set for a single run, never by a configuration.
    pub doubt: Option<OlderExport>,
    /// What the run reads of it; set for a single run, too.
    pub reads: Reads,
    /// Whether other files wait behind the one that it reads; set for a single run, too.
    pub others_wait: bool,
    /// Whether nothing of what it reads is new; set for a single run, too.
    pub repeats: bool,
}

/// What a run reads of an inbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// Its last file.
    #[default]
    Last,
    /// A file after which another one waits: who is missing from it may be in that one.
    Earlier,
    /// No file, though the inbox gets whole lists: what is left of earlier ones says of no one that they leave.
    Nothing,
}

impl Options {
    /// The default patterns of names.
    pub const PATTERNS: [&str; 2] = ["*.csv", "*.xlsx"];
    /// How long filed files are kept by default: 30 days.
    pub const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);
}

/// Which of several files comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The one whose name comes first.
    #[default]
    Name,
    /// The one that was written first.
    Modified,
}
