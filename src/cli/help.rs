//! What the help of a command says behind its options: examples, and how it may exit.

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _};

use super::args::Arguments;
use super::ui::Exit;

/// What is known of a command besides its arguments.
struct Help {
    command: &'static str,
    /// How it may exit, besides done and wrong usage.
    exits: &'static [Exit],
    /// Command lines, each with what it is for.
    examples: &'static [(&'static str, &'static str)],
}

/// Whatever uses the state of a machine.
const STATE: &[Exit] = &[Exit::Failed, Exit::InUse];
/// A run.
const RUN: &[Exit] = &[Exit::Failed, Exit::Partial, Exit::Held, Exit::InUse, Exit::Interrupted];

const HELP: &[Help] = &[
    Help {
        command: "demo",
        exits: &[Exit::Failed, Exit::Interrupted],
        examples: &[
            ("rosterd demo", "show on this machine what the program does, and leave nothing behind"),
            ("rosterd demo --serve", "keep its daemon, inbox and status page, to try things with"),
        ],
    },
    Help {
        command: "init",
        exits: &[Exit::Failed],
        examples: &[
            ("rosterd init staff.csv > config.toml", "begin with the file that HR exports"),
            (
                "rosterd init ldaps://dc1.example.com --bind-dn CN=sync,DC=example,DC=com --bind-password-file pw",
                "begin with a directory",
            ),
            ("rosterd init entra", "begin with Microsoft Entra ID"),
        ],
    },
    Help {
        command: "run",
        exits: STATE,
        examples: &[
            ("rosterd run", "what the unit rosterd.service starts"),
            ("rosterd run --accounts /etc/rosterd/accounts", "many accounts in one process: rosterd-accounts.service"),
        ],
    },
    Help {
        command: "reload",
        exits: &[Exit::Failed, Exit::Held],
        examples: &[("rosterd check && rosterd reload", "take a changed configuration if nothing is wrong with it")],
    },
    Help {
        command: "sync",
        exits: RUN,
        examples: &[
            ("rosterd sync", "one run of every job, now"),
            ("rosterd sync employees --key 4711", "only the person with this key; removes no one"),
        ],
    },
    Help {
        command: "plan",
        exits: &[Exit::Failed, Exit::Changes, Exit::InUse, Exit::Interrupted],
        examples: &[
            ("rosterd plan employees", "see what a run would change, and what is held"),
            ("rosterd plan --out plan.json", "keep the plan, to send exactly that with `rosterd apply plan.json`"),
            ("rosterd plan --exit-code", "exit with 5 where there are changes, for a script"),
        ],
    },
    Help {
        command: "apply",
        exits: RUN,
        examples: &[("rosterd apply plan.json", "send what is still as the saved plan shows it")],
    },
    Help {
        command: "approve",
        exits: STATE,
        examples: &[
            (
                "rosterd plan employees && rosterd approve employees --set 12",
                "release what was just looked at, and only that",
            ),
            ("rosterd approve employees 4711 4712", "release the changes of two records"),
        ],
    },
    Help {
        command: "reject",
        exits: STATE,
        examples: &[("rosterd reject employees 4711", "drop a held change until its record changes or comes back")],
    },
    Help {
        command: "pause",
        exits: STATE,
        examples: &[("rosterd pause", "send nothing more"), ("rosterd pause employees", "send nothing of one job")],
    },
    Help { command: "resume", exits: STATE, examples: &[("rosterd resume", "send again")] },
    Help {
        command: "rebuild",
        exits: STATE,
        examples: &[(
            "rosterd rebuild --damaged && rosterd plan",
            "keep what can be read of a damaged store, and look",
        )],
    },
    Help {
        command: "queue",
        exits: STATE,
        examples: &[
            ("rosterd queue list", "see what waits, and what the service refused"),
            ("rosterd queue retry employees 4711", "send again what the service refused"),
        ],
    },
    Help {
        command: "check",
        exits: &[Exit::Failed],
        examples: &[
            ("rosterd check", "read every source to its end and ask the service; changes nothing"),
            ("rosterd check --offline", "look at the configuration alone"),
        ],
    },
    Help {
        command: "preview",
        exits: &[Exit::Failed],
        examples: &[
            ("rosterd preview employees --limit 3", "see what becomes of the first rows"),
            ("rosterd preview employees --key 4711", "see what becomes of one row"),
        ],
    },
    Help {
        command: "explain",
        exits: &[Exit::Failed, Exit::InUse, Exit::Interrupted],
        examples: &[("rosterd explain employees 4711", "why a record is as it is at the service")],
    },
    Help {
        command: "revert",
        exits: RUN,
        examples: &[
            ("rosterd revert 42 --plan", "see what would be put back"),
            ("rosterd revert 42", "put back what run 42 changed, where it is still so"),
        ],
    },
    Help {
        command: "forget",
        exits: STATE,
        examples: &[("rosterd forget 4711", "remove a person from what is kept on this machine")],
    },
    Help {
        command: "state",
        exits: STATE,
        examples: &[
            (
                "rosterd state export moved.rosterd",
                "write everything that is remembered to a file; it has people's data",
            ),
            ("rosterd state import moved.rosterd", "lay it down in another state, which is empty"),
        ],
    },
    Help {
        command: "history",
        exits: &[Exit::Failed],
        examples: &[
            ("rosterd history", "see past runs and decisions, the newest first"),
            ("rosterd history 42", "see what run 42 changed"),
        ],
    },
    Help {
        command: "status",
        exits: &[Exit::Failed, Exit::Held, Exit::InUse],
        examples: &[
            ("rosterd status", "see jobs, their last runs and what waits"),
            ("rosterd status --all", "the same of every account on this machine"),
        ],
    },
    Help {
        command: "notify",
        exits: &[Exit::Failed],
        examples: &[("rosterd notify test", "send a notice that is a test to the webhook and by mail")],
    },
    Help {
        command: "api",
        exits: &[Exit::Failed],
        examples: &[
            ("rosterd api", "list the operations"),
            ("rosterd api staff.list 'q=name%Ada' --all", "read all pages of a list"),
        ],
    },
    Help {
        command: "sandbox",
        exits: &[Exit::Failed],
        examples: &[("rosterd sandbox --seed-staff 300", "serve a stand-in for the service with invented people")],
    },
    Help {
        command: "completions",
        exits: &[Exit::Failed],
        examples: &[(
            "rosterd completions bash > /etc/bash_completion.d/rosterd",
            "complete commands, jobs and keys in bash",
        )],
    },
    Help {
        command: "man",
        exits: &[Exit::Failed],
        examples: &[("rosterd man /usr/local/share/man/man1", "write the manual pages into a folder")],
    },
];

