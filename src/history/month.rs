//! Reading the files of the months.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::entry::AuditEvent;

/// A line that can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its file.
    pub file: PathBuf,
    /// Its number, counted from 1.
    pub line: u64,
}

/// Shows every line under the state folder `dir`, in the order in which they were written, and returns those that can't be
/// read. There may be none at all.
pub fn read(dir: &Path, visit: impl FnMut(AuditEvent)) -> io::Result<Vec<Damage>> {
    read_all(months(dir)?, visit)
}

/// The same from the month before that of `since` on: enough for what ended soon before it.
pub(super) fn read_since(dir: &Path, since: Timestamp, visit: impl FnMut(AuditEvent)) -> io::Result<Vec<Damage>> {
    let before = since.to_zoned(TimeZone::UTC).date().first_of_month().yesterday().unwrap_or(Date::MIN);
    let first = format!("{}.ndjson", before.strftime("%Y-%m"));
    let mut files = months(dir)?;
    files.retain(|file| file.file_name().is_some_and(|name| *name.to_string_lossy() >= *first));
    read_all(files, visit)
}

fn read_all(files: Vec<PathBuf>, mut visit: impl FnMut(AuditEvent)) -> io::Result<Vec<Damage>> {
    let mut damaged = Vec::new();
    for file in files {
        let mut number = 0;
        lines(&file, |line| {
            number += 1;
            match serde_json::from_slice(line) {
                Ok(entry) => visit(entry),
                // An empty line ends one that a crash cut off.
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(_) => damaged.push(Damage { file: file.clone(), line: number }),
            }
        })?;
    }
    Ok(damaged)
}

/// The folder of the audit files in a state folder.
pub(super) fn folder(dir: &Path) -> PathBuf {
    dir.join("audit")
}

/// The files of the months, the oldest first.
pub(super) fn months(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder(dir)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut months = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !name.starts_with('.') && name.ends_with(".ndjson") {
            months.push(path);
        }
    }
    months.sort();
    Ok(months)
}

/// Shows every line of a file, with its end.
pub(super) fn lines(file: &Path, mut visit: impl FnMut(&[u8])) -> io::Result<()> {
    let mut reader = BufReader::new(File::open(file)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        visit(&line);
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_t_be_read_is_named_and_the_rest_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path(), |_| panic!("there is nothing")).unwrap(), []);
        let audit = dir.path().join("audit");
        fs::create_dir(&audit).unwrap();
        let decision = r#"{"what":"decision","at":"2026-01-02T03:04:05Z","job":"staff","key":"7","decision":"approved","by":"uid 0"}"#;
        let change = r#"{"what":"change","at":"2026-01-02T03:04:06Z","run":3,"job":"staff","key":"7","action":"update","id":5,"fields":{"name":[null,"Ana"],"title":null}}"#;
        fs::write(audit.join("2026-01.ndjson"), format!("{decision}\n{{\"what\":\"cha\n\n{change}\n")).unwrap();
        fs::write(audit.join("2025-12.ndjson"), "\0\0\n").unwrap();
        fs::write(audit.join(".2026-01.ndjson.new"), "not a month").unwrap();
        let mut seen = Vec::new();
        let damaged = read(dir.path(), |entry| seen.push(entry.at().to_string())).unwrap();
        assert_eq!(seen, ["2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"]);
        let at = |name: &str, line| Damage { file: audit.join(name), line };
        assert_eq!(damaged, [at("2025-12.ndjson", 1), at("2026-01.ndjson", 2)]);
    }
}
