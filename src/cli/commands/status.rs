//! `rosterd status`.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::pause;
use crate::api::BudgetState;
use crate::cli::backend::{Backend, session};
use crate::cli::ui::{Exit, Failure, Paint, Ui, sanitize};
use crate::clock::Clock;
use crate::config::{Config, Job, Needs};
use crate::daemon;
use crate::notify::NoticeStore;
use crate::reconcile::{self, JobState, Status};
use crate::status::{Around, Health, JobView, LiveJobState, Refused, Snapshot, UnreachableChannel, Unserved};
use crate::store::{self, Store};
use crate::text::counted;

pub(crate) async fn run(ui: &Ui, host: &Backend) -> Result<Exit, Failure> {
    let config = session::configuration_for(ui, host, Needs::Local)?;
    let snapshot = gathered(host, &config).await?;
    let health = Health::of(&snapshot);
    let Snapshot { jobs: views, unconfigured, budget, is_full, .. } = snapshot;
    let (refused, unserved, no_decisions) = match host {
        Backend::Here(_) => (None, None, None),
        Backend::Daemon(lent) => (lent.engine.counters().refused(), lent.engine.unserved(), lent.engine.no_decisions()),
    };
    let page = |page: &Option<Unserved>| page.as_ref().map(|page| json!({"since": page.since, "reason": page.reason}));
    let unheard = NoticeStore::open(&config.state.home).unheard();
    if ui.json {
        ui.document(&json!({
            "version": 1,
            "daemon": host.sends(),
            "jobs": views.iter().map(document).collect::<Vec<_>>(),
            "budget": {"used": budget.used, "limit": budget.limit, "blocked_until": budget.blocked_until,
                "finish": budget.finish},
            "state_dir": config.state.home.folder(),
            "disk_full": is_full,
            "unconfigured": unconfigured.iter().map(|job| json!({"name": job.name, "people": job.people})).collect::<Vec<_>>(),
            "config_refused": refused.as_ref().map(|refused| json!({"at": refused.at, "reason": refused.reason})),
            "unheard": unheard.iter().map(|place| json!({"channel": place.channel, "since": place.since,
                "reason": place.reason, "waiting": place.waiting})).collect::<Vec<_>>(),
            "unserved": page(&unserved),
            "no_decisions": page(&no_decisions),
        }));
    } else {
        lines(ui, &config, &views);
        unconfigured.iter().for_each(|job| ui.line(ui.paint(Paint::Yellow, &sanitize(&job.to_string()))));
        if is_full {
            let text = format!("the disk of {} is full: nothing is sent before there is room", config.state.home);
            ui.line(ui.paint(Paint::Red, &text));
        }
        if let Some(Refused { at, reason }) = &refused {
            let text = format!("the new configuration was refused {at:.0}, and the one before is in force: {reason}");
            ui.line(ui.paint(Paint::Red, &sanitize(&text)));
        }
        for (what, page) in [("status page", &unserved), ("pages for decisions", &no_decisions)] {
            if let Some(Unserved { since, reason }) = page {
                let text = format!("no {what} since {since:.0}: {reason}; it is tried again");
                ui.line(ui.paint(Paint::Red, &sanitize(&text)));
            }
        }
        for UnreachableChannel { channel, since, reason, waiting } in &unheard {
            let waits = match waiting {
                0 => String::new(),
                1 => "; 1 notice waits".to_owned(),
                many => format!("; {many} notices wait"),
            };
            let text = format!("{channel} reaches no one since {since:.0}: {reason}{waits}");
            ui.line(ui.paint(Paint::Red, &sanitize(&text)));
        }
        let blocked = budget.blocked_until.map(|until| format!("; the service asked to wait until {until:.0}"));
        ui.line(format!(
            "budget: {} of {} requests used in the last 60 seconds{}",
            budget.used,
            budget.limit,
            blocked.unwrap_or_default()
        ));
    }
    // Monitors get the same here as from the page's `/healthz`, and also what waits for a person.
    Ok(match health.is_good() {
        false => Exit::Failed,
        // What a person took back waits without a run that says so.
        true if views.iter().any(|view| view.status() == Some(Status::Held) || view.undecided > 0) => Exit::Held,
        true => Exit::Done,
    })
}

