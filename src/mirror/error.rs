//! Errors of pulls.

use crate::api;
use crate::record::RemoteId;
use crate::store;

/// A failure while pulling what the service holds.
#[derive(Debug, thiserror::Error)]
#[error("reading {what} from the service failed")]
#[non_exhaustive]
pub struct Error {
    /// What was read.
    pub what: &'static str,
    /// What went wrong.
    #[source]
    pub kind: ErrorKind,
}

/// What went wrong with a pull.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A request failed.
    #[error(transparent)]
    Api(#[from] api::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A list that held entities before is said to hold none.
    #[error(
        "the service {} and held {before} before; nothing is taken from that (is the credential narrowed, or the address \
         another account's?)",
        if *not_found { "answers 404 to a list that is there" } else { "lists no one" }
    )]
    Emptied {
        /// How many it held.
        before: u64,
        /// Whether the list was said not to be there.
        not_found: bool,
    },
    /// With another credential, the people known are not there.
    #[error(
        "the credential changed, and of {known} people known {missing} are missing and {others} were made at another time: \
         this looks like another account, and nothing is taken from it (for another account name another state.dir; if it \
         is the same one, `rosterd rebuild` matches people again)"
    )]
    Strangers {
        /// How many are known.
        known: u64,
        /// How many of them the listing lacks.
        missing: u64,
        /// How many of them were made at another time.
        others: u64,
    },
    /// Two certifications show a holder of the same id.
    #[error("two certifications show a holder with id {id}; it is unclear which of them is meant")]
    Doubled {
        /// The entity.
        id: RemoteId,
    },
    /// No entity of a whole listing shows what identifies it: everybody would be made a second time.
    #[error(
        "the service lists {count} of them and shows the {shows} of none: nothing is taken from that (may the credential read all \
         fields?)"
    )]
    Nameless {
        /// How many it lists.
        count: usize,
        /// What it doesn't show.
        shows: &'static str,
    },
    /// A list that is there at one moment is said not to be there at the next.
    #[error("the service answers 404 to a list that it shows a moment later; nothing is taken from that")]
    Flickers,
    /// A whole listing lacks entities that are there.
    #[error(
        "the list lacks id {id} and {more} more, which the service still has: the list lies, and nothing is taken from it"
    )]
    Lacks {
        /// One of them.
        id: RemoteId,
        /// How many more.
        more: usize,
    },
}
