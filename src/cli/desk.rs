//! Commands of the socket's callers, run in the daemon.

use std::sync::Arc;

use clap::Parser as _;
use tokio::runtime::Handle;

use super::args::Arguments;
use super::failure::{Exit, Failure, Words};
use super::host::{Host, Lent};
use super::ui::Ui;
use super::work;
use crate::daemon::{Back, Call, Caller, Commands, Engine};
use crate::history::on_behalf_of;

/// Runs the same commands as the command line.
pub(super) struct Desk;

impl Commands for Desk {
    fn carry_out(&self, engine: &Arc<Engine>, call: Call, caller: Caller, back: Back) -> u8 {
        let name = std::iter::once("rosterd".to_owned());
        let arguments = match Arguments::try_parse_from(name.chain(call.arguments.iter().cloned())) {
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
            let host = Host::Daemon(Box::new(Lent { engine: Arc::clone(engine), call, caller, back }));
            Handle::current().block_on(on_behalf_of(user, work(&ui, &host, arguments.command)))
        } else {
            Err(Failure::usage(Words("the daemon does not run this command for others".to_owned())))
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
