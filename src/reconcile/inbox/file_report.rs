//! From what a run came to, to what those who dropped the file get back.

use crate::plan::HoldReason;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use jiff::civil::Date;
use jiff::{Timestamp, Zoned};

use crate::config::Job;
use crate::history::{self, AuditEvent};
use crate::hr_report::{FileMessage, FileNote, HrReport, Language, ReportLine, RowOutcome, Verdict};
use crate::reconcile::collect::rows;
use crate::reconcile::model::counts::Status;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_plan::RowCounts;
use crate::reconcile::model::missing_people::Missed;
use crate::reconcile::model::reason::{Reason, ReasonKind};
use crate::reconcile::report::job_report::{Details, Report};
use crate::reconcile::report::names::{called, person_of};
use crate::record::{Action, Key, Rejected, reveal};
use crate::source::{self, Columns, csv};
use crate::store::Home;

/// What is known of a file besides what its run came to.
pub(crate) struct Known {
    /// What earlier runs over it had confirmed when they were cut off.
    pub(crate) before: BTreeMap<Key, Action>,
    /// The names of its columns, by the field that is made of one: the person who corrects it knows only those names.
    pub(crate) headings: BTreeMap<String, String>,
    /// The language of the report.
    pub(crate) language: Language,
}

/// Makes the hr_report of a file that was read.
pub(crate) fn of_run(hr_report: HrReport, report: &Report, known: &Known) -> HrReport {
    let verdict = match report.status {
        _ if report.details.nothing_taken || report.details.note == Some(FileNote::NoRowUsed) => Verdict::NotUsed,
        Status::Failed => Verdict::NotUsed,
        Status::Held => Verdict::Waits,
        Status::Partial => Verdict::Partly,
        Status::Done if !report.missed.is_empty() => Verdict::Missing,
        Status::Done if !report.bad_values.is_empty() => Verdict::Partly,
        Status::Done => Verdict::Used,
    };
    let lines = match verdict {
        Verdict::NotUsed => report.rejections.iter().map(|row| known.unused(row, RowOutcome::NotUsed)).collect(),
        _ => lines(report, known, &hr_report.at),
    };
    // A person rejected what a row says: it is not done.
    let is_left = lines.iter().any(|line| line.outcome == RowOutcome::Dropped);
    let verdict = if verdict == Verdict::Used && is_left { Verdict::Partly } else { verdict };
    let language = hr_report.language;
    let has = |kind: ReasonKind| report.reasons.iter().any(|reason| reason.kind == kind);
    // A read that proves no one absent says nothing new of those who were missing before.
    let says_who = verdict != Verdict::NotUsed && !has(ReasonKind::Incomplete);
    let missing = report.missing.as_ref().filter(|_| says_who);
    let held: BTreeSet<&Key> = report.held.iter().map(|(key, _)| key).collect();
    let missing = missing.into_iter();
    let missing =
        missing.flat_map(|missing| missing_notes((&report.missed, missing.of), &held, &hr_report.at, language));
    let while_missing = missing.map(|note| language.file_note(&note)).collect();
    // What each line says needs no other words.
    let is_listed = |kind: ReasonKind| {
        matches!(kind, ReasonKind::Rejected | ReasonKind::BadValues | ReasonKind::Parked) && !lines.is_empty()
    };
    let waiting = lines.iter().filter(|line| line.outcome == RowOutcome::Waiting);
    let waiting: BTreeSet<&str> = waiting.filter_map(|line| line.key.as_deref()).collect();
    let all_listed = report.held.iter().all(|(key, _)| waiting.contains(key.as_str()));
    let is_said = |kind: ReasonKind| is_listed(kind) || (kind == ReasonKind::Held && all_listed);
    let note = report.details.note.as_ref();
    let says_all = note.is_some_and(FileNote::says_all);
    let reasons = report.reasons.iter().filter(|reason| !says_all && !is_said(reason.kind));
    let (pending, lasting): (Vec<&Reason>, Vec<&Reason>) = reasons.partition(|reason| is_pending(reason));
    let text = |reason: &&Reason| language.in_english(reveal(reason).into_owned());
    let incomplete = has(ReasonKind::Incomplete).then_some(FileNote::Incomplete);
    let notes = note.into_iter().chain(&incomplete).map(|note| language.file_note(note));
    let mut messages: Vec<FileMessage> = notes.chain(lasting.iter().map(text)).collect();
    let paused = has(ReasonKind::Paused).then(|| language.file_note(&FileNote::Paused));
    let mut while_waiting: Vec<FileMessage> = paused.into_iter().chain(pending.iter().map(text)).collect();
    if waiting.is_empty() {
        messages.append(&mut while_waiting);
    }
    HrReport { verdict, messages, while_missing, while_waiting, lines, ..hr_report }
}

