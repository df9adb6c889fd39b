//! Failures of commands: exit code, message and hints.

use std::error::Error;
use std::fmt;
use std::io;

use crate::api;
use crate::config;
use crate::reconcile::{self, Status};
use crate::store::{self, Home};

/// What to do where the state is that of another account.
pub(crate) const OTHER_ACCOUNT_HINT: &str =
    "name another state.dir for another account; to give this one up, say `rosterd rebuild`";

/// How a command ended, in order of the exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Usage,
    Partial,
    Held,
    Changes,
    InUse,
    Interrupted,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Partial => 3,
            Self::Held => 4,
            Self::Changes => 5,
            Self::InUse => 11,
            Self::Interrupted => 130,
        }
    }

    /// What it says.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Done => "Done.",
            Self::Failed => {
                "Failed: what is sent was not, or is not known to be, delivered, or a source could not be read."
            }
            Self::Usage => "Wrong usage or configuration; nothing was read or sent.",
            Self::Partial => "Finished, but rows were rejected or changes refused by the service.",
            Self::Held => "Held by a guard: someone should look and approve or reject.",
            Self::Changes => "Changes are pending (plan --exit-code).",
            Self::InUse => "The state is in use by another process.",
            Self::Interrupted => "Interrupted.",
        }
    }

    /// All of them, by code.
    pub(crate) const ALL: [Self; 8] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Partial,
        Self::Held,
        Self::Changes,
        Self::InUse,
        Self::Interrupted,
    ];

    /// The one of that code; an unknown code means failure.
    pub(crate) fn of_code(code: u8) -> Self {
        Self::ALL.into_iter().find(|exit| exit.code() == code).unwrap_or(Self::Failed)
    }

    /// The worst of several runs: failed, held, partial, done.
    pub(crate) fn of_runs(statuses: impl Iterator<Item = Status>) -> Self {
        match statuses.max_by_key(|status| match status {
            Status::Done => 0,
            Status::Partial => 1,
            Status::Held => 2,
            Status::Failed => 3,
        }) {
            None | Some(Status::Done) => Self::Done,
            Some(Status::Partial) => Self::Partial,
            Some(Status::Held) => Self::Held,
            Some(Status::Failed) => Self::Failed,
        }
    }
}

