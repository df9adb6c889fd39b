//! Pauses: while one stands, nothing is sent that changes anything at the service.
//!
//! Invariants:
//! - Each pause is a document `paused/SCOPE` beside the rows of the store: `pause` works while a run holds the store and stops
//!   it between two changes, and what was stopped stays stopped when the store is damaged or rebuilt.
//! - Its presence is the pause; its content only says when, who and why. So a damaged one still counts.
//! - A person may set and lift pauses. The program sets one itself, over everything, if the service cleared a field
//!   that a change did not touch (law 2), and never lifts any.
//!
//! Rejected: one document with all pauses. Two processes that change it at a time would need a lock, and one damaged byte
//! would say nothing about any job.

use std::io;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::model::error::is_full;
use super::model::reason::{Reason, ReasonKind};
use crate::clock::Clock;
use crate::history::{Audit, Decided, acting_user};
use crate::record::{JobName, Sensitive};
use crate::store::Home;

/// What a pause stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseScope {
    /// One job.
    Job(JobName),
    /// All jobs, by a person.
    All,
    /// All jobs, by the program itself, until a person has looked at what the service did.
    Alarm,
}

/// One pause that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// What it stops.
    pub scope: PauseScope,
    /// When it was set, who did it and why; `None` if it can't be read.
    pub note: Option<Note>,
}

/// When a pause was set, who did it and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When.
    pub since: Timestamp,
    /// The user of this machine who asked for it, or the program.
    pub by: String,
    /// What the program saw; none where a person asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether the audit file has it.
    #[serde(default)]
    pub(crate) recorded: bool,
}

/// Who sets an alarm.
const PROGRAM: &str = "rosterd";
/// Where pauses lie.
const FOLDER: &str = "paused";

impl PauseScope {
    fn name(&self) -> String {
        match self {
            Self::Job(job) => format!("job-{job}"),
            Self::All => "all".to_owned(),
            Self::Alarm => "alarm".to_owned(),
        }
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "all" => Some(Self::All),
            "alarm" => Some(Self::Alarm),
            name => Some(Self::Job(JobName::new(name.strip_prefix("job-")?)?)),
        }
    }

    fn document(&self) -> String {
        format!("{FOLDER}/{}", self.name())
    }

    fn job(&self) -> Option<&JobName> {
        match self {
            Self::Job(job) => Some(job),
            Self::All | Self::Alarm => None,
        }
    }

    /// Whether it stops `job`.
    pub fn stops(&self, job: &JobName) -> bool {
        self.job().is_none_or(|own| *own == job.root())
    }
}

impl Pause {
    /// Why nothing is sent, and what lets changes go again.
    pub fn reason(&self) -> String {
        let by = |note: &Note| format!(" since {:.0} by {}", note.since, Sensitive(&note.by));
        let origin = self.note.as_ref().map(by).unwrap_or_default();
        let why = self.note.as_ref().and_then(|note| note.why.as_deref());
        match (&self.scope, why) {
            (PauseScope::Job(job), _) => format!("paused{origin}; `rosterd resume {job}` lets changes go again"),
            (PauseScope::All, _) => format!("paused{origin}; `rosterd resume` lets changes go again"),
            (PauseScope::Alarm, why) => {
                let why = why.unwrap_or("the service did what it must not");
                format!("stopped{origin}: {why}; look at it, then `rosterd resume` lets changes go again")
            }
        }
    }
}

/// The pauses that stand.
pub fn pauses(home: &Home) -> io::Result<Vec<Pause>> {
    let mut found = Vec::new();
    for scope in home.list(FOLDER)?.iter().filter_map(|name| PauseScope::named(name)) {
        let note = home.read(&scope.document()).ok().flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        found.push(Pause { scope, note });
    }
    found.sort_by_key(|pause| pause.scope.name());
    Ok(found)
}

/// Pauses one job, or all; false where that is so already.
pub fn pause(home: &Home, clock: &Clock, job: Option<&JobName>) -> io::Result<bool> {
    let scope = job.map_or(PauseScope::All, |job| PauseScope::Job(job.clone()));
    stop(home, clock, &scope, acting_user(), None)
}

/// Lifts the pause of one job, or all of them; returns those that were lifted.
pub fn resume(home: &Home, clock: &Clock, job: Option<&JobName>) -> io::Result<Vec<Pause>> {
    let mut lifted = pauses(home)?;
    lifted.retain(|pause| job.is_none() || pause.scope.job() == job);
    let note = Note { since: clock.now(), by: acting_user(), why: None, recorded: false };
    for pause in &lifted {
        record(home, clock, &pause.scope, "resumed", &note)?;
        home.remove(&pause.scope.document())?;
    }
    Ok(lifted)
}

/// The pause of a job.
pub(crate) fn pause_of(home: &Home, job: &JobName) -> io::Result<Option<Pause>> {
    Ok(pauses(home)?.into_iter().find(|pause| pause.scope.stops(job)))
}

/// Why nothing of a job is sent; `None` where it may be. What can't be known counts as a pause.
pub(crate) fn reason(home: &Home, job: &JobName) -> Option<Reason> {
    let text = match pause_of(home, job) {
        Ok(pause) => pause.as_ref().map(Pause::reason),
        Err(error) => Some(format!("whether it is paused can't be read from {home}: {error}")),
    };
    text.map(|text| ReasonKind::Paused.because(text))
}

