//! `rosterd status`.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::failure::{Exit, Failure};
use super::host::Host;
use super::open;
use super::pause;
use super::ui::{Paint, Ui, tame};
use crate::api::Client;
use crate::clock::Clock;
use crate::config::{Config, Job};
use crate::daemon::{self, Going};
use crate::fault::chain;
use crate::queue::{self, State};
use crate::run::{self, JobState, Pause, Stage, Status};
use crate::snapshot::{Index, Known};
use crate::source::inbox::Folder;
use crate::store::{self, Store};

/// How late a run may be before it counts as overdue: the daemon may be on its way up, or at another run.
const LATE: SignedDuration = SignedDuration::from_mins(5);

/// What there is to say about a job.
struct View<'a> {
    job: &'a Job,
    state: JobState,
    known: usize,
    held: usize,
    held_set: u64,
    queued: usize,
    parked: usize,
    /// The leaver who waits longest for the end of the grace.
    oldest_leaver: Option<Timestamp>,
    next: Option<Timestamp>,
    overdue: Option<String>,
    /// How far its run is; none where none is under way.
    running: Option<Going>,
    /// The files that wait in the inbox, or why it can't be looked at; none where the source is none.
    inbox: Option<Result<Vec<String>, String>>,
    paused: Option<Pause>,
}

pub(super) async fn run(ui: &Ui, host: &Host) -> Result<Exit, Failure> {
    let config = open::configuration(ui, host)?;
    let store = host.store(&config).await?;
    let clock = Clock::system();
    let pauses = run::pauses(&config.state.dir).map_err(Failure::failed)?;
    let is_full = store.is_full();
    let views =
        config.jobs.iter().map(|job| view(host, &store, &pauses, job, clock.now())).collect::<Result<Vec<_>, _>>()?;
    let budget = match host {
        Host::Here(_) => Client::new(&config.api, &clock)?.budget(),
        Host::Daemon(lent) => lent.engine.setup().client.budget(),
    };
    if ui.json {
        ui.document(&json!({
            "version": 1,
            "daemon": host.sends(),
            "jobs": views.iter().map(document).collect::<Vec<_>>(),
            "budget": {"used": budget.used, "limit": budget.limit, "blocked_until": budget.blocked_until},
            "state_dir": config.state.dir,
            "disk_full": is_full,
        }));
    } else {
        lines(ui, &config, &views);
        if is_full {
            let text =
                format!("the disk of {} is full: nothing is sent before 8 MiB are free", config.state.dir.display());
            ui.line(ui.paint(Paint::Red, &text));
        }
        let blocked = budget.blocked_until.map(|until| format!("; the service asked to wait until {until:.0}"));
        ui.line(format!(
            "budget: {} of {} requests used in the last 60 seconds{}",
            budget.used,
            budget.limit,
            blocked.unwrap_or_default()
        ));
    }
    let statuses = views.iter().map(|view| match view.state.last.as_ref().map(|last| last.status) {
        _ if view.overdue.is_some() => Status::Failed,
        None | Some(Status::Partial) => Status::Done,
        Some(status) => status,
    });
    Ok(Exit::of_runs(statuses))
}

fn view<'a>(
    host: &Host,
    store: &Store,
    pauses: &[Pause],
    job: &'a Job,
    now: Timestamp,
) -> Result<View<'a>, store::Error> {
    let (mut changes, mut held) = (Vec::new(), 0);
    for part in job.parts() {
        changes.extend(queue::list(store, &part.name)?);
        held += run::held(store, &part.name)?.len();
    }
    let parked = changes.iter().filter(|change| matches!(change.state, State::Parked { .. })).count();
    let index = Index::load(store, &job.name)?;
    let mut oldest_leaver: Option<Timestamp> = None;
    for at in (0..index.len()).filter(|at| index.entry(*at).gone) {
        let key = crate::record::Key::new(index.entry(at).key);
        let known = key.map(|key| Known::get(store, &job.name, &key)).transpose()?.flatten();
        let since = known.and_then(|known| known.gone).map(|gone| gone.since);
        oldest_leaver = [oldest_leaver, since].into_iter().flatten().min();
    }
    let state = JobState::load(store, &job.name)?;
    let running = match host {
        Host::Here(_) => None,
        Host::Daemon(lent) => lent.engine.runs().of(&job.name),
    };
    let due = due(host, store, job, &state, now)?;
    let late = due.filter(|due| running.is_none() && now.duration_since(*due) > LATE);
    let late = late.map(|due| format!("overdue: it was to run at {due:.0} and has not"));
    let inbox = job.inbox.as_ref().map(|inbox| {
        let waiting = Folder::open(&inbox.dir).and_then(|folder| folder.waiting(inbox));
        waiting.map_err(|error| chain(&error))
    });
    Ok(View {
        job,
        overdue: late.or_else(|| run::overdue(job, &state, now)),
        running,
        inbox,
        state,
        known: index.len(),
        held,
        held_set: run::held_set(store, job)?,
        queued: changes.len() - parked,
        parked,
        oldest_leaver,
        next: due,
        paused: pauses.iter().find(|pause| pause.scope.stops(&job.name)).cloned(),
    })
}

