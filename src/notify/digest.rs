//! The summary of a job at set times.
//!
//! A digest covers the time from the one before until its own time. One that was missed while the machine was off is sent
//! once, and covers all of it. It goes to the recipients of the job and to no one else, by number; with names only where
//! `job.notify.digest_names` says so, and then the names are read when the mail is written: nothing on disk names anybody.

use std::collections::BTreeMap;
use std::io;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::notice::{Notice, NoticeKind, Span};
use crate::config::{Job, JobNotify};
use crate::history::Tally;
use crate::record::{JobName, Key};
use crate::status::JobView;
use crate::store::Home;
use crate::text::{one_line, thousands};

/// How many people of one kind are named; the rest is counted.
const NAMED_MAX: usize = 100;

/// Who is notified of a job by itself.
#[derive(Clone, Debug)]
pub(super) struct Recipients {
    pub(super) job: JobName,
    pub(super) zone: TimeZone,
    pub(super) options: JobNotify,
}

impl Recipients {
    /// Those of every job that has some.
    pub(super) fn all(jobs: &[Job]) -> Vec<Self> {
        let own = jobs.iter().filter(|job| !job.notify.mail_to.is_empty());
        own.map(|job| Self { job: job.name.clone(), zone: job.time_zone.clone(), options: job.notify.clone() })
            .collect()
    }

    /// When the first summary after `since` is due; `None` where there is none.
    pub(super) fn next_after(&self, since: Timestamp) -> Option<Timestamp> {
        self.options.digest.as_ref()?.next_after(since, &self.zone)
    }

    /// The summary of what happened in a span of time, and of what waits at its end.
    pub(super) fn digest(&self, home: &Home, span: Span, view: &JobView) -> io::Result<Notice> {
        let tally = Tally::read(home, &self.job, span.since, span.until)?;
        let count = |people: &BTreeMap<Key, Option<String>>| thousands(people.len());
        let text = format!(
            "summary of job {}, {} until {}: {} came, {} changed, {} left",
            self.job,
            self.time(span.since),
            self.time(span.until),
            count(&tally.came),
            count(&tally.changed),
            count(&tally.left),
        );
        let mut notice = Notice::new(span.until, NoticeKind::Digest, text);
        notice.job = Some(self.job.clone());
        notice.reasons = self.waiting(view, &tally);
        notice.span = Some(span);
        Ok(notice)
    }

    /// What waits, for what and since when, one by one.
    fn waiting(&self, view: &JobView, tally: &Tally) -> Vec<String> {
        let name = &self.job;
        let mut waits = Vec::new();
        if let Some((status, since)) = &tally.unwell {
            waits.push(format!("every run since {} ended as {status}; `rosterd status` says why", self.time(*since)));
        }
        if tally.runs == 0 {
            waits.push("there was no run in that time; `rosterd status` says when the next one is".to_owned());
        }
        if view.held > 0 {
            let held = thousands(view.held);
            waits.push(format!(
                "{held} changes (set {}) wait for a decision: `rosterd plan {name}`, then `rosterd approve {name}` or `rosterd reject {name}`",
                view.held_set
            ));
        }
        if let Some(missing) = &view.missing {
            waits.push(format!(
                "{} of {} known people are missing from the source, the first since {}; `rosterd plan {name}` lists them",
                missing.people,
                missing.of,
                self.time(missing.since)
            ));
        }
        if let Some(file) = &view.unused_file {
            waits.push(format!("nothing of the last file, {file}, was used: drop it once more, mended"));
        }
        if !view.rejected.first.is_empty() {
            waits.push(format!(
                "rows of the source were not used; `rosterd status` and `rosterd plan {name}` list them"
            ));
        }
        if !view.parked.is_empty() {
            waits.push(format!(
                "{} changes were refused by the service; `rosterd queue list {name}`",
                view.parked.len()
            ));
        }
        if let Some(reason) = &view.overdue {
            waits.push(format!("it is overdue: {reason}"));
        }
        if waits.is_empty() {
            waits.push("nothing waits".to_owned());
        }
        waits
    }

    /// Who came, changed and left in that time, by name, or by key where no name is recorded.
    pub(super) fn names(&self, home: &Home, span: Span) -> io::Result<Vec<String>> {
        let tally = Tally::read(home, &self.job, span.since, span.until)?;
        let mut lines = Vec::new();
        for (what, people) in [("came", &tally.came), ("changed", &tally.changed), ("left", &tally.left)] {
            if people.is_empty() {
                continue;
            }
            let shown = |(key, name): (&Key, &Option<String>)| {
                let key = key.as_str();
                let text = name.as_ref().map_or_else(|| key.to_owned(), |name| format!("{name} ({key})"));
                // A name has no lines of its own in a mail.
                one_line(&text)
            };
            lines.push(String::new());
            lines.push(format!("Who {what}:"));
            lines.extend(people.iter().take(NAMED_MAX).map(|person| format!("- {}", shown(person))));
            if people.len() > NAMED_MAX {
                lines.push(format!("- and {} more", people.len() - NAMED_MAX));
            }
        }
        Ok(lines)
    }

    fn time(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%a %-d %b %Y %H:%M").to_string()
    }
}
