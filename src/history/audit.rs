//! Appending to the audit file.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::record::{Action, JobName, Key, RemoteId, Value};

/// One line of the audit file.
#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "what")]
pub enum Line<'a> {
    /// A change that the service confirmed.
    Change {
        /// When, by this machine's clock.
        at: Timestamp,
        /// The run that made it.
        run: u64,
        /// The job.
        job: &'a JobName,
        /// The record.
        key: &'a Key,
        /// What was done.
        action: Action,
        /// The entity.
        id: Option<RemoteId>,
        /// The owned fields that moved: before and after.
        fields: BTreeMap<&'a str, [&'a Value; 2]>,
    },
    /// What was decided: about a held change, or about sending at all.
    Decision {
        /// When.
        at: Timestamp,
        /// The job; none where it is about all of them.
        #[serde(skip_serializing_if = "Option::is_none")]
        job: Option<&'a JobName>,
        /// The record; none where it is about the whole job.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<&'a Key>,
        /// `approved`, `rejected`, `paused`, `resumed` and the like.
        decision: &'a str,
        /// Who decided.
        by: String,
        /// What it was about, or why, where that needs words.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<&'a str>,
    },
}

/// The user of this machine on whose behalf the program runs.
pub fn acting_user() -> String {
    format!("uid {}", rustix::process::getuid().as_raw())
}

/// The audit file of one state folder.
pub struct Audit {
    dir: PathBuf,
    open: Mutex<Option<(String, File)>>,
}

impl Audit {
    /// The audit file under the state folder `dir`; nothing is made before the first line.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.join("audit"), open: Mutex::new(None) }
    }

    /// Appends a line and returns when it is on disk.
    pub fn append(&self, at: Timestamp, line: &Line<'_>) -> io::Result<()> {
        let month = at.to_zoned(TimeZone::UTC).strftime("%Y-%m").to_string();
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_none_or(|(current, _)| *current != month) {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
            let path = self.dir.join(format!("{month}.ndjson"));
            let file = File::options().append(true).create(true).mode(0o600).open(path)?;
            *open = Some((month, file));
        }
        let (_, file) = open.as_mut().expect("it was just opened");
        file.write_all(&text)?;
        file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_9_a_line_a_change_one_file_a_month() {
        let dir = tempfile::tempdir().unwrap();
        let (job, key) = (JobName::new("employees").unwrap(), Key::new("42").unwrap());
        let (from, to) = (Value::Empty, Value::text("Ana"));
        for at in ["2026-01-31T23:59:59Z", "2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z"] {
            let at = at.parse().unwrap();
            let fields = BTreeMap::from([("name", [&from, &to])]);
            let line =
                Line::Change { at, run: 1, job: &job, key: &key, action: Action::Create, id: RemoteId::new(5), fields };
            // A new value each time: a line is appended to what an earlier process wrote.
            Audit::new(dir.path()).append(at, &line).unwrap();
        }
        let read = |month: &str| fs::read_to_string(dir.path().join(format!("audit/{month}.ndjson"))).unwrap();
        assert_eq!(read("2026-02").lines().count(), 2);
        assert_eq!(
            read("2026-01"),
            "{\"what\":\"change\",\"at\":\"2026-01-31T23:59:59Z\",\"run\":1,\"job\":\"employees\",\"key\":\"42\",\
             \"action\":\"create\",\"id\":5,\"fields\":{\"name\":[null,\"Ana\"]}}\n"
        );
    }
}
