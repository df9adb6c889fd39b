//! The options of a source that is a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a job says about its CSV file; `None` and `Auto` mean "find it yourself".
#[derive(Clone, Debug)]
pub struct Options {
    /// The file.
    pub path: PathBuf,
    /// What errors call it, where that is not its path: a copy is called as the file that it was taken from.
    pub called: Option<PathBuf>,
    /// How long size and modification time must have stood still.
    pub settle: Duration,
    /// Whether the last row must end in a line end for the file to count as whole.
    pub final_newline: bool,
    /// The largest file taken, in bytes.
    pub size_max: u64,
    /// How the bytes become text.
    pub encoding: Encoding,
    /// The delimiter between two cells: one of `,` `;` tab `|`.
    pub delimiter: Option<u8>,
    /// The line of the header, counted from 1.
    pub header: Option<u32>,
    /// The sheet of a workbook; without it there must be one visible sheet.
    pub sheet: Option<String>,
    /// Columns that may be absent altogether and are empty then.
    pub optional: Vec<String>,
    /// The folder for what a read puts aside.
    pub spill: PathBuf,
    /// Whether rosterd wrote the file itself: how it is written says nothing about others.
    pub is_own: bool,
}

impl Options {
    /// The largest file that is taken by default: 512 MB.
    pub const SIZE_MAX: u64 = 512 * 1000 * 1000;
    /// How long a file must be unchanged by default.
    pub const SETTLE: Duration = Duration::from_secs(2);

    /// The defaults for a file at `path`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            called: None,
            settle: Self::SETTLE,
            final_newline: true,
            size_max: Self::SIZE_MAX,
            encoding: Encoding::Auto,
            delimiter: None,
            header: None,
            sheet: None,
            optional: Vec::new(),
            spill: std::env::temp_dir(),
            is_own: false,
        }
    }

    /// What messages call the file.
    pub fn shown(&self) -> &Path {
        self.called.as_deref().unwrap_or(&self.path)
    }
}

/// How the bytes of a file become text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 with or without a mark, UTF-16 by its mark, else Windows-1252.
    Auto,
    /// This one, a mark of the same encoding dropped.
    Named(&'static encoding_rs::Encoding),
}
