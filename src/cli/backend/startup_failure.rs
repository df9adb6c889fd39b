//! What is said where an account could not begin, and the notice that the daemon could not start because its configuration can't be
//! used.
//!
//! A service manager starts it again and again: the notice is remembered next to the state, and sent once.

use std::path::Path;

use super::privileges::become_owner_of;
use crate::cli::ui::Failure;
use crate::config::{self, Errors};
use crate::daemon::{self, CONFLICT_HINT, StartError};
use crate::fault::chain;

/// Sends a notice that the configuration can't be used. Its receivers are in the configuration; a channel with a
/// mistake in it is left out.
pub(crate) async fn tell_of_configuration(path: &Path, failure: &Failure) {
    let Some(remains) = config::remains(path, config::environment()) else { return };
    if remains.notify.is_off() {
        return;
    }
    // The notice is remembered next to the state: root would leave files there that the daemon can't use.
    if let Err(failure) = become_owner_of(&remains.state) {
        let error = chain(failure.error());
        tracing::warn!(error, "there can be no notice that the daemon did not start: {error}");
        return;
    }
    let error = failure.error();
    let reasons = match error.downcast_ref::<Errors>() {
        Some(errors) => errors.problems.iter().map(ToString::to_string).collect(),
        None => vec![chain(error)],
    };
    daemon::tell_of_configuration(&remains.state.home, &remains.notify, reasons).await;
}

/// Why an account could not begin, as a command says it.
pub(crate) fn of_account(error: StartError) -> Failure {
    match error {
        StartError::Store(error) => Failure::from(error),
        StartError::State(error) => error.into(),
        StartError::Client(error) => error.into(),
        StartError::Config(errors) => errors.into(),
        error @ StartError::Conflict(_) => Failure::usage(error).hint(CONFLICT_HINT),
        error @ (StartError::Notify(_) | StartError::Secret { .. }) => Failure::usage(error),
        error @ StartError::Socket { .. } => Failure::usage(error)
            .hint("set control.socket to a path in a folder that this user may write to; \"\" does without"),
        error => Failure::failed(error),
    }
}
