//! The page for a browser.

use std::fmt::{self, Display, Write as _};

use jiff::Timestamp;

use super::snapshot::{JobView, Snapshot};
use crate::hr_report::markup_of as text;
use crate::reconcile::{LastRun, Reason, ReasonKind, RejectedRows, Status};
use crate::record::{Target, redact};
use crate::text::thousands;

/// The beginning of every page of this program, and of this one.
const HEAD: &str = concat!(include_str!("../hr_report/base.html"), include_str!("head.html"));
/// How many different reasons of rejected rows are listed.
const ROWS_MAX: usize = 50;
/// How many lines are listed with a reason.
const LINES_MAX: usize = 10;

/// How something is: the class of its box, what it is called, and how bad that is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mood {
    Idle,
    Good,
    Look,
    Bad,
}

impl Mood {
    fn class(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Good => "good",
            Self::Look => "look",
            Self::Bad => "bad",
        }
    }
}

/// Writes the page.
pub fn page(snapshot: &Snapshot) -> String {
    let mut page = String::new();
    build(snapshot, &mut page).expect("memory takes everything");
    page
}

/// The page where the state can't be read.
pub fn unreadable(reason: &str) -> String {
    let reason = text(reason);
    format!(
        "{HEAD}<title>rosterd: unknown</title>\n</head>\n<body>\n<main>\n<header class=\"bad\">\n<h1>The state can’t be read</h1>\n\
         <p>{reason}</p>\n</header>\n</main>\n</body>\n</html>\n"
    )
}

fn build(snapshot: &Snapshot, page: &mut String) -> fmt::Result {
    let worst = snapshot.jobs.iter().map(|job| mood(job).0).max().unwrap_or(Mood::Idle);
    let mood = match worst {
        _ if snapshot.is_full => Mood::Bad,
        worst if !snapshot.unheard.is_empty() || snapshot.refused.is_some() => worst.max(Mood::Look),
        worst => worst,
    };
    let title = match mood {
        Mood::Bad => "Something is wrong",
        Mood::Look => "Something needs a person",
        Mood::Good => "All is well",
        Mood::Idle if snapshot.jobs.iter().any(|job| job.running.is_some()) => "The first run is under way",
        Mood::Idle => "Nothing has run yet",
    };
    page.push_str(HEAD);
    writeln!(page, "<title>rosterd: {title}</title>\n</head>\n<body>\n<main>")?;
    writeln!(page, "<header class=\"{}\">\n<h1>{title}</h1>", mood.class())?;
    if snapshot.is_full {
        writeln!(page, "<p>The disk of the state is full: nothing is sent before 8 MiB are free.</p>")?;
    }
    if let Some(refused) = &snapshot.refused {
        writeln!(
            page,
            "<p>The new configuration was refused on {}; the one before is in force: {}</p>",
            refused.at.strftime("%-d %b %Y, %H:%M UTC"),
            text(&redact(&refused.reason))
        )?;
    }
    for place in &snapshot.unheard {
        writeln!(
            page,
            "<p>{} reaches no one since {}: {}.</p>",
            text(&place.channel),
            place.since.strftime("%-d %b %Y, %H:%M UTC"),
            text(&redact(&place.reason))
        )?;
    }
    writeln!(page, "</header>")?;
    totals(snapshot, page)?;
    // Jobs that need a person come first.
    let mut jobs: Vec<&JobView> = snapshot.jobs.iter().collect();
    jobs.sort_by_key(|job| std::cmp::Reverse(self::mood(job).0));
    for job in jobs {
        of_job(job, snapshot.at, page)?;
    }
    writeln!(
        page,
        "<footer>\n<p>As of {}. This page names no one; <code>rosterd status</code> and <code>rosterd explain</code> tell more. \
         It reloads each minute.</p>\n</footer>\n</main>\n</body>\n</html>",
        snapshot.at.strftime("%-d %b %Y, %H:%M:%S UTC")
    )
}

fn totals(snapshot: &Snapshot, page: &mut String) -> fmt::Result {
    let budget = &snapshot.budget;
    let sum = |of: fn(&JobView) -> usize| snapshot.jobs.iter().map(of).sum::<usize>();
    let queued = sum(|job| job.queued);
    writeln!(page, "<dl>")?;
    figure(page, "requests in the last minute", format_args!("{} of {}", budget.used, budget.limit))?;
    figure(page, "changes queued", thousands(queued))?;
    figure(page, "changes held", thousands(sum(|job| job.held)))?;
    figure(page, "changes refused", thousands(sum(|job| job.parked.len())))?;
    writeln!(page, "</dl>")?;
    if let Some(finish) = budget.finish {
        let at = finish.strftime("%-d %b %Y, %H:%M UTC");
        writeln!(page, "<p>Within the rate limit, what is queued is sent by {at} at the earliest.</p>")?;
    }
    if let Some(until) = budget.blocked_until {
        writeln!(page, "<p>The service asked to wait until {}.</p>", until.strftime("%H:%M:%S UTC"))?;
    }
    Ok(())
}

