//! Errors of reading a file.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::limits;
use super::workbook::WorkbookFault;
use crate::record::Rejected;

/// Why nothing can be taken from a file.
#[derive(Debug)]
pub struct Error {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub kind: CsvErrorKind,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.kind)
    }
}

impl Error {
    /// Whether it is a workbook of which a sheet must be named.
    pub fn asks_for_sheet(&self) -> bool {
        use WorkbookFault::{NoSheet, NoVisibleSheet, SeveralSheets};
        matches!(self.kind, CsvErrorKind::Workbook(NoSheet { .. } | NoVisibleSheet { .. } | SeveralSheets { .. }))
    }
}

/// The kind is part of the sentence, so the chain goes on below it.
impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.kind.source()
    }
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum CsvErrorKind {
    /// There is none of that name.
    #[error("it does not exist; check `path`, and that the share is mounted")]
    Missing,
    /// It is a folder; it was none when the configuration was read, or is that of a lookup.
    #[error("it is a folder, not a file; `rosterd reload` takes the folder of a job as an inbox")]
    Folder,
    /// It is a pipe, a device or the like.
    #[error("it is {0}, not a file")]
    NotAFile(&'static str),
    /// It cannot be opened or read.
    #[error("it cannot be read")]
    Unreadable(#[source] io::Error),
    /// It has no bytes.
    #[error("it is empty; an export that has not run yet is no empty list")]
    Empty,
    /// It is larger than the job takes.
    #[error("it has {size} bytes, more than the {max} that `size_max` allows")]
    TooLarge {
        /// Its size in bytes.
        size: u64,
        /// The largest size, in bytes.
        max: u64,
    },
    /// It went on changing.
    #[error(
        "it is still being written: it did not stand still for `settle` within {waited_seconds} s; try again later"
    )]
    Unsettled {
        /// How long was waited.
        waited_seconds: u64,
    },
    /// Its bytes are no text.
    #[error("this is not text ({what}); {hint}")]
    NotText {
        /// What gives it away.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// Its mark and the configured encoding differ.
    #[error("it begins with the mark of {mark}, but `encoding` says {configured}; remove that setting")]
    WrongMark {
        /// The encoding whose mark it has.
        mark: &'static str,
        /// The encoding that is configured.
        configured: &'static str,
    },
    /// It is encoded unlike the time before.
    #[error(
        "it was {was} until now and is {is}{place}; export it as {was} again, or set `encoding = \"{setting}\"` if the \
         change is meant"
    )]
    EncodingChanged {
        /// The encoding that was found before.
        was: String,
        /// The encoding that is found now.
        is: &'static str,
        /// Where that shows, as the end of a clause.
        place: String,
        /// The value of the setting that takes the file as it is.
        setting: String,
    },
    /// Its cells are divided unlike the time before.
    #[error(
        "its delimiter was {was} until now and is {is}; export it as before, or set `delimiter` if the change is meant"
    )]
    DelimiterChanged {
        /// The delimiter that was found before.
        was: &'static str,
        /// The delimiter that is found now.
        is: &'static str,
    },
    /// There is nothing at the line that is configured as the header's.
    #[error("line {0} is to be the header, but no row begins there")]
    NoHeader(u32),
    /// Its header lacks mapped columns or has them twice.
    #[error("line {line}: {}", .faults.join("; "))]
    Header {
        /// The line that is the header, or comes nearest to one.
        line: u64,
        /// One sentence for each column.
        faults: Vec<String>,
    },
    /// It has more columns than are taken.
    #[error("line {line}: the header has {count} columns, more than {}", limits::COLUMNS_MAX)]
    TooManyColumns {
        /// The header's line.
        line: u64,
        /// How many there are.
        count: usize,
    },
    /// A second header is unlike the first.
    #[error(
        "line {line} is another header, with other columns or in another order; two files were put together, so put each below the \
         header of its own, in a file of its own"
    )]
    OtherHeader {
        /// The line of the second one.
        line: u64,
    },
    /// It has more rows than are taken.
    #[error("it has more than {} rows", limits::ROWS_MAX)]
    TooManyRows,
    /// It is a workbook that can't be used.
    #[error(transparent)]
    Workbook(WorkbookFault),
    /// Too many rows are bad, so that the file as a whole is in doubt.
    #[error("{count} of {rows} rows cannot be used, the first at line {first_line}: {reason}")]
    TooManyBadRows {
        /// How many rows are bad.
        count: u64,
        /// How many rows there are, or were read so far.
        rows: u64,
        /// Where the first bad one begins.
        first_line: u64,
        /// What is wrong with that one.
        reason: String,
        /// All of those.
        rejected: Vec<Rejected>,
    },
}

impl From<WorkbookFault> for CsvErrorKind {
    fn from(fault: WorkbookFault) -> Self {
        match fault {
            WorkbookFault::Unreadable(error) => Self::Unreadable(error),
            fault => Self::Workbook(fault),
        }
    }
}