/// How things are; where no daemon runs, as the store says it.
async fn gathered(host: &Backend, config: &Arc<Config>) -> Result<Snapshot, Failure> {
    let (clock, home) = (Clock::system(), &config.state.home);
    let at = clock.now();
    Ok(match host {
        Backend::Here(_) => {
            let store = host.store(config).await?;
            // Pauses that can't be read are an error here, though the page is shown without them.
            reconcile::pauses(home).map_err(Failure::failed)?;
            let budget = BudgetState::of(&config.api, &clock);
            Snapshot::gather(&store, config, budget, at, &|job| without_daemon(&store, job, at))?
        }
        Backend::Daemon(lent) => {
            let (remembered, is_full) = lent.engine.remembered(config).await?;
            reconcile::pauses(home).map_err(Failure::failed)?;
            let seen = config.jobs.iter().map(|job| lent.engine.seen(&job.name)).collect();
            let budget = lent.engine.setup().client.budget();
            Snapshot::of(remembered, config, Around { budget, at, is_full, seen })
        }
    })
}

/// What is known of a job besides the store. Without the daemon it is due the first time after the last run, and where that
/// is past, the daemon makes it up when it begins.
fn without_daemon(store: &Store, job: &Job, now: Timestamp) -> Result<LiveJobState, store::Error> {
    let Some(schedule) = &job.schedule else { return Ok(LiveJobState::default()) };
    let last = JobState::load(store, &job.name)?.last.map(|last| last.started);
    let served = daemon::served(store, &job.name)?.max(last);
    let next = schedule.next_after(served.unwrap_or(now).min(now), &job.time_zone);
    Ok(LiveJobState { next, late_from: next, ..LiveJobState::default() })
}

fn document(view: &JobView) -> serde_json::Value {
    json!({
        "name": view.name,
        "last": view.last,
        "next": view.next,
        "running_since": view.running.as_ref().map(|running| running.since),
        "known": view.known,
        "held": view.held,
        "held_set": view.held_set,
        "queued": view.queued,
        "parked": view.parked.len(),
    "missing": view.missing,
        "oldest_leaver": view.oldest_leaver,
        "overdue": view.overdue.as_deref(),
        "unused_file": view.unused_file,
        "inbox": view.inbox.as_ref().map(|inbox| match inbox {
            Ok(files) => json!({"waiting": files}),
            Err(error) => json!({"error": error}),
        }),
        "paused": view.paused.as_ref().map(pause::document),
    })
}

fn lines(ui: &Ui, config: &Config, views: &[JobView]) {
    for view in views {
        let name = ui.paint(Paint::Bold, view.name.as_str());
        match &view.last {
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
                let reasons: Vec<String> = view.reasons_besides().map(|reason| sanitize(&reason.text)).collect();
                if !reasons.is_empty() {
                    ui.line(format!("  {}", reasons.join("; ")));
                }
            }
        }
        if let Some(pause) = &view.paused {
            ui.line(format!("  {}", ui.paint(Paint::Yellow, &sanitize(&pause.reason()))));
        }
        let set = if view.held > 0 { format!(" (set {})", view.held_set) } else { String::new() };
        ui.line(format!(
            "  {} {} known, {}{set}, {} queued, {} parked",
            view.known,
            view.target.plural(),
            counted(view.held, "change held", "changes held"),
            view.queued,
            view.parked.len()
        ));
        if let Some(missing) = &view.missing {
            let people = sanitize(&missing.describe(&view.time_zone, Clock::system().now()));
            ui.line(format!("  missing: {people}; `rosterd plan {}` lists them", view.name));
        }
        match &view.inbox {
            Some(Ok(files)) if !files.is_empty() => ui.line(format!("  in the inbox: {}", sanitize(&files.join(", ")))),
            Some(Err(error)) => ui.line(format!("  {}", ui.paint(Paint::Red, &sanitize(error)))),
            _ => {}
        }
        if let Some(overdue) = &view.overdue {
            ui.line(format!("  {}", ui.paint(Paint::Yellow, &sanitize(overdue))));
        }
        if let Some(running) = &view.running {
            let stage = if running.stage.is_empty() { String::new() } else { format!(": {}", running.stage) };
            ui.line(format!("  running since {:.0}{stage}", running.since));
        } else if let Some(next) = view.next {
            ui.line(format!("  due next {next:.0}"));
        }
    }
    ui.line(format!("state: {}", config.state.home));
}
