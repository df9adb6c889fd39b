//! `rosterd plan`.

use crate::text::clock_time;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::ser::{Error as _, Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::{Value, json};

use super::sync::{missing, rejected_document, rejections};
use crate::cli::args::PlanArgs;
use crate::cli::backend::Backend;
use crate::cli::backend::session::{self, Session, Work};
use crate::cli::ui::{Exit, Failure, Paint, Ui, sanitize, values};
use crate::config::Config;
use crate::fault::chain;
use crate::operator::PlanFile;
use crate::plan::{Change, ChangeSummary, HoldReason, Judged as _, Outline, Protection};
use crate::reconcile::{self, For, JobPlan, KeyFilter, Missed, Plan};
use crate::record::{Action, JobName, Key, Target};
use crate::spool;

/// How many changes of each kind are listed; the rest is counted.
const LISTED_MAX: usize = 100;
/// From so many changes on, a plan begins with a summary.
const OVERVIEW_FROM: u64 = 5;

pub(crate) async fn run(ui: &Ui, host: &Backend, args: &PlanArgs) -> Result<Exit, Failure> {
    let config = session::callers_configuration(ui, host)?;
    let narrow = session::narrow(&args.jobs.keys)?;
    let jobs = session::jobs(&config, &args.jobs.jobs)?;
    let session = Session::open(ui, host, &config, Work::Look).await?;
    let what_for = if args.out.is_some() { For::File } else { For::Show };
    let plans = session.guard(reconcile::plan(&session.context(), &jobs, &narrow, what_for)).await?;
    show(ui, &plans, Detail { show_values: args.show_values, listed_max: LISTED_MAX })?;
    let made = || plans.iter().filter_map(|plan| plan.result.as_ref().ok());
    if made().count() < plans.len() {
        args.out.iter().for_each(|path| ui.warn(format!("{} was not written: a job has no plan", path.display())));
        return Ok(Exit::Failed);
    }
    if let Some(path) = &args.out {
        let file = PlanFile::new(&session.context(), &plans, &narrow, args.show_values).map_err(Failure::failed)?;
        save(ui, host, path, &file)?;
    }
    let changes = made().flat_map(|(parts, _)| parts).any(|plan| changes(plan).next().is_some());
    Ok(if args.exit_code && changes { Exit::Changes } else { Exit::Done })
}

fn save(ui: &Ui, host: &Backend, path: &Path, file: &PlanFile) -> Result<(), Failure> {
    host.write(path, file.encode().as_bytes())?;
    let (go, held) = file.counts();
    let besides = if held > 0 { format!(", and shows {held} that wait for an approval") } else { String::new() };
    ui.note(format!("{} holds {go} changes{besides}; `rosterd apply` sends them once", path.display()));
    Ok(())
}

pub(crate) async fn plan(
    ui: &Ui,
    host: &Backend,
    config: &Config,
    jobs: &[String],
    narrow: &KeyFilter,
) -> Result<Vec<Plan>, Failure> {
    let jobs = session::jobs(config, jobs)?;
    let session = Session::open(ui, host, config, Work::Look).await?;
    session.guard(reconcile::plan(&session.context(), &jobs, narrow, For::Show)).await
}

/// How much of a plan is shown.
#[derive(Clone, Copy)]
pub(crate) struct Detail {
    /// Whether sensitive values are.
    pub(crate) show_values: bool,
    /// How many changes of a kind, and how many missing people.
    pub(crate) listed_max: usize,
}

pub(crate) fn show(ui: &Ui, plans: &[Plan], detail: Detail) -> Result<(), Failure> {
    if ui.json {
        return ui.stream(&Document(plans)).map_err(Failure::failed);
    }
    for plan in plans {
        match &plan.result {
            Ok((parts, foreign)) => {
                for prepared in parts {
                    let foreign = (prepared.job == plan.job).then_some(*foreign);
                    lines(ui, prepared, foreign, detail).map_err(Failure::failed)?;
                }
            }
            Err(error) => {
                ui.line(format!("{}: {}: {}", plan.job, ui.paint(Paint::Red, "failed"), sanitize(&chain(error))))
            }
        }
    }
    Ok(())
}

/// All changes of a plan with the reason for which they wait, where they do: leavers, joiners, movers.
fn changes(plan: &JobPlan) -> impl Iterator<Item = (&Outline, Option<&HoldReason>)> {
    [Action::Delete, Action::Create, Action::Update].into_iter().flat_map(|action| of_kind(plan, action))
}

fn of_kind(plan: &JobPlan, action: Action) -> impl Iterator<Item = (&Outline, Option<&HoldReason>)> {
    let held = plan.held.iter().filter_map(|held| Some((held.change.as_ref()?, Some(&held.reason))));
    let go = plan.go.iter().map(|change| (change, plan.waits.get(&change.key)));
    go.chain(held).filter(move |(change, _)| change.action == action)
}

fn reasons(plan: &JobPlan) -> Option<String> {
    let blocked = plan.blocked_by();
    let all: BTreeSet<String> =
        blocked.into_iter().chain(plan.held.iter().map(|held| held.reason.to_string())).collect();
    (!all.is_empty()).then(|| all.into_iter().collect::<Vec<_>>().join("; "))
}

/// Records that are new, and those that have an entity.
fn new_and_matched(plan: &JobPlan) -> (u64, u64) {
    let is_new = |change: &&Outline| change.action == Action::Create && !change.is_known();
    let created = of_kind(plan, Action::Create).filter(|(change, _)| is_new(change)).count();
    // Who was rejected is not at the service either.
    let new = (created + plan.dropped.iter().filter(is_new).count()) as u64;
    let unclear = plan.held.iter().filter(|held| held.change.is_none()).count() as u64;
    (new, plan.records.saturating_sub(new + unclear))
}

/// All plans as one document, written change by change: a first run has one for everybody.
struct Document<'a>(&'a [Plan]);

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_map(None)?;
        document.serialize_entry("version", &1)?;
        document.serialize_entry("jobs", &self.0.iter().map(OfJob).collect::<Vec<_>>())?;
        document.end()
    }
}

