//! Runs a command in the worker that has the account, where that is on another machine.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::daemon_client::{Placement, Printed, brought, call, stopped};
use crate::cli::args::Arguments;
use crate::cli::ui::{Exit, Failure, Message, Ui};
use crate::config::{self, Needs};
use crate::daemon::{Caller, Unanswered, command_elsewhere};
use crate::fault::chain;
use crate::store;

/// How long a command waits without a word.
const SILENT_WAIT_MAX: Duration = Duration::from_secs(3);

/// Has the worker that has the account run a command; [`Placement::Here`] where none has it, or none can.
pub(crate) async fn send(ui: &Ui, arguments: &Arguments) -> Result<Placement, Failure> {
    if !arguments.command.works_at_the_holder() {
        return Ok(Placement::Here(None));
    }
    // What is wrong with it is said where the command is run.
    let Ok(config) = config::load(&arguments.config, config::environment(), Needs::Local) else {
        return Ok(Placement::Here(None));
    };
    let Some(relay) = config.state.home.relay() else { return Ok(Placement::Here(None)) };
    let call = call(ui, config.source_path.clone(), brought(&arguments.command, &arguments.config));
    let mut printed = Printed::of(ui, &arguments.command);
    let caller = Caller::User(rustix::process::getuid().as_raw());
    let has_any = printed.has_any();
    let asked = async {
        let mut asked = std::pin::pin!(command_elsewhere(&relay, (&call, &caller), &mut printed, stopped()));
        if let Ok(asked) = tokio::time::timeout(SILENT_WAIT_MAX, &mut asked).await {
            return asked;
        }
        if !has_any.load(Ordering::Relaxed) {
            ui.note(
                "the worker that has the account does not answer yet; where it is gone, its lease ends within 30 s",
            );
        }
        asked.await
    };
    match asked.await {
        Ok(Ok(code)) => printed.end(code),
        Ok(Err(words)) => Err(Failure::usage(Message(words))),
        // The command itself says what is wrong with the database, or who has the account.
        Err(Unanswered::Free | Unanswered::Unreachable(_)) => Ok(Placement::Here(None)),
        Err(error @ (Unanswered::Silent { .. } | Unanswered::Version { .. } | Unanswered::TooLarge { .. })) => {
            Ok(Placement::Here(Some(chain(&error).into())))
        }
        Err(error @ Unanswered::Interrupted) => Err(Failure::new(Exit::Interrupted, error)),
        Err(error @ Unanswered::Lost { .. }) => {
            Err(Failure::failed(error).hint("`rosterd status` and `rosterd history` show what was done"))
        }
        Err(error) => Err(Failure::failed(error).hint("nothing is sent before the database answers")),
    }
}

/// Whether a command failed because another worker has the account by now.
pub(crate) fn is_held(failure: &Failure) -> bool {
    let error = failure.error().downcast_ref::<store::Error>();
    error.is_some_and(|error| matches!(error.kind, store::ErrorKind::Leased { .. }))
}
