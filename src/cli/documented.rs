//! Every command line that README and book show is one that the program takes, or a file of the project.

use std::path::Path;

use clap::error::ErrorKind::{
    DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion, MissingRequiredArgument, MissingSubcommand,
};

use super::help;

#[path = "../../tests/it/book/pages.rs"]
mod pages;

use pages::{Block, pages};

/// What the system brings, or Rust.
const OTHERS: &[&str] = &[
    "apt",
    "apt-get",
    "cat",
    "chgrp",
    "chmod",
    "chown",
    "curl",
    "dnf",
    "du",
    "export",
    "git",
    "install",
    "journalctl",
    "kubectl",
    "man",
    "mdbook",
    "podman",
    "rsync",
    "rustup",
    "sha256sum",
    "ssh-keygen",
    "systemctl",
    "systemd-sysusers",
    "systemd-tmpfiles",
    "tar",
    "usermod",
];

/// The command lines of a block, each without its prompt: in a `console` block only what follows `$ `.
fn lines(block: &Block) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in &block.lines {
        let begins = if block.info == "console" { line.strip_prefix("$ ") } else { Some(line.as_str()) };
        match (begins, goes_on) {
            (_, true) => lines.last_mut().expect("it began").push_str(line.trim_end_matches('\\')),
            (Some(begins), false) => lines.push(begins.trim_end_matches('\\').to_owned()),
            (None, false) => continue,
        }
        goes_on = line.ends_with('\\');
    }
    lines
}

/// The commands of a line as a shell takes it apart; where their output goes is left out.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars().chain([' ']) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ' | '|' | '&' | ';') => {
                commands.last_mut().expect("one is there").extend(word.take());
                if c != ' ' {
                    commands.push(Vec::new());
                }
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    commands.into_iter().map(without_files).filter(|command| !command.is_empty()).collect()
}

/// Without `> FILE` and without the variables in front.
fn without_files(command: Vec<String>) -> Vec<String> {
    let mut words = Vec::new();
    let mut skips = false;
    for word in command {
        if matches!(word.as_str(), ">" | ">>" | "<") {
            skips = true;
        } else if !std::mem::take(&mut skips) {
            words.push(word);
        }
    }
    let is_variable = |word: &String| {
        word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let variables = words.iter().take_while(|word| is_variable(word)).count();
    words.split_off(variables)
}

/// Why a command is none, where it is none.
fn wrong(command: &[String]) -> Option<String> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let there = |path: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(path).exists();
    let after = |option: &str| words.iter().position(|word| *word == option).and_then(|at| words.get(at + 1));
    match words.as_slice() {
        ["sudo", "-u", _, "rosterd", arguments @ ..]
        | ["sudo", "rosterd", arguments @ ..]
        | ["rosterd", arguments @ ..] => refusal(arguments).map(|error| first_line(&error)),
        ["podman", "exec", _, "rosterd", arguments @ ..] => refusal(arguments).map(|error| first_line(&error)),
        ["kubectl", "-n", _, "exec", _, "--", "rosterd", arguments @ ..] => {
            refusal(arguments).map(|error| first_line(&error))
        }
        ["cargo", "run", "--release", "--", arguments @ ..] => refusal(arguments).map(|error| first_line(&error)),
        ["cargo", "run", "-p", "rosterd-client", "--example", name, ..] => {
            (!there(&format!("crates/client/examples/{name}.rs"))).then(|| "there is no such example".to_owned())
        }
        ["cargo", "bench" | "test", ..] => {
            let bench = after("--bench").is_none_or(|name| there(&format!("benches/{name}.rs")));
            let test = after("--test").is_none_or(|name| there(&format!("tests/{name}/main.rs")));
            (!(bench && test)).then(|| "there is no such target".to_owned())
        }
        ["cargo", "audit" | "build" | "check" | "install", ..] => None,
        [file, ..] if file.contains('/') => (!there(file)).then(|| "there is no such file".to_owned()),
        [other, ..] => (!OTHERS.contains(other)).then(|| "it is neither of this project nor of the system".to_owned()),
        [] => None,
    }
}

/// What the parser says to arguments that it does not take.
fn refusal(arguments: &[&str]) -> Option<clap::Error> {
    let parsed = help::parsed(["rosterd"].iter().chain(arguments));
    parsed.err().filter(|error| !matches!(error.kind(), DisplayHelp | DisplayVersion))
}

fn first_line(error: &clap::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

#[test]
fn every_command_line_that_is_shown_is_one() {
    let mut tried = 0;
    let mut found = Vec::new();
    for block in
        pages().iter().flat_map(|page| page.blocks()).filter(|block| ["sh", "console"].contains(&block.info.as_str()))
    {
        for command in lines(&block).iter().flat_map(|line| commands(line)) {
            tried += 1;
            found.extend(wrong(&command).map(|why| format!("{}: {}: {why}", block.place, command.join(" "))));
        }
    }
    assert!(tried > 50, "only {tried} command lines");
    assert_eq!(found, Vec::<String>::new());
}

/// A placeholder in the text, and a value of its kind.
const STANDING: &[(&str, &str)] =
    &[("RUN", "1"), ("N", "1"), ("NAME", "name"), ("FILE", "file"), ("DIR", "folder"), ("…", "more")];

#[test]
fn every_command_that_is_named_in_the_text_is_one() {
    let mut tried = 0;
    let mut found = Vec::new();
    for page in pages() {
        let prose = page.prose();
        for span in prose.split('`').skip(1).step_by(2).filter(|span| span.starts_with("rosterd ")) {
            let line: Vec<String> = span
                .split_whitespace()
                .map(|word| word.trim_matches(['[', ']']))
                .map(|word| STANDING.iter().find(|(name, _)| *name == word).map_or(word, |(_, value)| value).to_owned())
                .take_while(|word| !matches!(word.as_str(), "more" | ">" | "&&"))
                .collect();
            let line: Vec<&str> = line.iter().map(String::as_str).collect();
            // A text may name a command without its arguments.
            let error = refusal(&line[1..]).filter(|error| {
                !matches!(
                    error.kind(),
                    MissingRequiredArgument | MissingSubcommand | DisplayHelpOnMissingArgumentOrSubcommand
                )
            });
            tried += 1;
            found.extend(error.map(|error| format!("{}: {span}: {}", page.path, first_line(&error))));
        }
    }
    assert!(tried > 50, "only {tried} commands");
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_line_is_taken_apart_as_a_shell_does_it() {
    let apart = |line: &str| commands(line).iter().map(|words| words.join("|")).collect::<Vec<_>>();
    assert_eq!(apart("A=1 rosterd check && x 'a b' > out # why"), ["rosterd|check", "x|a b"]);
    assert_eq!(apart("rosterd api x 'q=a%b' -c \"d e\""), ["rosterd|api|x|q=a%b|-c|d e"]);
}