/// When a job is due by its schedule. The daemon knows; without one, it is the first time after the last run, and where that
/// is past, the daemon makes it up when it begins.
fn due(
    host: &Host,
    store: &Store,
    job: &Job,
    state: &JobState,
    now: Timestamp,
) -> Result<Option<Timestamp>, store::Error> {
    if let Host::Daemon(lent) = host {
        return Ok(lent.engine.outlook(&job.name).next);
    }
    let Some(schedule) = &job.schedule else { return Ok(None) };
    let served = daemon::served(store, &job.name)?.max(state.last.as_ref().map(|last| last.started));
    Ok(schedule.next_after(served.unwrap_or(now).min(now), &job.time_zone))
}

fn document(view: &View<'_>) -> serde_json::Value {
    json!({
        "name": view.job.name,
        "last": view.state.last,
        "next": view.next,
        "running_since": view.running.map(|going| going.since),
        "known": view.known,
        "held": view.held,
        "held_set": view.held_set,
        "queued": view.queued,
        "parked": view.parked,
        "oldest_leaver": view.oldest_leaver,
        "overdue": view.overdue,
        "inbox": view.inbox.as_ref().map(|inbox| match inbox {
            Ok(files) => json!({"waiting": files}),
            Err(error) => json!({"error": error}),
        }),
        "paused": view.paused.as_ref().map(pause::document),
    })
}

fn lines(ui: &Ui, config: &Config, views: &[View<'_>]) {
    for view in views {
        let name = ui.paint(Paint::Bold, view.job.name.as_str());
        match &view.state.last {
            None => ui.line(format!("{name}: never ran")),
            Some(last) => {
                let paint = match last.status {
                    Status::Done => Paint::Green,
                    Status::Partial | Status::Held => Paint::Yellow,
                    Status::Failed => Paint::Red,
                };
                let status = ui.paint(paint, last.status.name());
                ui.line(format!(
                    "{name}: {status}, run {} ended {:.0}: {} created, {} updated, {} removed, {} unchanged",
                    last.run,
                    last.ended,
                    last.counts.created,
                    last.counts.updated,
                    last.counts.deleted,
                    last.counts.unchanged,
                ));
                last.reason.iter().for_each(|reason| ui.line(format!("  {}", tame(reason))));
            }
        }
        if let Some(pause) = &view.paused {
            ui.line(format!("  {}", ui.paint(Paint::Yellow, &tame(&pause.reason()))));
        }
        let set = if view.held > 0 { format!(" (set {})", view.held_set) } else { String::new() };
        ui.line(format!(
            "  {} {} known, {} changes held{set}, {} queued, {} parked",
            view.known,
            view.job.mapping.target.many(),
            view.held,
            view.queued,
            view.parked
        ));
        if let Some(since) = view.oldest_leaver {
            ui.line(format!("  the leaver who waits longest has been missing since {since:.0}"));
        }
        match &view.inbox {
            Some(Ok(files)) if !files.is_empty() => ui.line(format!("  in the inbox: {}", tame(&files.join(", ")))),
            Some(Err(error)) => ui.line(format!("  {}", ui.paint(Paint::Red, &tame(error)))),
            _ => {}
        }
        if let Some(overdue) = &view.overdue {
            ui.line(format!("  {}", ui.paint(Paint::Yellow, &tame(overdue))));
        }
        if let Some(going) = view.running {
            ui.line(format!("  running since {:.0}{}", going.since, stage(going)));
        } else if let Some(next) = view.next {
            ui.line(format!("  due next {next:.0}"));
        }
    }
    ui.line(format!("state: {}", config.state.dir.display()));
}

fn stage(going: Going) -> String {
    match going.stage {
        None => String::new(),
        Some(Stage::Pulling) => ": reading the service".to_owned(),
        Some(Stage::Reading) => ": reading the source".to_owned(),
        Some(Stage::Sending { changes, .. }) => format!(": {} of {changes} changes sent", going.outcomes),
    }
}
