//! `rosterd revert`.

use serde_json::{Value, json};

use super::{history, plan};
use crate::cli::args::RevertArgs;
use crate::cli::backend::Backend;
use crate::cli::backend::session::{self, Session, Work};
use crate::cli::ui::{Exit, Failure, Message, Paint, Ui, sanitize};
use crate::history::RunHistory;
use crate::operator::{self, Reverted};
use crate::plan::{Change, HoldReason};
use crate::reconcile::Status;

/// How many changes are listed, and how many things that are left as they are; the rest is counted.
const LISTED_MAX: usize = 100;

pub(crate) async fn run(ui: &Ui, host: &Backend, args: &RevertArgs) -> Result<Exit, Failure> {
    let config = session::configuration(ui, host)?;
    let home = &config.state.home;
    let story = RunHistory::read(home, args.run).map_err(|error| Failure::unreadable(home, error))?;
    let story = story.ok_or_else(|| history::unknown(args.run))?;
    if story.changes.is_empty() {
        return Err(Failure::failed(Message(format!("run {} changed no one, so there is nothing to undo", args.run))));
    }
    let job = session::job(&config, story.job.as_str())?;
    let session = Session::open(ui, host, &config, if args.plan { Work::Look } else { Work::of([job]) }).await?;
    let context = session.context();
    let reverted = if args.plan {
        session.guard(operator::plan_revert(&context, job, &story)).await?
    } else {
        session.guard(operator::revert(&context, job, &story)).await?
    };
    host.ran(reverted.run.map(|_| &reverted.report));
    if ui.json {
        ui.document(&document(&story, &reverted));
    } else {
        View { ui, story: &story, reverted: &reverted, show_values: args.show_values }.show();
    }
    if session.is_interrupted() {
        return Err(Failure::new(Exit::Interrupted, "interrupted; what was not sent stays queued"));
    }
    Ok(if args.plan { Exit::Done } else { Exit::of_runs([reverted.report.status].into_iter()) })
}

/// All changes with the reason for which they wait, where they do.
fn changes(reverted: &Reverted) -> impl Iterator<Item = (&Change, Option<&HoldReason>)> {
    let held = reverted.held.iter().filter_map(|held| Some((held.change.as_ref()?, Some(&held.reason))));
    reverted.go.iter().map(|change| (change, None)).chain(held)
}

fn document(story: &RunHistory, reverted: &Reverted) -> Value {
    let change = |(change, held): (&Change, Option<&HoldReason>)| {
        let fields: serde_json::Map<String, Value> = change
            .fields
            .iter()
            .map(|(field, delta)| (field.to_string(), json!({"from": delta.from.to_json(), "to": delta.to.to_json()})))
            .collect();
        json!({
            "action": change.wish.action,
            "key": change.key,
            "name": reverted.names.get(&change.key),
            "id": change.wish.id,
            "held": held.map(ToString::to_string),
            "fields": fields,
        })
    };
    let untouched = reverted.untouched.iter();
    let report = &reverted.report;
    json!({
        "version": 1,
        "reverts": story.run,
        "run": reverted.run,
        "job": story.job,
        "status": reverted.run.map(|_| report.status),
        "updated": report.counts.updated,
        "deleted": report.counts.deleted,
        "parked": report.counts.parked,
        "held": reverted.held.len(),
        "requests": report.counts.requests,
        "reason": reverted.run.and_then(|_| report.reason()),
        "changes": changes(reverted).map(change).collect::<Vec<_>>(),
        "untouched": untouched
            .map(|one| json!({"key": one.key, "field": one.field, "reason": one.reason}))
            .collect::<Vec<_>>(),
    })
}

struct View<'a> {
    ui: &'a Ui,
    story: &'a RunHistory,
    reverted: &'a Reverted,
    show_values: bool,
}

impl View<'_> {
    fn show(&self) {
        let (ui, reverted) = (self.ui, self.reverted);
        let undoing = format!("undoing run {} of {}", self.story.run, self.story.job);
        ui.line(ui.paint(Paint::Bold, &undoing));
        for (change, held) in changes(reverted).take(LISTED_MAX) {
            let name = reverted.names.get(&change.key).map(String::as_str);
            plan::change(ui, change, name, held.map(ToString::to_string).as_deref(), self.show_values);
        }
        self.more(changes(reverted).count());
        for one in reverted.untouched.iter().take(LISTED_MAX) {
            let field = one.field.as_ref().map(|field| format!(" {}", sanitize(field))).unwrap_or_default();
            ui.line(format!(
                "  {} {}{field}: {}",
                ui.paint(Paint::Yellow, "!"),
                sanitize(one.key.as_str()),
                one.reason
            ));
        }
        self.more(reverted.untouched.len());
        match reverted.run {
            None => self.planned(),
            Some(run) => self.done(run),
        }
    }

    fn more(&self, count: usize) {
        if count > LISTED_MAX {
            self.ui.line(format!("    … and {} more (--json lists all)", count - LISTED_MAX));
        }
    }

    fn planned(&self) {
        let (go, held) = (self.reverted.go.len(), self.reverted.held.len());
        self.ui
            .line(format!("Plan: {} to put back, {held} of them wait for an approval; nothing was sent.", go + held));
    }

    fn done(&self, run: u64) {
        let report = &self.reverted.report;
        let paint = match report.status {
            Status::Done => Paint::Green,
            Status::Partial | Status::Held => Paint::Yellow,
            Status::Failed => Paint::Red,
        };
        let counts = &report.counts;
        self.ui.line(format!(
            "run {run}: {} — {} put back, {} removed; {} parked, {} held; {} requests",
            self.ui.paint(paint, report.status.name()),
            counts.updated,
            counts.deleted,
            counts.parked,
            counts.held,
            counts.requests,
        ));
        report.reasons.iter().for_each(|reason| self.ui.line(format!("  {}", sanitize(reason))));
        let job = &self.story.job;
        if !self.reverted.held.is_empty() {
            self.ui
                .line(format!("  `rosterd approve {job}` releases them, and the next `rosterd sync {job}` sends them"));
        }
        if counts.updated + counts.deleted > 0 {
            self.ui.line(
                "  where the source still wants what was undone, that counts as rejected until the record changes",
            );
        }
    }
}
