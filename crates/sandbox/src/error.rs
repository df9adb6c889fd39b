//! Errors that prevent the start of a sandbox.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The grammar of a fault, for its reader.
pub(crate) const GRAMMAR: &str = "\
a fault is a few words in any order, separated by spaces or commas:
  where (each narrows it; the default is every API request):
    GET HEAD POST PUT DELETE    a method      read write    reading methods, or the others
    /staff                      the path's beginning below the API root, or /oauth2/token
    staff.create sp.*           an operation, or all whose names begin so; list for every list
  what (exactly one):
    status=500 [retry-after=30] answer that, do nothing       status-after=500   do it, then answer that
    delay=5s                    do it, answer later           delay-before=5s    wait, then do it
    hold                        do it, answer when released   hold-before        wait until released, then do it
    cut-before                  close the connection, do nothing
    cut-after                   do it, close the connection without an answer
    half                        do it, close the connection in the middle of the answer
    html                        200 with a web page           empty-list         200 with []
    not-found                   404
    without=NAME                it is done, and the answer shows entities without that field
    show=name:Other             it is done, and the answer shows that in a field
    omit=1003                   it is done, and a list does not show the one with that id
    as=NAME:OTHER               it is done, and the answer shows that field under another name
  when (counted over the requests that fit; the default is always):
    after=10  not before the 11th   nth=2  only the 2nd (after those)   every=3  each 3rd
    times=5   at most 5 times       p=0.2 [seed=7]  by chance, the same in every run
  for example: PUT /staff status=500 every=3, or staff.create cut-after nth=2";

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
    #[error("line {line} of {} can't be read; remove the line, or the folder to start again", path.display())]
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
