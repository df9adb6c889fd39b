//! From what a run came to, to what those who dropped the file get back.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use crate::config::Job;
use crate::history::{self, AuditEvent};
use crate::hr_report::{HrReport, Language, ReportLine, RowOutcome, Verdict};
use crate::reconcile::collect::rows;
use crate::reconcile::model::counts::Status;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::reason::{Reason, ReasonKind};
use crate::reconcile::report::job_report::Report;
use crate::record::{Action, Key, Rejected, reveal};
use crate::source::{self, Columns, csv};

/// What is known of a file besides what its run came to.
pub(crate) struct Known {
    /// What earlier runs over it had confirmed when they were cut off.
    pub(crate) before: BTreeMap<Key, Action>,
    /// The names of its columns, by the field that is made of one: the person who corrects it knows only those names.
    pub(crate) headings: BTreeMap<String, String>,
}

/// Makes the hr_report of a file that was read.
pub(crate) fn of_run(hr_report: HrReport, report: &Report, known: &Known) -> HrReport {
    let verdict = match report.status {
        _ if report.details.nothing_taken => Verdict::NotUsed,
        Status::Failed => Verdict::NotUsed,
        Status::Held => Verdict::Waits,
        Status::Partial => Verdict::Partly,
        Status::Done if !report.missed.is_empty() => Verdict::Missing,
        Status::Done if !report.bad_values.is_empty() => Verdict::Partly,
        Status::Done => Verdict::Used,
    };
    let lines = match verdict {
        Verdict::NotUsed => {
            report.rejections.iter().map(|row| known.unused(row, RowOutcome::NotUsed, hr_report.language)).collect()
        }
        _ => lines(report, known, hr_report.language),
    };
    let missing = report.missing.as_ref().filter(|_| verdict != Verdict::NotUsed).map(|missing| {
        let told = missing.describe(hr_report.at.time_zone(), hr_report.at.timestamp());
        format!("not in this file: {told}. Was a filter left on in the export, or is it the export of a part?")
    });
    let messages = report.reasons.iter().filter(|reason| reason.kind != ReasonKind::Rejected || lines.is_empty());
    let (pending, lasting): (Vec<&Reason>, Vec<&Reason>) = messages.partition(|reason| is_pending(reason));
    // Each line that waits has its reason, and needs no other; one whose row is rejected has no line that waits.
    let waiting = lines.iter().filter(|line| line.outcome == RowOutcome::Waiting);
    let waiting: BTreeSet<&str> = waiting.filter_map(|line| line.key.as_deref()).collect();
    let all_listed = report.held.iter().all(|(key, _)| waiting.contains(key.as_str()));
    let is_unsaid = |reason: &&&Reason| reason.kind != ReasonKind::Held || !all_listed;
    let text = |reason: &Reason| reveal(reason).into_owned();
    let mut while_waiting: Vec<String> = pending.iter().filter(is_unsaid).map(|reason| text(reason)).collect();
    let mut messages: Vec<String> = missing.into_iter().chain(lasting.into_iter().map(text)).collect();
    if waiting.is_empty() {
        messages.append(&mut while_waiting);
    }
    HrReport { verdict, messages, while_waiting, lines, ..hr_report }
}

/// Whether it is only said because something waits.
fn is_pending(reason: &Reason) -> bool {
    matches!(reason.kind, ReasonKind::Held | ReasonKind::Paused)
}

/// The verdict on a file once nothing of it waits any more.
pub(crate) fn settled(report: &Report) -> Verdict {
    match report.complete && report.rejections.is_empty() && report.bad_values.is_empty() {
        true if report.missed.is_empty() => Verdict::Used,
        true => Verdict::Missing,
        false => Verdict::Partly,
    }
}

/// How a confirmed change appears in the report to the person who dropped the file.
pub(crate) fn outcome_of(action: Action) -> RowOutcome {
    match action {
        Action::Create => RowOutcome::Added,
        Action::Update => RowOutcome::Changed,
        Action::Delete => RowOutcome::Removed,
    }
}

/// The rows of a file that can't be used because of them.
pub(crate) fn bad_rows(error: &Error) -> Vec<Rejected> {
    match error {
        Error::Source(source::Error::Csv(csv::Error {
            kind: csv::CsvErrorKind::TooManyBadRows { rejected, .. },
            ..
        })) => rejected.clone(),
        _ => Vec::new(),
    }
}

