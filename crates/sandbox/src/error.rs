//! What keeps a sandbox from starting.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::fault::GRAMMAR;

/// Why a sandbox can't start, or why one of its options can't be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is taken, or is not one of this machine's.
    #[error("the sandbox can't listen on {address}; choose another address, or port 0 for any free one")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The data folder can't be read or written.
    #[error("the sandbox's data in {} can't be used", path.display())]
    Data {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another sandbox works in the data folder.
    #[error("another sandbox uses {}; stop it, or choose another folder", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// A line of the journal is damaged; a last line without its end is not (it was never confirmed).
    #[error("line {line} of {} can't be read; remove the line, or the folder to begin anew", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// The file of keys and clients is damaged, or of another version.
    #[error("{} can't be read; remove it to begin with the credentials of the command line", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
    },
    /// A restriction of that name does not exist.
    #[error("{name:?} is no restriction of an API key; give one of {known}")]
    Restriction {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A rate window of that name does not exist.
    #[error("{0:?} is no rate window; give sliding or fixed")]
    Window(String),
    /// A fault's text doesn't fit the grammar.
    #[error("{reason} in the fault {spec:?}\n{GRAMMAR}")]
    Fault {
        /// The whole text.
        spec: String,
        /// What is wrong with it.
        reason: String,
    },
}
