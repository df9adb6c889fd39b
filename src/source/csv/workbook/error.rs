//! What is wrong with a workbook.

use std::io;

use super::limits::{MERGES_MAX, STRINGS_MAX, UNPACKED_BYTES_MAX};

/// Why nothing can be taken from a workbook.
#[derive(Debug, thiserror::Error)]
pub enum WorkbookFault {
    /// It has the old format, or a password.
    #[error(
        "this is an old Excel workbook (.xls), or one with a password; save it as .xlsx without a password, or as CSV"
    )]
    Old,
    /// It is of another program.
    #[error("this is an OpenDocument spreadsheet (.ods); save it as .xlsx, or as CSV")]
    OpenDocument,
    /// It is a binary one.
    #[error("this is a binary Excel workbook (.xlsb); save it as .xlsx, or as CSV")]
    Binary,
    /// It is packed, but no workbook.
    #[error("this is a packed file (zip), but no workbook; unpack it, and give the CSV file or workbook that is in it")]
    NoWorkbook,
    /// It ends too early, or its bytes changed on the way.
    #[error("the workbook is cut or damaged ({0}); save it again, and copy it to its end")]
    Damaged(String),
    /// A part of it is not what it should be.
    #[error("the workbook can't be understood: {0}; save it again with Excel or LibreOffice")]
    Strange(String),
    /// It unpacks to more than is taken.
    #[error("the workbook unpacks to more than {} MiB, which no list of people does", UNPACKED_BYTES_MAX >> 20)]
    TooLarge,
    /// It has too many parts.
    #[error("the workbook has too many parts")]
    TooManyParts,
    /// It has too many shared strings.
    #[error("the workbook has more than {STRINGS_MAX} different texts")]
    TooManyStrings,
    /// Merged cells.
    #[error("line {line}: the cells {range} are merged, so it is unclear whose value that is; unmerge them")]
    Merged {
        /// The first row of them.
        line: u64,
        /// All of them.
        range: String,
    },
    /// Too many of them.
    #[error("more than {MERGES_MAX} groups of cells are merged; unmerge all cells of the sheet")]
    TooManyMerged,
    /// The sheet that is configured is not there.
    #[error("there is no sheet {wanted:?}; there is {there}")]
    NoSheet {
        /// Its name.
        wanted: String,
        /// Those that are there.
        there: String,
    },
    /// It is not clear which sheet is meant.
    #[error(
        "the workbook has {count} visible sheets ({there}); say which one with `sheet = \"…\"`, or hide or delete the others"
    )]
    SeveralSheets {
        /// How many.
        count: usize,
        /// Their names.
        there: String,
    },
    /// All sheets are hidden.
    #[error("the workbook has no visible sheet ({there}); say which one with `sheet = \"…\"`")]
    NoVisibleSheet {
        /// Their names.
        there: String,
    },
    /// The parser failed.
    #[error("the workbook made the parser fail; save it again with Excel or LibreOffice, or as CSV")]
    Panicked,
    /// The disk failed.
    #[error("it cannot be read")]
    Unreadable(#[source] io::Error),
    /// Its texts can't be kept for a moment.
    #[error(transparent)]
    Spool(#[from] crate::spool::Error),
}

/// A limit that was met in the middle of a read.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(super) enum Limit {
    /// Of a whole part.
    #[error("a part is too large")]
    Part,
    /// Of one piece of XML.
    #[error("a piece of a part is too large")]
    Piece,
}

impl WorkbookFault {
    /// What an error of reading a part means. Only one of the system is no fault of the file.
    pub(super) fn of_io(part: &str, error: io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Limit>()) {
            Some(Limit::Part) => Self::TooLarge,
            Some(Limit::Piece) => Self::Strange(format!("a cell or tag in {part} is too large")),
            None if error.raw_os_error().is_some() => Self::Unreadable(error),
            None => Self::Damaged(part.to_owned()),
        }
    }
}