/// Stops everything until a person has looked at what the service did.
pub(crate) fn alarm(home: &Home, clock: &Clock, why: &str) -> io::Result<()> {
    stop(home, clock, &PauseScope::Alarm, PROGRAM.to_owned(), Some(why)).map(|_| ())
}

/// Pauses; on a full disk with the room that the state keeps in reserve.
fn stop(home: &Home, clock: &Clock, scope: &PauseScope, by: String, why: Option<&str>) -> io::Result<bool> {
    match make(home, clock, scope, by.clone(), why) {
        // What the first try made of it counts as a pause by now.
        Err(error) if is_full(&error) && home.give_up_reserve()? => make(home, clock, scope, by, why).map(|_| true),
        // Also where there is no room at all for who did it and when.
        Err(error) if is_full(&error) && pauses(home)?.iter().any(|pause| pause.scope == *scope) => Ok(true),
        made => made,
    }
}

/// The document comes first: what is asked for in an emergency must not fail by the audit file.
fn make(home: &Home, clock: &Clock, scope: &PauseScope, by: String, why: Option<&str>) -> io::Result<bool> {
    let note = Note { since: clock.now(), by, why: why.map(str::to_owned), recorded: false };
    let is_new = home.write_new(&scope.document(), &serde_json::to_vec(&note)?)?;
    // A process that ended before it recorded its pause leaves that to the next caller.
    let present = if is_new { None } else { pauses(home)?.into_iter().find(|pause| pause.scope == *scope) };
    let note = present.and_then(|pause| pause.note).unwrap_or(note);
    finish(home, clock, scope, note)?;
    Ok(is_new)
}

/// Records a pause in the audit file, once.
fn finish(home: &Home, clock: &Clock, scope: &PauseScope, note: Note) -> io::Result<()> {
    if note.recorded {
        return Ok(());
    }
    record(home, clock, scope, "paused", &note)?;
    home.replace(&scope.document(), &serde_json::to_vec(&Note { recorded: true, ..note })?)
}

fn record(home: &Home, clock: &Clock, scope: &PauseScope, decision: &str, note: &Note) -> io::Result<()> {
    let (job, by, why) = (scope.job().cloned(), note.by.clone(), note.why.clone());
    Audit::new(home).append(Decided { job, by, why, ..Decided::new(clock.now(), decision) })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn job(name: &str) -> JobName {
        JobName::new(name).unwrap()
    }

    fn clock() -> Clock {
        Clock::fixed("2026-01-02T03:04:05Z".parse().unwrap())
    }

    #[test]
    fn a_pause_of_a_job_stops_it_alone_and_a_pause_of_all_stops_every_job() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::from(dir.path());
        let (one, other) = (job("one"), job("other"));
        assert_eq!(reason(&home, &one), None);
        assert!(pause(&home, &clock(), Some(&one)).unwrap());
        assert!(!pause(&home, &clock(), Some(&one)).unwrap(), "it is already");
        assert!(reason(&home, &one).unwrap().contains("since 2026-01-02T03:04:05Z by "));
        assert_eq!(reason(&home, &other), None);
        pause(&home, &clock(), None).unwrap();
        assert!(reason(&home, &other).unwrap().ends_with("`rosterd resume` lets changes go again"));
        assert_eq!(resume(&home, &clock(), Some(&one)).unwrap().len(), 1);
        assert!(reason(&home, &one).is_some(), "all is paused still");
        assert_eq!(resume(&home, &clock(), None).unwrap().len(), 1);
        assert_eq!(reason(&home, &one), None);
    }

    #[test]
    fn a_pause_that_was_not_recorded_is_recorded_once_as_whose_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::from(dir.path());
        pause(&home, &clock(), Some(&job("one"))).unwrap();
        let note = Note { since: clock().now(), by: "an operator".into(), why: None, recorded: false };
        home.write_new(&PauseScope::All.document(), &serde_json::to_vec(&note).unwrap()).unwrap();
        for _ in 0..2 {
            assert!(!pause(&home, &clock(), None).unwrap(), "it stands");
        }
        let all = pauses(&home).unwrap().into_iter().find(|pause| pause.scope == PauseScope::All).unwrap();
        assert_eq!(all.note, Some(Note { recorded: true, ..note }));
        let lines = fs::read_to_string(dir.path().join("audit/2026-01.ndjson")).unwrap();
        assert_eq!(lines.matches("an operator").count(), 1, "{lines}");
    }

    #[test]
    fn a_pause_whose_file_is_damaged_still_stops() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::from(dir.path());
        alarm(&home, &clock(), "it emptied mobile").unwrap();
        let why = reason(&home, &job("one")).unwrap();
        assert!(crate::record::reveal(&why).contains("by rosterd: it emptied mobile"));
        fs::write(dir.path().join("paused/alarm"), b"\0\0").unwrap();
        assert!(reason(&home, &job("one")).unwrap().starts_with("stopped: "));
        fs::remove_dir_all(dir.path().join("paused")).unwrap();
        fs::write(dir.path().join("paused"), b"").unwrap();
        assert!(reason(&home, &job("one")).is_some(), "what can't be read is no leave to send");
    }
}
