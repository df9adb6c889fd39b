//! `rosterd history`.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cli::args::HistoryArgs;
use crate::cli::backend::{Backend, session};
use crate::cli::ui::{Exit, Failure, Message, Paint, Ui, sanitize, values};
use crate::config::Needs;
use crate::history::{Changed, Damage, Decisions, Event, HistoryQuery, PastRun, RunHistory};
use crate::reconcile::Status;
use crate::record::{Action, JobName};
use crate::text::some_of;

/// How many keys of decisions are listed; the rest is counted.
const KEYS_MAX: usize = 10;
/// How many changes of a run are listed; the rest is counted.
const CHANGES_MAX: usize = 1000;

/// Reads nothing but the audit files: it works while a run is under way, and with a damaged store.
pub(crate) fn run(ui: &Ui, host: &Backend, args: &HistoryArgs) -> Result<Exit, Failure> {
    let config = session::configuration_for(ui, host, Needs::State)?;
    let home = &config.state.home;
    match args.run {
        None => {
            let past = HistoryQuery::read(home).map_err(|error| Failure::unreadable(home, error))?;
            warn(ui, &past.damaged);
            list(ui, &past, args.limit, &|job| host.runs(job) || (!host.sends() && home.is_held()));
        }
        Some(run) => {
            let story = RunHistory::read(home, run).map_err(|error| Failure::unreadable(home, error))?;
            let story = story.ok_or_else(|| unknown(run))?;
            warn(ui, &story.damaged);
            tell(ui, &story, args.show_values);
        }
    }
    Ok(Exit::Done)
}

/// There is no such run.
pub(crate) fn unknown(run: u64) -> Failure {
    Failure::failed(Message(format!("no record of run {run}"))).hint("`rosterd history` lists the runs")
}

fn warn(ui: &Ui, damaged: &[Damage]) {
    for Damage { file, line } in damaged {
        ui.warn(format!("{}:{line}: the line can't be read", file.display()));
    }
}

fn list(ui: &Ui, past: &HistoryQuery, limit: usize, goes_on: &dyn Fn(&JobName) -> bool) {
    let newest = past.events.iter().rev().take(if limit == 0 { usize::MAX } else { limit });
    // Only the newest run of a job can be under way.
    let mut seen = BTreeSet::new();
    let mut runs = |past: &PastRun| seen.insert(past.job.clone()) && past.end.is_none() && goes_on(&past.job);
    if ui.json {
        let events: Vec<Value> = newest.map(|event| document(event, &mut runs)).collect();
        ui.document(&json!({"version": 1, "events": events, "damaged": damages(&past.damaged)}));
        return;
    }
    if past.events.is_empty() {
        ui.line("nothing has happened yet");
    }
    for event in newest {
        match event {
            Event::Run(past) => run_line(ui, past, if runs(past) { "under way" } else { CUT_OFF }),
            Event::Decisions(decisions) => ui.line(decision_line(decisions)),
        }
    }
    if limit > 0 && past.events.len() > limit {
        ui.note(format!("{} earlier ones are not shown; --limit 0 shows all", past.events.len() - limit));
    }
}

fn document(event: &Event, runs: &mut dyn FnMut(&PastRun) -> bool) -> Value {
    match event {
        Event::Run(past) => {
            let end = past.end.as_ref();
            json!({
                "what": "run",
                "run": past.run,
                "job": past.job,
                "started": past.started,
                "ended": end.map(|end| end.at),
                "status": end.map(|end| &end.status),
                "complete": end.map(|end| end.complete),
                "counts": end.map(|end| &end.counts),
                "changes": past.changes,
                "under_way": runs(past),
                "reason": end.and_then(|end| end.reason.as_ref()),
                "reverts": end.and_then(|end| end.reverts),
                "by": end.and_then(|end| end.by.as_ref()),
            })
        }
        Event::Decisions(Decisions { first, keys }) => json!({
            "what": "decision",
            "at": first.at,
            "job": first.job,
            "decision": first.decision,
            "by": first.by,
            "via": first.via,
            "why": first.why,
            "keys": keys,
        }),
    }
}

/// A run that has no end and does not go on.
const CUT_OFF: &str = "cut off";

/// A run on one line, and why it did not end as done on another; `unfinished` says what became of one that has no end.
fn run_line(ui: &Ui, past: &PastRun, unfinished: &str) {
    let name = ui.paint(Paint::Bold, &format!("run {}", past.run));
    let begun = format!("{:.0}  {name}  {}", past.started, past.job);
    let Some(end) = &past.end else {
        ui.line(format!("{begun}: {}, {} changes", ui.paint(Paint::Yellow, unfinished), past.changes));
        return;
    };
    let count = |name: &str| end.counts.get(name).copied().unwrap_or(0);
    let undoes = end.reverts.map(|run| format!(", undoing run {run}")).unwrap_or_default();
    let by = end.by.as_ref().map(|by| format!(", by {}", sanitize(by))).unwrap_or_default();
    ui.line(format!(
        "{begun}: {}{undoes}{by}: {} created, {} updated, {} removed, {} held, {} parked, in {}",
        ui.paint(paint(&end.status), &end.status),
        count("created"),
        count("updated"),
        count("deleted"),
        count("held"),
        count("parked"),
        took(past.started, end.at),
    ));
    if end.status != Status::Done.name() {
        end.reason.iter().for_each(|reason| ui.line(format!("  {}", sanitize(reason))));
    }
}

