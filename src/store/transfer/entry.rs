//! The form of an exported state: a line of JSON for each thing.
//!
//! ```text
//! {"rosterd_state":1,"program":"…","account":"https://…"}
//! {"document":{…}} {"line":{…}} {"file":{…}} {"part":"…"} {"row":{…}}     rows come last
//! {"end":{"contents":{…},"sha256":"…"}}                                   how many of each; over all bytes before
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The form that this program writes and reads.
pub(super) const FORM: u64 = 1;
/// A part of a file has so many bytes at most.
pub(super) const PART_BYTES: usize = if cfg!(debug_assertions) { 1024 } else { 1024 * 1024 };

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    /// The number of the form.
    pub(super) rosterd_state: u64,
    /// The version of the program that wrote it, for people.
    pub(super) program: String,
    /// The service's address; none where no run has asked it.
    pub(super) account: Option<String>,
}

/// Every other line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Entry {
    Document {
        name: String,
        content: Bytes,
    },
    /// A line of the log, with the segment that it is of.
    Line {
        of: String,
        text: String,
    },
    /// A file, whose parts follow.
    File {
        name: String,
        size: u64,
    },
    Part(Bytes),
    Row {
        key: Bytes,
        value: Bytes,
    },
    End {
        contents: Contents,
        sha256: String,
    },
}

/// How much an exported state has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Documents: pauses, notices and the like.
    pub documents: u64,
    /// Lines of the audit files.
    pub lines: u64,
    /// Files of inboxes.
    pub files: u64,
    /// Rows.
    pub rows: u64,
}

/// Bytes, which JSON has as base64.
#[derive(Debug)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(de::Error::custom)
    }
}
