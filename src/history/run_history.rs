//! Everything that is recorded of one run.

use std::io;

use super::entry::{AuditEvent, Changed, Decided, Ended};
use super::month::{Damage, read};
use crate::record::JobName;
use crate::store::Home;

/// Everything that is recorded of one run.
#[derive(Clone, Debug)]
pub struct RunHistory {
    /// Its number.
    pub run: u64,
    /// Its job.
    pub job: JobName,
    /// How it ended; none where it was cut off, or an earlier version ran.
    pub end: Option<Ended>,
    /// What it changed, in order of time.
    pub changes: Vec<Changed>,
    /// What was decided about the job since its run before, until this one ended; and afterwards, until its next one, where
    /// this is the latest.
    pub decisions: Vec<Decided>,
    /// The runs that undid it, by their ends.
    pub reverts: Vec<Ended>,
    /// Lines of the audit files that can't be read.
    pub damaged: Vec<Damage>,
}

impl RunHistory {
    /// Reads what is recorded of a run of a state; `None` if there is nothing.
    pub fn read(home: &Home, run: u64) -> io::Result<Option<Self>> {
        let mut changes: Vec<Changed> = Vec::new();
        let mut decisions: Vec<Decided> = Vec::new();
        let mut reverts: Vec<Ended> = Vec::new();
        let mut end: Option<Ended> = None;
        let mut closed = false;
        let damaged = read(home, |entry| match entry {
            AuditEvent::Change(changed) if changed.run == run => changes.push(changed),
            AuditEvent::Change(_) => {}
            AuditEvent::Decision(decided) if !closed => decisions.push(decided),
            AuditEvent::Decision(_) => {}
            AuditEvent::Run(ended) if ended.run == run => end = Some(ended),
            AuditEvent::Run(ended) => {
                if ended.reverts == Some(run) {
                    reverts.push(ended.clone());
                }
                match &end {
                    // The job's next run: what is decided from then on is about something else.
                    Some(end) => closed |= end.job == ended.job,
                    None => decisions.retain(|decided| decided.job.as_ref().is_some_and(|job| *job != ended.job)),
                }
            }
        })?;
        let job = end.as_ref().map(|end| end.job.clone()).or_else(|| changes.first().map(|first| first.job.clone()));
        let Some(job) = job else { return Ok(None) };
        decisions.retain(|decided| decided.job.as_ref().is_none_or(|other| *other == job));
        Ok(Some(Self { run, job, end, changes, decisions, reverts, damaged }))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_run_is_shown_with_what_was_decided_about_its_job_around_it() {
        let line = |what: &str, rest: &str| format!("{{\"what\":\"{what}\",\"at\":\"2026-01-01T00:00:00Z\",{rest}}}\n");
        let end = |run: u64, job: &str, more: &str| {
            let rest =
                format!("\"run\":{run},\"job\":\"{job}\",\"started\":\"2026-01-01T00:00:00Z\",\"status\":\"done\"");
            line("run", &format!("{rest},\"complete\":true,\"counts\":{{}}{more}"))
        };
        let decided = |job: &str, by: &str| {
            line("decision", &format!("\"job\":\"{job}\",\"key\":\"7\",\"decision\":\"approved\",\"by\":\"{by}\""))
        };
        let change =
            line("change", "\"run\":3,\"job\":\"a\",\"key\":\"7\",\"action\":\"update\",\"id\":5,\"fields\":{}");
        let text = [
            decided("a", "too early"),
            end(1, "a", ""),
            decided("a", "ana"),
            decided("b", "another job"),
            end(2, "b", ""),
            change,
            end(3, "a", ""),
            decided("a", "bo"),
            end(4, "a", ",\"reverts\":3"),
            decided("a", "too late"),
        ];
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("audit")).unwrap();
        fs::write(dir.path().join("audit/2026-01.ndjson"), text.concat()).unwrap();
        let story = RunHistory::read(&dir.path().into(), 3).unwrap().unwrap();
        assert_eq!((story.damaged.len(), story.changes.len(), story.reverts.len()), (0, 1, 1));
        assert_eq!(story.decisions.iter().map(|one| one.by.as_str()).collect::<Vec<_>>(), ["ana", "bo"]);
        assert!(RunHistory::read(&dir.path().into(), 9).unwrap().is_none());
    }
}
