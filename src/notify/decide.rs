//! Decides on notices, from those that were sent and the present state.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::notice::{Notice, NoticeKind, RowNote};
use super::outage::Outage;
use crate::reconcile::{RejectedRow, Status};
use crate::record::{JobName, redact};
use crate::status::{JobView, Snapshot};

/// How long a leaver may be on site before a notice: longer than any shift.
const ON_SITE_MAX: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How many reasons, and how many rows, a notice holds.
const LISTED_MAX: usize = 10;
/// The longest reason in a notice, in characters.
const REASON_MAX: usize = 300;

/// What was notified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NotifiedState {
    jobs: BTreeMap<JobName, Job>,
    disk_full: bool,
    /// A digest of why the configuration was refused, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    config_refused: Option<u64>,
    no_page: bool,
    no_decisions: bool,
    /// Why nothing works at all, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    down: Option<Down>,
}

/// What was notified of such trouble.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Down {
    kind: String,
    since: Timestamp,
    /// Whether this kind was notified.
    told: bool,
    /// Whether this or an earlier kind was notified, so that the recovery is notified too.
    any_told: bool,
}

/// What was notified of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Job {
    /// How it is, as far as that is not well.
    kinds: BTreeSet<NoticeKind>,
    held_set: u64,
    /// Digests of rejected rows.
    rejected: BTreeSet<u64>,
    /// Digests of refused changes.
    parked: BTreeSet<u64>,
    /// Digests of leavers on site: since when, and whether that was notified.
    on_site: BTreeMap<u64, (Timestamp, bool)>,
}

impl NotifiedState {
    /// What of it is about nothing working at all.
    pub(super) fn outage(&self) -> Self {
        Self { down: self.down.clone(), ..Self::default() }
    }

    /// Takes over what another says of nothing working at all.
    pub(super) fn take_outage(&mut self, other: Self) {
        self.down = other.down.or(self.down.take());
    }

    /// Forgets the digests of rows and people.
    pub(super) fn forget(&mut self) {
        for job in self.jobs.values_mut() {
            job.rejected.clear();
            job.parked.clear();
            job.on_site.clear();
        }
    }
}

/// Decides on a notice while nothing works. Returns what counts as notified after it; the jobs stay as they are.
pub(super) fn decide_down(told: &NotifiedState, trouble: &Outage, at: Timestamp) -> (NotifiedState, Option<Notice>) {
    let before = told.down.as_ref();
    let same = before.filter(|down| down.kind == trouble.kind && down.since <= at);
    let since = same.map_or(at, |down| down.since);
    let was_told = same.is_some_and(|down| down.told);
    let is_told = was_told || at.duration_since(since) >= trouble.patience;
    let any_told = is_told || before.is_some_and(|down| down.any_told);
    let down = Down { kind: trouble.kind.to_owned(), since, told: is_told, any_told };
    let next = NotifiedState { down: Some(down), ..told.clone() };
    let notice = (is_told && !was_told).then(|| Notice {
        id: format!("{:x}-0", at.as_millisecond()),
        reasons: listed(trouble.reasons.iter()),
        ..Notice::new(at, NoticeKind::Down, redact(&trouble.text))
    });
    (next, notice)
}

/// Decides on a notice where something works again without a state of its own to look at.
pub(super) fn decide_up(told: &NotifiedState, at: Timestamp) -> (NotifiedState, Option<Notice>) {
    let next = NotifiedState { down: None, ..told.clone() };
    let was_told = told.down.as_ref().is_some_and(|down| down.any_told);
    let notice = was_told.then(|| Notice {
        id: format!("{:x}-0", at.as_millisecond()),
        ..Notice::new(at, NoticeKind::Recovered, "rosterd can start again on this machine, and stands by".to_owned())
    });
    (next, notice)
}

