//! Opens what most commands need: the configuration, the requested jobs, the state.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::access::{Backend, StoreRef};
use super::interrupt::Interrupt;
use super::privileges::become_owner;
use super::progress::{Pace, Progress};
use super::startup_failure::of_account;
use crate::api::Client;
use crate::cli::ui::{Failure, Message, Ui};
use crate::clock::Clock;
use crate::config::{Config, Job, Needs, nearest};
use crate::daemon::{TargetGuard, client_for_command};
use crate::history::set_node;
use crate::reconcile::{self, Context, KeyFilter};
use crate::record::{Key, Target};

/// Loads the configuration and prints its warnings; root works as the state's owner from then on. A command in the daemon
/// gets the daemon's.
pub(crate) fn configuration(ui: &Ui, host: &Backend) -> Result<Arc<Config>, Failure> {
    configuration_for(ui, host, Needs::Jobs)
}

/// The same with the [files](Config::files) of the configuration, which are not known any more once root has become another user.
pub(crate) fn configuration_and_files(ui: &Ui, host: &Backend) -> Result<(Arc<Config>, Vec<PathBuf>), Failure> {
    let config = host.config(Needs::Jobs)?;
    let files = config.files();
    Ok((used(ui, host, config)?, files))
}

/// The same for what uses the caller's configuration also in the daemon.
pub(crate) fn callers_configuration(ui: &Ui, host: &Backend) -> Result<Arc<Config>, Failure> {
    used(ui, host, host.callers_config(Needs::Jobs)?)
}

/// The same for what does without some of it.
pub(crate) fn configuration_for(ui: &Ui, host: &Backend, needs: Needs) -> Result<Arc<Config>, Failure> {
    used(ui, host, host.config(needs)?)
}

/// Where rows of a look may lie: beside the state, or where it was not made yet, where the machine has room for such things.
pub(crate) fn scratch(config: &Config) -> PathBuf {
    let dir = config.state.home.spill_dir();
    if dir.is_dir() { dir.to_owned() } else { std::env::temp_dir() }
}

/// The configuration that the daemon begins with; its warnings are logged, in the form in which everything else is.
pub(crate) fn daemons_configuration(host: &Backend) -> Result<Arc<Config>, Failure> {
    let mut config = host.config(Needs::Jobs)?;
    config.warnings.iter().for_each(|warning| tracing::warn!(warning, "{warning}"));
    become_owner(Arc::make_mut(&mut config))?;
    Ok(config)
}

fn used(ui: &Ui, host: &Backend, mut config: Arc<Config>) -> Result<Arc<Config>, Failure> {
    config.warnings.iter().for_each(|warning| ui.warn(warning));
    if matches!(host, Backend::Here(_)) {
        become_owner(Arc::make_mut(&mut config))?;
        // What this process decides is seen on other machines too.
        if let Some(relay) = config.state.home.relay() {
            set_node(relay.node());
        }
    }
    Ok(config)
}

/// What a command does to the service and the store, and which of the daemon's runs have to be over before it.
pub(crate) enum Work {
    /// It reads.
    Look,
    /// It is a run on these targets.
    Change(Vec<Target>),
}

impl Work {
    /// A run of these jobs.
    pub(crate) fn of<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> Self {
        Self::Change(jobs.into_iter().flat_map(reconcile::needed).collect())
    }
}

/// What a run needs of this machine: the state, taken before anything else, and the client.
pub(crate) struct Session<'a> {
    config: &'a Config,
    store: StoreRef,
    client: Client,
    clock: Clock,
    interrupt: Interrupt,
    progress: Progress,
    _turn: Option<TargetGuard>,
}

impl<'a> Session<'a> {
    pub(crate) async fn open(ui: &Ui, host: &Backend, config: &'a Config, work: Work) -> Result<Self, Failure> {
        let turn = match work {
            Work::Look => None,
            Work::Change(targets) => host.turn(targets).await?,
        };
        let store = host.store(config).await?;
        let (clock, client) = match host {
            Backend::Here(_) => {
                let clock = Clock::system();
                let client = client_for_command(config, &store, &clock).map_err(of_account)?;
                (clock, client)
            }
            Backend::Daemon(lent) => (lent.engine.clock().clone(), lent.engine.setup().client.for_run()),
        };
        let interrupt = host.interrupt();
        let progress = Progress::new(ui.clone(), interrupt.clone(), Pace::of(&config.api));
        Ok(Self { config, store, client, clock, interrupt, progress, _turn: turn })
    }

    pub(crate) fn context(&self) -> Context<'_> {
        let Self { config, store, client, clock, progress, .. } = self;
        Context { config, client, store, clock, watch: progress }
    }

    /// Runs `work` until it ends or someone ends it, and takes the progress away.
    pub(crate) async fn guard<T>(&self, work: impl Future<Output = Result<T, reconcile::Error>>) -> Result<T, Failure> {
        let result = self.interrupt.guard(async { Ok(work.await?) }).await;
        self.progress.clear();
        result
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.asked()
    }
}

/// The jobs of these names, in the order of the file; all of them where none is named.
pub(crate) fn jobs<'a>(config: &'a Config, names: &[String]) -> Result<Vec<&'a Job>, Failure> {
    for name in names {
        job(config, name)?;
    }
    let asked = |job: &&Job| names.is_empty() || names.iter().any(|name| name == job.name.as_str());
    Ok(config.jobs.iter().filter(asked).collect())
}

/// The job of that name; where none is named, the only one.
pub(crate) fn job_or_only<'a>(config: &'a Config, name: Option<&str>) -> Result<&'a Job, Failure> {
    match (name, &config.jobs[..]) {
        (Some(name), _) => job(config, name),
        (None, [job]) => Ok(job),
        (None, _) => {
            let words = format!("there are {} jobs in {}", config.jobs.len(), config.source_path.display());
            Err(Failure::usage(Message(words)).hint(format!("name one of them: {}", names(config))))
        }
    }
}

/// The job and the keys of a command that takes both. Where there is only one job, its name may be left out: the first
/// word is a key then, if `is_key` says so.
pub(crate) fn job_and_keys<'a, E: Into<Failure>>(
    config: &'a Config,
    first: Option<&str>,
    keys: &[String],
    is_key: impl FnOnce(&Job, &Key) -> Result<bool, E>,
) -> Result<(&'a Job, BTreeSet<Key>), Failure> {
    let mut keys = self::keys(keys)?;
    if let (Some(first), [only]) = (first, &config.jobs[..])
        && only.name.as_str() != first
        && let Some(key) = Key::new(first)
        && is_key(only, &key).map_err(Into::into)?
    {
        keys.insert(key);
        return Ok((only, keys));
    }
    Ok((job_or_only(config, first)?, keys))
}

/// The job of that name.
pub(crate) fn job<'a>(config: &'a Config, name: &str) -> Result<&'a Job, Failure> {
    config.jobs.iter().find(|job| job.name.as_str() == name).ok_or_else(|| {
        let failure = Failure::usage(Message(format!("there is no job {name:?} in {}", config.source_path.display())));
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
pub(crate) fn keys(texts: &[String]) -> Result<BTreeSet<Key>, Failure> {
    texts.iter().map(|text| Key::new(text).ok_or_else(|| Failure::usage("a key can't be empty"))).collect()
}

/// A narrowed run, or a whole one where no key is given.
pub(crate) fn narrow(texts: &[String]) -> Result<KeyFilter, Failure> {
    Ok(KeyFilter { keys: keys(texts)? })
}
