//! Finds the code of a command, for the command line and for callers of the daemon.

use std::process::ExitCode;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::args::{Arguments, Color, Command};
use super::backend::daemon_client::{self, Placement};
use super::backend::{Backend, DaemonBackend, holder, interrupt};
use super::commands::{
    api, apply, approve, check, completions, explain, forget, history, init, instances, keys, man, notify, pause, plan,
    preview, queue, rebuild, revert, run, sandbox, state, status, sync,
};
use super::ui::{Exit, Failure, Message, Ui};
use super::{demo, help, log};
use crate::config;
use crate::daemon::{Call, Caller, Commands, Reached, ReplyStream};
use crate::history::{on_behalf_of, user_at};

/// The stack of every thread, as large as that of the first one: in the daemon a command of a caller has a thread of its own.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// What a request to the service may hold.
const FILE_BYTES_MAX: u32 = 32 * 1024 * 1024;

/// How often an account may change hands while a command looks for who has it.
const TRIES_MAX: u32 = 5;

/// A configuration as JSON: twice the size of its file, and more than any has.
const CONFIGURATION_BYTES_MAX: u32 = 8 * 1024 * 1024;

/// Runs the program with this process's arguments and returns its exit code.
pub fn main() -> ExitCode {
    // Nothing that this program writes is for others (law 11).
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    if completions::answered() {
        return ExitCode::SUCCESS;
    }
    let arguments = match help::parsed(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => {
            Ui::new(Color::Auto).unparsed(&error);
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let ui = Ui::new(arguments.color).asked_by(&arguments);
    log::begin(&ui, &arguments);
    if let Err(error) = interrupt::end_first_process() {
        tracing::warn!(%error, "signals can't end this process before it hears them: {error}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(dispatch(&ui, arguments));
            // A request that hangs must not hold up the end.
            runtime.shutdown_background();
            result
        }
        Err(error) => Err(Failure::failed(error)),
    };
    match result {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(failure) => {
            ui.failure(&failure);
            ExitCode::from(failure.exit().code())
        }
    }
}

/// Runs a command: in the daemon where one runs and the command is for it, else in this process.
async fn dispatch(ui: &Ui, arguments: Arguments) -> Result<Exit, Failure> {
    let arguments = arguments.settled()?;
    if let Command::Status(args) = &arguments.command
        && args.is_of_several()
    {
        let folder = args.accounts.as_deref().unwrap_or_else(|| config::folder_of(&arguments.config));
        return instances::status(ui, folder).await;
    }
    let mut unreached = None;
    if arguments.command.works_at_the_daemon() {
        match daemon_client::send(ui, &arguments).await? {
            Placement::Done(exit) => return Ok(exit),
            Placement::Here(why) => unreached = why,
        }
    }
    let path = arguments.config.clone();
    let host = Backend::Here(path.clone());
    let mut tries = 0;
    loop {
        match holder::send(ui, &arguments).await? {
            Placement::Done(exit) => return Ok(exit),
            Placement::Here(why) => unreached = unreached.or(why),
        }
        tries += 1;
        match work(ui, &host, &arguments.command).await {
            // A worker took the account in the meantime, before anything was done.
            Err(failure)
                if arguments.command.works_at_the_holder()
                    && holder::is_held(&failure)
                    && unreached.is_none()
                    && tries < TRIES_MAX => {}
            // What is known of an account that does not run is no good news.
            Ok(_)
                if unreached.as_ref().is_some_and(|unreached| unreached.is_stopped)
                    && matches!(arguments.command, Command::Status(_)) =>
            {
                return Ok(Exit::Failed);
            }
            result => return result.map_err(|failure| daemon_client::explained(failure, unreached, &path)),
        }
    }
}

async fn work(ui: &Ui, host: &Backend, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Demo(args) => demo::run(ui, args, Arc::new(CommandHandler)).await,
        Command::Init(args) => init::run(ui, args).await,
        Command::Run(args) => run::run(host, args.clone(), Arc::new(CommandHandler)).await,
        Command::Reload => run::reload(ui, host).await,
        Command::Sync(args) => sync::run(ui, host, args).await,
        Command::Plan(args) => plan::run(ui, host, args).await,
        Command::Apply(args) => apply::run(ui, host, args).await,
        Command::Approve(args) => approve::approve(ui, host, args).await,
        Command::Reject(args) => approve::reject(ui, host, args).await,
        Command::Pause(args) => pause::pause(ui, host, args),
        Command::Resume(args) => pause::resume(ui, host, args),
        Command::Rebuild(args) => rebuild::run(ui, host, args).await,
        Command::Check(args) => check::run(ui, host, args).await,
        Command::Preview(args) => preview::run(ui, host, args),
        Command::Explain(args) => explain::run(ui, host, args).await,
        Command::Revert(args) => revert::run(ui, host, args).await,
        Command::Forget(args) => forget::run(ui, host, args).await,
        Command::State(args) => state::run(ui, host, args),
        Command::History(args) => history::run(ui, host, args),
        Command::Queue(args) => queue::run(ui, host, args).await,
        Command::Status(_) => status::run(ui, host).await,
        Command::Notify(args) => notify::run(ui, host, args).await,
        Command::Api(args) => api::run(ui, host, args).await,
        Command::Sandbox(args) => sandbox::run(ui, args.clone()).await,
        Command::Keys(args) => keys::run(ui, host, args).await,
        Command::Completions(args) => completions::run(ui, args),
        Command::Man(args) => man::run(args),
    }
}

/// Runs commands of the socket's callers, the same as those of the command line.
struct CommandHandler;

fn parsed(call: &Call) -> Result<Arguments, clap::Error> {
    let name = std::iter::once("rosterd".to_owned());
    help::parsed(name.chain(call.arguments.iter().cloned()))
}

impl Commands for CommandHandler {
    fn brings_at_most(&self, call: &Call) -> u32 {
        match parsed(call).map(|arguments| arguments.command) {
            Ok(Command::Apply(_)) => ReplyStream::BYTES_MAX,
            Ok(Command::Api(_)) => FILE_BYTES_MAX,
            Ok(Command::Plan(_)) => CONFIGURATION_BYTES_MAX,
            _ => 0,
        }
    }

    fn asks_to_reload(&self, call: &Call) -> bool {
        matches!(parsed(call), Ok(Arguments { command: Command::Reload, .. }))
    }

    fn carry_out(&self, reached: Reached, call: Call, caller: Caller, back: ReplyStream) -> u8 {
        let arguments = match parsed(&call) {
            Ok(arguments) => arguments,
            Err(error) => {
                // The caller has read them already; so this is another version's call.
                back.err(error.render().to_string().as_bytes());
                return Exit::Usage.code();
            }
        };
        let ui = Ui::over(back.clone(), call.paints).asked_by(&arguments);
        let user = match reached.engine.setup().config.state.home.relay() {
            // One of another machine is named with that.
            Some(relay) if !caller.is_remote() => user_at(&caller.name(&call), relay.node()),
            _ => caller.name(&call),
        };
        let command = arguments.command.name();
        tracing::info!(command, user, "{user} called `rosterd {command}`");
        let result = if arguments.command.works_at_the_daemon() {
            let Reached { engine, has_begun } = reached;
            if let Some(holder) = caller.is_remote().then(|| engine.holder()).flatten() {
                let since = holder.since.map(|since| format!(", which has the account since {since:.0}"));
                ui.note(format!("carried out by {}{}", holder.node, since.unwrap_or_default()));
            }
            let host = Backend::Daemon(Box::new(DaemonBackend { engine, has_begun, call, caller, back }));
            Handle::current().block_on(on_behalf_of(user, work(&ui, &host, &arguments.command)))
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