struct OfJob<'a>(&'a Plan);

impl Serialize for OfJob<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Plan { job, result } = self.0;
        let (parts, foreign) = match result {
            Ok((parts, foreign)) => (parts, *foreign),
            // The same members as of any other job, with nothing in them.
            Err(error) => {
                let mut facts = facts(job, &[], 0);
                facts.insert("complete".to_owned(), false.into());
                facts.insert("changes".to_owned(), json!([]));
                facts.insert("error".to_owned(), chain(error).into());
                return facts.serialize(serializer);
            }
        };
        let mut document = serializer.serialize_map(None)?;
        for (name, value) in facts(job, parts, foreign) {
            document.serialize_entry(&name, &value)?;
        }
        document.serialize_entry("changes", &Changes(parts))?;
        document.end()
    }
}

struct Changes<'a>(&'a [JobPlan]);

impl Serialize for Changes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(None)?;
        for plan in self.0 {
            for (outline, held) in changes(plan) {
                let change = plan.spill.change(outline).map_err(|error| S::Error::custom(chain(&error)))?;
                let name = plan.names.get(&change.key).map(String::as_str);
                all.serialize_element(&OfChange {
                    target: plan.target,
                    change: &change,
                    name,
                    held: held.map(ToString::to_string),
                })?;
            }
        }
        all.end()
    }
}

struct OfChange<'a> {
    target: Target,
    change: &'a Change,
    /// The person that it removes.
    name: Option<&'a str>,
    held: Option<String>,
}

impl Serialize for OfChange<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { target, change, name, held } = self;
        let mut document = serializer.serialize_map(None)?;
        document.serialize_entry("action", &change.wish.action)?;
        document.serialize_entry("fields", &Fields(change))?;
        document.serialize_entry("held", held)?;
        document.serialize_entry("id", &change.wish.id)?;
        document.serialize_entry("key", &change.key)?;
        document.serialize_entry("leaver", &change.wish.leaves())?;
        document.serialize_entry("line", &change.line)?;
        document.serialize_entry("name", name)?;
        document.serialize_entry("target", target)?;
        document.end()
    }
}

struct Fields<'a>(&'a Change);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Moved<'a> {
            from: &'a crate::record::Value,
            to: &'a crate::record::Value,
        }
        serializer.collect_map(self.0.moves().map(|(field, from, to)| (field, Moved { from, to })))
    }
}

fn missed_json(plan: &JobPlan) -> Vec<Value> {
    let one =
        |one: &Missed| json!({"key": one.key, "name": plan.names.get(&one.key), "since": one.since, "due": one.due});
    plan.missed.iter().map(one).collect()
}

