//! `rosterd sync`.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::cli::args::JobArgs;
use crate::cli::backend::Backend;
use crate::cli::backend::session::{self, Session, Work};
use crate::cli::ui::{Exit, Failure, Message, Paint, Ui, sanitize};
use crate::clock::Clock;
use crate::config::Config;
use crate::reconcile::{self, Context, KeyFilter, Missed, Missing, Report, Status};
use crate::record::{Key, Rejected};
use crate::text::{clock_time, thousands};

/// How many rejected rows, held or parked changes are listed; the rest is counted.
const LISTED_MAX: usize = 20;
/// How many of those that one reason concerns have a line each, or a name in their common line.
const NAMED_MAX: usize = 3;

pub(crate) async fn run(ui: &Ui, host: &Backend, args: &JobArgs) -> Result<Exit, Failure> {
    let config = session::configuration(ui, host)?;
    let narrow = session::narrow(&args.keys)?;
    let reports = sync(ui, host, &config, &args.jobs, &narrow).await?;
    show(ui, &reports);
    if let Some(key) = narrow.keys.iter().find(|key| is_unknown(key, &reports)) {
        let words = format!("no job that ran ever knew key {key}, and no row of its source that is included has it");
        return Err(Failure::failed(Message(words)).hint("see `rosterd preview` for the keys of a source"));
    }
    Ok(Exit::of_runs(reports.iter().map(|report| report.status)))
}

/// Whether all jobs say that they don't know a key.
fn is_unknown(key: &Key, reports: &[Report]) -> bool {
    let says = |report: &Report| report.unknown.as_ref().is_some_and(|unknown| unknown.contains(key));
    !reports.is_empty() && reports.iter().all(says)
}

/// One run of each job, with the store taken before anything else.
pub(crate) async fn sync(
    ui: &Ui,
    host: &Backend,
    config: &Config,
    jobs: &[String],
    narrow: &KeyFilter,
) -> Result<Vec<Report>, Failure> {
    let jobs = session::jobs(config, jobs)?;
    let session = Session::open(ui, host, config, Work::of(jobs.iter().copied())).await?;
    let context = session.context();
    let attended = host.attend(&jobs, context.watch);
    let context = Context { watch: attended.as_ref().map_or(context.watch, |attended| attended), ..context };
    let reports = session.guard(reconcile::sync(&context, &jobs, narrow)).await;
    drop(attended);
    let reports = reports?;
    host.ran(&reports);
    if session.is_interrupted() {
        show(ui, &reports);
        return Err(Failure::new(Exit::Interrupted, "interrupted; what was not sent stays queued"));
    }
    if !narrow.is_narrow() {
        host.served(&jobs);
    }
    Ok(reports)
}

pub(crate) fn show(ui: &Ui, reports: &[Report]) {
    if ui.json {
        let jobs: Vec<Value> = reports.iter().map(document).collect();
        ui.document(&json!({"version": 1, "jobs": jobs}));
        return;
    }
    for report in reports {
        lines(ui, report);
    }
}

pub(crate) fn document(report: &Report) -> Value {
    let counts = &report.counts;
    json!({
        "name": report.name,
        "status": report.status,
        "complete": report.complete,
        "records": counts.records,
        "missing": counts.missing,
        "rejected": counts.rejected,
        "rejected_values": counts.rejected_values,
        "created": counts.created,
        "updated": counts.updated,
        "deleted": counts.deleted,
        "unchanged": counts.unchanged,
        "parked": counts.parked,
        "held": counts.held,
        "requests": counts.requests,
        "reason": report.reason(),
        "rejected_rows": rejected_document(&report.rejections),
        "held_changes": report.held.iter().map(|(key, reason)| json!({"key": key, "reason": reason.to_string()})).collect::<Vec<_>>(),
    })
}

/// Rejected rows, each once: one may be of no use to several parts of a job.
pub(crate) fn rejected_document<'a>(rows: impl IntoIterator<Item = &'a Rejected>) -> Vec<Value> {
    let mut seen = HashSet::new();
    rows.into_iter()
        .filter(|row| seen.insert((row.line, &row.key, &row.reason)))
        .map(|row| json!({"key": row.key, "line": row.line, "field": row.field, "reason": row.reason.to_string()}))
        .collect()
}

