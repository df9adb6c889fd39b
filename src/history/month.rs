//! Reading the lines of the months.

use std::io;
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::entry::AuditEvent;
use crate::store::{Home, Log};

/// A line that can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its file.
    pub file: PathBuf,
    /// Its number, counted from 1.
    pub line: u64,
}

/// Shows every line of a state, in the order in which they were written, and returns those that can't be read. There may be
/// none at all.
pub fn read(home: &Home, visit: impl FnMut(AuditEvent)) -> io::Result<Vec<Damage>> {
    read_from(home, "", visit)
}

/// The same from the month before that of `since` on: enough for what ended soon before it.
pub(crate) fn read_since(home: &Home, since: Timestamp, visit: impl FnMut(AuditEvent)) -> io::Result<Vec<Damage>> {
    let before = since.to_zoned(TimeZone::UTC).date().first_of_month().yesterday().unwrap_or(Date::MIN);
    read_from(home, &before.strftime("%Y-%m").to_string(), visit)
}

fn read_from(home: &Home, first: &str, mut visit: impl FnMut(AuditEvent)) -> io::Result<Vec<Damage>> {
    let log = Log::of(home);
    let mut damaged = Vec::new();
    for month in log.segments()?.into_iter().filter(|month| **month >= *first) {
        let mut number = 0;
        log.lines(&month, |line| {
            number += 1;
            match serde_json::from_slice(line) {
                Ok(entry) => visit(entry),
                // An empty line ends one that a crash cut off.
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(_) => damaged.push(Damage { file: log.place(&month), line: number }),
            }
        })?;
    }
    Ok(damaged)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_can_t_be_read_is_named_and_the_rest_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(&dir.path().into(), |_| panic!("there is nothing")).unwrap(), []);
        let audit = dir.path().join("audit");
        fs::create_dir(&audit).unwrap();
        let decision = r#"{"what":"decision","at":"2026-01-02T03:04:05Z","job":"staff","key":"7","decision":"approved","by":"uid 0"}"#;
        let change = r#"{"what":"change","at":"2026-01-02T03:04:06Z","run":3,"job":"staff","key":"7","action":"update","id":5,"fields":{"name":[null,"Ana"],"title":null}}"#;
        fs::write(audit.join("2026-01.ndjson"), format!("{decision}\n{{\"what\":\"cha\n\n{change}\n")).unwrap();
        fs::write(audit.join("2025-12.ndjson"), "\0\0\n").unwrap();
        fs::write(audit.join(".2026-01.ndjson.new"), "not a month").unwrap();
        let mut seen = Vec::new();
        let damaged = read(&dir.path().into(), |entry| seen.push(entry.at().to_string())).unwrap();
        assert_eq!(seen, ["2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"]);
        let at = |name: &str, line| Damage { file: audit.join(name), line };
        assert_eq!(damaged, [at("2025-12.ndjson", 1), at("2026-01.ndjson", 2)]);
    }
}
