//! The page for a browser: what is shown is chosen here, how it looks is the template's.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use minijinja::Environment;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use super::help;
use super::snapshot::{JobView, Snapshot};
use crate::reconcile::{LastRun, Reason, ReasonKind, RejectedRows, Status};
use crate::record::{Target, redact};
use crate::text::thousands;
use crate::web::{When, chart, lasting, sentence, templates};

/// The beginning of every page of this program, and of this one.
pub(super) const HEAD: &str = concat!(
    "<!DOCTYPE html>\n<html lang=\"en\">\n",
    include_str!("../web/base.html"),
    include_str!("../web/chart.css"),
    include_str!("head.html")
);
/// How many different reasons of rejected rows are listed.
const ROWS_MAX: usize = 50;
/// How many lines are listed with a reason.
const LINES_MAX: usize = 10;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| templates(&[("page", include_str!("page.html"))]));

/// How something is: the class of its box, what it is called, and how bad that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mood {
    Idle,
    Good,
    Look,
    Bad,
}

/// What the template is given.
#[derive(Serialize)]
struct StatusPage {
    /// Its own address.
    path: String,
    title: &'static str,
    mood: Mood,
    alerts: Vec<Alert>,
    jobs: Vec<JobPart>,
    queued: String,
    budget: BudgetPart,
    process: ProcessPart,
    now: When,
}

/// Trouble that is no job's.
#[derive(Serialize)]
struct Alert {
    text: String,
    since: Option<When>,
    help: Option<String>,
}

#[derive(Serialize)]
struct BudgetPart {
    used: u32,
    limit: u32,
    finish: Option<When>,
    blocked_until: Option<When>,
}

#[derive(Serialize)]
struct ProcessPart {
    version: &'static str,
    host: String,
    /// Which of the accounts of this process it is about.
    account: Option<String>,
    instance: Option<String>,
    running_for: Option<String>,
}

