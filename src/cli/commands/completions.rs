//! `rosterd completions`, and what the script that it prints asks for.
//!
//! The script calls this program at each press of the tab key, so what it offers is what is true then: the jobs of the
//! configuration that the line names, the keys that such a job knows, the instances on this machine.
//!
//! Invariants:
//! - Nothing is printed but candidates: where something can't be read, or by this user, there are none.
//! - A key is asked for like any command that needs the store: of the daemon, where one runs.
//!
//! Rejected: a list of everything in the script itself. It could know neither jobs nor keys.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use serde::Deserialize;

use crate::api::operations;
use crate::cli::args::{CONFIG, CompletionsArgs, Shell};
use crate::cli::help;
use crate::cli::ui::{Exit, Failure, Ui};
use crate::config::Instance;

/// Says to this program that a shell asks it, and which.
const VARIABLE: &str = "_ROSTERD_COMPLETE";

pub(crate) fn run(ui: &Ui, args: &CompletionsArgs) -> Result<Exit, Failure> {
    ui.bytes(&script(args.shell)?);
    Ok(Exit::Done)
}

fn script(shell: Shell) -> Result<Vec<u8>, Failure> {
    let name = match shell {
        Shell::Bash => "bash",
        Shell::Fish => "fish",
        Shell::Zsh => "zsh",
    };
    let (shells, mut script) = (Shells::builtins(), Vec::new());
    let shell = shells.completer(name).ok_or_else(|| Failure::failed(format!("no completions for {name}")))?;
    shell.write_registration(VARIABLE, "rosterd", "rosterd", "rosterd", &mut script).map_err(Failure::failed)?;
    Ok(script)
}

/// Answers a shell that asks what may come next; returns whether one asked.
pub(crate) fn answered() -> bool {
    let folder = std::env::current_dir().ok();
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
    let line = Arc::new(Line { words });
    let environment = CompleteEnv::with_factory(move || command(&line)).var(VARIABLE);
    environment.try_complete(std::env::args_os(), folder.as_deref()).unwrap_or(true)
}

/// The arguments with what completes them.
fn command(line: &Arc<Line>) -> clap::Command {
    let job = |line: &Arc<Line>| completer(line, |line, _| line.jobs());
    let keys = |line: &Arc<Line>, of| completer(line, move |line, begun| line.keys(of, begun));
    // A job, then keys; where there is only one job, a key may come in its place.
    let job_or_key = |line: &Arc<Line>, of| {
        completer(line, move |line, begun| {
            let jobs = line.job_names();
            let is_named = line.named(&jobs).next().is_some();
            let keys = if is_named || jobs.len() == 1 { line.keys(of, begun) } else { Vec::new() };
            let jobs = if is_named { Vec::new() } else { candidates(jobs) };
            jobs.into_iter().chain(keys).collect()
        })
    };
    let decided = |part: clap::Command, of| {
        part.mut_arg("job", |arg| arg.add(job_or_key(line, of))).mut_arg("keys", |arg| arg.add(job_or_key(line, of)))
    };
    let mut command = help::command().mut_arg("instance", |arg| arg.add(completer(line, |_, _| instances())));
    for (name, argument) in
        [("sync", "jobs"), ("plan", "jobs"), ("preview", "job"), ("pause", "job"), ("resume", "job")]
    {
        command = command.mut_subcommand(name, |part| part.mut_arg(argument, |arg| arg.add(job(line))));
    }
    for (name, argument) in [("sync", "keys"), ("plan", "keys"), ("preview", "key"), ("forget", "key")] {
        command = command.mut_subcommand(name, |part| part.mut_arg(argument, |arg| arg.add(keys(line, "known"))));
    }
    for argument in ["job", "key"] {
        let add = |arg: clap::Arg| arg.add(job_or_key(line, "known"));
        command = command.mut_subcommand("explain", |part| part.mut_arg(argument, add));
    }
    for name in ["approve", "reject"] {
        command = command.mut_subcommand(name, |part| decided(part, "held"));
    }
    command = command.mut_subcommand("queue", |queue| {
        let queue = queue.mut_subcommand("list", |part| part.mut_arg("job", |arg| arg.add(job(line))));
        ["retry", "drop"]
            .into_iter()
            .fold(queue, |queue, name| queue.mut_subcommand(name, |part| decided(part, "queued")))
    });
    command.mut_subcommand("api", |api| api.mut_arg("operation", |arg| arg.add(completer(line, |_, _| names()))))
}

/// What may stand in a place: `offered` lists it for the line and what the last word begins with.
fn completer(
    line: &Arc<Line>,
    offered: impl Fn(&Line, &str) -> Vec<CompletionCandidate> + Send + Sync + 'static,
) -> ArgValueCompleter {
    let line = Arc::clone(line);
    ArgValueCompleter::new(move |begun: &OsStr| {
        let begun = begun.to_string_lossy();
        let mut offered = offered(&line, &begun);
        offered.retain(|candidate| candidate.get_value().to_string_lossy().starts_with(&*begun));
        offered
    })
}