pub(crate) fn lines(ui: &Ui, report: &Report) {
    let counts = &report.counts;
    let paint = match report.status {
        Status::Done => Paint::Green,
        Status::Partial | Status::Held => Paint::Yellow,
        Status::Failed => Paint::Red,
    };
    ui.line(format!(
        "{}: {} — {} records: {} created, {} updated, {} removed, {} unchanged; {} rejected, {} parked, {} held; {} requests",
        report.name,
        ui.paint(paint, report.status.name()),
        counts.records,
        counts.created,
        counts.updated,
        counts.deleted,
        counts.unchanged,
        counts.rejected,
        counts.parked,
        counts.held,
        counts.requests,
    ));
    report.reasons.iter().for_each(|reason| ui.line(format!("  {}", sanitize(reason))));
    rejections(ui, "rejected", &report.rejections);
    rejections(ui, "not used", &report.bad_values);
    missing(ui, report.missing.as_ref());
    memberships(ui, &report.details.besides.missed);
    let held = by_reason("held", report.held.iter().map(|(key, reason)| (key.to_string(), format!(": {reason}"))));
    list(ui, held.into_iter());
    let drift = report.drift.iter();
    list(
        ui,
        drift.map(|(key, fields)| format!("drift     {}: {}", sanitize(key.as_str()), sanitize(&fields.join(", ")))),
    );
    let parked = report.parked.iter();
    list(
        ui,
        parked.map(|(key, action, words)| {
            format!("parked    {} ({}): {}", sanitize(key.as_str()), action.name(), sanitize(words))
        }),
    );
    if report.status == Status::Held && counts.held > 0 {
        let job = &report.name;
        let decide = match report.held.iter().any(|(_, reason)| reason.can_be_approved()) {
            true => format!(", then `rosterd approve {job}` or `rosterd reject {job}`"),
            false => "; there is nothing to approve, but something to mend or to wait for".to_owned(),
        };
        ui.line(format!("  see `rosterd plan {job}`{decide}"));
    }
}

/// Rejected rows, for the person who can mend them: the same reason once, with its rows.
pub(crate) fn rejections(ui: &Ui, what: &str, rejected: &[Rejected]) {
    let rows = rejected.iter().map(|row| {
        let line = row.line.map(|line| format!("line {line}"));
        let key = row.key.as_ref().map(|key| format!("key {key}"));
        let field = row.field.as_ref().map(|field| format!(" {field}")).unwrap_or_default();
        (line.into_iter().chain(key).collect::<Vec<_>>().join(" "), format!("{field}: {}", row.reason))
    });
    list(ui, by_reason(what, rows).into_iter());
}

/// How many known people the source misses, since when, and what becomes of them.
pub(crate) fn missing(ui: &Ui, missing: Option<&Missing>) {
    if let Some(missing) = missing {
        ui.line(format!("  missing   {}", missing.describe(&TimeZone::system(), Clock::system().now())));
    }
}

/// Which memberships the source misses of people that it has, since when, and what becomes of them.
fn memberships(ui: &Ui, missed: &[Missed]) {
    let zone = TimeZone::system();
    let time = |at: Timestamp| clock_time(at, &zone);
    let lines = missed.iter().map(|one| {
        let then = one
            .due
            .map_or_else(|| "stays".to_owned(), |due| format!("ends from {} on, unless it comes back", time(due)));
        format!("missing   {} since {}; {then}", sanitize(one.key.as_str()), time(one.since))
    });
    list(ui, lines);
}

/// Lists each reason with those that it concerns: a line for each of a few; one line for many, which names the first.
fn by_reason(what: &str, items: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let mut places = HashMap::new();
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (who, reason) in items {
        let place = *places.entry(reason).or_insert_with_key(|reason| {
            groups.push((reason.clone(), Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(who);
    }
    // What concerns most comes first: of many lines the last are only counted.
    groups.sort_by_key(|(_, everybody)| Reverse(everybody.len()));
    let mut lines = Vec::new();
    for (reason, everybody) in &groups {
        match everybody.split_at_checked(NAMED_MAX) {
            Some((first, more)) if !more.is_empty() => lines.push(format!(
                "{} times{reason} ({} and {} more)",
                thousands(everybody.len()),
                first.join(", "),
                thousands(more.len())
            )),
            _ => lines.extend(everybody.iter().map(|who| format!("{who}{reason}"))),
        }
    }
    lines.iter().map(|line| format!("{what:8}  {}", sanitize(line))).collect()
}

fn list(ui: &Ui, mut lines: impl ExactSizeIterator<Item = String>) {
    let more = lines.len().saturating_sub(LISTED_MAX);
    lines.by_ref().take(LISTED_MAX).for_each(|line| ui.line(format!("  {line}")));
    if more > 0 {
        ui.line(format!("  … and {more} more"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_many_is_listed_once_and_names_the_first() {
        let item = |who: &str, reason: &str| (who.to_owned(), format!(": {reason}"));
        let listed = |items: &[(String, String)]| by_reason("held", items.iter().cloned());
        let few = [item("A", "x"), item("B", "y"), item("C", "x"), item("D", "x")];
        assert_eq!(listed(&few), ["held      A: x", "held      C: x", "held      D: x", "held      B: y"]);
        let many = [few.as_slice(), &[item("E", "x")]].concat();
        assert_eq!(listed(&many), ["held      4 times: x (A, C, D and 1 more)", "held      B: y"]);
        assert_eq!(listed(&[]), Vec::<String>::new());
    }
}
