//! Why a dropped file is never read.

use serde::{Deserialize, Serialize};

/// Why a dropped file is never read, as a sentence for administrators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each says by its text what it means")]
pub enum Refusal {
    #[error(
        "Its name holds a line break or another character that no file name should have. Give it a plain name and drop it again."
    )]
    OddName,
    #[error(
        "It is a spreadsheet in a format that can't be read here. Open it, choose Save As, and save it as \"Excel Workbook \
         (.xlsx)\"; then drop that file."
    )]
    OldWorkbook,
    #[error(
        "It is a spreadsheet. Open it, choose Save As, and save it as \"CSV UTF-8 (comma delimited)\"; then drop that file."
    )]
    Spreadsheet,
    #[error("It is a packed file. Unpack it, and drop the CSV file that is in it.")]
    Packed,
    #[error(
        "Only files whose names fit {} are read here. Give it such a name if it is meant, and drop it again.",
        patterns.join(" or ")
    )]
    OtherName { patterns: Vec<String> },
    #[error("It has {size} bytes, more than the {max} that are allowed here. Is it the right file?")]
    TooLarge { size: u64, max: u64 },
    #[error("It is {what}.")]
    NotAFile { what: String },
    #[error(
        "rosterd may not read it. Let its group read it (chmod g+r; for programs that upload: umask 027 or 007), and drop it \
         again; where the group may read it already, rosterd's account must be put into that group (`rosterd check` says how)."
    )]
    NotReadable,
    #[error(
        "It is a file that every user of this machine may change. Take that permission away (chmod o-w; for programs that upload: \
         umask 027 or 007), and drop it again."
    )]
    OpenToAll,
}

impl Refusal {
    /// Whether a sentence of the report leaves out what this one says.
    pub fn has_details(&self) -> bool {
        matches!(self, Self::TooLarge { .. } | Self::NotAFile { .. } | Self::NotReadable | Self::OpenToAll)
    }
}
