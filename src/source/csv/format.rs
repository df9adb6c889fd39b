//! What a read detected in a file.

use serde::{Deserialize, Serialize};

/// How a file was understood: remembered by the caller and given to the next read, which must find the same encoding and
/// delimiter. A header that moved and columns in another order are no difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetectedFormat {
    /// How files of text are written: that of the last one, where this one is a workbook or rosterd's own. `None` where there was
    /// no other yet.
    pub text: Option<TextFormat>,
    /// The line of the header, counted from 1.
    pub header_line: u32,
    /// The columns, in order.
    pub columns: Vec<String>,
    /// The sheet that was read, of a workbook.
    pub sheet: Option<String>,
}

/// How a file of text is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextFormat {
    /// The encoding, by its name in the WHATWG list.
    pub encoding: String,
    /// The delimiter between two cells.
    pub delimiter: u8,
}

/// As rosterd itself writes a file.
impl Default for TextFormat {
    fn default() -> Self {
        Self { encoding: "UTF-8".to_owned(), delimiter: b',' }
    }
}

/// A file as it looks without a mapping, for a first configuration.
#[derive(Clone, PartialEq, Eq)]
pub struct Probe {
    /// What it seems to be.
    pub found: DetectedFormat,
    /// Whether its last row ends in a line end.
    pub final_newline: bool,
    /// The first rows below the header, as cells.
    pub samples: Vec<Vec<String>>,
    /// Everything that had to be guessed, as sentences for a person.
    pub doubts: Vec<String>,
}

/// Leaves the samples out (law 11).
impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probe").field("found", &self.found).field("doubts", &self.doubts).finish_non_exhaustive()
    }
}

/// A delimiter as a message spells it.
pub fn delimiter_name(delimiter: u8) -> &'static str {
    match delimiter {
        b',' => "comma",
        b';' => "semicolon",
        b'\t' => "tab",
        b'|' => "bar",
        _ => "other",
    }
}