impl Help {
    fn text(&self) -> String {
        let mut text = "Examples:\n".to_owned();
        for (line, about) in self.examples {
            text.push_str(&format!("  {line}\n      {about}\n"));
        }
        text.push_str("\nExit codes:\n");
        for exit in Exit::ALL.iter().filter(|exit| self.may(**exit)) {
            text.push_str(&format!("  {:<4}{}\n", exit.code(), exit.meaning()));
        }
        text.trim_end().to_owned()
    }

    fn may(&self, exit: Exit) -> bool {
        matches!(exit, Exit::Done | Exit::Usage) || self.exits.contains(&exit)
    }
}

/// The arguments with their whole help.
pub(super) fn command() -> clap::Command {
    HELP.iter().fold(Arguments::command(), |command, help| {
        command.mut_subcommand(help.command, |part| part.after_long_help(help.text()))
    })
}

/// Reads arguments; the first one is the program's name.
pub(super) fn parsed(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Arguments, clap::Error> {
    let mut command = command();
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    Arguments::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_examples_that_it_takes() {
        for part in command().get_subcommands().filter(|part| !part.is_hide_set()) {
            let name = part.get_name();
            let help = HELP.iter().find(|help| help.command == name).unwrap_or_else(|| panic!("{name} has no help"));
            assert!(!help.examples.is_empty(), "{name}");
            for (line, _) in help.examples {
                for line in line.split(" && ") {
                    let words = line.split_whitespace().take_while(|word| *word != ">");
                    assert!(parsed(words).is_ok(), "{line}");
                }
                assert!(line.contains(&format!("rosterd {name}")), "{line}");
            }
        }
    }
}
