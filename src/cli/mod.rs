//! Arguments, one file per command, two renderers, failures.
//!
//! Invariants:
//! - Data goes to stdout, everything else to stderr, and one `Ui` writes both.
//! - `--json` renders the same data a second time: one document on one line, a version first.
//! - A failure is printed once, here, with its causes and hints; its kind alone decides the exit code.
//!
//! Rejected: printing where something happens. What a library prints can't be tested, quieted or turned into JSON.

mod api;
mod apply;
mod args;
mod check;
mod completions;
mod decide;
mod demo;
mod explain;
mod failure;
mod forget;
mod history;
mod init;
mod init_directory;
mod interrupt;
mod open;
mod owner;
mod pause;
mod plan;
mod preview;
mod progress;
mod queue;
mod rebuild;
mod revert;
mod sandbox;
mod status;
mod sync;
mod ui;
mod values;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Arguments, Command};
use failure::{Exit, Failure};
use ui::Ui;

/// Runs the program with this process's arguments and returns its exit code.
pub fn main() -> ExitCode {
    // Nothing that this program writes is for others (law 11).
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let ui = Ui::new(arguments.color, arguments.json);
    ui.log();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
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

async fn dispatch(ui: &Ui, arguments: Arguments) -> Result<Exit, Failure> {
    let config = arguments.config;
    match arguments.command {
        Command::Demo(args) => demo::run(ui, &args).await,
        Command::Init(args) => init::run(ui, &args).await,
        Command::Sync(args) => sync::run(ui, &config, &args).await,
        Command::Plan(args) => plan::run(ui, &config, &args).await,
        Command::Apply(args) => apply::run(ui, &config, &args).await,
        Command::Approve(args) => decide::approve(ui, &config, &args),
        Command::Reject(args) => decide::reject(ui, &config, &args),
        Command::Pause(args) => pause::pause(ui, &config, &args),
        Command::Resume(args) => pause::resume(ui, &config, &args),
        Command::Rebuild(args) => rebuild::run(ui, &config, &args),
        Command::Check(args) => check::run(ui, &config, &args).await,
        Command::Preview(args) => preview::run(ui, &config, &args),
        Command::Explain(args) => explain::run(ui, &config, &args),
        Command::Revert(args) => revert::run(ui, &config, &args).await,
        Command::Forget(args) => forget::run(ui, &config, &args),
        Command::History(args) => history::run(ui, &config, &args),
        Command::Queue(args) => queue::run(ui, &config, &args),
        Command::Status => status::run(ui, &config),
        Command::Api(args) => api::run(ui, &config, &args).await,
        Command::Sandbox(args) => sandbox::run(ui, args).await,
        Command::Completions(args) => completions::run(ui, &args),
    }
}
