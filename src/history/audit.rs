//! Appending to the audit files.

use std::io;

use jiff::tz::TimeZone;
use serde::Deserialize;

use super::entry::AuditEvent;
use crate::store::{Batch, Home, Log};

/// The audit files of one state.
pub struct Audit {
    log: Log,
}

impl Audit {
    /// What the newest lines are looked for in.
    const TAIL_BYTES: u64 = 64 * 1024;

    /// The audit files of a state; nothing is made before the first line.
    pub fn new(home: impl Into<Home>) -> Self {
        Self { log: Log::of(&home.into()) }
    }

    /// Appends a line and returns when it is durable.
    pub fn append(&self, event: impl Into<AuditEvent>) -> io::Result<()> {
        let (month, line) = written(event.into())?;
        self.log.append(&month, &line)
    }

    /// Appends a line that tells of what `batch` is about to do, as [`Log::append_with`] says.
    pub fn append_with(&self, batch: &mut Batch, event: impl Into<AuditEvent>) -> io::Result<()> {
        let (month, line) = written(event.into())?;
        self.log.append_with(batch, &month, &line)
    }

    /// The highest number of a run that the newest lines tell of; 0 where none does. A store that was lost or restored
    /// must not give a number a second time.
    pub fn last_run(home: &Home) -> io::Result<u64> {
        let log = Log::of(home);
        for month in log.segments()?.into_iter().rev() {
            // A month may be large, and hardly ever ends in more lines of decisions than this.
            let mut most = Self::TAIL_BYTES;
            loop {
                let bytes = log.tail(&month, most)?;
                let run = |line: &[u8]| serde_json::from_slice::<OfRun>(line).ok().map(|line| line.run);
                if let Some(run) = bytes.split(|byte| *byte == b'\n').filter_map(run).max() {
                    return Ok(run);
                }
                if (bytes.len() as u64) < most {
                    break;
                }
                most *= 8;
            }
        }
        Ok(0)
    }
}

/// What each line of a run has. The rest of it is not read: this is asked for at the start of every run.
#[derive(Deserialize)]
struct OfRun {
    run: u64,
}

/// The month of a line, and the line.
fn written(event: AuditEvent) -> io::Result<(String, String)> {
    let month = event.at().to_zoned(TimeZone::UTC).strftime("%Y-%m").to_string();
    Ok((month, serde_json::to_string(&event)?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use jiff::Timestamp;

    use super::*;
    use crate::history::{Changed, Decided, Ended, read};
    use crate::record::{Action, JobName, Key, RemoteId, Value};

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn write(dir: &Path, when: &str, run: u64) {
        let (job, key) = (JobName::new("employees").unwrap(), Key::new("42").unwrap());
        let fields = BTreeMap::from([("name".to_owned(), Some([Value::Empty, Value::text("Ana")]))]);
        let (at, action, id) = (at(when), Action::Create, RemoteId::new(5));
        Audit::new(dir).append(Changed { at, run, job, key, action, id, fields }).unwrap();
    }

    #[test]
    fn law_9_a_line_a_change_one_file_a_month() {
        let dir = tempfile::tempdir().unwrap();
        for when in ["2026-01-31T23:59:59Z", "2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z"] {
            // A new value each time: a line is appended to what an earlier process wrote.
            write(dir.path(), when, 1);
        }
        let read = |month: &str| fs::read_to_string(dir.path().join(format!("audit/{month}.ndjson"))).unwrap();
        assert_eq!(read("2026-02").lines().count(), 2);
        assert_eq!(
            read("2026-01"),
            "{\"what\":\"change\",\"at\":\"2026-01-31T23:59:59Z\",\"run\":1,\"job\":\"employees\",\"key\":\"42\",\
             \"action\":\"create\",\"id\":5,\"fields\":{\"name\":[null,\"Ana\"]}}\n"
        );
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let (job, key) = (JobName::new("employees").unwrap(), Key::new("42").unwrap());
        let at = at("2026-02-01T00:00:00Z");
        write(dir.path(), "2026-02-01T00:00:00Z", 7);
        let ended = Ended {
            at,
            run: 7,
            job: job.clone(),
            started: at,
            status: "done".into(),
            complete: true,
            counts: BTreeMap::from([("created".to_owned(), 1)]),
            reason: Some("none".into()),
            reverts: Some(6),
            by: Some("root".into()),
        };
        let audit = Audit::new(dir.path());
        audit.append(ended.clone()).unwrap();
        let why = Some("why".to_owned());
        audit.append(Decided { job: Some(job), key: Some(key), why, ..Decided::new(at, "approved") }).unwrap();
        let mut seen = Vec::new();
        assert_eq!(read(&dir.path().into(), |entry| seen.push(entry)).unwrap(), []);
        let text = fs::read_to_string(dir.path().join("audit/2026-02.ndjson")).unwrap();
        let again: Vec<String> = seen.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
        assert_eq!(again, text.lines().collect::<Vec<_>>());
        assert_eq!(seen[1], AuditEvent::Run(ended));
    }

    #[test]
    fn a_line_that_a_crash_cut_off_takes_no_other_with_it() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "2026-02-01T00:00:00Z", 1);
        let path = dir.path().join("audit/2026-02.ndjson");
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{}", &whole[..30])).unwrap();
        write(dir.path(), "2026-02-01T00:00:01Z", 2);
        let mut runs = Vec::new();
        let damaged = read(&dir.path().into(), |entry| runs.push(entry.at().to_string())).unwrap();
        assert_eq!((runs.len(), damaged.len(), damaged[0].line), (2, 1, 2));
        assert_eq!(Audit::last_run(&dir.path().into()).unwrap(), 2);
    }

    #[test]
    fn the_last_run_is_found_behind_many_decisions() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Audit::last_run(&dir.path().into()).unwrap(), 0);
        write(dir.path(), "2026-01-01T00:00:00Z", 9);
        let path = dir.path().join("audit/2026-01.ndjson");
        let decision =
            "{\"what\":\"decision\",\"at\":\"2026-01-02T03:04:05Z\",\"decision\":\"paused\",\"by\":\"root\"}\n";
        let many = fs::read_to_string(&path).unwrap() + &decision.repeat(1000);
        fs::write(&path, many).unwrap();
        assert_eq!(Audit::last_run(&dir.path().into()).unwrap(), 9);
        fs::write(dir.path().join("audit/2026-02.ndjson"), decision).unwrap();
        assert_eq!(Audit::last_run(&dir.path().into()).unwrap(), 9);
    }
}
