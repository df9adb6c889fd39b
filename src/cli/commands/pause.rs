//! `rosterd pause` and `rosterd resume`.
//!
//! Neither takes the store: what is to stop at once must not wait until the run that it is to stop has ended.

use std::io;

use serde_json::{Value, json};

use crate::cli::args::PauseArgs;
use crate::cli::backend::{Backend, session};
use crate::cli::ui::{Exit, Failure, Message, Ui};
use crate::clock::Clock;
use crate::config::{Config, Needs};
use crate::reconcile::{self, Pause, PauseScope};
use crate::record::JobName;

pub(crate) fn pause(ui: &Ui, host: &Backend, args: &PauseArgs) -> Result<Exit, Failure> {
    let config = session::configuration_for(ui, host, Needs::Local)?;
    let job = args.job.as_deref().map(|name| session::job(&config, name)).transpose()?.map(|job| &job.name);
    config.state.home.create()?;
    config.state.home.expect_imported()?;
    let changed =
        reconcile::pause(&config.state.home, &Clock::system(), job).map_err(|error| unwritten(&config, &error))?;
    host.decided(None);
    let what = job.map_or("all jobs are".to_owned(), |job| format!("job {job} is"));
    let already = if changed { "" } else { " already" };
    show(ui, &config, "paused", changed, &format!("{what} paused{already}: nothing is sent until `rosterd resume`"))
}

pub(crate) fn resume(ui: &Ui, host: &Backend, args: &PauseArgs) -> Result<Exit, Failure> {
    let config = session::configuration_for(ui, host, Needs::Local)?;
    // A job that is out of the configuration by now may be resumed too.
    let job = args.job.as_deref().map(|name| JobName::new(name).ok_or_else(|| Failure::usage("that is no job's name")));
    let job = job.transpose()?;
    config.state.home.create()?;
    config.state.home.expect_imported()?;
    let dir = &config.state.home;
    let fail = |error: io::Error| unwritten(&config, &error);
    let lifted = reconcile::resume(dir, &Clock::system(), job.as_ref()).map_err(fail)?;
    if !lifted.is_empty() {
        let wanted: Vec<JobName> = job.iter().cloned().collect();
        host.decided(Some(&wanted));
    }
    let left = reconcile::pauses(dir).map_err(fail)?;
    if let (Some(job), Some(pause)) = (&job, left.iter().find(|pause| job.iter().any(|job| pause.scope.stops(job)))) {
        return Err(Failure::failed(Message(format!("job {job} does not go on: {}", pause.reason()))));
    }
    if let Some(job) = job.iter().find(|_| lifted.is_empty()) {
        session::job(&config, job.as_str())?;
    }
    let text = match (lifted.is_empty(), &job) {
        (true, _) => "nothing was paused".to_owned(),
        (false, Some(job)) => format!("job {job} goes on: its next run sends what is wanted then"),
        (false, None) => "all goes on: the next run of each job sends what is wanted then".to_owned(),
    };
    show(ui, &config, "resumed", !lifted.is_empty(), &text)
}

fn show(ui: &Ui, config: &Config, word: &str, changed: bool, text: &str) -> Result<Exit, Failure> {
    if ui.json {
        let pauses = reconcile::pauses(&config.state.home).map_err(|error| unwritten(config, &error))?;
        let pauses: Vec<Value> = pauses.iter().map(document).collect();
        ui.document(&json!({"version": 1, word: changed, "pauses": pauses}));
    } else {
        ui.line(text);
    }
    Ok(Exit::Done)
}

/// One pause as `--json` shows it; `job` is null where it is of all jobs.
pub(crate) fn document(pause: &Pause) -> Value {
    let job = match &pause.scope {
        PauseScope::Job(job) => Some(job),
        PauseScope::All | PauseScope::Alarm => None,
    };
    let note = pause.note.as_ref();
    json!({
        "job": job,
        "since": note.map(|note| note.since),
        "by": note.map(|note| &note.by),
        "why": note.and_then(|note| note.why.as_ref()),
    })
}

fn unwritten(config: &Config, error: &io::Error) -> Failure {
    Failure::failed(Message(format!("the pauses under {} can't be used: {error}", config.state.home)))
}
