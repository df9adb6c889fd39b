//! The call that a command sends to the daemon.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::CallerConfig;
use crate::history::user_named;

/// The form of calls and frames; another one is refused. Both sides are the same program, but an upgrade leaves the old
/// daemon running until it is restarted.
pub const VERSION: u32 = 2;

/// A command, and what is needed to run it elsewhere.
#[derive(Clone, Serialize, Deserialize)]
pub struct Call {
    /// The form.
    pub version: u32,
    /// The arguments, without the program's name.
    pub arguments: Vec<String>,
    /// The caller's configuration file, as an absolute path.
    pub config: PathBuf,
    /// The state folder that it names; none where the caller could not read it.
    pub state_dir: Option<PathBuf>,
    /// Whether the caller's stdout and stderr show colours.
    pub paints: (bool, bool),
    /// The user who called `sudo`, as the caller says.
    pub sudo: Option<String>,
    /// Whether the caller brings something along.
    pub brings: bool,
    /// What that is. It comes apart from the call: how large it may be depends on what is asked for.
    #[serde(skip)]
    pub brought: Brought,
}

/// What a caller read for its command.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Brought {
    /// The configuration itself, for the commands that use the caller's.
    pub given: Option<CallerConfig>,
    /// What is in the file that the command reads, or why it could not be read.
    pub file: Option<Result<String, String>>,
    /// In place of the configuration, where it is not handed over: by what it is compared.
    pub same_as: Option<String>,
}

impl Brought {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.given.is_none() && self.file.is_none()
    }
}

/// Shows no arguments: there are people's keys among them (law 11).
impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("version", &self.version).field("config", &self.config).finish_non_exhaustive()
    }
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A user of this machine, as the kernel says.
    User(u32),
    /// A user of another machine, as the database says: who has its password is believed.
    Remote {
        /// `USER@NODE`.
        name: String,
        /// Whether it is root there, or the user that works on the state.
        is_privileged: bool,
    },
}

impl Caller {
    /// The caller's name, for what is decided. Only root is believed on whose behalf it acts.
    pub fn name(&self, call: &Call) -> String {
        match self {
            Self::User(uid) => user_named(*uid, call.sudo.as_deref().filter(|_| *uid == 0)),
            Self::Remote { name, .. } => name.clone(),
        }
    }

    /// Its number here; all users of other machines share one that no user has.
    pub(super) fn uid(&self) -> u32 {
        match self {
            Self::User(uid) => *uid,
            Self::Remote { .. } => u32::MAX,
        }
    }

    /// Whether it is on another machine.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Remote { .. })
    }

    /// Whether this is root of this machine, or the daemon's own user.
    pub fn is_privileged(&self) -> bool {
        let uid = self.uid();
        uid == 0 || uid == rustix::process::geteuid().as_raw()
    }

    /// Whether the daemon may open what this caller's configuration names: root could anyway, and so could its own user.
    pub fn may_bring_a_configuration(&self) -> bool {
        self.is_privileged()
    }
}
