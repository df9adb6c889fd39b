//! Errors of reading a directory.

use std::fmt;

/// Why nothing can be taken from a directory.
#[derive(Debug)]
pub struct Error {
    /// The server that it is about; the first of the list where it is about none.
    pub server: String,
    /// What is wrong.
    pub kind: LdapErrorKind,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            LdapErrorKind::Unreachable(_) => self.kind.fmt(f),
            kind => write!(f, "{}: {kind}", self.server),
        }
    }
}

impl std::error::Error for Error {}

/// What is wrong with a directory.
#[derive(Debug, thiserror::Error)]
pub enum LdapErrorKind {
    /// No server gave an entry; each with the reason.
    #[error("no server can be read: {}", listed(.0))]
    Unreachable(Vec<(String, String)>),
    /// TLS can't be set up on this side.
    #[error("{0}")]
    Tls(String),
    /// The password can't be used.
    #[error("the password of bind_dn: {0}")]
    Password(String),
    /// Name and password were refused before.
    #[error(
        "the bind was refused at {at:.0} ({said}) and is not tried again with the same name and password, so that the \
         account is not locked; put the right password where bind_password_file says, or, if the password is right by now, run \
         `rosterd check`"
    )]
    Refused {
        /// When.
        at: jiff::Timestamp,
        /// What was said.
        said: String,
    },
    /// Someone asked to end.
    #[error("interrupted")]
    Interrupted,
    /// The server refused the name and password. No other server was asked.
    #[error("the bind was refused: {said}; {hint}")]
    Bind {
        /// Its code and its words.
        said: String,
        /// What to do.
        hint: &'static str,
    },
    /// A base is not there, or not for everybody.
    #[error(
        "the base {base:?} does not exist, or the account may not see it (no such object, result code 32); check `base`"
    )]
    NoBase {
        /// The base.
        base: String,
    },
    /// The server refuses the search.
    #[error("the search in {base:?} was refused: {said}{hint}")]
    Search {
        /// The base.
        base: String,
        /// Its code and its words.
        said: String,
        /// What to do, with what puts it apart.
        hint: &'static str,
    },
    /// Attributes that the mapping needs and that no entry has.
    #[error("{}", .0.join("; "))]
    Attributes(Vec<String>),
    /// There are more entries than are taken.
    #[error("more than {} entries fit; narrow `base` or `filter`", super::limits::ENTRIES_MAX)]
    TooMany,
    /// The whole read took too long, and gave nothing.
    #[error("the read took longer than {seconds} s and gave nothing; see `total_timeout`")]
    Slow {
        /// How long was waited.
        seconds: u64,
    },
    /// The server's answer is none.
    #[error("the server's answer can't be understood; is this an LDAP server?")]
    Garbled,
    /// This machine refuses.
    #[error("the read can't be started: {0}")]
    Thread(std::io::Error),
}

fn listed(faults: &[(String, String)]) -> String {
    faults.iter().map(|(server, reason)| format!("{server}: {reason}")).collect::<Vec<_>>().join("; ")
}
