//! What a run came to.

use crate::hr_report::FileNote;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::config::Job;
use crate::plan::HoldReason;
use crate::push::{Drained, Outcome, StopReason};
use crate::reconcile::model::counts::{Counts, Status};
use crate::reconcile::model::job_plan::{JobPlan, RowCounts};
use crate::reconcile::model::missing_people::{Missed, Missing};
use crate::reconcile::model::reason::{Reason, ReasonKind};
use crate::reconcile::report::besides::Besides;
use crate::reconcile::report::names::{called, named};
use crate::record::{Action, JobName, Key, Rejected, RowDefect, Target};
use crate::text::{counted, some_of};

/// What one part of a run came to: its plan, what became of it, and what is parked.
pub(crate) struct Part {
    pub(crate) plan: JobPlan,
    pub(crate) drained: Drained,
    /// What waits for a person, and why.
    pub(crate) held: Vec<(Key, HoldReason)>,
    /// Why nothing is sent, or no more.
    pub(crate) blocked: Vec<Reason>,
    /// Further things worth knowing of the run.
    pub(crate) notes: Vec<String>,
    pub(crate) parked: Vec<(Key, Action, String)>,
}

/// How many different reasons of held and of parked changes a report names.
const REASONS_MAX: usize = 3;
/// How many changes a reason names; the rest is counted.
const NAMED_MAX: usize = 3;

/// What a run of one job came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// The job.
    pub name: JobName,
    /// How it ended.
    pub status: Status,
    /// Whether the read proved that it saw everyone.
    pub complete: bool,
    /// The numbers.
    pub counts: Counts,
    /// Why it did not end as done.
    pub reasons: Vec<Reason>,
    /// The rows that can't be used.
    pub rejections: Vec<Rejected>,
    /// Values that can't be used, of records that count all the same.
    pub bad_values: Vec<Rejected>,
    /// Known people who are missing from the read.
    pub missed: Vec<Missed>,
    /// The report on them.
    pub missing: Option<Missing>,
    /// What waits for a person, and why.
    pub held: Vec<(Key, HoldReason)>,
    /// What the service refused, and its words.
    pub parked: Vec<(Key, Action, String)>,
    /// Fields that were edited at the service and stay so, if the job names them.
    pub drift: Vec<(Key, Vec<String>)>,
    /// What was done, by target; what a job manages besides its own target is in it too.
    pub by_target: BTreeMap<Target, Counts>,
    /// What happened to each row, for the person who dropped the file.
    pub details: Details,
    /// Whether it was asked to end before its end.
    pub interrupted: bool,
    /// Of a run for some records only: the keys that neither the job nor its source knows; none where that can't be said.
    pub unknown: Option<BTreeSet<Key>>,
    /// Whether it was for some records only: then it says nothing of the job as a whole.
    pub is_narrow: bool,
}

/// What happened to each row of a dropped file.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Rows that can be used, with line and key, and whether they count; in order of line.
    pub rows: Vec<(u64, Key, RowCounts)>,
    /// What was confirmed.
    pub confirmed: Vec<(Key, Action)>,
    /// What a person rejected.
    pub dropped: Vec<Key>,
    /// The same of what a job manages besides its own target.
    pub besides: Besides,
    /// Whether the source was read to its end and everybody judged by it, so that the state of the job is known.
    pub judged: bool,
    /// Whether the source was so short that nothing was taken from it.
    pub nothing_taken: bool,
    /// Whether it was asked to end while it sent, and another run follows.
    pub preempted: bool,
    /// Whether its reasons name the file that was read.
    pub names_file: bool,
    /// Whether a row comes to something else on a later day, or once something is mended that is not in the source.
    pub unfinished: bool,
    /// What those who dropped the file can do about it, where nothing of it could be used.
    pub note: Option<FileNote>,
}

impl Report {
    /// Why it did not end as done, on one line.
    pub fn reason(&self) -> Option<String> {
        (!self.reasons.is_empty())
            .then(|| self.reasons.iter().map(|reason| reason.text.as_str()).collect::<Vec<_>>().join("; "))
    }