/// What the audit files tell of runs that were cut off.
pub(crate) fn confirmed(state_dir: &Path, job: &Job, runs: &[u64]) -> io::Result<BTreeMap<Key, Action>> {
    let mut confirmed = BTreeMap::new();
    if !runs.is_empty() {
        history::read(state_dir, |entry| match entry {
            AuditEvent::Change(change) if change.job == job.name && runs.contains(&change.run) => {
                // Who was made and then changed was made.
                confirmed.entry(change.key).or_insert(change.action);
            }
            _ => {}
        })?;
    }
    Ok(confirmed)
}

/// What the person who dropped an unusable file can do about it, if the error itself does not say so.
pub(crate) fn advice(error: &Error) -> Option<&'static str> {
    match error {
        Error::Mapping(_)
        | Error::Source(source::Error::Csv(csv::Error { kind: csv::CsvErrorKind::Header { .. }, .. })) => Some(
            "The first line must have the same column names as always. Save or export the file again with all of them; if a column \
             was renamed on purpose, tell IT before the next file",
        ),
        Error::Source(source::Error::Csv(csv::Error { kind: csv::CsvErrorKind::TooManyBadRows { .. }, .. })) => Some(
            "So many rows are damaged that the file as a whole is in doubt. Save or export it again; don't edit a CSV file by hand in between",
        ),
        _ => None,
    }
}

fn lines(report: &Report, known: &Known, language: Language) -> Vec<ReportLine> {
    let mut told: BTreeMap<&Key, (RowOutcome, &str)> = BTreeMap::new();
    for (key, action) in known.before.iter().chain(report.details.confirmed.iter().map(|(key, action)| (key, action))) {
        told.entry(key).or_insert((outcome_of(*action), ""));
    }
    told.extend(report.details.dropped.iter().map(|key| (key, (RowOutcome::Dropped, ""))));
    let held: BTreeSet<&Key> = report.held.iter().map(|(key, _)| key).collect();
    told.extend(report.held.iter().map(|(key, reason)| (key, (RowOutcome::Waiting, reason.as_str()))));
    told.extend(report.parked.iter().map(|(key, _, words)| (key, (RowOutcome::Refused, words.as_str()))));
    let unusable: BTreeSet<u64> = report.rejections.iter().filter_map(|row| row.line).collect();
    told.extend(
        report.missed.iter().filter(|one| !held.contains(&one.key)).map(|one| (&one.key, (RowOutcome::Missing, ""))),
    );
    let mut lines: Vec<ReportLine> =
        report.rejections.iter().map(|row| known.unused(row, RowOutcome::NotUsed, language)).collect();
    lines.extend(report.bad_values.iter().map(|row| known.unused(row, RowOutcome::ValueNotUsed, language)));
    for (row, key, counts) in report.details.rows.iter().filter(|(row, _, _)| !unusable.contains(row)) {
        let otherwise = if *counts { RowOutcome::Unchanged } else { RowOutcome::NotIncluded };
        lines.push(line(language, Some(*row), key, told.remove(key).unwrap_or((otherwise, ""))));
    }
    lines.sort_by_key(|line| (line.row.is_none(), line.row));
    let named: BTreeSet<Key> = report.rejections.iter().filter_map(|row| row.key.clone()).collect();
    let absent = told.into_iter().filter(|(key, _)| !named.contains(*key));
    lines.extend(absent.map(|(key, outcome)| line(language, None, key, outcome)));
    lines
}

fn line(language: Language, row: Option<u64>, key: &Key, (outcome, reason): (RowOutcome, &str)) -> ReportLine {
    ReportLine {
        row,
        key: Some(key.as_str().to_owned()),
        outcome,
        value: None,
        reason: reveal(reason).into_owned(),
        in_english: !reason.is_empty() && language != Language::En,
    }
}

/// The headings of a job's columns, by the fields of the job and its parts.
pub(crate) fn headings(job: &Job, columns: &Columns) -> BTreeMap<String, String> {
    job.parts().flat_map(|part| rows::mapping(part).headings(columns)).collect()
}

impl Known {
    fn unused(&self, row: &Rejected, outcome: RowOutcome, language: Language) -> ReportLine {
        let field = row.field.as_ref().map(|field| self.headings.get(field).unwrap_or(field));
        let field = field.map(|field| format!("{}: ", reveal(field))).unwrap_or_default();
        let sentence = language.defect(&row.reason);
        ReportLine {
            row: row.line,
            key: row.key.as_ref().map(|key| key.as_str().to_owned()),
            outcome,
            value: row.value.as_ref().map(|value| value.as_str().to_owned()),
            in_english: sentence.is_none() && language != Language::En,
            reason: format!("{field}{}", sentence.unwrap_or_else(|| reveal(&row.reason.to_string()).into_owned())),
        }
    }
}
