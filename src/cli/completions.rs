//! `rosterd completions`.

use clap::CommandFactory as _;
use clap::builder::PossibleValuesParser;

use super::args::{Arguments, CompletionsArgs};
use super::failure::{Exit, Failure};
use super::ui::Ui;
use crate::api::{Operation, operations};

pub(super) fn run(ui: &Ui, args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "rosterd", &mut script);
    ui.bytes(&script);
    Ok(Exit::Done)
}

/// The command with the names of the operations as what `api` takes. The program itself looks a name up later, where it
/// can suggest the nearest.
fn command() -> clap::Command {
    let names = operations().iter().map(|operation: &Operation| operation.name);
    let names = PossibleValuesParser::new(names.collect::<Vec<_>>());
    Arguments::command()
        .mut_subcommand("api", |api| api.mut_arg("operation", |operation| operation.value_parser(names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_knows_every_operation() {
        for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command(), "rosterd", &mut script);
            let script = String::from_utf8(script).unwrap();
            for operation in operations() {
                assert!(script.contains(operation.name), "{shell}: {}", operation.name);
            }
        }
    }
}