    /// The report of a job that failed before it had anything to count.
    pub fn failed(name: JobName, reason: String, requests: u64) -> Self {
        Self {
            name,
            status: Status::Failed,
            complete: false,
            counts: Counts { requests, ..Counts::default() },
            reasons: vec![reason.into()],
            rejections: Vec::new(),
            bad_values: Vec::new(),
            missed: Vec::new(),
            missing: None,
            held: Vec::new(),
            parked: Vec::new(),
            drift: Vec::new(),
            by_target: BTreeMap::new(),
            details: Details::default(),
            interrupted: false,
            unknown: None,
            is_narrow: false,
        }
    }

    /// Notes what was left as it is, besides what the parts of the job say.
    pub(crate) fn leave(&mut self, what: String) {
        self.reasons.push(what.into());
        if self.status == Status::Done {
            self.status = Status::Partial;
        }
    }

    /// Says something that leaves nothing open.
    pub(crate) fn note(&mut self, what: String) {
        self.reasons.push(what.into());
    }

    /// Whether rows were read, so that it is known which of them can't be used.
    pub(crate) fn has_read_rows(&self) -> bool {
        self.details.judged || self.details.nothing_taken || !self.rejections.is_empty()
    }

    /// Whether all that was read was used, and nothing is left open.
    pub(crate) fn is_clean(&self) -> bool {
        self.complete
            && self.rejections.is_empty()
            && self.bad_values.is_empty()
            && self.missed.is_empty()
            && self.parked.is_empty()
            && self.held.is_empty()
            && !self.details.unfinished
    }

    /// The report of a job that had nothing to read.
    pub fn idle(name: JobName) -> Self {
        Self { status: Status::Done, reasons: Vec::new(), ..Self::failed(name, String::new(), 0) }
    }
}