/// A command that did not do what it was asked for.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    error: Box<dyn Error + Send + Sync>,
    hints: Vec<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit, error: error.into(), hints: Vec::new() }
    }

    pub(crate) fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Exit::Failed, error)
    }

    pub(crate) fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Exit::Usage, error)
    }

    /// The audit files under a state folder could not be read or written.
    pub(crate) fn unreadable(home: &Home, error: io::Error) -> Self {
        let words = format!("the audit files under {home}: {error}");
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::usage(words).hint(format!("run as the owner of {home}")),
            _ => Self::failed(words),
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Says what it is about, before the rest.
    pub(crate) fn about(mut self, what: &str) -> Self {
        self.error = Message(format!("{what}: {}", crate::fault::chain(self.error.as_ref()))).into();
        self
    }

    /// Whether a plan file is what is wrong.
    pub(crate) fn is_plan(&self) -> bool {
        self.error
            .downcast_ref::<reconcile::Error>()
            .is_some_and(|error| matches!(error, reconcile::Error::PlanFile(_)))
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    pub(crate) fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        self.error.as_ref()
    }

    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        let place = error.place.clone();
        match &error.kind {
            store::ErrorKind::InUse { .. } => {
                Self::new(Exit::InUse, error).hint("wait until it has ended; one process at a time owns the state")
            }
            store::ErrorKind::Leased { .. } => {
                Self::new(Exit::InUse, error).hint("one worker at a time has the account; `rosterd run` would stand by")
            }
            store::ErrorKind::Database(_) => {
                Self::failed(error).hint("nothing is sent before the database answers; what was confirmed is safe")
            }
            store::ErrorKind::Denied(_) => Self::failed(error).hint(
                "state.url names the database and the role, state.password_file holds the password; `rosterd check` tells which \
                 rights the role lacks",
            ),
            store::ErrorKind::ReadOnly => Self::failed(error)
                .hint("name the primary in state.url, or both hosts with target_session_attrs=read-write; `rosterd check` tells more"),
            store::ErrorKind::SeveralPrimaries { .. } => Self::failed(error).hint(
                "end the one that was replaced, or make it a standby of the other; nothing is sent before",
            ),
            store::ErrorKind::Unversioned(_) => Self::failed(error).hint(
                "restore the schema rosterd from a backup, or `drop schema rosterd cascade`: the next sync makes the tables and matches \
                 people again, which creates no duplicates and removes no one",
            ),
            store::ErrorKind::Permission => {
                Self::usage(error).hint(format!("run as the owner of the {place}, or set state.dir to a folder of your own"))
            }
            store::ErrorKind::Owner { uid } | store::ErrorKind::Exposed { uid: Some(uid), .. } => {
                let user = crate::history::user_of(*uid).unwrap_or_else(|| uid.to_string());
                let hint = format!(
                    "run as that user: sudo -u '#{uid}' rosterd …; or set state.user = \"{user}\", if rosterd's state is that \
                     user's; or set state.dir to a folder of your own"
                );
                Self::usage(error).hint(hint)
            }
            store::ErrorKind::Exposed { path, uid: None } => {
                let hint = format!("close it to others: chmod go-w {}; or name another state.dir", path.display());
                Self::usage(error).hint(hint)
            }
            store::ErrorKind::Unfinished => Self::failed(error)
                .hint("say `rosterd state import` again: it begins anew; until then nothing works with what is half there"),
            store::ErrorKind::NoFolder => Self::usage(error).hint("set state.dir to a folder; with state.url, state.spill_dir"),
            store::ErrorKind::Damaged(_) => Self::failed(error).hint(
                "`rosterd rebuild --damaged` keeps what can be read of it and drops the rest; the next sync matches people again: \
                 this creates no duplicates and removes no one",
            ),
            store::ErrorKind::Newer { .. } => Self::failed(error).hint("install the version that wrote it, or a later one"),
            store::ErrorKind::Full => Self::failed(error).hint("free at least 8 MiB there; what was confirmed is safe, and nothing is sent before"),
            _ => Self::failed(error),
        }
    }
}

impl From<reconcile::Error> for Failure {
    fn from(error: reconcile::Error) -> Self {
        match error {
            reconcile::Error::Store(error) => error.into(),
            error @ reconcile::Error::Account { .. } => Self::usage(error).hint(OTHER_ACCOUNT_HINT),
            error => match error.kind() {
                reconcile::Kind::Usage => Self::usage(error),
                reconcile::Kind::Failed => Self::failed(error),
            },
        }
    }
}

impl From<api::Error> for Failure {
    fn from(error: api::Error) -> Self {
        match error.kind {
            kind @ (api::ErrorKind::Options(_)
            | api::ErrorKind::UnknownOperation { .. }
            | api::ErrorKind::Parameter { .. }
            | api::ErrorKind::Secret { .. }) => Self::usage(kind),
            _ => Self::failed(error),
        }
    }
}

impl From<config::Errors> for Failure {
    fn from(errors: config::Errors) -> Self {
        Self::usage(errors)
    }
}

/// A failure that is just words.
#[derive(Debug)]
pub(crate) struct Message(pub(crate) String);

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Message {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_runs_end_as_the_worst_of_them() {
        for (statuses, exit) in [
            (vec![], 0),
            (vec![Status::Done, Status::Partial], 3),
            (vec![Status::Held, Status::Partial, Status::Done], 4),
            (vec![Status::Held, Status::Failed], 1),
        ] {
            assert_eq!(Exit::of_runs(statuses.into_iter()).code(), exit);
        }
    }
}