/// What a plan says of a job besides its changes.
fn facts(job: &JobName, parts: &[JobPlan], foreign: u64) -> serde_json::Map<String, Value> {
    let reasons: BTreeSet<String> = parts.iter().filter_map(reasons).collect();
    let held = (!reasons.is_empty()).then(|| reasons.into_iter().collect::<Vec<_>>().join("; "));
    let rejected = rejected_document(parts.iter().flat_map(|plan| &plan.rejected));
    let bad_values = rejected_document(parts.iter().flat_map(|plan| &plan.bad_values));
    let incomplete: BTreeSet<&String> =
        parts.iter().flat_map(|plan| plan.incomplete.iter().chain(&plan.doubt).chain(&plan.lost)).collect();
    let drift: BTreeMap<&Key, &Vec<String>> = parts.iter().flat_map(|plan| &plan.drift).collect();
    // A narrowed run may leave parts out, and its own is never among them.
    let own = parts.iter().find(|plan| plan.job == *job);
    let (new, matched) = own.map_or((0, 0), new_and_matched);
    let facts = json!({
        "name": job,
        "complete": parts.iter().all(|plan| plan.complete),
        "incomplete": incomplete,
        "records": own.map_or(0, |plan| plan.records),
        "unchanged": own.map_or(0, |plan| plan.unchanged),
        "matched": matched,
        "new": new,
        "foreign": foreign,
        "held": held.map(|reason| json!({"reason": reason})),
        "inbox": own.and_then(|plan| plan.inbox.as_ref()).map(|inbox| json!({"dir": inbox.dir, "file": inbox.file, "waiting": inbox.files})),
        "notes": parts.iter().flat_map(|plan| &plan.notes).collect::<BTreeSet<_>>(),
        "missing": own.map_or_else(Vec::new, missed_json),
        "matched_by": own.map(|plan| &plan.matched_by),
        "moving": parts.iter().flat_map(|plan| &plan.moving).map(|(key, reason)| (key, reason.to_string())).collect::<BTreeMap<_, _>>(),
        "protected": parts.iter().flat_map(|plan| &plan.protected).collect::<Vec<_>>(),
        "drift": drift,
        "rejected": rejected,
        "rejected_values": bad_values,
    });
    match facts {
        Value::Object(facts) => facts,
        _ => serde_json::Map::new(),
    }
}

fn lines(ui: &Ui, plan: &JobPlan, foreign: Option<u64>, detail: Detail) -> Result<(), spool::Error> {
    let (new, matched) = new_and_matched(plan);
    let first: u64 = plan.matched_by.values().sum();
    let by: Vec<String> = plan.matched_by.iter().map(|(field, count)| format!("{count} by {field}")).collect();
    let how = if first == 0 { String::new() } else { format!(" ({} for the first time: {})", first, by.join(", ")) };
    let many = plan.target.plural();
    let foreign = foreign.map(|foreign| format!("; {foreign} {many} at the service have no record here"));
    ui.line(format!(
        "{}: {} records: {matched} matched{how}, {new} new{}",
        ui.paint(Paint::Bold, plan.job.as_str()),
        plan.records,
        foreign.unwrap_or_default(),
    ));
    overview(ui, plan, detail)?;
    if of_kind(plan, Action::Create).next().is_some() && plan.target.has_presence() {
        ui.line("  creating people may send them mail, as the account is set up");
    }
    plan.notes.iter().for_each(|note| ui.line(format!("  {}", sanitize(note))));
    for reason in &plan.incomplete {
        ui.line(format!("  incomplete read, so no one leaves by absence: {}", sanitize(reason)));
    }
    plan.doubt.iter().chain(&plan.lost).for_each(|reason| ui.line(format!("  {}", sanitize(reason))));
    rejections(ui, "rejected", &plan.rejected);
    rejections(ui, "not used", &plan.bad_values);
    // Missing are people, not what joins them.
    missing(ui, plan.missing.as_ref().filter(|_| !plan.job.is_part()));
    missed(ui, plan, detail.listed_max);
    for action in [Action::Delete, Action::Create, Action::Update] {
        let mut all = of_kind(plan, action);
        for (one, held) in all.by_ref().take(detail.listed_max) {
            let one = plan.spill.change(one)?;
            let name = plan.names.get(&one.key).map(String::as_str);
            let name = name.or_else(|| name_of(&one).filter(|_| detail.show_values));
            change(ui, &one, name, held.map(ToString::to_string).as_deref(), detail.show_values);
        }
        let more = all.count();
        if more > 0 {
            ui.line(format!("    … and {more} more to {} (--json lists all)", action.name()));
        }
    }
    for held in plan.held.iter().filter(|held| held.change.is_none()) {
        let sign = ui.paint(Paint::Yellow, "!");
        ui.line(format!("  {sign} {}: {}", sanitize(held.key.as_str()), sanitize(&held.reason.to_string())));
    }
    for key in &plan.protected {
        let sign = ui.paint(Paint::Yellow, "!");
        ui.line(format!("  {sign} {}: gone from the source, and {}", sanitize(key.as_str()), Protection::REASON));
    }
    for (key, reason) in &plan.moving {
        let sign = ui.paint(Paint::Yellow, "!");
        ui.line(format!("  {sign} {}: {}", sanitize(key.as_str()), sanitize(&reason.to_string())));
    }
    for (key, fields) in &plan.drift {
        ui.line(format!("  = {}  edited at the service: {}", sanitize(key.as_str()), sanitize(&fields.join(", "))));
    }
    if let Some(reason) = plan.blocked_by() {
        ui.line(format!("  {} {reason}", ui.paint(Paint::Yellow, "held:")));
    }
    summary(ui, plan);
    Ok(())
}

