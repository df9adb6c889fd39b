//! `rosterd plan`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use super::apply;
use super::args::PlanArgs;
use super::failure::{Exit, Failure};
use super::open::{self, Session};
use super::sync::rejections;
use super::ui::{Paint, Ui, tame};
use crate::config::Config;
use crate::fault::chain;
use crate::plan::{Change, Delta, Protection};
use crate::record::{Action, Target};
use crate::run::{self, Narrow, Plan, PlanFile, Prepared};

/// How many changes of each kind are listed; the rest is counted.
const LISTED_MAX: usize = 100;

pub(super) async fn run(ui: &Ui, config: &Path, args: &PlanArgs) -> Result<Exit, Failure> {
    let config = open::configuration(ui, config)?;
    let narrow = open::narrow(&args.jobs.keys)?;
    let jobs = open::jobs(&config, &args.jobs.jobs)?;
    let session = Session::open(ui, &config)?;
    let plans = session.guard(run::plan(&session.context(), &jobs, &narrow)).await?;
    show(ui, &plans, args.show_values, LISTED_MAX);
    let made = || plans.iter().filter_map(|plan| plan.result.as_ref().ok());
    if made().count() < plans.len() {
        args.out.iter().for_each(|path| ui.warn(format!("{} was not written: a job has no plan", path.display())));
        return Ok(Exit::Failed);
    }
    if let Some(path) = &args.out {
        save(ui, path, &PlanFile::new(&session.context(), &plans, &narrow, args.show_values))?;
    }
    let changes = made().any(|(plan, _)| changes(plan).next().is_some());
    Ok(if args.exit_code && changes { Exit::Changes } else { Exit::Done })
}

fn save(ui: &Ui, path: &Path, file: &PlanFile) -> Result<(), Failure> {
    apply::write(path, file)?;
    let (go, held) = file.counts();
    let besides = if held > 0 { format!(", and shows {held} that wait for an approval") } else { String::new() };
    ui.note(format!("{} holds {go} changes{besides}; `rosterd apply` sends them once", path.display()));
    Ok(())
}

pub(super) async fn plan(ui: &Ui, config: &Config, jobs: &[String], narrow: &Narrow) -> Result<Vec<Plan>, Failure> {
    let jobs = open::jobs(config, jobs)?;
    let session = Session::open(ui, config)?;
    session.guard(run::plan(&session.context(), &jobs, narrow)).await
}

pub(super) fn show(ui: &Ui, plans: &[Plan], show_values: bool, listed_max: usize) {
    if ui.json {
        let jobs: Vec<Value> = plans
            .iter()
            .map(|plan| match &plan.result {
                Ok((prepared, foreign)) => document(prepared, *foreign),
                Err(error) => json!({"name": plan.job, "error": chain(error)}),
            })
            .collect();
        ui.document(&json!({"version": 1, "jobs": jobs}));
        return;
    }
    for plan in plans {
        match &plan.result {
            Ok((prepared, foreign)) => lines(ui, prepared, *foreign, show_values, listed_max),
            Err(error) => ui.line(format!("{}: {}: {}", plan.job, ui.paint(Paint::Red, "failed"), tame(&chain(error)))),
        }
    }
}

/// All changes of a plan with the reason for which they wait, where they do: leavers, joiners, movers.
fn changes(plan: &Prepared) -> impl Iterator<Item = (&Change, Option<&str>)> {
    let held = plan.held.iter().filter_map(|held| Some((held.change.as_ref()?, Some(held.reason.as_str()))));
    let waits = |change: &Change| plan.waits.get(&change.key).map(String::as_str);
    let all: Vec<_> = plan.go.iter().map(|(change, _)| (change, waits(change))).chain(held).collect();
    [Action::Delete, Action::Create, Action::Update]
        .into_iter()
        .flat_map(move |action| all.clone().into_iter().filter(move |(change, _)| change.wish.action == action))
}

fn reasons(plan: &Prepared) -> Option<String> {
    let all: BTreeSet<&str> =
        plan.hold.iter().map(String::as_str).chain(plan.held.iter().map(|held| held.reason.as_str())).collect();
    (!all.is_empty()).then(|| all.into_iter().collect::<Vec<_>>().join("; "))
}

/// Records that are new, and those that have an entity.
fn new_and_matched(plan: &Prepared) -> (u64, u64) {
    let new = changes(plan).filter(|(change, _)| change.wish.action == Action::Create && !change.known).count() as u64;
    let unclear = plan.held.iter().filter(|held| held.change.is_none()).count() as u64;
    (new, plan.records.saturating_sub(new + unclear))
}

fn document(plan: &Prepared, foreign: u64) -> Value {
    let fields = |fields: &BTreeMap<String, Delta>| -> serde_json::Map<String, Value> {
        let delta = |delta: &Delta| json!({"from": delta.from.to_json(), "to": delta.to.to_json()});
        fields.iter().map(|(field, change)| (field.clone(), delta(change))).collect()
    };
    let change = |(change, held): (&Change, Option<&str>)| {
        json!({
            "action": change.wish.action,
            "target": Target::Staff,
            "key": change.key,
            "id": change.wish.id,
            "line": change.line,
            "held": held,
            "leaver": change.wish.leaves(),
            "fields": fields(&change.fields),
        })
    };
    let (new, matched) = new_and_matched(plan);
    json!({
        "name": plan.job,
        "complete": plan.complete,
        "incomplete": plan.incomplete,
        "records": plan.records,
        "unchanged": plan.unchanged,
        "matched": matched,
        "new": new,
        "foreign": foreign,
        "held": reasons(plan).map(|reason| json!({"reason": reason})),
        "changes": changes(plan).map(change).collect::<Vec<_>>(),
        "inbox": plan.inbox.as_ref().map(|inbox| json!({"dir": inbox.dir, "file": inbox.file, "waiting": inbox.files})),
        "notes": plan.notes,
        "matched_by": plan.matched_by,
        "protected": plan.protected,
        "drift": plan.drift,
        "rejected": plan.rejected.iter().map(|row| json!({
            "key": row.key, "line": row.line, "field": row.field, "reason": row.reason,
        })).collect::<Vec<_>>(),
    })
}