/// A sentence with commands between backticks.
fn sentence(words: &str) -> String {
    let part = |(at, part): (usize, &str)| {
        let part = text(part);
        if at % 2 == 1 { format!("<code>{part}</code>") } else { part }
    };
    let is_whole = words.matches('`').count().is_multiple_of(2);
    if is_whole { words.split('`').enumerate().map(part).collect() } else { text(words) }
}

fn figure(page: &mut String, name: &str, value: impl Display) -> fmt::Result {
    writeln!(page, "<div><dt>{name}</dt><dd>{value}</dd></div>")
}

/// How a job is, and in which word.
fn mood(job: &JobView) -> (Mood, &'static str) {
    let inbox = job.inbox.as_ref().is_some_and(Result::is_err);
    match job.status() {
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
        None if job.running.is_some() => (Mood::Idle, "under way"),
        None => (Mood::Idle, "never ran"),
    }
}

fn of_job(job: &JobView, at: Timestamp, page: &mut String) -> fmt::Result {
    let (mood, word) = mood(job);
    let name = text(job.name.as_str());
    writeln!(page, "<article class=\"{}\">\n<h2>{name} <span>{word}</span></h2>", mood.class())?;
    times(job, page)?;
    if let Some(last) = &job.last {
        counts(job, last, page)?;
    }
    let overdue = job.overdue.iter().map(|reason| reason.text.clone());
    let inbox = job.inbox.as_ref().and_then(|inbox| inbox.as_ref().err());
    let inbox = inbox.map(|error| format!("the inbox can't be looked at: {error}"));
    let paused = job.paused.as_ref().map(|pause| redact(&pause.reason()));
    // What is true now comes first; the last run may have said the same.
    let is_said = |reason: &&Reason| match reason.kind {
        ReasonKind::Paused => job.paused.is_some(),
        // What is held is listed below, all of it.
        ReasonKind::Held => !job.held_by.is_empty(),
        ReasonKind::Stale | ReasonKind::Late => job.overdue.as_ref().is_some_and(|now| now.kind == reason.kind),
        ReasonKind::Rejected | ReasonKind::Other => false,
    };
    let reasons = job.reasons.iter().filter(|reason| !is_said(reason)).map(|reason| redact(reason));
    let all: Vec<String> = overdue.chain(inbox).chain(paused).chain(reasons).collect();
    if !all.is_empty() {
        writeln!(page, "<ul>")?;
        all.iter().try_for_each(|reason| writeln!(page, "<li>{}</li>", sentence(reason)))?;
        writeln!(page, "</ul>")?;
    }
    if let Some(missing) = &job.missing {
        let name = text(job.name.as_str());
        let people = text(&missing.describe(&job.time_zone, at));
        writeln!(page, "<p>Missing from the source: {people}. <code>rosterd plan {name}</code> lists them.</p>")?;
    }
    held(job, page)?;
    rows(page, "Rows that were not used", &job.rejected)?;
    rows(page, "Values that were not used; their fields stay as they are", &job.bad_values)?;
    writeln!(page, "</article>")
}

fn times(job: &JobView, page: &mut String) -> fmt::Result {
    write!(page, "<p class=\"soft\">")?;
    if let Some(running) = &job.running {
        let apart = if running.stage.is_empty() { "" } else { ": " };
        write!(page, "Under way since {}{apart}{}. ", text(&job.local_time(running.since)), text(&running.stage))?;
    }
    match &job.last {
        Some(last) => write!(page, "Last run {} ended {}.", last.run, text(&job.local_time(last.ended)))?,
        None => write!(page, "No run has ended so far.")?,
    }
    match job.next {
        Some(next) => write!(page, " Next: {}.", text(&job.local_time(next)))?,
        None => write!(page, " No schedule.")?,
    }
    if let Some(Ok(files)) = &job.inbox {
        let many = if files.len() == 1 { "file waits" } else { "files wait" };
        write!(page, " {} {many} in the inbox.", files.len())?;
    }
    writeln!(page, "</p>")
}