fn candidates(words: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    words.into_iter().map(CompletionCandidate::new).collect()
}

/// The names of operations with what they do.
fn names() -> Vec<CompletionCandidate> {
    let one = |name: &str, about: &str| CompletionCandidate::new(name).help(Some(about.to_owned().into()));
    operations().iter().map(|operation| one(operation.name, operation.about)).collect()
}

fn instances() -> Vec<CompletionCandidate> {
    candidates(Instance::installed().map(|instance| instance.to_string()))
}

/// A line that is being typed.
struct Line {
    words: Vec<OsString>,
}

impl Line {
    /// The configuration that the line is about.
    fn config(&self) -> PathBuf {
        let words: Vec<&str> = self.words.iter().filter_map(|word| word.to_str()).collect();
        let value = |names: &[&str]| {
            words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
                Some((name, value)) if names.contains(&name) => Some(value),
                _ if names.contains(word) => words.get(at + 1).copied(),
                _ => None,
            })
        };
        let instance = || value(&["--instance"])?.parse::<Instance>().ok().map(|instance| instance.file());
        let file = value(&["-c", "--config"]).map(PathBuf::from);
        let environment = || std::env::var_os("ROSTERD_CONFIG").map(PathBuf::from);
        file.or_else(instance).or_else(environment).unwrap_or_else(|| CONFIG.into())
    }

    /// The names of its jobs.
    fn job_names(&self) -> Vec<String> {
        #[derive(Deserialize)]
        struct File {
            #[serde(default)]
            job: Vec<Job>,
        }
        #[derive(Deserialize)]
        struct Job {
            name: String,
        }
        let read = |path: &Path| toml::from_str::<File>(&std::fs::read_to_string(path).ok()?).ok();
        read(&self.config()).map(|file| file.job.into_iter().map(|job| job.name).collect()).unwrap_or_default()
    }

    fn jobs(&self) -> Vec<CompletionCandidate> {
        candidates(self.job_names())
    }

    /// Those of `jobs` that it names.
    fn named<'a>(&self, jobs: &'a [String]) -> impl Iterator<Item = &'a String> {
        jobs.iter().filter(|job| self.words.iter().any(|word| word == job.as_str()))
    }

    /// The keys, of that kind, of the job that the line names, or of every job where it names none.
    fn keys(&self, of: &str, begun: &str) -> Vec<CompletionCandidate> {
        let jobs = self.job_names();
        let named: Vec<&String> = self.named(&jobs).collect();
        let asked = if named.is_empty() { jobs.iter().collect() } else { named };
        candidates(asked.into_iter().flat_map(|job| self.keys_of(job, of, begun)))
    }

    /// Asks as this program's own command, which finds the daemon.
    fn keys_of(&self, job: &str, of: &str, begun: &str) -> Vec<String> {
        let Ok(program) = std::env::current_exe() else { return Vec::new() };
        let mut command = Command::new(program);
        command.arg("--config").arg(self.config()).args(["--quiet", "keys", "--of", of, "--prefix", begun, "--", job]);
        let ran = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
        let Some(ran) = ran.ok().filter(|ran| ran.status.success()) else { return Vec::new() };
        String::from_utf8_lossy(&ran.stdout).lines().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(line: &str) -> Vec<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let line = Arc::new(Line { words: words.clone() });
        let at = words.len() - 1;
        let found = clap_complete::engine::complete(&mut command(&line), words, at, None).unwrap();
        found.iter().map(|candidate| candidate.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn every_shell_has_a_script_that_asks_this_program() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8(script(shell).unwrap()).unwrap();
            assert!(script.contains(VARIABLE) && script.contains("rosterd"), "{shell:?}: {script}");
        }
    }

    #[test]
    fn jobs_commands_operations_and_options_are_offered() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("config.toml");
        std::fs::write(
            &config,
            "[[job]]\nname = \"staff\"\n\n[[job]]\nname = \"stores\"\n[[job]]\nname = \"guests\"\n",
        )
        .unwrap();
        let config = config.display();
        for (line, expected) in [
            (format!("rosterd -c {config} sync st"), vec!["staff", "stores"]),
            (format!("rosterd --config={config} explain g"), vec!["guests"]),
            (format!("rosterd -c {config} queue retry "), vec!["staff", "stores", "guests"]),
            ("rosterd -c /nowhere/at/all.toml sync st".to_owned(), vec![]),
            ("rosterd hist".to_owned(), vec!["history"]),
            ("rosterd approve --s".to_owned(), vec!["--set", "--server"]),
        ] {
            let mut found = offered(&line);
            // What the shell itself would offer as options stands behind.
            found.retain(|one| !one.starts_with("--") || line.contains(" --s"));
            assert_eq!(found, expected, "{line}");
        }
        let commands = offered("rosterd ");
        assert!(
            commands.iter().any(|name| name == "sync") && !commands.iter().any(|name| name == "keys"),
            "{commands:?}"
        );
        assert!(offered("rosterd api staff.").iter().any(|name| name == "staff.get"));
    }
}