/// Puts together what the parts of a job's run came to. Records and rows are counted by the job's own target.
pub(crate) fn report(job: &Job, parts: Vec<Part>, requests: u64) -> Report {
    let many = parts.len() > 1;
    let mut report = Report::failed(job.name.clone(), String::new(), requests);
    report.complete = parts.iter().all(|part| part.plan.complete);
    report.reasons = reasons(&parts);
    report.status = status(&parts, &report.reasons);
    report.interrupted = parts.iter().any(|part| part.drained.stopped == Some(StopReason::Interrupted));
    report.rejections = once(&parts, |plan| &plan.rejected).into_iter().cloned().collect();
    report.bad_values = once(&parts, |plan| &plan.bad_values).into_iter().cloned().collect();
    report.details.unfinished = parts.iter().any(|part| part.plan.unfinished);
    let results: Vec<_> = parts.iter().map(|part| (&part.plan, &part.drained)).collect();
    report.details.besides = Besides::of(job, &results);
    let mut notes: Vec<String> = Vec::new();
    for Part { plan, drained, parked, held, notes: of_run, .. } in parts {
        let is_own = plan.target == job.mapping.target;
        let name = |key: Key| if is_own { key } else { named(plan.target, &key) };
        let own = waits(&plan, held, &drained);
        let done = |action: Action| -> BTreeSet<&Key> {
            drained.confirmed().filter(|(_, done)| *done == action).map(|(key, _)| key).collect()
        };
        let made = done(Action::Create);
        let count = |action: Action| {
            // A photo goes after what else its person needed, and makes no second change of it.
            done(action).iter().filter(|key| action != Action::Update || !made.contains(*key)).count() as u64
        };
        let counts = Counts {
            records: plan.records,
            missing: plan.missed.len() as u64,
            rejected: plan.rejected.len() as u64,
            rejected_values: plan.bad_values.len() as u64,
            created: count(Action::Create),
            updated: count(Action::Update),
            deleted: count(Action::Delete),
            unchanged: plan.unchanged,
            parked: parked.len() as u64,
            held: own.len() as u64,
            requests: 0,
        };
        report.counts.add(&counts, is_own);
        if many {
            report.by_target.insert(plan.target, counts);
        }
        if is_own {
            // Who was removed just now is not missing any more.
            let removed = done(Action::Delete);
            report.missed = plan.missed;
            report.missed.retain(|one| !removed.contains(&one.key));
            report.missing = plan.missing.and_then(|missing| missing.still(&report.missed));
            report.unknown = Some(plan.updates.unknown);
            report.details = Details {
                rows: plan.rows,
                confirmed: drained.confirmed().map(|(key, action)| (key.clone(), action)).collect(),
                dropped: plan.dropped.iter().map(|change| change.key.clone()).collect(),
                ..report.details
            };
        }
        report.held.extend(own.into_iter().map(|(key, reason)| (name(key), reason)));
        report.parked.extend(parked.into_iter().map(|(key, action, words)| (name(key), action, words)));
        report.drift.extend(plan.drift.into_iter().map(|(key, fields)| (name(key), fields)));
        for note in plan.notes.into_iter().chain(of_run).chain(drained.notes) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    report.counts.rejected = report.rejections.len() as u64;
    report.counts.rejected_values = report.bad_values.len() as u64;
    report.reasons.extend(because_of_values(report.bad_values.len()));
    report.reasons.extend(notes.into_iter().map(Reason::from));
    report
}

/// The reason that values which can't be used are.
fn because_of_values(count: usize) -> Option<Reason> {
    let (one, many) = (
        "value could not be used: its field stays as it is",
        "values could not be used: their fields stay as they are",
    );
    (count > 0).then(|| ReasonKind::BadValues.because(counted(count, one, many)))
}

/// What waits, and why.
fn waits(plan: &JobPlan, mut held: Vec<(Key, HoldReason)>, drained: &Drained) -> Vec<(Key, HoldReason)> {
    held.extend(drained.outcomes.iter().filter_map(|(key, _, outcome)| match outcome {
        Outcome::OnSite => Some((key.clone(), HoldReason::OnSite)),
        Outcome::Waits(reason) => Some((key.clone(), reason.clone())),
        Outcome::Confirmed | Outcome::Parked | Outcome::Undelivered(_) => None,
    }));
    held.extend(plan.moving.iter().cloned());
    held.extend(plan.protected.iter().map(|key| (key.clone(), HoldReason::Protected)));
    held
}

/// What could not be delivered, by what a report calls it, and why.
fn undelivered(parts: &[Part]) -> impl Iterator<Item = (String, &StopReason)> {
    let outcomes =
        parts.iter().flat_map(|part| part.drained.outcomes.iter().map(move |outcome| (&part.plan.job, outcome)));
    outcomes.filter_map(|(job, (key, _, outcome))| match outcome {
        Outcome::Undelivered(reason) => Some((called(job, key).to_string(), reason)),
        _ => None,
    })
}

fn status(parts: &[Part], reasons: &[Reason]) -> Status {
    let waits = |part: &Part| !part.held.is_empty() || !part.blocked.is_empty();
    if undelivered(parts).next().is_some() || parts.iter().any(|part| part.drained.stopped.is_some()) {
        Status::Failed
    } else if parts.iter().any(waits) {
        Status::Held
    } else if !reasons.is_empty() {
        Status::Partial
    } else {
        Status::Done
    }
}

/// Why the read proves no one absent. What is wrong with the people's rows keeps the memberships, too; what is wrong with those of
/// memberships keeps no one. Organizations end in no case.
fn incomplete(parts: &[Part]) -> Vec<Reason> {
    let of = |of_part: Option<Target>| {
        let parts = parts.iter().filter(move |part| part.plan.job.part_of() == of_part);
        parts.flat_map(|part| &part.plan.incomplete).collect::<BTreeSet<&String>>()
    };
    let own = of(None);
    let people = own
        .iter()
        .map(|why| ReasonKind::Incomplete.because(format!("incomplete read, so no one leaves by absence: {why}")));
    let memberships = of(Some(Target::Membership)).into_iter().filter(|why| !own.contains(why));
    let memberships = memberships
        .map(|why| format!("incomplete read of memberships, so none of the memberships ends by absence: {why}").into());
    people.chain(memberships).collect()
}

/// What can't be used. One row may be useless to several parts for one reason, and is reported once.
fn once(parts: &[Part], of: fn(&JobPlan) -> &Vec<Rejected>) -> Vec<&Rejected> {
    let mut told: BTreeSet<(Option<u64>, &RowDefect)> = BTreeSet::new();
    let mut all = Vec::new();
    for part in parts {
        let rejected = of(&part.plan);
        all.extend(rejected.iter().filter(|row| !told.contains(&(row.line, &row.reason))));
        told.extend(rejected.iter().map(|row| (row.line, &row.reason)));
    }
    all
}

/// Why it did not end as done.
fn reasons(parts: &[Part]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let stopped = parts.iter().find_map(|part| part.drained.stopped.as_ref());
    let (mut lost, why): (Vec<String>, Vec<&StopReason>) = undelivered(parts).unzip();
    lost.sort();
    if let Some(reason) = why.first() {
        let why = stopped.unwrap_or(reason);
        let what = counted(lost.len(), "change could not be delivered", "changes could not be delivered");
        let lost = some_of(lost.into_iter(), NAMED_MAX);
        reasons.push(format!("{what} and will be tried again ({lost}): {why}").into());
    } else if let Some(reason) = stopped {
        let kind = if matches!(reason, StopReason::Paused(_)) { ReasonKind::Paused } else { ReasonKind::Other };
        reasons.push(kind.because(reason.to_string()));
    }
    for reason in parts.iter().flat_map(|part| &part.blocked) {
        if !reasons.contains(reason) {
            reasons.push(reason.clone());
        }
    }
    let held = held_by(parts);
    let held = some(held.iter().map(String::as_str));
    reasons.extend(held.into_iter().map(|text| ReasonKind::Held.because(text)));
    reasons.extend(incomplete(parts));
    let doubts: BTreeSet<&String> = parts.iter().filter_map(|part| part.plan.doubt.as_ref()).collect();
    reasons.extend(doubts.into_iter().cloned().map(Reason::from));
    let lost: BTreeSet<&String> = parts.iter().flat_map(|part| &part.plan.lost).collect();
    reasons.extend(lost.into_iter().cloned().map(Reason::from));
    let rejected = once(parts, |plan| &plan.rejected).len();
    if rejected > 0 {
        reasons.push(ReasonKind::Rejected.because(counted(rejected, "row was rejected", "rows were rejected")));
    }
    let parked: Vec<&str> = parts.iter().flat_map(|part| &part.parked).map(|(_, _, words)| words.as_str()).collect();
    if !parked.is_empty() {
        let (one, many) = ("change is parked: the service refused it", "changes are parked: the service refused them");
        let what = counted(parked.len(), one, many);
        let words: BTreeSet<&str> = parked.into_iter().collect();
        let words = some(words.into_iter()).join("; ");
        reasons.push(ReasonKind::Parked.because(format!("{what} ({words})")));
    }
    reasons
}

/// Why records are held: the limits first, then what most of them are held for.
fn held_by(parts: &[Part]) -> Vec<String> {
    let mut counts: BTreeMap<String, (bool, usize)> = BTreeMap::new();
    for (_, reason) in parts.iter().flat_map(|part| &part.held) {
        counts.entry(reason.to_string()).or_insert((reason.is_limit(), 0)).1 += 1;
    }
    let mut reasons: Vec<_> = counts.into_iter().collect();
    reasons.sort_by_key(|(_, count)| Reverse(*count));
    reasons.into_iter().map(|(text, _)| text).collect()
}

/// Some of many different reasons.
fn some<'r>(mut reasons: impl ExactSizeIterator<Item = &'r str>) -> Vec<String> {
    let more = reasons.len().saturating_sub(REASONS_MAX);
    let mut some: Vec<String> = reasons.by_ref().take(REASONS_MAX).map(str::to_owned).collect();
    if more > 0 {
        some.push(format!("and {}", counted(more, "other reason", "other reasons")));
    }
    some
}