/// Decides on the notices now. Returns what counts as notified after them.
pub fn decide(told: &NotifiedState, snapshot: &Snapshot) -> (NotifiedState, Vec<Notice>) {
    let mut notices = Vec::new();
    let config_refused = snapshot.refused.as_ref().map(|refused| xxh3_64(refused.reason.as_bytes()));
    let (no_page, no_decisions) = (snapshot.unserved.is_some(), snapshot.no_decisions.is_some());
    let disk_full = snapshot.is_full;
    let mut next = NotifiedState { disk_full, config_refused, no_page, no_decisions, ..NotifiedState::default() };
    if told.down.as_ref().is_some_and(|down| down.any_told) {
        notices.push(notice(snapshot, None, NoticeKind::Recovered, "rosterd works again".to_owned()));
    }
    if snapshot.is_full != told.disk_full {
        let (event, text) = if snapshot.is_full {
            (NoticeKind::DiskFull, "the disk of rosterd's state is full: nothing is sent before there is room")
        } else {
            (NoticeKind::Recovered, "the disk of rosterd's state has room again")
        };
        notices.push(notice(snapshot, None, event, text.to_owned()));
    }
    match &snapshot.refused {
        Some(refused) if config_refused != told.config_refused => {
            let text = "the new configuration was refused; the one before stays in force".to_owned();
            let reasons = listed(std::iter::once(&refused.reason));
            notices.push(Notice { reasons, ..notice(snapshot, None, NoticeKind::ConfigRefused, text) });
        }
        None if told.config_refused.is_some() => {
            notices.push(notice(snapshot, None, NoticeKind::Recovered, "the configuration is in force now".to_owned()));
        }
        _ => {}
    }
    for (page, was_told, kind, gone, back) in [
        (
            &snapshot.unserved,
            told.no_page,
            NoticeKind::NoPage,
            "rosterd works without its status page, metrics and health, and tries again",
            "rosterd's status page is served again",
        ),
        (
            &snapshot.no_decisions,
            told.no_decisions,
            NoticeKind::NoDecisions,
            "rosterd works without the pages for decisions, and tries again: no one can decide there",
            "rosterd's pages for decisions are served again",
        ),
    ] {
        match page {
            Some(unserved) if !was_told => {
                let reasons = listed(std::iter::once(&unserved.reason));
                notices.push(Notice { reasons, ..notice(snapshot, None, kind, gone.to_owned()) });
            }
            None if was_told => notices.push(notice(snapshot, None, NoticeKind::Recovered, back.to_owned())),
            _ => {}
        }
    }
    let nothing = Job::default();
    for job in &snapshot.jobs {
        let before = told.jobs.get(&job.name).unwrap_or(&nothing);
        let after = of_job(snapshot, job, before, &mut notices);
        next.jobs.insert(job.name.clone(), after);
    }
    for (number, notice) in notices.iter_mut().enumerate() {
        notice.id = format!("{:x}-{number}", snapshot.at.as_millisecond());
    }
    (next, notices)
}

fn of_job(snapshot: &Snapshot, job: &JobView, before: &Job, notices: &mut Vec<Notice>) -> Job {
    let ended = match job.standing() {
        Some(Status::Failed) => Some(NoticeKind::Failed),
        Some(Status::Held) => Some(NoticeKind::Held),
        Some(Status::Partial) => Some(NoticeKind::Partial),
        Some(Status::Done) | None => None,
    };
    let overdue = job.overdue.is_some().then_some(NoticeKind::Overdue);
    // What is held for it says so itself.
    let too_many = job.missing.as_ref().is_some_and(|missing| missing.too_many);
    let missing = (too_many && ended != Some(NoticeKind::Held)).then_some(NoticeKind::Missing);
    let mut after = Job {
        kinds: ended.into_iter().chain(missing).chain(overdue).collect(),
        held_set: if ended == Some(NoticeKind::Held) { job.held_set } else { before.held_set },
        rejected: job.rejected.first.iter().map(|row| row.mark).collect(),
        parked: job.parked.iter().copied().collect(),
        on_site: BTreeMap::new(),
    };
    // A failed run saw no rows; those of the one before are as they were.
    if ended == Some(NoticeKind::Failed) {
        after.rejected.extend(&before.rejected);
    }
    let rows: Vec<&RejectedRow> =
        job.rejected.first.iter().filter(|row| !before.rejected.contains(&row.mark)).collect();
    let refused = after.parked.difference(&before.parked).count();
    for kind in &after.kinds {
        let is_new = !before.kinds.contains(kind);
        let has_more = match kind {
            NoticeKind::Held => before.held_set != job.held_set || !rows.is_empty() || refused > 0,
            NoticeKind::Partial => !rows.is_empty() || refused > 0,
            _ => false,
        };
        if is_new || has_more {
            notices.push(trouble(snapshot, job, *kind, &rows));
        }
    }
    if after.kinds.is_empty() && !before.kinds.is_empty() {
        let was: Vec<&str> = before.kinds.iter().map(|kind| kind.name()).collect();
        let text = format!("job {} is well again (it was {})", job.name, was.join(" and "));
        notices.push(notice(snapshot, Some(job), NoticeKind::Recovered, text));
    }
    on_site(snapshot, job, before, &mut after, notices);
    after
}

