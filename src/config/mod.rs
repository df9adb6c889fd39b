//! File → checked options for the modules above.
//!
//! Three passes, each in its own file. `syntax` reads the file as TOML and looks at every key: is it known (`keys`), has it
//! the right shape, on which line does it stand. `layers` lays the environment's variables over what is left. `check` turns
//! that into options with types.
//!
//! Invariants:
//! - Every mistake is found in one go, and each names file, line and key, or the variable that it came from.
//! - What a module receives has been checked; it never parses a text of the configuration again, templates apart.
//! - No secret is in a message, a warning or `Debug` (law 11): values of secret keys and of broken lines are never quoted.
//!
//! Rejected: to let serde find the mistakes. It stops at the first, knows no line after the layers are merged, and takes
//! `"yes"` for a number.

mod account;
mod approvals;
mod check;
mod credentials;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod instance;
pub(crate) mod keys;
mod layers;
mod load;
mod locate;
mod monitoring;
mod nearest;
mod options;
mod permissions;
mod problem;
mod report;
mod schedule;
mod standard;
mod syntax;
mod units;
mod weekday;

pub use account::Account;
pub use approvals::{Approvals, Login, Provider, Proxy, Right, Rule, Who};
pub use instance::{Instance, InstanceError, InstanceProcess, MARK, folder_of, is_of_accounts};
pub use load::{CallerConfig, PartialConfig, load, load_given, remains};
pub use locate::{Located, locate};
pub use monitoring::{Endpoint, HrReportOptions, JobNotify, Mail, Notify, Protection, Relay, Status};
pub use nearest::nearest;
pub use options::{Config, Control, Job, Mode, Needs, StateOptions};
pub use problem::{Errors, Problem};
pub use schedule::{Schedule, ScheduleError};

/// The environment of this process as a configuration takes it.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

#[cfg(test)]
mod tests;
