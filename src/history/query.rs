//! Queries past runs and decisions.

use std::collections::BTreeMap;
use std::io;

use jiff::Timestamp;

use super::entry::{AuditEvent, Changed, Decided, Ended};
use super::month::{Damage, read};
use crate::record::{JobName, Key};
use crate::store::Home;

/// What happened, in order of time.
#[derive(Debug, Default)]
pub struct HistoryQuery {
    /// Runs and decisions, the oldest first.
    pub events: Vec<Event>,
    /// Lines that can't be read.
    pub damaged: Vec<Damage>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A run.
    Run(PastRun),
    /// Decisions that were taken together.
    Decisions(Decisions),
}

/// A run of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRun {
    /// Its number.
    pub run: u64,
    /// The job.
    pub job: JobName,
    /// Its beginning, or its first change if its end was not recorded.
    pub started: Timestamp,
    /// How it ended; none where it was cut off, or an earlier version ran.
    pub end: Option<Ended>,
    /// How many changes the service confirmed.
    pub changes: u64,
}

/// Decisions of one kind that one command took together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decisions {
    /// The first of them; its key is in `keys`.
    pub first: Decided,
    /// The records; none where a whole job was decided on, or all of them.
    pub keys: Vec<Key>,
}

impl HistoryQuery {
    /// Reads what happened of a state.
    pub fn read(home: &Home) -> io::Result<Self> {
        let mut past = Self::default();
        let mut open = BTreeMap::new();
        let damaged = read(home, |entry| past.take(entry, &mut open))?;
        Ok(Self { damaged, ..past })
    }

    /// Decisions, those that were taken together as one.
    pub fn grouped(decisions: &[Decided]) -> Vec<Decisions> {
        let mut past = Self::default();
        decisions.iter().for_each(|decided| past.decided(decided.clone()));
        let grouped = past.events.into_iter().filter_map(|event| match event {
            Event::Decisions(decisions) => Some(decisions),
            Event::Run(_) => None,
        });
        grouped.collect()
    }

    /// `open`: by number, the place of each run whose end is not recorded yet.
    pub(super) fn take(&mut self, entry: AuditEvent, open: &mut BTreeMap<u64, usize>) {
        match entry {
            AuditEvent::Change(changed) => {
                let at = *open.entry(changed.run).or_insert(self.events.len());
                if at == self.events.len() {
                    let Changed { run, job, at: started, .. } = changed;
                    self.events.push(Event::Run(PastRun { run, job, started, end: None, changes: 0 }));
                }
                if let Event::Run(past) = &mut self.events[at] {
                    past.changes += 1;
                }
            }
            AuditEvent::Run(ended) => {
                if let Some(Event::Run(past)) = open.remove(&ended.run).map(|at| &mut self.events[at]) {
                    past.started = ended.started;
                    past.end = Some(ended);
                    return;
                }
                let (run, job, started) = (ended.run, ended.job.clone(), ended.started);
                self.events.push(Event::Run(PastRun { run, job, started, end: Some(ended), changes: 0 }));
            }
            AuditEvent::Decision(decided) => self.decided(decided),
        }
    }

    fn decided(&mut self, decided: Decided) {
        if let Some(Event::Decisions(last)) = self.events.last_mut()
            && let Some(key) = &decided.key
            && !last.keys.is_empty()
            && last.first.at == decided.at
            && last.first.job == decided.job
            && last.first.decision == decided.decision
            && last.first.by == decided.by
            && last.first.via == decided.via
            && last.first.why == decided.why
        {
            last.keys.push(key.clone());
            return;
        }
        let keys = decided.key.iter().cloned().collect();
        self.events.push(Event::Decisions(Decisions { first: decided, keys }));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What was read of these lines, one short text an event.
    fn listed(lines: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("audit")).unwrap();
        fs::write(dir.path().join("audit/2026-01.ndjson"), lines.join("\n") + "\n").unwrap();
        let past = HistoryQuery::read(&dir.path().into()).unwrap();
        assert_eq!(past.damaged, []);
        let told = past.events.iter().map(|event| match event {
            Event::Run(past) => {
                let status = past.end.as_ref().map_or("cut off", |end| end.status.as_str());
                format!("{} {status} {}", past.run, past.changes)
            }
            Event::Decisions(decisions) => format!("{} {}", decisions.first.decision, decisions.keys.len()),
        });
        told.collect()
    }

    const CHANGE: &str = r#"{"what":"change","at":"2026-01-01T00:00:00Z","run":RUN,"job":"staff","key":"7","action":"update","id":5,"fields":{}}"#;
    const END: &str = r#"{"what":"run","at":"2026-01-01T00:00:01Z","run":RUN,"job":"staff","started":"2026-01-01T00:00:00Z","status":"done","complete":true,"counts":{}}"#;
    const APPROVAL: &str =
        r#"{"what":"decision","at":"2026-01-01T00:00:00Z","job":"staff","key":"7","decision":"approved","by":"root"}"#;
    const PAUSE: &str = r#"{"what":"decision","at":"2026-01-01T00:00:00Z","decision":"paused","by":"root"}"#;

    #[test]
    fn lines_become_runs_and_decisions_in_order_of_time() {
        let of = |line: &str, run: &str| line.replace("RUN", run);
        let lines = [
            of(CHANGE, "1"),
            of(CHANGE, "2"),
            of(CHANGE, "2"),
            PAUSE.to_owned(),
            of(END, "2"),
            of(END, "3"),
            APPROVAL.to_owned(),
            APPROVAL.to_owned(),
            PAUSE.to_owned(),
            PAUSE.to_owned(),
            APPROVAL.replace("root", "ana"),
            APPROVAL.replace("root", "ana").replace("00:00:00Z", "00:00:01Z"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(
            listed(&lines),
            [
                "1 cut off 1",
                "2 done 2",
                "paused 0",
                "3 done 0",
                "approved 2",
                "paused 0",
                "paused 0",
                "approved 1",
                "approved 1"
            ]
        );
    }
}
