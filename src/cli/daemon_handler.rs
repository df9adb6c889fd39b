//! Commands of the socket's callers, run in the daemon.

use std::sync::Arc;

use clap::Parser as _;
use tokio::runtime::Handle;

use super::args::{Arguments, Command};
use super::backend::{Backend, DaemonBackend};
use super::failure::{Exit, Failure, Message};
use super::ui::Ui;
use super::work;
use crate::daemon::{Call, Caller, Commands, DaemonState, ReplyStream};
use crate::history::on_behalf_of;

/// A configuration as JSON: twice the size of its file, and more than any has.
const CONFIGURATION_BYTES_MAX: u32 = 8 * 1024 * 1024;

/// Runs the same commands as the command line.
pub(super) struct CommandHandler;

fn parsed(call: &Call) -> Result<Arguments, clap::Error> {
    let name = std::iter::once("rosterd".to_owned());
    Arguments::try_parse_from(name.chain(call.arguments.iter().cloned()))
}

impl Commands for CommandHandler {
    fn brings_at_most(&self, call: &Call) -> u32 {
        match parsed(call).map(|arguments| arguments.command) {
            Ok(Command::Apply(_)) => ReplyStream::BYTES_MAX,
            Ok(Command::Plan(_)) => CONFIGURATION_BYTES_MAX,
            _ => 0,
        }
    }

    fn carry_out(&self, engine: &Arc<DaemonState>, call: Call, caller: Caller, back: ReplyStream) -> u8 {
        let arguments = match parsed(&call) {
            Ok(arguments) => arguments,
            Err(error) => {
                // The caller has read them already; so this is another version's call.
                back.err(error.render().to_string().as_bytes());
                return Exit::Usage.code();
            }
        };
        let ui = Ui::over(back.clone(), call.paints, arguments.json);
        let user = caller.name(&call);
        let command = arguments.command.name();
        tracing::info!(command, user, "{user} called `rosterd {command}`");
        let result = if arguments.command.works_at_the_daemon() {
            let host = Backend::Daemon(Box::new(DaemonBackend { engine: Arc::clone(engine), call, caller, back }));
            Handle::current().block_on(on_behalf_of(user, work(&ui, &host, arguments.command)))
        } else {
            Err(Failure::usage(Message("the daemon does not run this command for others".to_owned())))
        };
        match result {
            Ok(exit) => exit.code(),
            Err(failure) => {
                ui.failure(&failure);
                failure.exit().code()
            }
        }
    }
}