fn lines(ui: &Ui, plan: &Prepared, foreign: u64, show_values: bool, listed_max: usize) {
    let (new, matched) = new_and_matched(plan);
    let first: u64 = plan.matched_by.values().sum();
    let by: Vec<String> = plan.matched_by.iter().map(|(field, count)| format!("{count} by {field}")).collect();
    let how = if first == 0 { String::new() } else { format!(" ({} for the first time: {})", first, by.join(", ")) };
    ui.line(format!(
        "{}: {} records: {matched} matched{how}, {new} new; {foreign} people at the service have no record here",
        ui.paint(Paint::Bold, plan.job.as_str()),
        plan.records,
    ));
    if new > 0 {
        ui.line("  creating people may send them mail, as the account is set up");
    }
    plan.notes.iter().for_each(|note| ui.line(format!("  {}", tame(note))));
    for reason in &plan.incomplete {
        ui.line(format!("  incomplete read, so nobody leaves by absence: {}", tame(reason)));
    }
    rejections(ui, &plan.rejected);
    for action in [Action::Delete, Action::Create, Action::Update] {
        let mut all = changes(plan).filter(|(change, _)| change.wish.action == action);
        all.by_ref().take(listed_max).for_each(|(one, held)| change(ui, plan, one, held, show_values));
        let more = all.count();
        if more > 0 {
            ui.line(format!("    … and {more} more to {} (--json lists all)", action.name()));
        }
    }
    for held in plan.held.iter().filter(|held| held.change.is_none()) {
        let sign = ui.paint(Paint::Yellow, "!");
        ui.line(format!("  {sign} {}: {}", tame(held.key.as_str()), tame(&held.reason)));
    }
    for key in &plan.protected {
        let sign = ui.paint(Paint::Yellow, "!");
        ui.line(format!("  {sign} {}: gone from the source, and {}", tame(key.as_str()), Protection::REASON));
    }
    for (key, fields) in &plan.drift {
        ui.line(format!("  = {}  edited at the service: {}", tame(key.as_str()), tame(&fields.join(", "))));
    }
    if let Some(reason) = &plan.hold {
        ui.line(format!("  {} {reason}", ui.paint(Paint::Yellow, "held:")));
    }
    summary(ui, plan);
}

fn change(ui: &Ui, plan: &Prepared, change: &Change, held: Option<&str>, show_values: bool) {
    let sign = match change.wish.action {
        Action::Create => ui.paint(Paint::Green, "+"),
        Action::Update => ui.paint(Paint::Yellow, "~"),
        Action::Delete => ui.paint(Paint::Red, "-"),
    };
    let id = change.wish.id.map(|id| format!("  id {id}")).unwrap_or_default();
    let line = change.line.map(|line| format!("  line {line}")).unwrap_or_default();
    let leaver = if change.wish.leaver { " (gone from the source)" } else { "" };
    let what = change.wish.action.name();
    ui.line(format!("  {sign} {}  {what}{leaver}{id}{line}", tame(change.key.as_str())));
    for (field, delta) in &change.fields {
        let sensitive = plan.fields.iter().any(|known| known.name == *field && known.sensitive);
        let text = |value: &crate::record::Value| match value {
            value if value.is_empty() => "(empty)".to_owned(),
            _ if sensitive && !show_values => "***".to_owned(),
            value => format!("\"{}\"", tame(&value.shown())),
        };
        // What is hidden is still to be judged: whether there will be something, something else, or nothing.
        let fate = match (delta.from.is_empty(), delta.to.is_empty()) {
            _ if !sensitive || show_values => "",
            (true, _) => " (set)",
            (false, true) => " (cleared)",
            (false, false) => " (changed)",
        };
        match change.wish.action {
            Action::Create => ui.line(format!("      {}: {}", tame(field), text(&delta.to))),
            _ => ui.line(format!("      {}: {} → {}{fate}", tame(field), text(&delta.from), text(&delta.to))),
        }
    }
    if let Some(reason) = held {
        ui.line(format!("      {} {}", ui.paint(Paint::Yellow, "held:"), tame(reason)));
    }
}

fn summary(ui: &Ui, plan: &Prepared) {
    let count = |action| changes(plan).filter(|(change, _)| change.wish.action == action).count();
    let (create, update, delete) = (count(Action::Create), count(Action::Update), count(Action::Delete));
    if create + update + delete == 0 {
        ui.line("No changes.");
        return;
    }
    let held = plan.held.iter().filter(|held| held.change.is_some()).count();
    let waits = if held == 0 { String::new() } else { format!(" {held} of them wait for an approval.") };
    ui.line(format!("Plan: {create} to create, {update} to update, {delete} to delete.{waits}"));
}
