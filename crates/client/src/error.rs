//! Errors of requests: what they mean for a write, and whether to retry.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error as ThisError;

use crate::fault::chain;
use crate::tls;
use crate::wire::CarryError;

/// A request that did not bring what it was sent for.
#[derive(Debug, ThisError)]
#[error("{operation} failed: {kind}")]
#[non_exhaustive]
pub struct Error {
    /// The name of the operation, for example `staff.update`.
    pub operation: &'static str,
    /// What happened.
    #[source]
    pub kind: ErrorKind,
}

/// What happened to a request.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The options can't be used.
    #[error("{0}")]
    Options(String),
    /// No operation has that name.
    #[error("there is no operation {name:?}; did you mean {}?", nearest.unwrap_or("another"))]
    UnknownOperation {
        /// The name asked for.
        name: String,
        /// The nearest name that exists.
        nearest: Option<&'static str>,
    },
    /// A value for the path is missing or can't be used.
    #[error("the parameter {name:?} {problem}; give it as {name}=VALUE")]
    Parameter {
        /// The parameter's name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A secret could not be read.
    #[error("the secret in {} {problem}", path.display())]
    Secret {
        /// The file.
        path: PathBuf,
        /// What is wrong with it; nothing of its content.
        problem: String,
    },
    /// The send guard did not let it leave.
    #[error("not sent: {0}")]
    Withheld(String),
    /// The record of requests sent can't be kept.
    #[error("the record of requests sent in {} can't be kept; nothing is sent without it", path.display())]
    Budget {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// No connection came about, so nothing was sent.
    #[error("no connection to the service; nothing was sent{}", tls::hint(&chain(.0), "ca_file"))]
    Connect(#[source] reqwest::Error),
    /// The service did not answer in time.
    #[error("no whole answer within {} s", limit.as_secs_f64())]
    TimeOut {
        /// The time it had.
        limit: Duration,
    },
    /// The connection broke before the answer was whole.
    #[error("the connection broke before the answer was whole")]
    Cut(#[source] reqwest::Error),
    /// The service answered with an error.
    #[error("the service answered {code}{}", said(words))]
    Status {
        /// The status code.
        code: u16,
        /// What the service said, without people and secrets, at most 300 characters.
        words: String,
        /// How long the service wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// The service refuses the credential, or the credential this operation.
    #[error(
        "the service refuses this operation to this credential ({code}{}); check {}its scopes, the key's restriction, or \
         whether the add-on is enabled",
        said(words),
        if *code == 401 { "that it is right and not revoked, " } else { "" }
    )]
    Denied {
        /// The status code, 401 or 403.
        code: u16,
        /// What the service said, without people and secrets, at most 300 characters.
        words: String,
    },
    /// A success whose body is no JSON: a captive portal, a proxy's login page.
    #[error(
        "the answer {status} is not JSON ({}); check base_url and what stands between",
        content_type.as_deref().unwrap_or("no content type")
    )]
    NotJson {
        /// The status code.
        status: u16,
        /// What the answer called itself.
        content_type: Option<String>,
    },
    /// A success whose body has another shape than the specification's.
    #[error("the answer has an unexpected shape at {path}: {problem}")]
    Decode {
        /// Where in the answer.
        path: String,
        /// What was found; no value of it.
        problem: &'static str,
    },
    /// An answer above the limit.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes after decompression.
        limit: usize,
    },
    /// The service points elsewhere; credentials don't follow.
    #[error("the service answers with a redirect ({code}), which is not followed; check base_url")]
    Redirect {
        /// The status code.
        code: u16,
    },
    /// No access token could be had.
    #[error("no access token: {problem}")]
    Token {
        /// What happened; no secret.
        problem: String,
        /// When asking again makes sense; `None` where the client was refused.
        again: Option<Duration>,
    },
    /// A photo that can't be sent, or that came as something else.
    #[error("the photo {problem}")]
    Photo {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// There is nothing of that id to change.
    #[error("there is nothing of that id at the service")]
    Missing,
    /// An entity that a replacing PUT would wipe something of.
    #[error("it can't be written back whole")]
    Carry(#[from] CarryError),
    /// A list that contradicts itself.
    #[error("the list can't be trusted: {rule}")]
    Lying {
        /// The rule that it broke.
        rule: &'static str,
    },
    /// A list with more pages than any account has.
    #[error("the list has more than {limit} pages")]
    TooManyPages {
        /// The limit.
        limit: u32,
    },
    /// The run has used up its retries.
    #[error("too many requests of this run failed; what is left waits for the next run")]
    RetriesExhausted {
        /// The last failure.
        #[source]
        last: Box<ErrorKind>,
    },
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

/// What became of a write. A caller must tell all three apart, so that a further one is a breaking change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It never reached the service.
    NotSent,
    /// The service refused it; nothing changed.
    Refused,
    /// It may have been done; look before sending it again.
    Unknown,
}

/// Whether the same request can succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// Not without someone changing something.
    Never(&'static str),
    /// Perhaps, in another run.
    Later,
    /// Perhaps, after so long.
    After(Duration),
}

impl Error {
    pub(crate) fn new(operation: &'static str, kind: ErrorKind) -> Self {
        Self { operation, kind }
    }

    /// What became of the write that met this error.
    pub fn fate(&self) -> Fate {
        self.kind.fate()
    }

    /// Whether the same request can succeed later.
    pub fn retry(&self) -> Retry {
        self.kind.retry()
    }

    /// Whether the credential lacks the permission, or is refused altogether.
    pub fn permission(&self) -> bool {
        self.kind.permission()
    }

    /// What the service said, without people and secrets.
    pub fn words(&self) -> Option<&str> {
        self.kind.words()
    }

    /// The status code, where the service answered with an error.
    pub fn code(&self) -> Option<u16> {
        self.kind.code()
    }
}

impl ErrorKind {
    fn fate(&self) -> Fate {
        match self {
            Self::Options(_)
            | Self::UnknownOperation { .. }
            | Self::Parameter { .. }
            | Self::Secret { .. }
            | Self::Budget { .. }
            | Self::Withheld(_)
            | Self::Connect(_)
            | Self::Missing
            | Self::Carry(_)
            | Self::Token { .. } => Fate::NotSent,
            Self::Denied { .. } => Fate::Refused,
            Self::Status { code, .. } => match code {
                429 => Fate::NotSent,
                408 => Fate::Unknown,
                400..=499 => Fate::Refused,
                _ => Fate::Unknown,
            },
            Self::TimeOut { .. }
            | Self::Cut(_)
            | Self::NotJson { .. }
            | Self::Decode { .. }
            | Self::TooLarge { .. }
            | Self::Redirect { .. }
            | Self::Photo { .. }
            | Self::Lying { .. }
            | Self::TooManyPages { .. } => Fate::Unknown,
            Self::RetriesExhausted { last } => last.fate(),
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Options(_) => Retry::Never("the configuration must change"),
            Self::UnknownOperation { .. } | Self::Parameter { .. } => Retry::Never("the call is wrong"),
            Self::Photo { .. } => Retry::Never("the photo must be another"),
            Self::Missing => Retry::Never("there is nothing to change"),
            Self::Carry(_) => Retry::Never("a PUT would wipe something"),
            Self::Secret { .. } => Retry::Never("the secret must be readable"),
            Self::Budget { .. } => Retry::Never("the state directory must be writable"),
            Self::Withheld(_) => Retry::Never("another process may have taken over"),
            Self::Denied { .. } => Retry::Never("the credential lacks the permission"),
            Self::Redirect { .. } => Retry::Never("base_url must change"),
            Self::Token { again: None, .. } => Retry::Never("the service refuses the client"),
            Self::Token { again: Some(delay), .. } => Retry::After(*delay),
            Self::Status { retry_after: Some(delay), .. } => Retry::After(*delay),
            Self::Status { code: 408 | 429 | 500.., .. } => Retry::Later,
            Self::Status { .. } => Retry::Never("the service refuses the request"),
            Self::Connect(_)
            | Self::TimeOut { .. }
            | Self::Cut(_)
            | Self::NotJson { .. }
            | Self::Decode { .. }
            | Self::TooLarge { .. }
            | Self::Lying { .. }
            | Self::TooManyPages { .. }
            | Self::RetriesExhausted { .. } => Retry::Later,
        }
    }

    /// Whether a read that met this may be sent again at once, within the run's allowance.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Connect(_) | Self::TimeOut { .. } | Self::Cut(_) => true,
            Self::Status { code, .. } => matches!(code, 500 | 502 | 503 | 504),
            _ => false,
        }
    }

    pub(crate) fn is_never_sent(&self) -> bool {
        matches!(self, Self::Connect(_))
    }

    fn permission(&self) -> bool {
        match self {
            Self::Denied { .. } | Self::Token { again: None, .. } => true,
            Self::RetriesExhausted { last } => last.permission(),
            _ => false,
        }
    }

    fn words(&self) -> Option<&str> {
        match self {
            Self::Status { words, .. } | Self::Denied { words, .. } if !words.is_empty() => Some(words),
            Self::RetriesExhausted { last } => last.words(),
            _ => None,
        }
    }

    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Status { code, .. } | Self::Denied { code, .. } | Self::Redirect { code } => Some(*code),
            Self::RetriesExhausted { last } => last.code(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16) -> ErrorKind {
        ErrorKind::Status { code, words: String::new(), retry_after: None }
    }

    #[test]
    fn law_3_never_sent_refused_and_unknown_are_distinguished() {
        let check = |kind: ErrorKind, fate: Fate| assert_eq!(kind.fate(), fate, "{kind:?}");
        for code in [400, 404, 405, 409, 412, 422] {
            check(status(code), Fate::Refused);
        }
        for code in [408, 500, 502, 503, 504, 599] {
            check(status(code), Fate::Unknown);
        }
        check(status(429), Fate::NotSent);
        check(ErrorKind::Denied { code: 403, words: String::new() }, Fate::Refused);
        check(ErrorKind::TimeOut { limit: Duration::from_secs(1) }, Fate::Unknown);
        check(ErrorKind::NotJson { status: 200, content_type: None }, Fate::Unknown);
        check(ErrorKind::Redirect { code: 302 }, Fate::Unknown);
        check(ErrorKind::Token { problem: String::new(), again: None }, Fate::NotSent);
        check(ErrorKind::RetriesExhausted { last: Box::new(status(500)) }, Fate::Unknown);
    }

    #[test]
    fn what_can_be_tried_again_is_known() {
        let check = |kind: ErrorKind, retry: Retry| assert_eq!(kind.retry(), retry, "{kind:?}");
        check(status(409), Retry::Never("the service refuses the request"));
        check(status(500), Retry::Later);
        let delay = Duration::from_secs(7);
        check(ErrorKind::Status { code: 503, words: String::new(), retry_after: Some(delay) }, Retry::After(delay));
        check(
            ErrorKind::Denied { code: 401, words: String::new() },
            Retry::Never("the credential lacks the permission"),
        );
    }

    #[test]
    fn the_message_of_an_error_does_not_repeat_its_source() {
        let error = Error::new("staff.get", ErrorKind::RetriesExhausted { last: Box::new(status(500)) });
        let source = std::error::Error::source(&error).and_then(std::error::Error::source);
        assert!(!error.to_string().contains(&source.unwrap().to_string()));
    }
}
