//! Errors of a download.

use std::fmt;
use std::io;

/// Why nothing can be taken from a web server.
#[derive(Debug)]
pub struct Error {
    /// The address, as it is shown.
    pub address: String,
    /// What is wrong.
    pub kind: HttpsErrorKind,
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

/// What is wrong with a download.
#[derive(Debug, thiserror::Error)]
pub enum HttpsErrorKind {
    /// TLS, or the request, can't be set up on this side.
    #[error("{0}")]
    Setup(String),
    /// A secret can't be read.
    #[error("{0}")]
    Secret(String),
    /// There is no token.
    #[error("{0}")]
    Token(String),
    /// No connection, or one that broke before the answer.
    #[error("it can't be reached: {0}")]
    Unreachable(String),
    /// Someone asked to end.
    #[error("interrupted")]
    Interrupted,
    /// It took too long.
    #[error("the download took longer than {seconds} s, and nothing is taken from it; see `timeout`")]
    Slow {
        /// How long was waited.
        seconds: u64,
    },
    /// It is elsewhere.
    #[error(
        "it answered {status}, a redirect to {to}, which is not followed; if the file is there, name its address as \
         `url`; a login page means that the credential was not taken"
    )]
    Redirect {
        /// The status.
        status: u16,
        /// Scheme and host of where to.
        to: String,
    },
    /// The credential is not taken.
    #[error("it answered {status}: the credential was not taken; check {check}")]
    Refused {
        /// The status.
        status: u16,
        /// The settings that the credential is made of.
        check: &'static str,
    },
    /// The credential was not taken before.
    #[error(
        "the name and password were refused at {at:.0} and are not tried again, so that the account is not locked; put the \
         right password where password_file says, or, if it is right by now, run `rosterd check`"
    )]
    RefusedBefore {
        /// When.
        at: jiff::Timestamp,
    },
    /// Not a success.
    #[error("it answered {status}{hint}")]
    Status {
        /// The status.
        status: u16,
        /// What to do, with what puts it apart.
        hint: &'static str,
    },
    /// Something else than a table.
    #[error("it answered {status} with {media_type}, and a CSV file (text/csv) or a workbook is expected; check `url`")]
    MediaType {
        /// The status.
        status: u16,
        /// What it calls its answer.
        media_type: String,
    },
    /// A page for people.
    #[error(
        "it answered {status} with an HTML page (as {media_type}), most likely to log in or to report an error; check \
         `url` and the credential"
    )]
    Page {
        /// The status.
        status: u16,
        /// What it calls its answer.
        media_type: String,
    },
    /// Compressed, although that was not asked for.
    #[error(
        "it answered with the content encoding {0}, although none was asked for; have the server send the file as it is"
    )]
    Encoded(String),
    /// More than the job takes.
    #[error("its answer has more than the {max} bytes that `size_max` allows")]
    TooLarge {
        /// The largest size, in bytes.
        max: u64,
    },
    /// It ended before its end.
    #[error("the answer ended after {received} bytes, before its end ({reason}): nothing is taken from it")]
    Cut {
        /// How many bytes came.
        received: u64,
        /// How that shows.
        reason: String,
    },
    /// There is no room.
    #[error("the answer can't be kept in the state folder while the run lasts; is the disk full?")]
    Spool(#[source] io::Error),
    /// This machine refuses.
    #[error("the download can't be started")]
    Thread(#[source] io::Error),
}
