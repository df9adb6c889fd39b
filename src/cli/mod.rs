//! Arguments, one file per command, two renderers, failures.
//!
//! Invariants:
//! - Data goes to stdout, everything else to stderr, and one `Ui` writes both. What it shows passes through `screen`, so
//!   that no text of others steers a terminal.
//! - `--json` renders the same data a second time: one document on one line, a version first.
//! - A failure is printed once, here, with its causes and hints; its kind alone decides the exit code.
//! - A command works on what its `Backend` gives it; so it is the same in this process and in the daemon.
//!
//! Rejected: printing where something happens. What a library prints can't be tested, quieted or turned into JSON.

mod api;
mod apply;
mod approve;
mod args;
mod backend;
mod check;
mod completions;
mod daemon_client;
mod daemon_handler;
mod demo;
#[cfg(test)]
mod documented;
mod explain;
mod failure;
mod finding;
mod forget;
mod history;
mod init;
mod init_directory;
mod instances;
mod interrupt;
mod log;
mod man;
mod notify;
mod pause;
mod plan;
mod preview;
mod privileges;
mod progress;
mod queue;
mod rebuild;
mod revert;
mod run;
mod sandbox;
mod screen;
mod session;
mod startup_failure;
mod status;
mod sync;
mod ui;
mod units;
mod values;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Arguments, Color, Command};
use backend::Backend;
use daemon_client::Sent;
use failure::{Exit, Failure};
use ui::Ui;

/// The stack of every thread, as large as that of the first one: in the daemon a command of a caller has a thread of its own.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// Runs the program with this process's arguments and returns its exit code.
pub fn main() -> ExitCode {
    // Nothing that this program writes is for others (law 11).
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            Ui::new(Color::Auto, false).unparsed(&error);
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let ui = Ui::new(arguments.color, arguments.json);
    log::begin(&ui, &arguments);
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
    if matches!(&arguments.command, Command::Status(args) if args.all) {
        return instances::status(ui, &arguments.config);
    }
    let mut unreached = None;
    if arguments.command.works_at_the_daemon() {
        match daemon_client::send(ui, &arguments).await? {
            Sent::Done(exit) => return Ok(exit),
            Sent::Here(why) => unreached = why,
        }
    }
    let path = arguments.config.clone();
    let host = Backend::Here(arguments.config);
    work(ui, &host, arguments.command).await.map_err(|failure| daemon_client::explained(failure, unreached, &path))
}

async fn work(ui: &Ui, host: &Backend, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Demo(args) => demo::run(ui, &args).await,
        Command::Init(args) => init::run(ui, &args).await,
        Command::Run => run::run(host).await,
        Command::Reload => run::reload(ui, host).await,
        Command::Sync(args) => sync::run(ui, host, &args).await,
        Command::Plan(args) => plan::run(ui, host, &args).await,
        Command::Apply(args) => apply::run(ui, host, &args).await,
        Command::Approve(args) => approve::approve(ui, host, &args).await,
        Command::Reject(args) => approve::reject(ui, host, &args).await,
        Command::Pause(args) => pause::pause(ui, host, &args),
        Command::Resume(args) => pause::resume(ui, host, &args),
        Command::Rebuild(args) => rebuild::run(ui, host, &args).await,
        Command::Check(args) => check::run(ui, host, &args).await,
        Command::Preview(args) => preview::run(ui, host, &args),
        Command::Explain(args) => explain::run(ui, host, &args).await,
        Command::Revert(args) => revert::run(ui, host, &args).await,
        Command::Forget(args) => forget::run(ui, host, &args).await,
        Command::History(args) => history::run(ui, host, &args),
        Command::Queue(args) => queue::run(ui, host, &args).await,
        Command::Status(_) => status::run(ui, host).await,
        Command::Notify(args) => notify::run(ui, host, &args).await,
        Command::Api(args) => api::run(ui, host, &args).await,
        Command::Sandbox(args) => sandbox::run(ui, args).await,
        Command::Completions(args) => completions::run(ui, &args),
        Command::Man(args) => man::run(&args),
    }
}