fn counts(job: &JobView, last: &LastRun, page: &mut String) -> fmt::Result {
    let counts = &last.counts;
    writeln!(page, "<dl>")?;
    for (name, value) in [
        ("in the source", counts.records),
        ("created", counts.created),
        ("updated", counts.updated),
        ("removed", counts.deleted),
    ] {
        figure(page, name, thousands(value))?;
    }
    for (name, value) in [
        ("missing", job.missing.as_ref().map_or(0, |missing| missing.people)),
        ("rows rejected", counts.rejected),
        ("values not used", counts.rejected_values),
        ("held", job.held as u64),
        ("queued", job.queued as u64),
        ("refused", job.parked.len() as u64),
    ] {
        if value > 0 {
            figure(page, name, thousands(value))?;
        }
    }
    let many = if job.target == Target::Staff { "people known" } else { "known" };
    figure(page, many, thousands(job.known))?;
    writeln!(page, "</dl>")
}

fn held(job: &JobView, page: &mut String) -> fmt::Result {
    if job.held_by.is_empty() {
        return Ok(());
    }
    writeln!(page, "<h3>Held: {} (set {})</h3>\n<ul>", job.held, job.held_set)?;
    for (reason, count) in &job.held_by {
        writeln!(page, "<li>{} × {}</li>", thousands(*count), sentence(reason))?;
    }
    let name = text(job.name.as_str());
    writeln!(
        page,
        "</ul>\n<p class=\"soft\">See them with <code>rosterd plan {name}</code>; \
         <code>rosterd approve {name}</code> or <code>rosterd reject {name}</code> decides.</p>"
    )
}

fn rows(page: &mut String, heading: &str, RejectedRows { count, first }: &RejectedRows) -> fmt::Result {
    if first.is_empty() {
        return Ok(());
    }
    writeln!(page, "<h3>{heading}: {count}</h3>\n<table>\n<thead><tr><th>Line</th><th>Why</th></tr></thead>\n<tbody>")?;
    // Thirty rows with one mistake are one thing to mend.
    let mut by_reason: Vec<(String, Vec<u64>, usize)> = Vec::new();
    for row in first {
        let field = row.field.as_deref().map(|field| format!("{}: ", text(field))).unwrap_or_default();
        let why = format!("{field}{}", text(&redact(&row.reason)));
        let at = by_reason.iter().position(|(known, ..)| *known == why).unwrap_or_else(|| {
            by_reason.push((why, Vec::new(), 0));
            by_reason.len() - 1
        });
        by_reason[at].1.extend(row.line);
        by_reason[at].2 += 1;
    }
    for (why, lines, count) in by_reason.iter().take(ROWS_MAX) {
        let mut listed: Vec<String> = lines.iter().take(LINES_MAX).map(u64::to_string).collect();
        let more = count - listed.len();
        match (listed.is_empty(), more) {
            (_, 0) => {}
            (true, 1) => listed.push("–".to_owned()),
            (true, more) => listed.push(format!("{more} entries")),
            (false, more) => listed.push(format!("and {more} more")),
        }
        writeln!(page, "<tr><td>{}</td><td>{why}</td></tr>", listed.join(", "))?;
    }
    writeln!(page, "</tbody>\n</table>")?;
    let listed: usize = by_reason.iter().take(ROWS_MAX).map(|(.., count)| count).sum();
    if *count > listed as u64 {
        writeln!(page, "<p class=\"soft\">… and {} more.</p>", count - listed as u64)?;
    }
    Ok(())
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
            let mut page = String::new();
            of_job(job, Timestamp::UNIX_EPOCH, &mut page).unwrap();
            kinds.iter().filter(|kind| page.contains(&format!("one of {kind:?}<"))).copied().collect::<Vec<_>>()
        };
        assert_eq!(shown(&job), kinds);
        job.held_by = vec![("max_leavers".to_owned(), 2)];
        job.paused = Some(Pause { scope: PauseScope::All, note: None });
        job.overdue = Some(ReasonKind::Stale.because("overdue"));
        assert_eq!(shown(&job), [ReasonKind::Late, ReasonKind::Other]);
    }

    #[test]
    fn commands_in_a_sentence_are_set_apart_and_nothing_of_it_is_markup() {
        assert_eq!(sentence("paused; `rosterd resume` <b>"), "paused; <code>rosterd resume</code> &lt;b&gt;");
        assert_eq!(sentence("one ` of it"), "one ` of it");
    }
}
