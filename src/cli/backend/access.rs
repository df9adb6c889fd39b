//! The backend of a command: the store in this process, or the daemon's, for a caller of its socket.
//!
//! A command does not ask which of the two it is. It takes configuration, store and turns from here, and writes by its
//! `Ui`; so what it prints and how it exits is the same.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::interrupt::{INTERRUPTED, Interrupt};
use crate::cli::ui::{Exit, Failure, Message};
use crate::config::{self, CallerConfig, Config, Job, Needs};
use crate::daemon::{
    Call, Caller, DaemonState, Event, ExclusiveStore, ReplyStream, StoreGuard, TargetGuard, TrackedRun,
};
use crate::disk;
use crate::operator::PlanFile;
use crate::reconcile::{self, Report, RunObserver};
use crate::record::{JobName, Target};
use crate::store::{self, Store};

/// Where a command finds what it works on.
pub(crate) enum Backend {
    /// This process, with the configuration at this path.
    Here(PathBuf),
    /// The daemon.
    Daemon(Box<DaemonBackend>),
}

/// What the daemon lends to the command of a caller.
pub(crate) struct DaemonBackend {
    pub(crate) engine: Arc<DaemonState>,
    /// Whether the command had the account begin.
    pub(crate) has_begun: bool,
    pub(crate) call: Call,
    pub(crate) caller: Caller,
    pub(crate) back: ReplyStream,
}

impl DaemonBackend {
    /// Whether the caller has the configuration file that this worker has.
    fn has_same_configuration(&self) -> bool {
        let ours = CallerConfig::read(&self.engine.setup().config.source_path).map(|ours| ours.digest());
        ours.is_some() && ours == self.call.brought.same_as
    }

    fn differs(&self) -> Failure {
        let node = self.engine.holder().map_or_else(|| "the worker".to_owned(), |holder| holder.node);
        let words = format!("{node} has the account, and another configuration than this machine");
        Failure::usage(Message(words))
            .hint("have the same file on all machines, or say this on the machine of that worker")
    }
}

/// An open store: this process's own, or the daemon's.
pub(crate) enum StoreRef {
    Own(Box<Store>),
    Shared(StoreGuard),
}

impl Deref for StoreRef {
    type Target = Store;

    fn deref(&self) -> &Store {
        match self {
            Self::Own(store) => store,
            Self::Shared(store) => store,
        }
    }
}

/// A store that no other code uses meanwhile.
pub(crate) enum ExclusiveAccess {
    Own(Arc<Config>),
    Daemon(ExclusiveStore),
}

impl ExclusiveAccess {
    /// Takes it, for what uses it up.
    pub(crate) fn take(&mut self) -> Result<Store, store::Error> {
        match self {
            Self::Own(config) => reconcile::open_store(config),
            Self::Daemon(alone) => alone.take(),
        }
    }

    /// Closes it, for what opens it itself.
    pub(crate) fn close(&mut self) {
        match self {
            Self::Own(_) => {}
            Self::Daemon(alone) => alone.close(),
        }
    }
}

impl Backend {
    /// The store, shared with its readers.
    pub(crate) async fn store(&self, config: &Config) -> Result<StoreRef, Failure> {
        Ok(match self {
            Self::Here(_) => StoreRef::Own(Box::new(reconcile::open_store(config)?)),
            Self::Daemon(lent) => StoreRef::Shared(lent.engine.store().await?),
        })
    }

    /// The store for this command alone; runs of the daemon are preempted.
    pub(crate) async fn alone(&self, config: &Arc<Config>) -> ExclusiveAccess {
        match self {
            Self::Here(_) => ExclusiveAccess::Own(Arc::clone(config)),
            Self::Daemon(lent) => ExclusiveAccess::Daemon(lent.engine.alone().await),
        }
    }

    /// Preempts the daemon's runs, for a command that would conflict with them; does nothing without a daemon.
    pub(crate) async fn preempt_runs(&self) -> Option<TargetGuard> {
        match self {
            Self::Here(_) => None,
            Self::Daemon(lent) => Some(lent.engine.turns().preempt_all().await),
        }
    }

    /// Waits for the locks of these targets; returns at once where no other run can hold them.
    pub(crate) async fn turn(&self, targets: Vec<Target>) -> Result<Option<TargetGuard>, Failure> {
        let Self::Daemon(lent) = self else { return Ok(None) };
        tokio::select! {
            turn = lent.engine.turns().of(targets) => Ok(Some(turn)),
            () = lent.back.ending().wait() => Err(Failure::new(Exit::Interrupted, INTERRUPTED)),
        }
    }

    /// What ends the command before its time.
    pub(crate) fn interrupt(&self) -> Interrupt {
        match self {
            Self::Here(_) => Interrupt::by_signals(),
            Self::Daemon(lent) => Interrupt::by(lent.back.ending().clone()),
        }
    }

    /// Tells the daemon, where there is one, of a decision, and has it run jobs at once, so that every view is up to date;
    /// all of them where none is named.
    pub(crate) fn decided(&self, wanted: Option<&[JobName]>) {
        if let Self::Daemon(lent) = self {
            lent.engine.publish(Event::Decided);
            if let Some(jobs) = wanted {
                lent.engine.ask(jobs.iter().cloned());
            }
        }
    }