/// What the changes do as a whole, where they are too many to be taken in at once.
fn overview(ui: &Ui, plan: &JobPlan, detail: Detail) -> Result<(), spool::Error> {
    let mut summary = ChangeSummary::default();
    for (outline, _) in changes(plan) {
        match outline.action {
            Action::Create | Action::Delete if plan.target == Target::Membership => {
                summary.add_membership(outline.action == Action::Create);
            }
            Action::Create => summary.add_create(),
            Action::Update | Action::Delete => summary.add(&plan.spill.change(outline)?),
        }
    }
    if summary.len() >= OVERVIEW_FROM {
        let shows = |field: &str| detail.show_values || !values::is_sensitive(field);
        summary.lines(shows).iter().for_each(|line| ui.line(format!("  {}", sanitize(line))));
    }
    Ok(())
}

/// The people who are missing from the source, without those whose removal is among the changes.
fn missed(ui: &Ui, plan: &JobPlan, listed_max: usize) {
    let changed: BTreeSet<&Key> = changes(plan).map(|(change, _)| &change.key).collect();
    let zone = TimeZone::system();
    let time = |at: Timestamp| clock_time(at, &zone);
    let mut waiting = plan.missed.iter().filter(|one| !changed.contains(&one.key));
    for one in waiting.by_ref().take(listed_max) {
        let name = plan.names.get(&one.key).map(|name| format!("  {}", sanitize(name))).unwrap_or_default();
        let then = one.due.map_or_else(|| "stays".to_owned(), |due| format!("until {}", time(due)));
        let sign = ui.paint(Paint::Yellow, "?");
        ui.line(format!("  {sign} {}{name}  missing since {}, {then}", sanitize(one.key.as_str()), time(one.since)));
    }
    let more = waiting.count();
    if more > 0 {
        ui.line(format!("    … and {more} more are missing (--json lists all)"));
    }
}

/// Shows one change, and why it waits where it is `held`.
pub(super) fn change(ui: &Ui, change: &Change, name: Option<&str>, held: Option<&str>, show_values: bool) {
    let sign = match change.wish.action {
        Action::Create => ui.paint(Paint::Green, "+"),
        Action::Update => ui.paint(Paint::Yellow, "~"),
        Action::Delete => ui.paint(Paint::Red, "-"),
    };
    let id = change.wish.id.map(|id| format!("  id {id}")).unwrap_or_default();
    let line = change.line.map(|line| format!("  line {line}")).unwrap_or_default();
    let leaver = if change.wish.leaver { " (gone from the source)" } else { "" };
    let what = change.wish.action.name();
    let name = name.map(|name| format!("  {}", sanitize(name))).unwrap_or_default();
    ui.line(format!("  {sign} {}{name}  {what}{leaver}{id}{line}", sanitize(change.key.as_str())));
    for (field, from, to) in change.moves() {
        let sensitive = values::is_sensitive(field);
        let text = |value| values::text(field, value, show_values);
        // What is hidden is still to be judged: whether there will be something, something else, or nothing.
        let fate = match (from.is_empty(), to.is_empty()) {
            _ if !sensitive || show_values => "",
            (true, _) => " (set)",
            (false, true) => " (cleared)",
            (false, false) => " (changed)",
        };
        match change.wish.action {
            Action::Create => ui.line(format!("      {}: {}", sanitize(field), text(to))),
            _ => ui.line(format!("      {}: {} → {}{fate}", sanitize(field), text(from), text(to))),
        }
    }
    if let Some(reason) = held {
        ui.line(format!("      {} {}", ui.paint(Paint::Yellow, "held:"), sanitize(reason)));
    }
}

/// The name that a person keeps: a change of the name itself shows both.
fn name_of(change: &Change) -> Option<&str> {
    let name = change.wish.fields.get("name")?.as_text();
    name.filter(|_| change.wish.action == Action::Update && !change.fields.contains_key("name"))
}

fn summary(ui: &Ui, plan: &JobPlan) {
    let count = |action| of_kind(plan, action).count();
    let (create, update, delete) = (count(Action::Create), count(Action::Update), count(Action::Delete));
    if create + update + delete == 0 {
        ui.line("No changes.");
        return;
    }
    let held = plan.held.iter().filter(|held| held.change.is_some()).count();
    let waits = if held == 0 { String::new() } else { format!(" {held} of them wait for an approval.") };
    ui.line(format!("Plan: {create} to create, {update} to update, {delete} to delete.{waits}"));
}
