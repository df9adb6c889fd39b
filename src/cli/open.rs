//! What most commands begin with: the configuration, the jobs asked for, the state.

use std::collections::BTreeSet;
use std::path::Path;

use super::failure::{Failure, Words};
use super::interrupt::Interrupt;
use super::owner::become_owner;
use super::progress::Progress;
use super::ui::Ui;
use crate::api::Client;
use crate::clock::Clock;
use crate::config::{self, Config, Job, Needs, nearest};
use crate::record::Key;
use crate::run::{self, Context, Narrow};
use crate::store::Store;

/// Loads the configuration and prints its warnings; root works as the state's owner from then on.
pub(super) fn configuration(ui: &Ui, path: &Path) -> Result<Config, Failure> {
    configuration_for(ui, path, Needs::Jobs)
}

/// The same for what does without jobs.
pub(super) fn configuration_for(ui: &Ui, path: &Path, needs: Needs) -> Result<Config, Failure> {
    let environment =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut config = config::load(path, environment, needs).map_err(|errors| {
        let missing = !path.exists();
        let failure = Failure::from(errors);
        if missing {
            failure.hint("make one with `rosterd init FILE`, name another with --config, or see `rosterd demo`")
        } else {
            failure
        }
    })?;
    config.warnings.iter().for_each(|warning| ui.warn(warning));
    become_owner(&mut config)?;
    Ok(config)
}

/// What a run needs of this machine: the state, taken before anything else, and the client.
pub(super) struct Session<'a> {
    config: &'a Config,
    store: Store,
    client: Client,
    clock: Clock,
    interrupt: Interrupt,
    progress: Progress,
}

impl<'a> Session<'a> {
    pub(super) fn open(ui: &Ui, config: &'a Config) -> Result<Self, Failure> {
        let store = Store::open(&config.state.dir)?;
        let clock = Clock::system();
        let client = Client::new(&config.api, &clock)?;
        let interrupt = Interrupt::default();
        let progress = Progress::new(*ui, interrupt.clone(), config.api.requests_per_minute);
        Ok(Self { config, store, client, clock, interrupt, progress })
    }

    pub(super) fn context(&self) -> Context<'_> {
        let Self { config, store, client, clock, progress, .. } = self;
        Context { config, client, store, clock, watch: progress }
    }

    /// Runs `work` until it ends or someone ends it, and takes the progress away.
    pub(super) async fn guard<T>(&self, work: impl Future<Output = Result<T, run::Error>>) -> Result<T, Failure> {
        let result = self.interrupt.guard(async { Ok(work.await?) }).await;
        self.progress.clear();
        result
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.asked()
    }
}

/// The jobs of these names, in the order of the file; all of them where none is named.
pub(super) fn jobs<'a>(config: &'a Config, names: &[String]) -> Result<Vec<&'a Job>, Failure> {
    for name in names {
        job(config, name)?;
    }
    let asked = |job: &&Job| names.is_empty() || names.iter().any(|name| name == job.name.as_str());
    Ok(config.jobs.iter().filter(asked).collect())
}

/// The job of that name.
pub(super) fn job<'a>(config: &'a Config, name: &str) -> Result<&'a Job, Failure> {
    config.jobs.iter().find(|job| job.name.as_str() == name).ok_or_else(|| {
        let failure = Failure::usage(Words(format!("there is no job {name:?} in {}", config.source_path.display())));
        match nearest(name, config.jobs.iter().map(|job| job.name.as_str())) {
            Some(near) => failure.hint(format!("did you mean {near:?}?")),
            None => failure.hint(format!("its jobs are: {}", names(config))),
        }
    })
}

fn names(config: &Config) -> String {
    config.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Keys as given on the command line.
pub(super) fn keys(texts: &[String]) -> Result<BTreeSet<Key>, Failure> {
    texts.iter().map(|text| Key::new(text).ok_or_else(|| Failure::usage("a key can't be empty"))).collect()
}

/// A narrowed run, or a whole one where no key is given.
pub(super) fn narrow(texts: &[String]) -> Result<Narrow, Failure> {
    Ok(Narrow { keys: keys(texts)? })
}
