//! `rosterd completions`.

use clap::CommandFactory as _;
use clap::builder::PossibleValuesParser;
use clap_complete::shells;

use crate::api::operations;
use crate::cli::args::{Arguments, CompletionsArgs, Shell};
use crate::cli::ui::{Exit, Failure, Ui};

pub(crate) fn run(ui: &Ui, args: &CompletionsArgs) -> Result<Exit, Failure> {
    ui.bytes(&script(args.shell));
    Ok(Exit::Done)
}

fn script(shell: Shell) -> Vec<u8> {
    let (mut command, mut script) = (command(), Vec::new());
    match shell {
        Shell::Bash => clap_complete::generate(shells::Bash, &mut command, "rosterd", &mut script),
        Shell::Zsh => clap_complete::generate(shells::Zsh, &mut command, "rosterd", &mut script),
        Shell::Fish => {
            clap_complete::generate(shells::Fish, &mut command, "rosterd", &mut script);
            script.extend(fish_operations().bytes());
        }
    }
    script
}

/// The command with the names of the operations as what `api` takes. The program itself looks a name up later, where it
/// can suggest the nearest.
fn command() -> clap::Command {
    let names = PossibleValuesParser::new(operations().iter().map(|operation| operation.name));
    Arguments::command()
        .mut_subcommand("api", |api| api.mut_arg("operation", |operation| operation.value_parser(names)))
}

/// What fish completes after `api`; the generator for it leaves out arguments without a dash.
fn fish_operations() -> String {
    let line = |name: &str, about: &str| {
        let about = about.replace('\'', "\\'");
        format!("complete -c rosterd -n \"__fish_rosterd_using_subcommand api\" -f -a \"{name}\" -d '{about}'\n")
    };
    operations().iter().map(|operation| line(operation.name, operation.about)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_knows_every_operation() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8(script(shell)).unwrap();
            for operation in operations() {
                assert!(script.contains(operation.name), "{shell:?}: {}", operation.name);
            }
        }
    }
}