fn trouble(snapshot: &Snapshot, job: &JobView, kind: NoticeKind, rows: &[&RejectedRow]) -> Notice {
    let name = &job.name;
    let text = match kind {
        NoticeKind::Failed => format!("job {name} failed"),
        NoticeKind::Held if job.held > 0 => format!(
            "job {name} holds {} changes (set {}) until someone decides: `rosterd approve {name}` or `rosterd reject {name}`",
            job.held, job.held_set
        ),
        NoticeKind::Held => format!("job {name} is held"),
        NoticeKind::Missing => {
            let (people, of) = job.missing.as_ref().map_or((0, 0), |missing| (missing.people, missing.of));
            format!("the source of job {name} misses {people} of {of} known people; `rosterd plan {name}` lists them")
        }
        NoticeKind::Overdue => format!("job {name} is overdue"),
        _ => format!("job {name} could do only a part"),
    };
    let reasons = match kind {
        NoticeKind::Overdue => job.overdue.as_slice(),
        _ => &job.reasons,
    };
    let mut notice = notice(snapshot, Some(job), kind, text);
    notice.reasons = listed(reasons.iter());
    if matches!(kind, NoticeKind::Partial | NoticeKind::Held) {
        notice.rows = rows.iter().take(LISTED_MAX).map(|row| row_note(row)).collect();
        let more = rows.len().saturating_sub(LISTED_MAX);
        if more > 0 {
            notice.rows.push(RowNote { line: None, reason: format!("and {more} more rows") });
        }
    }
    notice.held_set = (kind == NoticeKind::Held).then_some(job.held_set);
    notice
}

/// The first of the reasons, as notices may show them.
fn listed<'a, T: Deref<Target = str> + 'a>(reasons: impl ExactSizeIterator<Item = &'a T>) -> Vec<String> {
    let more = reasons.len().saturating_sub(LISTED_MAX);
    let mut listed: Vec<String> = reasons.take(LISTED_MAX).map(|reason| short(&redact(reason))).collect();
    if more > 0 {
        listed.push(format!("and {more} more reasons"));
    }
    listed
}

fn row_note(row: &RejectedRow) -> RowNote {
    let field = row.field.as_deref().map(|field| format!("{field}: ")).unwrap_or_default();
    RowNote { line: row.line, reason: short(&format!("{field}{}", redact(&row.reason.to_string()))) }
}

fn on_site(snapshot: &Snapshot, job: &JobView, before: &Job, after: &mut Job, notices: &mut Vec<Notice>) {
    let mut late = 0;
    for leaver in &job.on_site {
        let seen = before.on_site.get(&leaver.mark);
        // Whose row says that they have left was never missing: then it counts from when it was noticed.
        let since = seen.map(|(since, _)| *since).or(leaver.since).unwrap_or(snapshot.at);
        let was_told = seen.is_some_and(|(_, told)| *told);
        let is_late = snapshot.at.duration_since(since) >= ON_SITE_MAX;
        late += usize::from(is_late && !was_told);
        after.on_site.insert(leaver.mark, (since, was_told || is_late));
    }
    if late > 0 {
        let who = if late == 1 { "a leaver has been".to_owned() } else { format!("{late} leavers have been") };
        let text = format!(
            "job {}: {who} on site for 7 days or more, and can't be removed before they sign out; `rosterd plan {}` names them",
            job.name, job.name
        );
        notices.push(notice(snapshot, Some(job), NoticeKind::OnSite, text));
    }
}

fn notice(snapshot: &Snapshot, job: Option<&JobView>, event: NoticeKind, text: String) -> Notice {
    Notice {
        job: job.map(|job| job.name.clone()),
        run: job.and_then(|job| job.last.as_ref()).map(|last| last.run),
        ..Notice::new(snapshot.at, event, text)
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(REASON_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests;
