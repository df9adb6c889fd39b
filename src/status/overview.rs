//! The page of a process with several accounts: a table that leads to the page of each.

use std::sync::LazyLock;

use jiff::tz::TimeZone;
use minijinja::Environment;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use super::page::{HEAD, Mood, mood_of};
use super::snapshot::Snapshot;
use crate::text::thousands;
use crate::web::{When, templates};

static TEMPLATES: LazyLock<Environment<'static>> =
    LazyLock::new(|| templates(&[("overview", include_str!("overview.html"))]));

/// What the template is given.
#[derive(Serialize)]
struct Overview<'a> {
    title: &'static str,
    mood: Mood,
    bad: usize,
    look: usize,
    rows: Vec<Row<'a>>,
}

/// One account.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    name: &'a str,
    mood: Mood,
    word: &'static str,
    why: Option<String>,
    known: String,
    queued: String,
    held: String,
    last: Option<When>,
    next: Option<When>,
}

impl<'a> Row<'a> {
    pub(super) fn of(name: &'a str, snapshot: &Snapshot) -> Self {
        let when = |at| When::new(at, snapshot.at, &TimeZone::UTC);
        let mood = mood_of(snapshot);
        let word = match mood {
            Mood::Bad => "something is wrong",
            Mood::Look => "needs a person",
            Mood::Good => "well",
            Mood::Idle => "nothing has run yet",
        };
        let jobs = &snapshot.jobs;
        Self {
            known: thousands(jobs.iter().map(|job| job.known).sum::<u64>()),
            queued: thousands(jobs.iter().map(|job| job.queued).sum::<usize>()),
            held: thousands(jobs.iter().map(|job| job.held).sum::<usize>()),
            last: jobs.iter().filter_map(|job| Some(job.last.as_ref()?.ended)).max().map(when),
            next: jobs.iter().filter_map(|job| job.next).min().map(when),
            ..Self::blank(name, mood, word)
        }
    }

    /// One that does not run.
    pub(super) fn stopped(name: &'a str, reason: &str) -> Self {
        Self { why: Some(reason.to_owned()), ..Self::blank(name, Mood::Bad, "does not run") }
    }

    /// One that another worker has.
    pub(super) fn elsewhere(name: &'a str, node: &str) -> Self {
        Self { why: Some(node.to_owned()), ..Self::blank(name, Mood::Idle, "runs elsewhere") }
    }

    /// One of which nothing is known at the moment.
    pub(super) fn unknown(name: &'a str, reason: &str) -> Self {
        Self { why: Some(reason.to_owned()), ..Self::blank(name, Mood::Bad, "the state can’t be read") }
    }

    fn blank(name: &'a str, mood: Mood, word: &'static str) -> Self {
        let (known, queued, held) = Default::default();
        Self { name, mood, word, why: None, known, queued, held, last: None, next: None }
    }
}

/// Writes the page; the accounts that need a person come first.
pub(super) fn overview(mut rows: Vec<Row<'_>>) -> String {
    rows.sort_by_key(|row| std::cmp::Reverse(row.mood));
    let mood = rows.first().map_or(Mood::Idle, |row| row.mood);
    let title = match mood {
        Mood::Bad => "Something is wrong",
        Mood::Look => "Something needs a person",
        Mood::Good => "All is well",
        Mood::Idle => "Nothing has run yet",
    };
    let count = |mood: Mood| rows.iter().filter(|row| row.mood == mood).count();
    let (bad, look) = (count(Mood::Bad), count(Mood::Look));
    let template = TEMPLATES.get_template("overview").expect("it is one of this program");
    let page = template.render(Value::from(Serde(Overview { title, mood, bad, look, rows })));
    format!("{HEAD}{}", page.expect("the template fits what it is given"))
}
