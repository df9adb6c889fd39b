//! What waits in an inbox.

use std::path::PathBuf;

/// What waits in an inbox.
#[derive(Clone, Debug)]
pub struct WaitingFiles {
    /// The inbox.
    pub dir: PathBuf,
    /// The file that would be read next.
    pub file: Option<String>,
    /// All files that wait, in order.
    pub files: Vec<String>,
    /// Further things worth knowing, as the end of the sentence.
    pub about: String,
}
