//! Errors of reading an inbox.

use std::io;
use std::path::PathBuf;

/// Why an inbox can't be looked at. None of these is an empty inbox (law 1).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such folder.
    #[error("the inbox {} does not exist; check `path`, and that the share is mounted", .0.display())]
    Missing(PathBuf),
    /// It is no folder.
    #[error(
        "the inbox {} is no folder; make it one, or name a file without `pattern` and `order` and run `rosterd reload`",
        .0.display()
    )]
    NotAFolder(PathBuf),
    /// It was used before, and nothing of that is there.
    #[error(
        "the inbox {} has no processed/ any more, or was a file until now: is the share mounted? Make an empty processed/ in it if \
         it is a new folder",
        .0.display()
    )]
    Unmarked(PathBuf),
    /// It can't be opened or listed.
    #[error("the inbox {} can't be read; rosterd must be able to list, read and move what is in it", .path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The private copy of a file can't be made or kept.
    #[error("{name} could not be copied into the state folder")]
    Copy {
        /// The file.
        name: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}