/// What there is to say about those who are missing from the file: one note for those who go, one for those who wait for
/// a decision, and one for those who stay.
fn missing_notes(
    (missed, of): (&[Missed], u64),
    held: &BTreeSet<&Key>,
    now: &Zoned,
    language: Language,
) -> Vec<FileNote> {
    let time = |at: Timestamp| language.time(&at.to_zoned(now.time_zone().clone()));
    let (stay, leave): (Vec<&Missed>, Vec<&Missed>) = missed.iter().partition(|one| one.due.is_none());
    let (wait, go): (Vec<&Missed>, Vec<&Missed>) = leave.into_iter().partition(|one| held.contains(&one.key));
    let about = |some: &[&Missed]| Some((some.len() as u64, time(some.iter().map(|one| one.since).min()?)));
    let goes = |(people, since)| match go.iter().filter_map(|one| one.due).min() {
        Some(due) if due > now.timestamp() => FileNote::MissingUntil { people, of, since, at: time(due) },
        _ => FileNote::MissingDue { people, of, since },
    };
    let going = about(&go).map(goes);
    let waiting = about(&wait).map(|(people, since)| FileNote::MissingHeld { people, of, since });
    let staying = about(&stay).map(|(people, since)| FileNote::MissingStay { people, of, since });
    [going, waiting, staying].into_iter().flatten().collect()
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

/// What the audit files tell of runs that were cut off, as the report names it.
pub(crate) fn confirmed(home: &Home, job: &Job, runs: &[u64]) -> io::Result<BTreeMap<Key, Action>> {
    let mut confirmed = BTreeMap::new();
    if !runs.is_empty() {
        history::read(home, |entry| match entry {
            AuditEvent::Change(change) if change.job.root() == job.name && runs.contains(&change.run) => {
                // Who was made and then changed was made.
                confirmed.entry(called(&change.job, &change.key)).or_insert(change.action);
            }
            _ => {}
        })?;
    }
    Ok(confirmed)
}

/// What the person who dropped an unusable file can do about it; none where that is for others.
pub(crate) fn note(error: &Error) -> Option<FileNote> {
    use csv::CsvErrorKind as Kind;
    let kind = match error {
        Error::Mapping(_) => return Some(FileNote::Header),
        Error::Source(source::Error::Csv(csv::Error { kind, .. })) => kind,
        _ => return None,
    };
    Some(match kind {
        Kind::Header { .. } | Kind::NoHeader(_) | Kind::TooManyColumns { .. } | Kind::OtherHeader { .. } => {
            FileNote::Header
        }
        Kind::TooManyBadRows { .. } => FileNote::Damaged,
        Kind::Empty => FileNote::Empty,
        Kind::TooLarge { .. } | Kind::TooManyRows => FileNote::TooLarge,
        Kind::NotText { .. } => FileNote::NotText,
        Kind::WrongMark { .. } | Kind::EncodingChanged { .. } | Kind::DelimiterChanged { .. } => FileNote::OtherForm,
        Kind::Workbook(_) => FileNote::Workbook,
        Kind::Folder | Kind::NotAFile(_) => FileNote::NotAFile,
        Kind::Missing | Kind::Unreadable(_) | Kind::Unsettled { .. } => return None,
    })
}

/// Why a line is what it is.
enum LineReason<'a> {
    /// There is nothing to say.
    None,
    Hold(&'a HoldReason),
    /// The row counts from this day on.
    Early(Date),
    /// It ends then.
    Ends(Zoned),
    /// The words of the service.
    Service(&'a str),
}

fn lines(report: &Report, known: &Known, now: &Zoned) -> Vec<ReportLine> {
    let mut told: BTreeMap<&Key, (RowOutcome, LineReason<'_>)> = BTreeMap::new();
    let Details { rows, confirmed, dropped, besides, .. } = &report.details;
    let confirmed = confirmed.iter().chain(&besides.confirmed).map(|(key, action)| (key, action));
    for (key, action) in known.before.iter().chain(confirmed) {
        told.entry(key).or_insert((outcome_of(*action), LineReason::None));
    }
    told.extend(dropped.iter().chain(&besides.dropped).map(|key| (key, (RowOutcome::Dropped, LineReason::None))));
    let held: BTreeSet<&Key> = report.held.iter().map(|(key, _)| key).collect();
    told.extend(report.held.iter().map(|(key, reason)| (key, (RowOutcome::Waiting, LineReason::Hold(reason)))));
    // Of who was made, or changed, something may be refused besides, as the photo is.
    let (refused, alone): (Vec<_>, Vec<_>) = report.parked.iter().partition(|(key, ..)| told.contains_key(key));
    told.extend(alone.into_iter().map(|(key, _, words)| (key, (RowOutcome::Refused, LineReason::Service(words)))));
    // A row whose person is used is not used in part only: what is wrong is its organization, or the membership.
    let people: BTreeMap<u64, &Key> = rows.iter().map(|(row, key, _)| (*row, key)).collect();
    let person = |row: &Rejected| people.get(&row.line?).copied().filter(|person| row.key.as_ref() != Some(person));
    let (in_part, whole): (Vec<_>, Vec<_>) = report.rejections.iter().partition(|row| person(row).is_some());
    let unusable: BTreeSet<u64> = whole.iter().filter_map(|row| row.line).collect();
    let missed = report.missed.iter().filter(|one| !held.contains(&one.key));
    told.extend(missed.map(|one| (&one.key, (RowOutcome::Missing, LineReason::None))));
    let ends = |due: Timestamp| LineReason::Ends(due.to_zoned(now.time_zone().clone()));
    let missed = besides.missed.iter().filter(|one| !held.contains(&one.key));
    told.extend(missed.map(|one| (&one.key, (RowOutcome::Missing, one.due.map_or(LineReason::None, ends)))));
    let mut lines: Vec<ReportLine> = whole.into_iter().map(|row| known.unused(row, RowOutcome::NotUsed)).collect();
    lines.extend(in_part.into_iter().filter_map(|row| Some(known.unused_of(person(row)?, row))));
    lines.extend(report.bad_values.iter().map(|row| known.unused(row, RowOutcome::ValueNotUsed)));
    let follow: BTreeSet<&Key> = told.keys().copied().filter(|key| goes_with_person(key, &told)).collect();
    let mut shown: BTreeSet<u64> = BTreeSet::new();
    for (row, key, counts) in rows.iter().chain(&besides.rows).filter(|(row, _, _)| !unusable.contains(row)) {
        let otherwise = match counts {
            RowCounts::Now => (RowOutcome::Unchanged, LineReason::None),
            RowCounts::Never => (RowOutcome::NotIncluded, LineReason::None),
            RowCounts::From(date) => (RowOutcome::NotYet, LineReason::Early(*date)),
        };
        // What became of a person is said at the row that counts.
        let own = if let RowCounts::From(_) = counts { None } else { told.remove(key) };
        let is_own = own.is_some();
        // Of a person's row, what it says besides is listed only where it came to something of its own.
        if shown.contains(row) && (!is_own || follow.contains(key)) {
            continue;
        }
        // A list of people alone has nothing besides.
        if !besides.rows.is_empty() {
            shown.insert(*row);
        }
        let (outcome, reason) = own.unwrap_or(otherwise);
        lines.push(known.line(Some(*row), key, outcome, &reason));
        let refused = refused.iter().filter(|(refused, ..)| is_own && refused == key);
        lines.extend(
            refused.map(|(_, _, words)| known.line(Some(*row), key, RowOutcome::Refused, &LineReason::Service(words))),
        );
    }
    lines.sort_by_key(|line| (line.row.is_none(), line.row));
    let named: BTreeSet<Key> = report.rejections.iter().filter_map(|row| row.key.clone()).collect();
    let absent = told.into_iter().filter(|(key, _)| !named.contains(*key) && !follow.contains(key));
    lines.extend(absent.map(|(key, (outcome, reason))| known.line(None, key, outcome, &reason)));
    lines
}

/// Whether it is a membership that was made or has ended together with its person.
fn goes_with_person(key: &Key, told: &BTreeMap<&Key, (RowOutcome, LineReason<'_>)>) -> bool {
    let outcome = |key: &Key| told.get(key).map(|(outcome, _)| *outcome);
    let is_one = |outcome: &Option<RowOutcome>| matches!(outcome, Some(RowOutcome::Added | RowOutcome::Removed));
    person_of(key).is_some_and(|person| outcome(&person) == outcome(key) && is_one(&outcome(key)))
}

/// The headings of a job's columns, by the fields of the job and its parts.
pub(crate) fn headings(job: &Job, columns: &Columns) -> BTreeMap<String, String> {
    job.parts().flat_map(|part| rows::mapping(part).headings(columns)).collect()
}

impl Known {
    fn line(&self, row: Option<u64>, key: &Key, outcome: RowOutcome, reason: &LineReason<'_>) -> ReportLine {
        let (reason, is_in_language) = match reason {
            LineReason::None => (String::new(), true),
            LineReason::Early(date) => (self.language.not_yet(*date), true),
            LineReason::Ends(at) => (self.language.ends(at), true),
            LineReason::Service(words) => ((*words).to_owned(), false),
            LineReason::Hold(reason) => {
                let sentence = self.language.hold_reason(reason, &self.headings);
                let is_in_language = sentence.is_some();
                (sentence.unwrap_or_else(|| reason.to_string()), is_in_language)
            }
        };
        ReportLine {
            row,
            key: Some(key.as_str().to_owned()),
            outcome,
            value: None,
            reason: reveal(&reason).into_owned(),
            in_english: !is_in_language && self.language != Language::En,
        }
    }

    /// What is wrong with the organization, or the membership, in the row of a person who is used.
    fn unused_of(&self, person: &Key, row: &Rejected) -> ReportLine {
        let line = self.unused(row, RowOutcome::ValueNotUsed);
        let organization =
            row.key.as_ref().map(|key| key.split_membership().map_or_else(|| key.clone(), |(_, one)| one));
        let value = line.value.or_else(|| organization.map(|key| key.as_str().to_owned()));
        ReportLine { key: Some(person.as_str().to_owned()), value, ..line }
    }

    fn unused(&self, row: &Rejected, outcome: RowOutcome) -> ReportLine {
        let field = row.field.as_ref().map(|field| self.headings.get(field).unwrap_or(field));
        let field = field.map(|field| format!("{}: ", reveal(field))).unwrap_or_default();
        let sentence = self.language.defect(&row.reason);
        ReportLine {
            row: row.line,
            key: row.key.as_ref().map(|key| key.as_str().to_owned()),
            outcome,
            value: row.value.as_ref().map(|value| value.as_str().to_owned()),
            in_english: sentence.is_none() && self.language != Language::En,
            reason: format!("{field}{}", sentence.unwrap_or_else(|| reveal(&row.reason.to_string()).into_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_people_who_are_missing_depends_on_when_they_leave_and_on_what_holds_them() {
        let now: Zoned = "2026-03-02T10:00[UTC]".parse().unwrap();
        let key = |name: &str| Key::new(name).unwrap();
        let id = crate::record::RemoteId::new(5).unwrap();
        let missed = |name, due: Option<&str>| {
            let due = due.map(|due| due.parse().unwrap());
            Missed { key: key(name), id, since: now.timestamp(), due }
        };
        let (before, at, after) = ("2026-03-02T09:59:59Z", "2026-03-02T10:00:00Z", "2026-03-02T10:00:01Z");
        let held = key("held");
        let held = BTreeSet::from([&held]);
        let notes = |missed: &[Missed]| missing_notes((missed, 9), &held, &now, Language::En);
        for due in [before, at, after] {
            let all = [("held", Some(due)), ("a", Some(due)), ("b", Some(due)), ("stays", None)];
            let notes = notes(&all.map(|(name, due)| missed(name, due)));
            let goes = match &notes[0] {
                FileNote::MissingUntil { people: 2, of: 9, .. } => due == after,
                FileNote::MissingDue { people: 2, of: 9, .. } => due != after,
                _ => false,
            };
            assert!(goes, "{due}: {notes:?}");
            let [_, waits, stays] = notes.as_slice() else { panic!("{notes:?}") };
            assert!(matches!(waits, FileNote::MissingHeld { people: 1, of: 9, .. }), "{waits:?}");
            assert!(matches!(stays, FileNote::MissingStay { people: 1, of: 9, .. }), "{stays:?}");
        }
        assert!(notes(&[]).is_empty());
    }
}
