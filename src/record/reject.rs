//! A source row that can't be used.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::RowDefect;
use super::key::Key;

/// A source row that can't be used, and why. It is reported along with the good records and stops none of them (law 8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// The row's key, where it could be read.
    pub key: Option<Key>,
    /// The line on which the row begins, counted from 1; `None` for sources without lines.
    pub line: Option<u64>,
    /// The column, or the mapped field, that the reason is about.
    pub field: Option<String>,
    /// What stands there; only the report to those who dropped the file shows it.
    pub value: Option<CellValue>,
    /// What is wrong, for the person who can mend it; holds no value of the row.
    pub reason: RowDefect,
}

impl Rejected {
    /// A row that can't be used for what is wrong with it as a whole.
    pub fn whole(key: Key, line: Option<u64>, reason: RowDefect) -> Self {
        Self { key: Some(key), line, field: None, value: None, reason }
    }
}

/// What stands in a cell that can't be used. `Debug` hides it (law 11).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellValue(String);

impl CellValue {
    /// How many characters of it are kept: enough to find it in the file.
    const CHARACTERS_MAX: usize = 80;

    /// The value of one cell or of several; `None` where they are empty.
    pub fn new<'c>(cells: impl IntoIterator<Item = &'c str>) -> Option<Self> {
        let cells = cells.into_iter().map(str::trim).filter(|cell| !cell.is_empty());
        let text = cells.collect::<Vec<_>>().join(" | ");
        let cut = text.char_indices().nth(Self::CHARACTERS_MAX).map(|(at, _)| format!("{}…", &text[..at]));
        Some(cut.unwrap_or(text)).filter(|text| !text.is_empty()).map(Self)
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for CellValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
