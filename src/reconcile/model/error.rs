//! What makes a job's run fail.

use std::io;

use super::plan_file_error::PlanFileError;
use crate::mapping;
use crate::mirror;
use crate::push;
use crate::source::{self, entra, https, inbox, ldap};
use crate::spool;
use crate::store;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The source could not be read.
    #[error(transparent)]
    Source(#[from] source::Error),
    /// The inbox could not be looked at.
    #[error(transparent)]
    Inbox(#[from] inbox::Error),
    /// The mapping does not fit the source.
    #[error("{0}")]
    Mapping(#[source] mapping::Error),
    /// The service could not be read.
    #[error(transparent)]
    Mirror(#[from] mirror::Error),
    /// The push could not go on.
    #[error(transparent)]
    Push(#[from] push::Error),
    /// The state could not be read or written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Temporary data could not be written.
    #[error(transparent)]
    Spool(#[from] spool::Error),
    /// The audit files could not be read or written.
    #[error("the audit files could not be read or written")]
    History(#[source] std::io::Error),
    /// The service lacks a custom field that the mapping names, or has several of that title.
    #[error("the mapping names {field}: {problem}")]
    Element {
        /// The field.
        field: String,
        /// What is wrong.
        problem: String,
    },
    /// The plan file is not one that can be applied here.
    #[error(transparent)]
    PlanFile(#[from] PlanFileError),
    /// The store belongs to another account.
    #[error("the state folder belongs to the account at {stored}, and the configuration names {configured}")]
    Account {
        /// The account whose state it is.
        stored: String,
        /// The one configured.
        configured: String,
    },
}

/// What kind of failure it is, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The run failed.
    Failed,
    /// The configuration is wrong.
    Usage,
}

impl Error {
    /// Whether nothing failed but that someone asked to end.
    pub(crate) fn is_interruption(&self) -> bool {
        match self {
            Self::Source(source::Error::Ldap(error)) => matches!(error.kind, ldap::LdapErrorKind::Interrupted),
            Self::Source(source::Error::Https(error)) => matches!(error.kind, https::HttpsErrorKind::Interrupted),
            Self::Source(source::Error::Entra(error)) => matches!(error.kind, entra::EntraErrorKind::Interrupted),
            Self::Source(source::Error::Csv(_) | source::Error::Cached(_)) => false,
            _ => false,
        }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Account { .. } | Self::PlanFile(_) => Kind::Usage,
            Self::Store(error) => match error.kind {
                store::ErrorKind::Permission | store::ErrorKind::Owner { .. } | store::ErrorKind::NoFolder => {
                    Kind::Usage
                }
                _ => Kind::Failed,
            },
            Self::Source(_)
            | Self::Inbox(_)
            | Self::Mapping(_)
            | Self::Mirror(_)
            | Self::Push(_)
            | Self::Spool(_)
            | Self::Element { .. }
            | Self::History(_) => Kind::Failed,
        }
    }
}

/// Whether something could not be written for want of room.
pub(crate) fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let of_this = |error: &(dyn std::error::Error + 'static)| {
        let io = error.downcast_ref::<io::Error>().map(io::Error::kind);
        // An error that is shown instead of its cause hides it from the chain.
        let of_run = error.downcast_ref::<Error>().and_then(|error| match error {
            Error::Store(error) => Some(error),
            _ => None,
        });
        let store = error.downcast_ref::<store::Error>().or(of_run).map(|error| &error.kind);
        matches!(io, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
            || matches!(store, Some(store::ErrorKind::Full))
    };
    std::iter::successors(Some(error), |error| error.source()).any(of_this)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_ends_a_read_of_any_source_makes_no_failure() {
        let address = || "https://example.com".to_owned();
        let https = |kind| Error::Source(source::Error::Https(https::Error { address: address(), kind }));
        let entra = |kind| Error::Source(source::Error::Entra(entra::Error { address: address(), kind }));
        assert!(https(https::HttpsErrorKind::Interrupted).is_interruption());
        assert!(entra(entra::EntraErrorKind::Interrupted).is_interruption());
        assert!(!Error::History(io::Error::from(io::ErrorKind::Interrupted)).is_interruption());
    }

    #[test]
    fn a_state_folder_that_is_not_for_this_user_is_a_matter_of_the_configuration() {
        let error = |kind| Error::Store(store::Error { place: "state".into(), kind }).kind();
        use store::ErrorKind::{Full, NoFolder, Owner, Permission};
        assert_eq!(
            [Permission, Owner { uid: 7 }, NoFolder, Full].map(error),
            [Kind::Usage, Kind::Usage, Kind::Usage, Kind::Failed]
        );
    }

    #[test]
    fn a_full_disk_is_known_wherever_it_shows() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let quota = || io::Error::from(io::ErrorKind::QuotaExceeded);
        let store = || store::Error { place: "state".into(), kind: store::ErrorKind::Full };
        let copy = |source| Error::Inbox(inbox::Error::Copy { name: "all.csv".to_owned(), source });
        for (error, expected) in [
            (Error::Store(store()), true),
            (Error::Push(push::Error::Store(store())), true),
            (Error::Push(push::Error::Audit(full())), true),
            (Error::History(quota()), true),
            (copy(full()), true),
            (copy(io::Error::from(io::ErrorKind::NotFound)), false),
        ] {
            assert_eq!(is_full(&error), expected, "{error}");
        }
    }
}
