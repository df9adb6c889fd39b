//! `rosterd approve` and `rosterd reject`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use super::args::DecideArgs;
use super::failure::{Exit, Failure, Words};
use super::open;
use super::ui::{Ui, tame};
use crate::clock::Clock;
use crate::config::Job;
use crate::record::Key;
use crate::run::{self, DecisionError};
use crate::store::Store;

type Decide = fn(&Store, &Clock, &Job, &BTreeSet<Key>) -> Result<Vec<Key>, DecisionError>;

pub(super) fn approve(ui: &Ui, config: &Path, args: &DecideArgs) -> Result<Exit, Failure> {
    decide(ui, config, args, "approved", run::approve)?;
    if !ui.json {
        ui.note(format!("the next `rosterd sync {}` sends them, if they are still wanted then", args.job));
    }
    Ok(Exit::Done)
}

pub(super) fn reject(ui: &Ui, config: &Path, args: &DecideArgs) -> Result<Exit, Failure> {
    decide(ui, config, args, "rejected", run::reject)?;
    Ok(Exit::Done)
}

fn decide(ui: &Ui, config: &Path, args: &DecideArgs, word: &str, decide: Decide) -> Result<(), Failure> {
    let config = open::configuration(ui, config)?;
    let job = open::job(&config, &args.job)?;
    let keys = open::keys(&args.keys)?;
    let store = Store::open(&config.state.dir)?;
    let set = run::held_set(&store, job)?;
    let mut held = 0;
    for part in job.parts() {
        held += run::held(&store, &part.name)?.len();
    }
    if held == 0 {
        return Err(Failure::failed(Words(format!("nothing of job {} is held", job.name)))
            .hint("what is held is worked out by `rosterd sync`; `rosterd plan` shows it"));
    }
    if args.set.is_some_and(|asked| asked != set) {
        return Err(Failure::failed(Words(format!("the held set is number {set} by now; nothing was {word}")))
            .hint("look at `rosterd plan` again"));
    }
    let clock = Clock::system();
    let done = decide(&store, &clock, job, &keys).map_err(|error| match error {
        DecisionError::Store(error) => error.into(),
        error => Failure::failed(error),
    })?;
    if done.is_empty() {
        return Err(Failure::failed(Words(format!("none of the held records of job {} can be {word}", job.name)))
            .hint("each names what has to be mended first; see `rosterd plan`"));
    }
    if ui.json {
        ui.document(&json!({"version": 1, "job": job.name, word: done, "set": set}));
        return Ok(());
    }
    let listed: Vec<String> = done.iter().take(10).map(|key| tame(key.as_str())).collect();
    let more = if done.len() > 10 { format!(" and {} more", done.len() - 10) } else { String::new() };
    ui.line(format!("{word} {} of job {}: {}{more}", done.len(), job.name, listed.join(", ")));
    Ok(())
}