/// One job.
#[derive(Serialize)]
struct JobPart {
    name: String,
    mood: Mood,
    word: &'static str,
    unwell_since: Option<UnwellPart>,
    running: Option<RunningPart>,
    last: Option<LastPart>,
    next: Option<When>,
    waiting_files: Option<String>,
    figures: Vec<(&'static str, String)>,
    reasons: Vec<String>,
    missing: Option<String>,
    held: Option<HeldPart>,
    tables: Vec<TablePart>,
    help: Option<String>,
    /// HTML.
    chart: String,
}

#[derive(Serialize)]
struct UnwellPart {
    word: &'static str,
    at: When,
}

#[derive(Serialize)]
struct RunningPart {
    what: &'static str,
    since: When,
    stage: String,
    done: usize,
    total: usize,
}

#[derive(Serialize)]
struct LastPart {
    run: u64,
    ended: When,
}

#[derive(Serialize)]
struct HeldPart {
    count: usize,
    set: u64,
    by: Vec<(String, String)>,
}

#[derive(Serialize)]
struct TablePart {
    heading: &'static str,
    count: u64,
    rows: Vec<RowPart>,
    more: Option<u64>,
}

#[derive(Serialize)]
struct RowPart {
    lines: String,
    why: String,
}

/// Writes the page of the only account of a process.
pub fn page(snapshot: &Snapshot) -> String {
    page_of(snapshot, None)
}

/// Writes the page of an account; one of several has a name.
pub(super) fn page_of(snapshot: &Snapshot, account: Option<&str>) -> String {
    let template = TEMPLATES.get_template("page").expect("it is one of this program");
    let page = template.render(Value::from(Serde(StatusPage::of(snapshot, account))));
    format!("{HEAD}{}", page.expect("the template fits what it is given"))
}

/// The page of an account that does not run.
pub(super) fn stopped(reason: &str) -> String {
    alone("stopped", "bad", "This account does not run", reason)
}

/// The page of an account that another worker has.
pub(super) fn elsewhere(node: &str) -> String {
    alone("stands by", "idle", "This account runs elsewhere", node)
}

/// The page where the state can't be read.
pub fn unreadable(reason: &str) -> String {
    alone("unknown", "bad", "The state can’t be read", reason)
}

fn alone(title: &str, mood: &str, heading: &str, reason: &str) -> String {
    let reason = sentence(reason);
    format!(
        "{HEAD}<title>rosterd: {title}</title>\n</head>\n<body>\n<main>\n<header class=\"{mood}\">\n<h1>{heading}</h1>\n\
         <p>{reason}</p>\n</header>\n</main>\n</body>\n</html>\n"
    )
}

/// How an account is as a whole.
pub(super) fn mood_of(snapshot: &Snapshot) -> Mood {
    let worst = snapshot.jobs.iter().map(|job| mood(job).0).max().unwrap_or(Mood::Idle);
    match worst {
        _ if snapshot.is_full => Mood::Bad,
        worst if !snapshot.unheard.is_empty() || snapshot.refused.is_some() => worst.max(Mood::Look),
        worst => worst,
    }
}

impl StatusPage {
    fn of(snapshot: &Snapshot, account: Option<&str>) -> Self {
        let mood = mood_of(snapshot);
        let title = match mood {
            Mood::Bad => "Something is wrong",
            Mood::Look => "Something needs a person",
            Mood::Good => "All is well",
            Mood::Idle if snapshot.jobs.iter().any(|job| job.running.is_some()) => "The first run is under way",
            Mood::Idle => "Nothing has run yet",
        };
        let when = |at: Timestamp| When::new(at, snapshot.at, &TimeZone::UTC);
        // Jobs that need a person come first.
        let mut jobs: Vec<&JobView> = snapshot.jobs.iter().collect();
        jobs.sort_by_key(|job| std::cmp::Reverse(self::mood(job).0));
        let process = &snapshot.process;
        let running_for = process.started.map(|started| snapshot.at.duration_since(started).as_secs().unsigned_abs());
        Self {
            path: account.map_or_else(|| "/".to_owned(), |name| format!("/account/{name}")),
            title,
            mood,
            alerts: alerts(snapshot),
            jobs: jobs.into_iter().map(|job| JobPart::of(job, snapshot.at)).collect(),
            queued: thousands(snapshot.jobs.iter().map(|job| job.queued).sum::<usize>()),
            budget: BudgetPart {
                used: snapshot.budget.used,
                limit: snapshot.budget.limit,
                finish: snapshot.budget.finish.map(when),
                blocked_until: snapshot.budget.blocked_until.map(when),
            },
            process: ProcessPart {
                version: env!("CARGO_PKG_VERSION"),
                host: process.host.clone(),
                account: account.map(str::to_owned),
                instance: process.instance.clone(),
                running_for: running_for.map(lasting),
            },
            now: when(snapshot.at),
        }
    }
}

fn alerts(snapshot: &Snapshot) -> Vec<Alert> {
    let when = |at: Timestamp| Some(When::new(at, snapshot.at, &TimeZone::UTC));
    let full = snapshot.is_full.then(|| Alert {
        text: "The disk of the state is full: nothing is sent before there is room.".to_owned(),
        since: None,
        help: help::machine(),
    });
    let refused = snapshot.refused.as_ref().map(|refused| Alert {
        text: format!(
            "The new configuration was refused; the one before is in force: {}. `rosterd check` names every mistake. It was refused",
            redact(&refused.reason)
        ),
        since: when(refused.at),
        help: None,
    });
    let unheard = snapshot.unheard.iter().map(|place| Alert {
        text: format!("Notices by {} reach no one: {}. The first failed", place.channel, redact(&place.reason)),
        since: when(place.since),
        help: help::notices(),
    });
    let no_decisions = snapshot.no_decisions.as_ref().map(|pages| Alert {
        text: format!("The pages for decisions are not served: {}. It is tried again", redact(&pages.reason)),
        since: when(pages.since),
        help: None,
    });
    full.into_iter().chain(refused).chain(no_decisions).chain(unheard).collect()
}

/// How a job is, and in which word.
fn mood(job: &JobView) -> (Mood, &'static str) {
    let inbox = job.inbox.as_ref().is_some_and(Result::is_err);
    match job.standing() {
        Some(Status::Failed) => (Mood::Bad, "failed"),
        _ if job.overdue.is_some() => (Mood::Bad, "overdue"),
        _ if inbox => (Mood::Bad, "inbox unreadable"),
        _ if job.paused.is_some() => (Mood::Look, "paused"),
        Some(Status::Held) => (Mood::Look, "held"),
        Some(Status::Partial) => (Mood::Look, "done in part"),
        Some(Status::Done) if job.missing.as_ref().is_some_and(|missing| missing.too_many) => {
            (Mood::Look, "done, and people are missing")
        }
        Some(Status::Done) => (Mood::Good, "done"),
        None if job.running.is_some() => (Mood::Idle, "first run under way"),
        None => (Mood::Idle, "never ran"),
    }
}

impl JobPart {
    fn of(job: &JobView, now: Timestamp) -> Self {
        let (mood, word) = mood(job);
        let when = |at: Timestamp| When::new(at, now, &job.time_zone);
        let unwell = match job.standing() {
            Some(Status::Failed) => Some("Failing"),
            Some(Status::Held) => Some("Held"),
            Some(Status::Partial) => Some("Done in part"),
            Some(Status::Done) | None => None,
        };
        // Runs that read nothing since do not say so.
        let unwell = unwell.filter(|_| job.standing() == job.status());
        let unwell_since = unwell.and_then(|word| Some(UnwellPart { word, at: when(job.recent.unchanged_since()?) }));
        let running = job.running.as_ref().map(|running| {
            let (done, total) = running.sent.unwrap_or_default();
            let what = if job.last.is_none() { "The first run is" } else { "A run is" };
            RunningPart { what, since: when(running.since), stage: running.stage.clone(), done, total }
        });
        let files = job.inbox.as_ref().and_then(|inbox| inbox.as_ref().ok());
        let waiting_files = files.map(|files| {
            let many = if files.len() == 1 { "file waits" } else { "files wait" };
            format!("{} {many}", files.len())
        });
        let held = (!job.held_by.is_empty()).then(|| HeldPart {
            count: job.held,
            set: job.held_set,
            by: job.held_by.iter().map(|(reason, count)| (reason.clone(), thousands(*count))).collect(),
        });
        let tables = [
            ("Rows that were not used", &job.rejected),
            ("Values that were not used; their fields stay as they are", &job.bad_values),
        ];
        Self {
            name: job.name.as_str().to_owned(),
            mood,
            word,
            unwell_since,
            running,
            last: job.last.as_ref().map(|last| LastPart { run: last.run, ended: when(last.ended) }),
            next: job.next.map(when),
            waiting_files,
            figures: job.last.as_ref().map(|last| figures(job, last)).unwrap_or_default(),
            reasons: reasons(job),
            missing: job.missing.as_ref().map(|missing| missing.describe(&job.time_zone, now)),
            held,
            tables: tables.iter().filter_map(|(heading, rows)| table(heading, rows)).collect(),
            help: help::of(job),
            chart: if job.recent.iter().len() > 1 {
                chart(&job.recent.bars(|at| job.local_time(at)))
            } else {
                String::new()
            },
        }
    }
}

/// Why a job is not well, each once.
fn reasons(job: &JobView) -> Vec<String> {
    let overdue = job.overdue.iter().map(|reason| reason.text.clone());
    let inbox = job.inbox.as_ref().and_then(|inbox| inbox.as_ref().err());
    let inbox = inbox.map(|error| format!("the inbox can't be looked at: {error}"));
    let paused = job.paused.as_ref().map(|pause| redact(&pause.reason()));
    // What is held is listed below, all of it.
    let is_listed = |reason: &&Reason| reason.kind == ReasonKind::Held && !job.held_by.is_empty();
    let reasons = job.reasons_besides().filter(|reason| !is_listed(reason)).map(|reason| redact(reason));
    overdue.chain(inbox).chain(paused).chain(reasons).collect()
}

fn figures(job: &JobView, last: &LastRun) -> Vec<(&'static str, String)> {
    let counts = &last.counts;
    let always = [
        ("in the source", counts.records),
        ("created", counts.created),
        ("updated", counts.updated),
        ("removed", counts.deleted),
    ];
    let waits = [
        ("missing", job.missing.as_ref().map_or(0, |missing| missing.people)),
        ("rows rejected", counts.rejected),
        ("values not used", counts.rejected_values),
        ("held", job.held as u64),
        ("queued", job.queued as u64),
        ("refused", job.parked.len() as u64),
    ];
    let known = (if job.target == Target::Staff { "people known" } else { "known" }, job.known);
    let shown = always.into_iter().chain(waits.into_iter().filter(|(_, value)| *value > 0)).chain([known]);
    shown.map(|(name, value)| (name, thousands(value))).collect()
}

/// Rows that were not used, those with one reason as one: thirty of them are one thing to mend.
fn table(heading: &'static str, RejectedRows { count, first }: &RejectedRows) -> Option<TablePart> {
    let mut by_reason: Vec<(String, Vec<u64>, usize)> = Vec::new();
    for row in first {
        let field = row.field.as_deref().map(|field| format!("{field}: ")).unwrap_or_default();
        let why = format!("{field}{}", redact(&row.reason));
        let at = by_reason.iter().position(|(known, ..)| *known == why).unwrap_or_else(|| {
            by_reason.push((why, Vec::new(), 0));
            by_reason.len() - 1
        });
        by_reason[at].1.extend(row.line);
        by_reason[at].2 += 1;
    }
    by_reason.truncate(ROWS_MAX);
    let listed: usize = by_reason.iter().map(|(.., count)| count).sum();
    let more = count.saturating_sub(listed as u64);
    let rows = by_reason.into_iter().map(|(why, lines, count)| RowPart { lines: some_lines(&lines, count), why });
    (!first.is_empty()).then(|| TablePart {
        heading,
        count: *count,
        rows: rows.collect(),
        more: (more > 0).then_some(more),
    })
}

fn some_lines(lines: &[u64], count: usize) -> String {
    let mut listed: Vec<String> = lines.iter().take(LINES_MAX).map(u64::to_string).collect();
    let more = count - listed.len();
    match (listed.is_empty(), more) {
        (_, 0) => {}
        (true, 1) => listed.push("–".to_owned()),
        (true, more) => listed.push(format!("{more} entries")),
        (false, more) => listed.push(format!("and {more} more")),
    }
    listed.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::JobName;

    #[test]
    fn a_reason_that_is_said_elsewhere_is_left_out_by_its_kind_whatever_its_words() {
        use crate::reconcile::{Pause, PauseScope};
        let mut job = JobView::idle(JobName::new("staff").unwrap(), Target::Staff, jiff::tz::TimeZone::UTC);
        let kinds = [ReasonKind::Held, ReasonKind::Paused, ReasonKind::Stale, ReasonKind::Late, ReasonKind::Other];
        job.reasons = kinds.iter().map(|kind| kind.because(format!("one of {kind:?}"))).collect();
        let shown = |job: &JobView| {
            let said = reasons(job);
            kinds.iter().filter(|kind| said.contains(&format!("one of {kind:?}"))).copied().collect::<Vec<_>>()
        };
        assert_eq!(shown(&job), kinds);
        job.held_by = vec![("max_leavers".to_owned(), 2)];
        job.paused = Some(Pause { scope: PauseScope::All, note: None });
        job.overdue = Some(ReasonKind::Stale.because("overdue"));
        assert_eq!(shown(&job), [ReasonKind::Late, ReasonKind::Other]);
    }
}
