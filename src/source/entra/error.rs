//! Errors of reading a tenant.

use std::fmt;
use std::io;

/// Why nothing can be taken from a tenant.
#[derive(Debug)]
pub struct Error {
    /// The address that was asked, as it is shown.
    pub address: String,
    /// What is wrong.
    pub kind: EntraErrorKind,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.address, self.kind)
    }
}

/// The kind is part of the sentence, so the chain goes on below it.
impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.kind)
    }
}

/// What is wrong with a tenant.
#[derive(Debug, thiserror::Error)]
pub enum EntraErrorKind {
    /// TLS, or the request, can't be set up on this side.
    #[error("{0}")]
    Setup(String),
    /// The secret, the certificate or its key can't be used.
    #[error("{0}")]
    Credential(String),
    /// There is no token.
    #[error("{0}")]
    Token(String),
    /// No connection, or one that broke.
    #[error("it can't be reached: {0}")]
    Unreachable(String),
    /// Not a success.
    #[error("it answered {status}{code} to {asked}{hint}")]
    Status {
        /// The status.
        status: u16,
        /// Its code, with what puts it apart.
        code: String,
        /// What was asked for.
        asked: &'static str,
        /// What to do, with what puts it apart.
        hint: &'static str,
    },
    /// It asks for more time than a read has.
    #[error(
        "it answered {status} to {asked} and asks to wait {seconds} s, which is longer than this read may take; the next run \
         tries again"
    )]
    Busy {
        /// The status.
        status: u16,
        /// What was asked for.
        asked: &'static str,
        /// How long it wants to be left alone.
        seconds: u64,
    },
    /// The answer is no page.
    #[error("its answer is no page of a list: {0}")]
    Garbled(&'static str),
    /// An answer is too large.
    #[error("an answer has more than {} MiB", super::limits::PAGE_BYTES_MAX / 1024 / 1024)]
    TooLarge,
    /// There are more users, or more pages, than are taken.
    #[error(
        "there are more users or pages than are taken ({} users); narrow `filter` or `groups`",
        super::limits::USERS_MAX
    )]
    TooMany,
    /// The next page is elsewhere.
    #[error("the link to the next page leads elsewhere ({to}), which is not followed")]
    Elsewhere {
        /// Scheme and host of where to.
        to: String,
    },
    /// The pages go round.
    #[error("the same link to the next page came twice, so the pages have no end")]
    Loop,
    /// A group can't be found.
    #[error("{0}")]
    Group(String),
    /// Properties that the mapping needs and that no user has.
    #[error("{}", .0.join("; "))]
    Properties(Vec<String>),
    /// It took too long.
    #[error("the read took longer than {seconds} s, and nothing is taken from it; see `timeout`")]
    Slow {
        /// How long was waited.
        seconds: u64,
    },
    /// Someone asked to end.
    #[error("interrupted")]
    Interrupted,
    /// This machine refuses.
    #[error("the read can't be started")]
    Thread(#[source] io::Error),
}
