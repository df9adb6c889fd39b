//! A folder into which files are dropped.
//!
//! The program looks at it at intervals and does not watch it: network shares send no notifications of changes.
//!
//! Invariants:
//! - Everything is reached from one open folder, by a single name and without following a link: no name leads out of it.
//! - What is read is a private copy, taken from the open descriptor of a regular file with one name that only its owner and
//!   group may write, and whose size and times stood still meanwhile.
//! - Every read ends at the size that the inbox allows, counted as it is read: a file may claim any size.
//! - Whatever has an odd name or kind concerns nothing but itself: the rest is taken, kept, removed and searched as ever.
//! - Only the very file that was copied is moved away. What took its name since stays, and is a file of its own.
//!
//! Rejected: reading a file where it lies and moving it afterwards. A person who drops files can put another one in its
//! place in between; then that one would be filed as done and never be read.

mod destination;
mod error;
mod filing;
mod folder;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod look;
mod name;
mod older_export;
mod options;
mod refusal;
mod rights;
mod stamp;
mod sweep;
mod take;

pub use destination::Destination;
pub use error::Error;
pub use filing::Filing;
pub use folder::{Before, Folder, InboxEntry, What};
pub use look::{Look, Watcher};
pub use name::{dated, is_filed_later, shown, unfiled};
pub use older_export::OlderExport;
pub use options::{Options, Order, Reads};
pub use refusal::Refusal;
pub use stamp::Stamp;
pub use sweep::Swept;
pub use take::{TakeRefusal, Taken, take, take_filed};