    /// Publishes the results of a command's runs, as the daemon does for its own.
    pub(crate) fn ran<'a>(&self, reports: impl IntoIterator<Item = &'a Report>) {
        if let Self::Daemon(lent) = self {
            for report in reports {
                lent.engine.publish(Event::Ended { report: Arc::new(report.clone()) });
            }
        }
    }

    /// Has the daemon watch the run of these jobs as it watches its own; nothing where there is none.
    pub(crate) fn attend<'a>(&'a self, jobs: &'a [&'a Job], other: &'a dyn RunObserver) -> Option<TrackedRun<'a>> {
        match self {
            Self::Here(_) => None,
            Self::Daemon(lent) => Some(lent.engine.attend(jobs, other)),
        }
    }

    /// Tells the daemon that these jobs have run, so that their schedules need not start them again for the times until now.
    pub(crate) fn served(&self, jobs: &[&Job]) {
        if let Self::Daemon(lent) = self {
            lent.engine.ran(jobs.iter().map(|job| job.name.clone()));
        }
    }

    /// Whether a run of that job is known to be under way.
    pub(crate) fn runs(&self, job: &JobName) -> bool {
        matches!(self, Self::Daemon(lent) if lent.engine.runs().of(job).is_some())
    }

    /// Whether the daemon sends what is released, or the next `rosterd sync` has to.
    pub(crate) fn sends(&self) -> bool {
        matches!(self, Self::Daemon(_))
    }

    /// The configuration of the daemon, or the one at the path that was named.
    pub(crate) fn config(&self, needs: Needs) -> Result<Arc<Config>, Failure> {
        match self {
            Self::Here(path) => load(path, needs).map(Arc::new),
            Self::Daemon(lent) => Ok(lent.engine.setup().config),
        }
    }

    /// The caller's own configuration, as it is now, with the account of the daemon: its client sends what is asked.
    pub(crate) fn callers_config(&self, needs: Needs) -> Result<Arc<Config>, Failure> {
        let Self::Daemon(lent) = self else { return self.config(needs) };
        let ours = lent.engine.setup().config;
        let mut config = match &lent.call.brought.given {
            // The file as it is now, as on this machine.
            _ if lent.caller.is_remote() && lent.has_same_configuration() => load(&ours.source_path, needs)?,
            _ if lent.caller.is_remote() => return Err(lent.differs()),
            Some(given) if lent.caller.may_bring_a_configuration() => {
                config::load_given(given, config::environment(), needs).map_err(Failure::from)?
            }
            _ if lent.call.config == ours.source_path => load(&ours.source_path, needs)?,
            _ => {
                let words = format!(
                    "the daemon plans {} for every caller, and another configuration for root and its own user only",
                    ours.source_path.display()
                );
                return Err(Failure::usage(Message(words)).hint("leave out --config, or ask someone who may"));
            }
        };
        if config.api.base_url != ours.api.base_url {
            let words = format!("the daemon works for {}, and this configuration names another", ours.api.base_url);
            return Err(Failure::usage(Message(words)).hint("stop the daemon first, or name another state.dir"));
        }
        config.api.clone_from(&ours.api);
        Ok(Arc::new(config))
    }

    /// Fails where the caller may not have the daemon's credential send whatever it likes: who could do so without a daemon may.
    pub(crate) fn expect_right_to_send(&self) -> Result<(), Failure> {
        let Self::Daemon(lent) = self else { return Ok(()) };
        match &lent.caller {
            Caller::Remote { is_privileged: true, .. } if !lent.has_same_configuration() => Err(lent.differs()),
            Caller::Remote { is_privileged: true, .. } => Ok(()),
            caller if caller.is_privileged() => Ok(()),
            _ => Err(Failure::usage(Message("only root and the daemon's own user may send any request".to_owned()))),
        }
    }

    /// Reads a file that the caller named.
    pub(crate) fn read(&self, path: &Path) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Here(_) => read(path),
            Self::Daemon(lent) => match &lent.call.brought.file {
                Some(Ok(text)) => Ok(text.clone().into_bytes()),
                Some(Err(words)) => Err(Failure::usage(Message(words.clone()))),
                None => Err(Failure::usage(Message(format!("{} did not come with the call", path.display())))),
            },
        }
    }

    /// Writes a file that the caller named.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Here(_) => write(path, bytes),
            Self::Daemon(lent) => {
                lent.back.file(bytes);
                Ok(())
            }
        }
    }
}

fn load(path: &Path, needs: Needs) -> Result<Config, Failure> {
    config::load(path, config::environment(), needs).map_err(|errors| {
        let found = path.metadata().map_err(|error| error.kind());
        let failure = Failure::from(errors);
        match found {
            Err(ErrorKind::PermissionDenied) => failure.hint("run this as root, or as the account that rosterd has"),
            Err(_) => {
                failure.hint("make one with `rosterd init FILE`, name another with --config, or see `rosterd demo`")
            }
            Ok(_) => failure,
        }
    })
}

/// Reads a file of at most the size of a plan file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(PlanFile::SIZE_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|error| Failure::usage(Message(format!("{} can't be read: {error}", path.display()))))?;
    let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= PlanFile::SIZE_MAX);
    if fits {
        Ok(bytes)
    } else {
        Err(Failure::usage(Message(format!("{} is too large for a plan file", path.display()))))
    }
}

/// Writes a file, whole or not at all, for its owner only. A plan replaces nothing but another plan: its name may be a slip.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let is_plan = |bytes: &[u8]| PlanFile::decode(bytes).is_ok();
    if path.is_file() && is_plan(bytes) && !read(path).is_ok_and(|old| is_plan(&old)) {
        let words = format!("{} is there already and is no plan file; nothing was written over it", path.display());
        return Err(Failure::usage(Message(words)).hint("name another file"));
    }
    let written = disk::replace(path, bytes);
    written.map_err(|error| Failure::failed(Message(format!("{} could not be written: {error}", path.display()))))
}
