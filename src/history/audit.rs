//! Appending to the audit file.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::tz::TimeZone;

use super::entry::AuditEvent;
use super::month::{folder, months};
use crate::crash::point;
use crate::disk;

/// The audit file of one state folder.
pub struct Audit {
    dir: PathBuf,
    open: Mutex<Option<(String, File)>>,
}

impl Audit {
    /// What the newest lines are looked for in.
    const TAIL_BYTES: u64 = 64 * 1024;

    /// The audit file under the state folder `dir`; nothing is made before the first line.
    pub fn new(dir: &Path) -> Self {
        Self { dir: folder(dir), open: Mutex::new(None) }
    }

    /// Appends a line and returns when it is on disk.
    pub fn append(&self, event: impl Into<AuditEvent>) -> io::Result<()> {
        let event = event.into();
        let month = event.at().to_zoned(TimeZone::UTC).strftime("%Y-%m").to_string();
        let mut text = serde_json::to_string(&event)?;
        text.push('\n');
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let _alone = lock(&self.dir)?;
        if open.as_ref().is_none_or(|(current, _)| *current != month) {
            *open = Some((month.clone(), open_month(&self.dir.join(format!("{month}.ndjson")))?));
        }
        let (_, file) = open.as_mut().expect("it was just opened");
        point("audit: before a line");
        file.write_all(text.as_bytes())?;
        point("audit: a line is written");
        disk::sync_data(&*file)?;
        point("audit: a line is on disk");
        Ok(())
    }

    /// The highest number of a run that the newest lines tell of; 0 where none does. A store that was lost or restored
    /// must not give a number a second time.
    pub fn last_run(dir: &Path) -> io::Result<u64> {
        for month in months(dir)?.into_iter().rev() {
            let mut file = File::open(month)?;
            let size = file.metadata()?.len();
            for start in [size.saturating_sub(Self::TAIL_BYTES), 0] {
                file.seek(SeekFrom::Start(start))?;
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                let run = |line: &[u8]| match serde_json::from_slice(line).ok()? {
                    AuditEvent::Change(changed) => Some(changed.run),
                    AuditEvent::Run(ended) => Some(ended.run),
                    AuditEvent::Decision(_) => None,
                };
                if let Some(run) = bytes.split(|byte| *byte == b'\n').filter_map(run).max() {
                    return Ok(run);
                }
            }
        }
        Ok(0)
    }
}

/// Creates the folder if it is missing, and waits until no other process appends to or rewrites a file in it: a command
/// that pauses a job does not own the store.
pub(super) fn lock(folder: &Path) -> io::Result<File> {
    disk::lay_down(folder)?;
    let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(folder.join("lock"))?;
    file.lock()?;
    Ok(file)
}

/// Opens a file for lines at its end. A last line that a crash cut off is ended first, so that it takes no other with it.
fn open_month(path: &Path) -> io::Result<File> {
    let mut file = File::options().read(true).append(true).create(true).mode(0o600).open(path)?;
    let size = file.metadata()?.len();
    let mut last = [b'\n'];
    if size > 0 {
        file.read_exact_at(&mut last, size - 1)?;
    }
    if last != [b'\n'] {
        file.write_all(b"\n")?;
    }
    if size == 0 {
        path.parent().map_or(Ok(()), disk::sync_folder)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use std::collections::BTreeMap;

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
        assert_eq!(read(dir.path(), |entry| seen.push(entry)).unwrap(), []);
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
        let damaged = read(dir.path(), |entry| runs.push(entry.at().to_string())).unwrap();
        assert_eq!((runs.len(), damaged.len(), damaged[0].line), (2, 1, 2));
        assert_eq!(Audit::last_run(dir.path()).unwrap(), 2);
    }

    #[test]
    fn the_last_run_is_found_behind_many_decisions() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Audit::last_run(dir.path()).unwrap(), 0);
        write(dir.path(), "2026-01-01T00:00:00Z", 9);
        let path = dir.path().join("audit/2026-01.ndjson");
        let decision =
            "{\"what\":\"decision\",\"at\":\"2026-01-02T03:04:05Z\",\"decision\":\"paused\",\"by\":\"root\"}\n";
        let many = fs::read_to_string(&path).unwrap() + &decision.repeat(1000);
        fs::write(&path, many).unwrap();
        assert_eq!(Audit::last_run(dir.path()).unwrap(), 9);
        fs::write(dir.path().join("audit/2026-02.ndjson"), decision).unwrap();
        assert_eq!(Audit::last_run(dir.path()).unwrap(), 9);
    }
}
