//! What the page of one person shows: what is known of them, what waits, and what became of them. Nothing is asked of the
//! source or the service.

use serde::Serialize;

use super::view::{self, shown};
use crate::config::Job;
use crate::operator::{PersonStory, StoryEvent};
use crate::plan::Verdict;
use crate::queue::{self, State as Sending};
use crate::record::{Action, Key, Value, reveal};

/// What the page lists of what became of someone.
const EVENTS_MAX: usize = 200;

/// The page of one person.
#[derive(Serialize)]
pub(super) struct StoryPage {
    job: String,
    key: String,
    name: Option<String>,
    /// Whether anything is known of the key.
    is_known: bool,
    /// How things stand, a sentence each.
    now: Vec<String>,
    /// Why a change of theirs waits.
    held: Option<String>,
    fields: Vec<FieldRow>,
    events: Vec<EventRow>,
    /// How many more things became of them.
    more: usize,
    /// Whether a value is hidden that could be shown.
    hides: bool,
}

#[derive(Serialize)]
struct FieldRow {
    name: String,
    sent: String,
    /// None where it is the same.
    holds: Option<String>,
}

#[derive(Serialize)]
struct EventRow {
    at: String,
    what: String,
    fields: Vec<String>,
}

impl StoryPage {
    pub(super) fn unknown(job: &Job, key: &str) -> Self {
        let (now, fields, events) = (Vec::new(), Vec::new(), Vec::new());
        let (job, key) = (job.name.to_string(), key.trim().to_owned());
        Self { job, key, name: None, is_known: false, now, held: None, fields, events, more: 0, hides: false }
    }

    /// That of someone who is known. `paused` says why nothing of the job is sent.
    pub(super) fn of(story: &PersonStory, job: &Job, key: &Key, paused: Option<String>, shows: bool) -> Self {
        let is_hidden = |field: &str| !shows && story.target.is_sensitive(field);
        let mut hides = false;
        let mut text = |field: &str, value: &Value| {
            hides |= is_hidden(field) && !value.is_empty();
            shown(value, is_hidden(field))
        };
        let fields = story.fields.iter().map(|field| FieldRow {
            name: field.name.clone(),
            sent: text(&field.name, &field.sent),
            holds: (field.sent != field.holds).then(|| text(&field.name, &field.holds)),
        });
        let fields = fields.collect();
        let events = story.events.iter().take(EVENTS_MAX).map(|event| EventRow::of(event, job, &mut text)).collect();
        Self {
            name: story.name.clone(),
            is_known: true,
            now: now(story, job, key)
                .into_iter()
                .chain(paused.map(|paused| format!("Nothing is sent: {paused}.")))
                .collect(),
            held: story.held.as_ref().map(|held| reveal(&held.reason.to_string()).into_owned()),
            fields,
            events,
            more: story.events.len().saturating_sub(EVENTS_MAX),
            hides,
            ..Self::unknown(job, key.as_str())
        }
    }
}

impl EventRow {
    fn of(event: &StoryEvent, job: &Job, text: &mut impl FnMut(&str, &Value) -> String) -> Self {
        let at = view::time(job, event.at());
        match event {
            StoryEvent::Change(changed) => {
                let what = match changed.action {
                    Action::Create => "created",
                    Action::Update => "updated",
                    Action::Delete => "removed",
                };
                let moved = changed.fields.iter().map(|(field, values)| match values {
                    Some([from, to]) => format!("{field}: {} → {}", text(field, from), text(field, to)),
                    None => format!("{field}: the values are not kept any more"),
                });
                Self { at, what: format!("{what} by run {}", changed.run), fields: moved.collect() }
            }
            StoryEvent::Decision(decided) => {
                let why = decided.why.as_deref().map(|why| format!(": {}", reveal(why))).unwrap_or_default();
                Self { at, what: format!("{} by {}{why}", decided.decision, decided.by), fields: Vec::new() }
            }
        }
    }
}

/// How things stand with someone, a sentence each.
fn now(story: &PersonStory, job: &Job, key: &Key) -> Vec<String> {
    let mut now = Vec::new();
    let one = story.target.noun();
    now.push(match (&story.known, story.id) {
        (Some(_), Some(id)) => format!("At the service, as the {one} with id {id}."),
        (Some(_), None) => "Was at the service, and was not there when it was last asked.".to_owned(),
        (None, Some(id)) => format!("This job does not keep the {one} with id {id} up to date yet."),
        (None, None) => "Not at the service by this job.".to_owned(),
    });
    if let Some(known) = &story.known {
        if let Some(gone) = &known.gone {
            let then = match job.leavers.grace_ends(gone.since) {
                Some(end) => format!("the grace ends {}", view::time(job, end)),
                None => "who leaves stays at the service".to_owned(),
            };
            now.push(format!("Missing from the source since {}; {then}.", view::time(job, gone.since)));
        }
        if let Some(left) = &known.left {
            now.push(format!("Set as gone on {}.", view::time(job, left.at)));
        }
    }
    now.extend(story.queued.as_ref().map(sending));
    let is_missing = story.known.as_ref().is_some_and(|known| known.gone.is_some());
    // What was approved is done where a change came after the decision.
    let is_done = matches!(story.events.first(), Some(StoryEvent::Change(_)));
    now.extend(story.verdict.and_then(|verdict| match verdict {
        Verdict::Approved(_) if is_done => None,
        Verdict::Approved(_) if is_missing && job.leavers.has_grace() => Some(format!(
            "What was held is approved: they leave once the grace is over. Until then `rosterd reject {} {}` takes it back.",
            job.name,
            key.as_str()
        )),
        Verdict::Approved(_) => Some("What was held is approved, and goes with the next run.".to_owned()),
        Verdict::Rejected(_) => Some("What was held was rejected, and stays so until the record changes.".to_owned()),
    }));
    now
}

/// How far a change is.
fn sending(change: &queue::Change) -> String {
    match &change.state {
        Sending::Waiting => "A change is on its way.".to_owned(),
        Sending::Sent { .. } => "A change was sent, and what became of it is not known yet.".to_owned(),
        Sending::Parked { words, .. } => format!("The service refused a change: {}", reveal(words)),
    }
}