/// How long a run took, as a person reads it.
fn took(started: Timestamp, ended: Timestamp) -> String {
    match ended.duration_since(started).as_secs().max(0) {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

fn paint(status: &str) -> Paint {
    match status {
        "done" => Paint::Green,
        "failed" => Paint::Red,
        _ => Paint::Yellow,
    }
}

fn decision_line(Decisions { first, keys }: &Decisions) -> String {
    let of = first.job.as_ref().map_or_else(|| "all jobs".to_owned(), ToString::to_string);
    let why = first.why.as_ref().map(|why| format!(": {}", sanitize(why))).unwrap_or_default();
    let many = if keys.is_empty() { String::new() } else { format!(" {}", keys.len()) };
    let whose = if keys.is_empty() {
        format!(" {of}")
    } else {
        format!(" of {of}: {}", some_of(keys.iter().map(|key| sanitize(key.as_str())), KEYS_MAX))
    };
    let by = sanitize(&first.by);
    let via = first.via.as_ref().map(|via| format!(" via {}", sanitize(via))).unwrap_or_default();
    format!("{:.0}  {}{many}{whose} by {by}{via}{why}", first.at, sanitize(&first.decision))
}

fn damages(damaged: &[Damage]) -> Vec<Value> {
    damaged.iter().map(|one| json!({"file": one.file, "line": one.line})).collect()
}

fn tell(ui: &Ui, story: &RunHistory, show_values: bool) {
    if ui.json {
        ui.document(&story_document(story));
        return;
    }
    let started = story.end.as_ref().map(|end| end.started).or_else(|| story.changes.first().map(|first| first.at));
    let past = PastRun {
        run: story.run,
        job: story.job.clone(),
        started: started.expect("there is an end or a change, or there would be no story"),
        end: story.end.clone(),
        changes: story.changes.len() as u64,
    };
    run_line(ui, &past, CUT_OFF);
    let mut decisions = HistoryQuery::grouped(&story.decisions).into_iter().peekable();
    for changed in story.changes.iter().take(CHANGES_MAX) {
        while let Some(before) = decisions.next_if(|decided| decided.first.at <= changed.at) {
            ui.line(format!("  {}", decision_line(&before)));
        }
        change_lines(ui, changed, show_values);
    }
    let more = story.changes.len().saturating_sub(CHANGES_MAX);
    if more > 0 {
        ui.line(format!("  … and {more} more (--json lists all)"));
    }
    decisions.for_each(|decided| ui.line(format!("  {}", decision_line(&decided))));
    for undone in &story.reverts {
        let by = undone.by.as_ref().map(|by| format!(" by {}", sanitize(by))).unwrap_or_default();
        ui.line(format!("  {:.0}  undone by run {}{by}", undone.at, undone.run));
    }
}

fn change_lines(ui: &Ui, changed: &Changed, show_values: bool) {
    let sign = match changed.action {
        Action::Create => ui.paint(Paint::Green, "+"),
        Action::Update => ui.paint(Paint::Yellow, "~"),
        Action::Delete => ui.paint(Paint::Red, "-"),
    };
    let id = changed.id.map(|id| format!("  id {id}")).unwrap_or_default();
    let (key, action) = (sanitize(changed.key.as_str()), changed.action.name());
    ui.line(format!("  {:.0}  {sign} {key}  {action}{id}", changed.at));
    for (field, moved) in &changed.fields {
        let text = |value| values::text(field, value, show_values);
        ui.line(match moved {
            None => format!("      {}: values dropped (retention.before_images)", sanitize(field)),
            Some([_, to]) if changed.action == Action::Create => format!("      {}: {}", sanitize(field), text(to)),
            Some([from, to]) => format!("      {}: {} → {}", sanitize(field), text(from), text(to)),
        });
    }
}

fn story_document(story: &RunHistory) -> Value {
    let end = story.end.as_ref();
    let change = |changed: &Changed| {
        json!({
            "at": changed.at,
            "action": changed.action,
            "key": changed.key,
            "id": changed.id,
            "fields": values::moved(changed.fields.iter()),
        })
    };
    json!({
        "version": 1,
        "run": story.run,
        "job": story.job,
        "started": end.map(|end| end.started),
        "ended": end.map(|end| end.at),
        "status": end.map(|end| &end.status),
        "complete": end.map(|end| end.complete),
        "counts": end.map(|end| &end.counts),
        "reason": end.and_then(|end| end.reason.as_ref()),
        "reverts": end.and_then(|end| end.reverts),
        "by": end.and_then(|end| end.by.as_ref()),
        "reverted_by": story.reverts.iter().map(|undone| undone.run).collect::<Vec<_>>(),
        "changes": story.changes.iter().map(change).collect::<Vec<_>>(),
        "decisions": story.decisions,
        "damaged": damages(&story.damaged),
    })
}
