//! Why a dropped file seems to be an older export than the last one.

use serde::{Deserialize, Serialize};

/// Why a file seems to be an older export than the last one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each says by its text what it means")]
pub enum OlderExport {
    #[error("this seems to be an older export than the last one: the date in its name lies before that of {last}")]
    OlderName { last: String },
    #[error("this seems to be an older export than the last one: its time of writing lies before that of {last}")]
    OlderTime { last: String },
    #[error("it is the very file that was read on {at}, and others came since, the last one {last}")]
    ReadBefore { at: String, last: String },
}
